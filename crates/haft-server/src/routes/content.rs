//! The bytes of artifacts, whole or in part.

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_core::Stream;
use haft::stores::{SpoolError, SpoolReader};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::{Shared, parse_turn};
use crate::error::ApiError;
use crate::extract::PathParams;

/// How many bytes are read at a time.
const CHUNK: u64 = 256 << 10;
/// How many chunks wait for a client that reads slowly.
const MAX_WAITING: usize = 2;

/// Sends the bytes of an artifact: all of them, or the range that the client asks for.
pub(super) async fn read_content(
    State(shared): Shared,
    PathParams((turn, handle)): PathParams<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let artifact = shared.open_artifact(&parse_turn(&turn)?, &handle).await?.artifact;
    if artifact.is_lost() {
        return Err(ApiError::not_found("the content of the artifact is lost"));
    }
    let reader = Arc::clone(artifact.reader());
    let length = reader.byte_length();
    let tag = entity_tag(&turn, &handle);
    let text = |name: HeaderName| headers.get(name).and_then(|it| it.to_str().ok());
    let is_current = text(header::IF_RANGE).is_none_or(|it| it == tag);
    let range = text(header::RANGE).filter(|_| is_current);
    let (status, range) = match range.map_or(RangeRequest::Whole, |it| parse_range(it, length)) {
        RangeRequest::Whole => (StatusCode::OK, 0..length),
        RangeRequest::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        RangeRequest::Outside => return Ok(refuse_range(length)),
    };
    let content_range = format!("bytes {}-{}/{length}", range.start, range.end.saturating_sub(1));
    let sent = range.end - range.start;
    let mut response = (status, stream_content(reader, range)).into_response();
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(header::CONTENT_LENGTH, &sent.to_string());
    set(header::ACCEPT_RANGES, "bytes");
    set(header::ETAG, &tag);
    set(header::CONTENT_TYPE, "application/octet-stream");
    set(header::CONTENT_DISPOSITION, "attachment");
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox");
    if status == StatusCode::PARTIAL_CONTENT {
        set(header::CONTENT_RANGE, &content_range);
    }
    Ok(response)
}

/// The entity tag of an artifact. An artifact never changes, so that its name is enough.
fn entity_tag(turn: &str, handle: &str) -> String {
    let hash = Sha256::new().chain_update(turn).chain_update([0]).chain_update(handle).finalize();
    let hash = hex::encode(hash);
    format!("\"{hash:.32}\"")
}

fn refuse_range(length: u64) -> Response {
    let status = StatusCode::RANGE_NOT_SATISFIABLE;
    let message = format!("the artifact has {length} bytes");
    let mut response = ApiError::new(status, "E_API_RANGE", message).into_response();
    if let Ok(value) = HeaderValue::from_str(&format!("bytes */{length}")) {
        response.headers_mut().insert(header::CONTENT_RANGE, value);
    }
    response
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RangeRequest {
    /// Everything: there is no range, or one that is not understood, which is ignored (RFC 9110, section 14.2).
    Whole,
    Part(Range<u64>),
    /// A range that has no bytes of the content.
    Outside,
}

/// Parses the header `Range`. Several ranges at a time are not supported, and everything is sent.
fn parse_range(text: &str, length: u64) -> RangeRequest {
    let Some(range) = text.strip_prefix("bytes=").filter(|it| !it.contains(',')) else {
        return RangeRequest::Whole;
    };
    let Some((first, last)) = range.split_once('-') else { return RangeRequest::Whole };
    let parsed = match (first.trim(), last.trim()) {
        ("", suffix) => suffix.parse::<u64>().ok().map(|it| length.saturating_sub(it)..length),
        (first, "") => first.parse().ok().map(|first| first..length),
        (first, last) => match (first.parse::<u64>(), last.parse::<u64>()) {
            (Ok(first), Ok(last)) if first <= last => {
                Some(first..last.saturating_add(1).min(length))
            }
            _ => None,
        },
    };
    match parsed {
        None => RangeRequest::Whole,
        Some(range) if range.start >= range.end => RangeRequest::Outside,
        Some(range) => RangeRequest::Part(range),
    }
}

/// Streams a range of bytes. Nothing is read that the client does not take.
#[expect(clippy::disallowed_methods, reason = "the task ends when its client is gone")]
fn stream_content(reader: Arc<dyn SpoolReader>, range: Range<u64>) -> Body {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    tokio::spawn(async move {
        let mut at = range.start;
        while at < range.end {
            let wanted = CHUNK.min(range.end - at) as usize;
            let chunk = reader.read_at(at, wanted).await;
            let is_last = match &chunk {
                Ok(bytes) => {
                    at += bytes.len() as u64;
                    bytes.is_empty()
                }
                Err(_) => true,
            };
            if sender.send(chunk).await.is_err() || is_last {
                return;
            }
        }
    });
    Body::from_stream(ContentStream(receiver))
}

/// The chunks of a content. An error ends the connection, so that a client does not take a part for the whole.
struct ContentStream(mpsc::Receiver<Result<Bytes, SpoolError>>);

impl Stream for ContentStream {
    type Item = Result<Bytes, SpoolError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::{RangeRequest, parse_range};

    #[test]
    fn ranges_are_cut_at_the_end_and_those_that_are_not_understood_are_ignored() {
        let part = |range| RangeRequest::Part(range);
        for (text, expected) in [
            ("bytes=0-3", part(0..4)),
            ("bytes=3-3", part(3..4)),
            ("bytes=4-", part(4..10)),
            ("bytes=8-100", part(8..10)),
            ("bytes=0-18446744073709551615", part(0..10)),
            ("bytes=-3", part(7..10)),
            ("bytes=-100", part(0..10)),
            ("bytes=10-", RangeRequest::Outside),
            ("bytes=10-11", RangeRequest::Outside),
            ("bytes=-0", RangeRequest::Outside),
            ("bytes=3-2", RangeRequest::Whole),
            ("bytes=0-1,3-4", RangeRequest::Whole),
            ("bytes=x-", RangeRequest::Whole),
            ("bytes=-", RangeRequest::Whole),
            ("lines=0-3", RangeRequest::Whole),
            ("", RangeRequest::Whole),
        ] {
            assert_eq!(parse_range(text, 10), expected, "{text}");
        }
        assert_eq!(parse_range("bytes=0-", 0), RangeRequest::Outside);
    }
}
