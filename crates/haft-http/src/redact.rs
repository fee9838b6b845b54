//! Requests, URLs and texts of others without credentials, for logs, errors and recordings.
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
fn headers(headers: &HeaderMap) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    headers.iter().map(|(name, value)| {
        let hidden = value.is_sensitive() || is_credential_header(name.as_str());
        let value = if hidden { REDACTED.into() } else { header_text(value) };
        (name.as_str(), value)
    })
}

/// The values of headers that must not be printed.
fn header_secrets(headers: &HeaderMap) -> impl Iterator<Item = Cow<'_, str>> {
    let secret = headers
        .iter()
        .filter(|(name, value)| value.is_sensitive() || is_credential_header(name.as_str()));
    secret.map(|(_, value)| header_text(value))
}

/// The value of a header as text, with U+FFFD for bytes that are not UTF-8.
fn header_text(value: &HeaderValue) -> Cow<'_, str> {
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

/// The values of a URL that grant access, as they are written there.
fn url_secrets(url: &str) -> impl Iterator<Item = &str> {
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

/// Finds secrets in every spelling in which they may come back (plain, in JSON, percent-encoded) and replaces them.
///
/// ```
/// use haft_http::Scrubber;
///
/// let request = http::Request::get("https://example.com/").header("authorization", "Bearer sk-1234").body(())?;
/// let scrubber = Scrubber::for_request(&request);
/// assert_eq!(scrubber.scrub_text("no such key: sk-1234"), "no such key: [redacted]");
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Scrubber {
    /// Longest first, so that no part of a longer one is left.
    needles: Vec<Vec<u8>>,
}

impl Scrubber {
    /// A scrubber for the credentials in the headers and in the URL of a request.
    #[must_use]
    pub fn for_request<B>(request: &Request<B>) -> Self {
        let mut scrubber = Self::default();
        for value in header_secrets(request.headers()) {
            scrubber.add(&value);
            // `Bearer …`: what comes back is the token, without the scheme.
            if let Some((_, token)) = value.split_once(' ') {
                scrubber.add(token.trim());
            }
        }
        let uri = request.uri().to_string();
        url_secrets(&uri).for_each(|value| scrubber.add(value));
        scrubber
    }

    /// Adds a secret. One of fewer than four bytes is ignored, because it would be found everywhere.
    pub fn add(&mut self, secret: &str) {
        if secret.len() < SHORTEST {
            return;
        }
        let json = serde_json::to_string(secret).unwrap_or_default();
        let json = json.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or_default();
        for spelling in
            [secret.to_owned(), json.to_owned(), percent_encoded(secret), percent_decoded(secret)]
        {
            let spelling = spelling.into_bytes();
            if spelling.len() >= SHORTEST && !self.needles.contains(&spelling) {
                self.needles.push(spelling);
            }
        }
        self.needles.sort_by_key(|it| std::cmp::Reverse(it.len()));
    }

    /// Returns a text without secrets.
    #[must_use]
    pub fn scrub_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.scrub_bytes(text.as_bytes())).into_owned()
    }

    /// Returns bytes without secrets.
    #[must_use]
    pub fn scrub_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for (start, end) in self.find(bytes) {
            out.extend_from_slice(bytes.get(at..start).unwrap_or_default());
            out.extend_from_slice(REDACTED.as_bytes());
            at = end;
        }
        out.extend_from_slice(bytes.get(at..).unwrap_or_default());
        out
    }

    /// Returns the beginning of a longer text without secrets, and without a secret that is truncated at its end.
    #[must_use]
    pub fn scrub_prefix(&self, bytes: &[u8]) -> Vec<u8> {
        let cut = self.needles.iter().map(|needle| partial_len(bytes, needle)).max().unwrap_or(0);
        let (kept, _) = bytes.split_at_checked(bytes.len() - cut).unwrap_or((bytes, &[]));
        let mut out = self.scrub_bytes(kept);
        if cut > 0 {
            out.extend_from_slice(REDACTED.as_bytes());
        }
        out
    }

    /// Where secrets are, in order and without overlap.
    fn find(&self, bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        for needle in &self.needles {
            let finder = memchr::memmem::find_iter(bytes, needle);
            found.extend(finder.map(|start| (start, start + needle.len())));
        }
        found.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::with_capacity(found.len());
        for (start, end) in found {
            match merged.last_mut() {
                Some(last) if start < last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        merged
    }
}

/// Prints nothing of what it looks for.
impl fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scrubber({} spellings)", self.needles.len())
    }
}

/// How many bytes at the end may be the beginning of this needle, without all of it being there.
fn partial_len(bytes: &[u8], needle: &[u8]) -> usize {
    let longest = bytes.len().min(needle.len().saturating_sub(1));
    let begins = |len: &usize| needle.get(..*len).is_some_and(|it| bytes.ends_with(it));
    (SHORTEST..=longest).rev().find(begins).unwrap_or(0)
}

/// With everything percent-encoded that a query value may not have.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Without percent-encoding.
fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = tail.split_first_chunk::<2>().filter(|_| *first == b'%');
        let decoded = escaped.and_then(|(digits, after)| {
            Some((u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?, after))
        });
        let (byte, after) = decoded.unwrap_or((*first, tail));
        out.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&out).into_owned()
}

const SHORTEST: usize = 4;

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
