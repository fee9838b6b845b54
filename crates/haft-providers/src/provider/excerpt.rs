//! What came instead of a response of a model.

use std::fmt;

use bytes::Bytes;
use haft_core::trust::is_invisible;
use haft_http::Scrubber;
use http::Response;
use http::header::CONTENT_TYPE;
use serde::de::IgnoredAny;

use crate::dialect::Framing;
use crate::transport::{Body, Request, request_host};

/// The head of a response and the beginning of its body, as messages quote it: in one line, and without characters that
/// control a terminal or are invisible.
///
/// ```
/// use haft_providers::ResponseExcerpt;
/// use haft_providers::transport::post;
///
/// let request = post("http://localhost/v1/chat", "{}")?;
/// let page = ResponseExcerpt::new(&request, 200, Some("text/html"), b"<html>\n  \x1b[2JLog in");
/// let text = "`localhost` responded with status 200, content type `text/html` and `<html> \u{FFFD}[2JLog in`";
/// assert_eq!(page.to_string(), text);
/// let nothing = ResponseExcerpt::new(&request, 204, None, b"");
/// assert_eq!(nothing.to_string(), "`localhost` responded with status 204, no content type and an empty body");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseExcerpt {
    /// The host that responded.
    pub host: String,
    /// The status.
    pub status: u16,
    /// The content type, if there is one.
    pub content_type: Option<String>,
    /// The beginning of the body; empty if the body is.
    pub beginning: String,
}

impl ResponseExcerpt {
    /// An excerpt of the response to a request, whose body has these bytes, or begins with them. Credentials of the
    /// request are left out.
    #[must_use]
    pub fn new(
        request: &Request<Bytes>,
        status: u16,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Self {
        RequestOrigin::of(request).excerpt(status, content_type, body)
    }
}

impl fmt::Display for ResponseExcerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, status, content_type, beginning } = self;
        write!(f, "`{host}` responded with status {status}, ")?;
        match content_type {
            Some(content_type) => write!(f, "content type `{content_type}`")?,
            None => f.write_str("no content type")?,
        }
        match beginning.is_empty() {
            true => f.write_str(" and an empty body"),
            false => write!(f, " and `{beginning}`"),
        }
    }
}

/// The beginning of a text in one line, with U+FFFD for characters that cannot be shown.
fn quotable(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let inert = |ch: char| if ch.is_control() || is_invisible(ch) { '\u{FFFD}' } else { ch };
    let mut shown: String = line.chars().map(inert).take(MAX_QUOTED).collect();
    if line.chars().nth(MAX_QUOTED).is_some() {
        shown.push('…');
    }
    shown
}

/// The maximum number of bytes that an excerpt is made of.
const MAX_READ: usize = 4 * 1024;

/// The maximum number of characters that are quoted of a body and of its content type.
const MAX_QUOTED: usize = 120;

/// Where a request went, and what must not be quoted of its response.
pub(super) struct RequestOrigin {
    host: String,
    scrubber: Scrubber,
}

impl RequestOrigin {
    pub(super) fn of(request: &Request<Bytes>) -> Self {
        Self { host: request_host(request), scrubber: Scrubber::for_request(request) }
    }

    fn excerpt(&self, status: u16, content_type: Option<&str>, body: &[u8]) -> ResponseExcerpt {
        let quoted = |text: &str| quotable(&self.scrubber.scrub_text(text));
        let body = String::from_utf8_lossy(body.get(..MAX_READ).unwrap_or(body));
        ResponseExcerpt {
            host: self.host.clone(),
            status,
            content_type: content_type.map(quoted).filter(|it| !it.is_empty()),
            beginning: quoted(&body),
        }
    }
}

/// The head of a response and the first bytes of its body, from which follows how the body is read.
pub(super) struct ResponseHead<'o> {
    origin: &'o RequestOrigin,
    status: u16,
    content_type: String,
    first: Bytes,
}

impl<'o> ResponseHead<'o> {
    /// The head of a response whose first bytes have been awaited.
    pub(super) fn of(response: &Response<Body>, origin: &'o RequestOrigin) -> Self {
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let content_type = content_type.unwrap_or_default().trim().to_owned();
        let first = response.body().first_chunk().cloned().unwrap_or_default();
        Self { origin, status: response.status().as_u16(), content_type, first }
    }

    pub(super) fn excerpt(&self) -> ResponseExcerpt {
        self.origin.excerpt(self.status, Some(&self.content_type), &self.first)
    }

    /// Whether it is a page for people, which no model responds with.
    pub(super) fn is_page(&self) -> bool {
        self.has_type(&PAGE_TYPES)
    }

    /// Whether the body is one JSON value although a stream of server-sent events was asked for. A server may leave out
    /// the content type.
    pub(super) fn is_whole(&self, framing: Framing) -> bool {
        let begins_as_json = matches!(self.first.trim_ascii_start().first(), Some(b'{' | b'['));
        framing == Framing::Sse && (self.has_type(&["application/json"]) || begins_as_json)
    }

    /// Whether the head, or the first bytes, are those of a stream of a model, so that a stream without any event broke
    /// off, and may come completely the next time. An empty body is such a stream: a gateway has lost the response.
    pub(super) fn is_stream(&self) -> bool {
        let first = self.first.trim_ascii_start();
        let begins_as_events = EVENT_FIELDS.iter().any(|field| first.starts_with(field));
        first.is_empty() || begins_as_events || self.has_type(&STREAM_TYPES)
    }

    fn has_type(&self, types: &[&str]) -> bool {
        let essence = self.content_type.split(';').next().unwrap_or_default().trim();
        types.iter().any(|it| essence.eq_ignore_ascii_case(it))
    }
}

/// Whether a body is JSON whose end is missing, as after a connection that broke.
pub(super) fn is_cut_json(body: &[u8]) -> bool {
    let parsed = serde_json::from_slice::<IgnoredAny>(body);
    parsed.is_err_and(|error| error.is_eof()) && !body.trim_ascii().is_empty()
}

const PAGE_TYPES: [&str; 4] = ["text/html", "application/xhtml+xml", "text/xml", "application/xml"];

const STREAM_TYPES: [&str; 4] =
    ["text/event-stream", "application/x-ndjson", "application/ndjson", "application/jsonl"];

/// How a stream of server-sent events begins.
const EVENT_FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
