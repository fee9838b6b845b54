//! Requests, headers and URLs without credentials, for logs, errors and recordings.
//!
//! A header is a credential if its value is marked as sensitive, or by its name: `authorization`, `cookie`, `x-api-key`
//! and the like. A parameter of a URL is one by its name: `key`, `token`, `signature` and the like.

use std::borrow::Cow;
use std::fmt;

use http::{HeaderMap, HeaderValue, Request};

use crate::uri::{UrlParts, split};

/// What is printed in place of a credential.
pub const REDACTED: &str = "[redacted]";

/// Returns a view of a request whose `Debug` output has no credentials, and of the body only its size.
pub fn request<B: AsRef<[u8]>>(request: &Request<B>) -> RedactedRequest<'_, B> {
    RedactedRequest(request)
}

/// A request that can be printed; see [`request`].
pub struct RedactedRequest<'r, B>(&'r Request<B>);

impl<B: AsRef<[u8]>> fmt::Debug for RedactedRequest<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", self.0.method())
            .field("url", &url(&self.0.uri().to_string()))
            .field("headers", &RedactedHeaders(self.0.headers()))
            .field("body", &format_args!("{} bytes", self.0.body().as_ref().len()))
            .finish()
    }
}

struct RedactedHeaders<'h>(&'h HeaderMap);

impl fmt::Debug for RedactedHeaders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(headers(self.0)).finish()
    }
}

/// Names and values of headers in order, with [`REDACTED`] for the values of credentials.
///
/// ```
/// use http::{HeaderMap, HeaderValue};
///
/// let mut headers = HeaderMap::new();
/// headers.insert("x-api-key", HeaderValue::from_static("sk-1234"));
/// headers.insert("accept", HeaderValue::from_static("text/plain"));
/// let shown: Vec<_> = haft_http::redact::headers(&headers).collect();
/// assert_eq!(shown, [("x-api-key", "[redacted]".into()), ("accept", "text/plain".into())]);
/// ```
pub fn headers(headers: &HeaderMap) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    headers.iter().map(|(name, value)| {
        let hidden = value.is_sensitive() || is_credential_header(name.as_str());
        let value = if hidden { REDACTED.into() } else { header_text(value) };
        (name.as_str(), value)
    })
}

/// The values of headers that must not be printed.
pub(crate) fn header_secrets(headers: &HeaderMap) -> impl Iterator<Item = Cow<'_, str>> {
    let secret = headers
        .iter()
        .filter(|(name, value)| value.is_sensitive() || is_credential_header(name.as_str()));
    secret.map(|(_, value)| header_text(value))
}

/// The value of a header as text, with U+FFFD for bytes that are not UTF-8.
#[must_use]
pub fn header_text(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

/// Whether headers of this name carry credentials.
#[must_use]
pub fn is_credential_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CREDENTIALS.contains(&name.as_str()) || ENDINGS.iter().any(|it| name.ends_with(it))
}

/// Returns a URL without a user, without the values of parameters that grant access, and without a fragment.
///
/// ```
/// let url = haft_http::redact::url("https://u:p@example.com/v1?api_key=abc&n=1#top");
/// assert_eq!(url, "https://example.com/v1?api_key=[redacted]&n=1");
/// ```
#[must_use]
pub fn url(url: &str) -> String {
    let UrlParts { scheme, authority, path, query } = split(url);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let mut out = format!("{scheme}{host}{path}");
    push_query(query, &mut out);
    out
}

/// Returns path and query of a URL, without the values of parameters that grant access.
#[must_use]
pub fn path_and_query(url: &str) -> String {
    let UrlParts { path, query, .. } = split(url);
    let mut out = if path.is_empty() { "/".to_owned() } else { path.to_owned() };
    push_query(query, &mut out);
    out
}

/// The values of a URL that grant access, as they are written there.
pub(crate) fn url_secrets(url: &str) -> impl Iterator<Item = &str> {
    let UrlParts { authority, query, .. } = split(url);
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let user = user.into_iter().flat_map(|user| user.split(':'));
    let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    user.chain(pairs.filter(|(name, _)| grants_access(name)).map(|(_, value)| value))
}

fn push_query(query: Option<&str>, out: &mut String) {
    let Some(query) = query else { return };
    for (at, pair) in query.split('&').enumerate() {
        out.push(if at == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((name, _)) if grants_access(name) => {
                out.push_str(name);
                out.push('=');
                out.push_str(REDACTED);
            }
            _ => out.push_str(pair),
        }
    }
}

fn grants_access(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let known = ["key", "auth", "authorization", "sig", "signature", "token", "secret", "code"];
    let endings = ["_key", "apikey", "_token", "_secret", "_signature", "_credential", "password"];
    known.contains(&name.as_str()) || endings.iter().any(|it| name.ends_with(it))
}

const CREDENTIALS: &[&str] = &["api-key", "cookie", "set-cookie"];
/// `authorization`, `proxy-authorization`, `x-goog-api-key`, `x-amz-security-token`, `ocp-apim-subscription-key` …
const ENDINGS: &[&str] = &[
    "authorization",
    "-api-key",
    "-apikey",
    "-auth-key",
    "-auth-token",
    "-access-token",
    "-security-token",
    "-session-token",
    "-subscription-key",
    "-secret",
    "-password",
];
