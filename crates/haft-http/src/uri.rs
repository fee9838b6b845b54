//! What an address says before a request is sent.
//!
//! The functions take any text, because what they are given may come from a configuration file and may not be a URL at
//! all.

use std::net::IpAddr;

use http::Uri;

/// A text that is not the URI of a request. The message does not quote the text, which may contain credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
#[non_exhaustive]
pub struct InvalidUri {
    /// What is wrong with it.
    pub reason: String,
}

/// Reads the URI of a request. A URL whose host or path is written in other scripts is encoded as the URL standard
/// says, where the feature `client` is on.
///
/// ```
/// let uri = haft_http::uri::parse("https://api.example.com/v1?x=1").unwrap();
/// assert_eq!(uri.path(), "/v1");
/// assert!(haft_http::uri::parse("no address").is_err());
/// ```
///
/// # Errors
///
/// The text is not an absolute URI.
pub fn parse(text: &str) -> Result<Uri, InvalidUri> {
    let parsed = text.parse::<Uri>();
    match parsed {
        Ok(uri) if uri.scheme().is_some() => Ok(uri),
        Ok(_) => encode(text, "it has no scheme".to_owned()),
        Err(error) => encode(text, error.to_string()),
    }
}

#[cfg(feature = "client")]
fn encode(text: &str, _: String) -> Result<Uri, InvalidUri> {
    let invalid = |reason: String| InvalidUri { reason };
    let url = reqwest::Url::parse(text).map_err(|error| invalid(error.to_string()))?;
    url.as_str().parse().map_err(|error: http::uri::InvalidUri| invalid(error.to_string()))
}

#[cfg(not(feature = "client"))]
fn encode(_: &str, reason: String) -> Result<Uri, InvalidUri> {
    Err(InvalidUri { reason })
}

/// Returns host and port of a URL for messages. Nothing else of a URL is safe to print.
///
/// ```
/// assert_eq!(haft_http::uri::host("https://user:pass@example.com:8443/x?key=1"), "example.com:8443");
/// ```
#[must_use]
pub fn host(url: &str) -> String {
    let authority = split(url).authority;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.chars().filter(|it| !it.is_control()).take(MAX_HOST).collect()
}

/// Whether others can read on the way what is sent to a URL: it is not https, and the host is not this machine.
///
/// ```
/// use haft_http::uri::is_exposed;
///
/// assert!(is_exposed("http://example.com/"));
/// assert!(!is_exposed("https://example.com/") && !is_exposed("http://127.0.0.1:8080/"));
/// ```
#[must_use]
pub fn is_exposed(url: &str) -> bool {
    let scheme = split(url.trim_start()).scheme;
    !scheme.eq_ignore_ascii_case("https://") && !is_loopback(&host(url.trim_start()))
}

/// Whether a host, with or without a port, is this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    match name.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

/// The parts of a text that may be a URL.
pub(crate) struct UrlParts<'a> {
    /// With `://`; empty if there is none.
    pub(crate) scheme: &'a str,
    pub(crate) authority: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
}

/// Splits any text: what is printed may be no URL at all.
pub(crate) fn split(url: &str) -> UrlParts<'_> {
    let url = url.split_once('#').map_or(url, |(url, _)| url);
    let (url, query) = url.split_once('?').map_or((url, None), |(url, it)| (url, Some(it)));
    let start = url.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at_checked(start).unwrap_or(("", url));
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    UrlParts { scheme, authority, path, query }
}

/// The longest name that DNS has, and a port.
const MAX_HOST: usize = 260;
