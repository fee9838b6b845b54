//! Fetches URLs that a model or another untrusted source may have chosen.
//!
//! A [`Fetcher`] applies a [`UrlPolicy`] to every URL and redirect, and to every address that a name resolves to. This
//! policy is independent of the configuration of model providers, which send API keys to addresses that an operator
//! has chosen.

mod address;
mod error;
mod error_body;
mod fetcher;
mod policy;
mod request;
mod resolver;
mod response;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use haft_core::error::Coded as _;
use haft_core::media::{MediaReader, ReaderDescriptor};
use haft_core::tool::{ByteStream, ToolFailure};
use reqwest::Url;
use serde_json::json;

use self::request::CheckedRequest;
use self::response::response_stream;

pub use self::error::FetchError;
pub use self::error_body::ErrorBody;
pub use self::fetcher::{FetchDeadlines, Fetcher, FetcherBuilder};
pub use self::policy::UrlPolicy;
pub use self::request::{FetchRequest, HttpMethod};
pub use self::response::FetchResponse;
pub use crate::HttpPhase;
pub use crate::refusal::UrlRefusal;

/// The default limit on the size of a response: 64 MiB.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Reads the response of a URL to a GET request. Each stream sends a new request; dropping a stream closes its
/// connection.
///
/// It is created by [`Fetcher::reader`], and obeys the policy and the limits of that fetcher. Only a complete response
/// can be read: a status other than 2xx, no content, partial content and compressed content are errors.
#[derive(Clone)]
pub struct HttpReader {
    fetcher: Fetcher,
    url: Arc<Url>,
}

impl HttpReader {
    /// The tag of its descriptors. The locator is `{"url": "…"}`; it never has headers.
    pub const TAG: &'static str = "media:fetch";

    /// The URL, in its normal form.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }
}

impl MediaReader for HttpReader {
    fn open(&self) -> ByteStream {
        response_stream(self.fetcher.clone(), Arc::clone(&self.url), CheckedRequest::default())
    }

    /// Unknown, because each response can have a different length.
    fn byte_length(&self) -> Option<u64> {
        None
    }

    /// `None` if the query of the URL contains a signature or a token, which must not be stored. Copy the content into
    /// a store instead.
    fn describe(&self) -> Option<ReaderDescriptor> {
        if has_secret(&self.url) {
            return None;
        }
        Some(ReaderDescriptor::new(Self::TAG, json!({ "url": self.url.as_str() })))
    }
}

impl fmt::Debug for HttpReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpReader({})", display_url(&self.url))
    }
}

fn has_secret(url: &Url) -> bool {
    url.query_pairs().any(|(name, _)| {
        let name = name.to_ascii_lowercase();
        SECRETS.contains(&name.as_str()) || SIGNATURES.iter().any(|it| name.starts_with(it))
    })
}

/// An error as the item of a stream, with the error itself as its source.
fn tool_failure(error: FetchError) -> ToolFailure {
    let is_retryable = error.retryable();
    let failure = ToolFailure::from(error);
    if is_retryable { failure.retryable() } else { failure }
}

/// A URL for messages: bounded, and without its query, which can contain secrets.
fn display_url(url: &Url) -> String {
    let query = if url.query().is_some() { "?…" } else { "" };
    let mut text = format!("{}{}", url.origin().ascii_serialization(), url.path());
    if text.len() > MAX_SHOWN {
        text = text.chars().take(MAX_SHOWN).collect();
        text.push('…');
    }
    text + query
}

/// Text for messages: bounded, and without control characters.
fn preview(text: &str) -> String {
    let mut characters = text.chars();
    let mut out: String =
        characters.by_ref().take(MAX_SHOWN).flat_map(char::escape_debug).collect();
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

const MAX_SHOWN: usize = 200;
/// Names of query parameters that grant access, in lower case.
const SECRETS: &[&str] = &[
    "access_token",
    "api_key",
    "apikey",
    "auth",
    "authorization",
    "key",
    "password",
    "secret",
    "sig",
    "signature",
    "token",
];
/// Prefixes of the parameters of presigned URLs.
const SIGNATURES: &[&str] = &["x-amz-", "x-goog-"];
