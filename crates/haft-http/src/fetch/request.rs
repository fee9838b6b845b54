//! Requests that a fetcher sends.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

use super::policy::UrlPolicy;

/// The method of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HttpMethod {
    /// Requests a resource.
    #[default]
    Get,
    /// Requests the head of the response to a GET request.
    Head,
    /// Requests what can be done with a resource.
    Options,
    /// Sends something to a resource.
    Post,
    /// Creates or replaces a resource.
    Put,
    /// Changes a part of a resource.
    Patch,
    /// Deletes a resource.
    Delete,
}

impl HttpMethod {
    /// The method as it is sent.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether the method asks the server to change nothing.
    #[must_use]
    pub const fn is_read_only(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options)
    }

    /// Whether several equal requests have the same effect as one.
    #[must_use]
    pub const fn is_idempotent(self) -> bool {
        !matches!(self, Self::Post | Self::Patch)
    }

    /// Whether the result of the method is the head of the response.
    pub(super) const fn is_about_head(self) -> bool {
        matches!(self, Self::Head | Self::Options)
    }
}

impl From<HttpMethod> for Method {
    fn from(method: HttpMethod) -> Self {
        match method {
            HttpMethod::Get => Self::GET,
            HttpMethod::Head => Self::HEAD,
            HttpMethod::Options => Self::OPTIONS,
            HttpMethod::Post => Self::POST,
            HttpMethod::Put => Self::PUT,
            HttpMethod::Patch => Self::PATCH,
            HttpMethod::Delete => Self::DELETE,
        }
    }
}

/// A request for [`Fetcher::send`](super::Fetcher::send): a method, headers and a JSON body.
///
/// ```
/// use haft_http::fetch::{FetchRequest, HttpMethod};
///
/// let request = FetchRequest::new(HttpMethod::Put).header("if-match", "\"7\"").json(r#"{"paid": true}"#);
/// # let _ = request;
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct FetchRequest {
    pub(super) method: HttpMethod,
    pub(super) headers: Vec<(String, String)>,
    pub(super) json: Option<Bytes>,
}

impl FetchRequest {
    /// A request without a body.
    pub fn new(method: HttpMethod) -> Self {
        Self { method, ..Self::default() }
    }

    /// Adds a header, which replaces a header of the fetcher with the same name.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body, which is JSON text.
    pub fn json(mut self, body: impl Into<Bytes>) -> Self {
        self.json = Some(body.into());
        self
    }
}

/// Shows the names of the headers. Their values may be secret, and so may the body.
impl fmt::Debug for FetchRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("FetchRequest")
            .field("method", &self.method)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

/// A request whose headers were checked.
#[derive(Clone, Debug, Default)]
pub(super) struct CheckedRequest {
    pub(super) method: HttpMethod,
    /// Headers in addition to those of the fetcher.
    pub(super) headers: HeaderMap,
    pub(super) json: Option<Bytes>,
    pub(super) expected: ExpectedResponse,
}

/// Which response is a success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ExpectedResponse {
    /// One with content.
    #[default]
    Content,
    /// Also one that says that there is no content.
    ContentOrNothing,
}

impl CheckedRequest {
    /// How many redirects are followed. A change was meant for one address, so it is never sent on.
    pub(super) fn max_redirects(&self, policy: &UrlPolicy) -> usize {
        if self.method.is_read_only() { policy.redirects } else { 0 }
    }

    /// Whether a response with this status has what was asked for. Partial content never is.
    pub(super) fn is_answered_by(&self, status: StatusCode) -> bool {
        let is_empty = matches!(status.as_u16(), 204 | 205);
        status.is_success()
            && status != StatusCode::PARTIAL_CONTENT
            && !(is_empty && self.expected == ExpectedResponse::Content)
    }
}
