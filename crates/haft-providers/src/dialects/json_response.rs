//! Parses responses that are JSON, for the decoders of several dialects.

use haft_core::json::Document;

use crate::dialect::DecodeError;

/// Parses the body of a response.
pub(super) fn parse_body(body: &[u8]) -> Result<Document, DecodeError> {
    parse_text(str::from_utf8(body).map_err(|_| malformed_response("it is not UTF-8"))?)
}

/// Parses the data of an event.
pub(super) fn parse_text(text: &str) -> Result<Document, DecodeError> {
    Document::parse(text).map_err(|error| malformed_response(&error.to_string()))
}

/// The error of a response that is not valid in the dialect.
pub(super) fn malformed_response(what: &str) -> DecodeError {
    DecodeError::Malformed(what.to_owned())
}
