//! Transports, which send one request and return one response.
//!
//! A [`Transport`] is the only access of a provider to the network. Requests and responses have the types of the
//! [`http`] crate. Their own `Debug` output shows the URL and every header that is not marked as sensitive, so print a
//! request with [`redact::request`](haft_http::redact::request).
//!
//! ```
//! use haft_providers::transport::{Secret, post};
//!
//! let mut request = post("https://api.example.com/v1/chat?key=abc123", r#"{"model": "m"}"#)?;
//! let key = Secret::new("sk-very-secret").to_header_value()?;
//! request.headers_mut().insert("x-api-key", key);
//! let printed = format!("{:?}", haft_http::redact::request(&request));
//! assert!(!printed.contains("sk-very-secret") && !printed.contains("abc123"), "{printed}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod body;
#[cfg(feature = "http")]
mod http_transport;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use haft_core::BoxFuture;
use haft_http::uri;

pub use self::body::Body;
#[cfg(feature = "http")]
pub use self::http_transport::{HttpTransport, HttpTransportBuilder};
pub use haft_http::{HttpError, HttpPhase, Secret};
pub use http::{Request, Response};

/// Sends requests. Dropping the future, or the body of the response, ends the request.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not send requests",
    note = "implement `Transport`, or use `HttpTransport`"
)]
pub trait Transport: Send + Sync + fmt::Debug {
    /// Sends a request and returns the head of the response, with a body that is read as it arrives. A response of any
    /// status is a response; an error means that there is none.
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, HttpError>>;
}

impl<T: Transport + ?Sized> Transport for Arc<T> {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, HttpError>> {
        (**self).send(request)
    }
}

/// A POST request with a body and without headers.
///
/// ```
/// use haft_providers::transport::post;
///
/// let request = post("https://api.example.com/v1", "{}")?;
/// assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/v1"));
/// assert!(post("not a URL", "{}").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`HttpError::Malformed`]: the text is not a URL. The error does not quote it.
pub fn post(url: &str, body: impl Into<Bytes>) -> Result<Request<Bytes>, HttpError> {
    let malformed = |reason: String| HttpError::Malformed { reason };
    let uri = uri::parse(url).map_err(|error| malformed(format!("the URL: {error}")))?;
    let request = Request::post(uri).body(body.into());
    request.map_err(|error| malformed(error.to_string()))
}

/// A response without headers.
///
/// ```
/// use haft_providers::transport::{Body, response};
///
/// assert_eq!(response(429, Body::empty())?.status().as_u16(), 429);
/// assert!(response(42, Body::empty()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`HttpError::Malformed`]: the status is not between 100 and 999.
pub fn response(status: u16, body: Body) -> Result<Response<Body>, HttpError> {
    let response = Response::builder().status(status).body(body);
    response.map_err(|error| HttpError::Malformed { reason: error.to_string() })
}

/// The host of a request, for messages.
pub(crate) fn request_host(request: &Request<Bytes>) -> String {
    uri::host(&request.uri().to_string())
}
