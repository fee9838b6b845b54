//! One request out, one response in.
//!
//! A [`Transport`] is all that a provider knows of the network. What it is given and what it gives are plain data, and
//! nothing of them shows a credential when it is printed.
//!
//! ```
//! use haft_providers::transport::{Request, Secret};
//!
//! let request = Request::post("https://api.example.com/v1/chat?key=abc123", r#"{"model": "m"}"#)
//!     .header("x-api-key", Secret::new("sk-very-secret"));
//! let shown = format!("{request:?}");
//! assert!(!shown.contains("sk-very-secret") && !shown.contains("abc123"), "{shown}");
//! assert_eq!(request.headers.get("X-API-Key"), Some("sk-very-secret"));
//! ```

mod body;
mod error;
mod headers;
#[cfg(feature = "http")]
mod http;
pub(crate) mod scrub;
mod url;

#[cfg(test)]
mod tests;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

pub use self::body::Body;
pub use self::error::{TransportError, Wait};
pub(crate) use self::headers::is_credential;
pub use self::headers::{HeaderValue, Headers, Secret};
#[cfg(feature = "http")]
pub use self::http::{HttpTransport, HttpTransportBuilder};
pub(crate) use self::url::{host, is_exposed, path_and_query, redacted};

/// Sends requests. Dropping the future, or the body of the response, ends the request.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not send requests",
    note = "implement `Transport`, or use `HttpTransport`, a `Recorder` or a `Cassette`"
)]
pub trait Transport: Send + Sync + fmt::Debug {
    /// Sends a request and gives the head of the response, with a body that is read as it comes. A response of any
    /// status is a response; an error means that there is none.
    fn send(&self, request: Request) -> TransportFuture<'_>;
}

/// A response that is on its way.
pub type TransportFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Response, TransportError>> + Send + 'a>>;

impl<T: Transport + ?Sized> Transport for Arc<T> {
    fn send(&self, request: Request) -> TransportFuture<'_> {
        (**self).send(request)
    }
}

/// What is asked. Cheap to clone but for its headers.
#[derive(Clone)]
#[non_exhaustive]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The whole URL, http or https.
    pub url: String,
    /// The headers.
    pub headers: Headers,
    /// The body; empty for none.
    pub body: Bytes,
}

impl Request {
    /// A request without headers and body.
    #[must_use]
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self { method, url: url.into(), headers: Headers::default(), body: Bytes::new() }
    }

    /// A GET request.
    #[must_use]
    pub fn get(url: impl Into<String>) -> Self {
        Self::new(Method::Get, url)
    }

    /// A POST request with a body.
    #[must_use]
    pub fn post(url: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..Self::new(Method::Post, url) }
    }

    /// Sets a header, in place of any of that name. A [`Secret`] is never shown.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<HeaderValue>) -> Self {
        self.headers.set(name, value);
        self
    }
}

/// Names of headers and the URL without what grants access; of the body only its size.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &redacted(&self.url))
            .field("headers", &self.headers)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish()
    }
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// `GET`
    Get,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `PATCH`
    Patch,
    /// `DELETE`
    Delete,
}

impl Method {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// What is answered: the head, and a body that is read as it comes.
#[derive(Debug)]
#[non_exhaustive]
pub struct Response {
    /// The status, from 100 to 999.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    /// The body.
    pub body: Body,
}

impl Response {
    /// A response without headers.
    #[must_use]
    pub fn new(status: u16, body: Body) -> Self {
        Self { status, headers: Headers::default(), body }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<HeaderValue>) -> Self {
        self.headers.append(name, value);
        self
    }

    /// Whether the status is 2xx.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}
