//! Whom a request was sent to and which page sent it, and which of both a server accepts.
//!
//! A server on loopback is reached by every page that its user opens. A name that an attacker controls can point to
//! loopback (DNS rebinding), so that the `Host` of a request decides whether the server is meant, and its `Origin` whether a
//! page of the server sent it. Both are read by one parser and compared as a whole.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use http::{Request, Uri};

/// A text that is no address of the expected form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
#[non_exhaustive]
pub struct InvalidAddress {
    /// What would be one.
    pub reason: &'static str,
}

/// A host and a port, as an address and a `Host` header have them: without a user and without a path.
///
/// ```
/// use haft_http::address::Authority;
///
/// let authority: Authority = "Localhost:8080".parse()?;
/// assert_eq!(authority.to_string(), "localhost:8080");
/// assert!("ada@localhost:8080".parse::<Authority>().is_err());
/// assert!("localhost:8080.example.com".parse::<Authority>().is_err());
/// # Ok::<(), haft_http::address::InvalidAddress>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// In lower case; addresses of IPv6 in their shortest form, in brackets.
    host: String,
    port: Option<u16>,
}

impl FromStr for Authority {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let invalid = InvalidAddress { reason: "it is no host with or without a port" };
        let end = text.rfind(']').map_or(0, |at| at + 1);
        let (bracketed, rest) = text.split_at_checked(end).ok_or(invalid)?;
        let (name, port) = match rest.split_once(':') {
            Some((name, port)) => (name, Some(parse_port(port).ok_or(invalid)?)),
            None => (rest, None),
        };
        let host = match (bracketed, name) {
            ("", name) if is_name(name) => name.to_ascii_lowercase(),
            (address, "") => parse_bracketed(address).ok_or(invalid)?,
            _ => return Err(invalid),
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

fn parse_port(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Whether a text is a name or an address of IPv4: labels of letters, digits, `-` and `_`, with dots between them.
fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_'))
    };
    text.len() <= MAX_NAME && text.split('.').all(is_label)
}

fn parse_bracketed(text: &str) -> Option<String> {
    let address = text.strip_prefix('[')?.strip_suffix(']')?;
    let address: Ipv6Addr = address.parse().ok()?;
    Some(format!("[{address}]"))
}

/// The longest name that DNS has.
const MAX_NAME: usize = 253;

/// Where a page comes from: `http` or `https`, a host and a port.
///
/// ```
/// use haft_http::address::WebOrigin;
///
/// let origin: WebOrigin = "https://app.example.com:443".parse()?;
/// assert_eq!(origin, "https://app.example.com".parse()?);
/// assert!("evil://app.example.com".parse::<WebOrigin>().is_err());
/// # Ok::<(), haft_http::address::InvalidAddress>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebOrigin {
    is_secure: bool,
    /// Always with its port.
    authority: Authority,
}

impl WebOrigin {
    fn new(is_secure: bool, mut authority: Authority) -> Self {
        authority.port.get_or_insert(if is_secure { 443 } else { 80 });
        Self { is_secure, authority }
    }
}

impl FromStr for WebOrigin {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let reason = "it is no origin such as `https://app.example.com` or `http://localhost:8080`";
        let (scheme, authority) = text.split_once("://").ok_or(InvalidAddress { reason })?;
        let is_secure = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(InvalidAddress { reason }),
        };
        let authority = authority.parse().map_err(|_| InvalidAddress { reason })?;
        Ok(Self::new(is_secure, authority))
    }
}

/// The hosts that a server answers to, and the pages whose requests it accepts.
///
/// Requests of programs have no `Origin`. A page of the server itself, which has the authority of `Host`, is accepted;
/// others must be listed.
///
/// ```
/// use haft_http::address::{AddressPolicy, AddressRefusal};
///
/// let policy = AddressPolicy::loopback(Some(8080));
/// let request = |host: &str| http::Request::get("/").header("host", host).body(()).unwrap();
/// assert_eq!(policy.check(&request("127.0.0.1:8080")), Ok(()));
/// assert_eq!(policy.check(&request("rebound.example:8080")), Err(AddressRefusal::Host));
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a policy does nothing until a request is checked"]
pub struct AddressPolicy {
    hosts: Vec<Authority>,
    origins: Vec<WebOrigin>,
    /// Whether the pages of the server may have come over TLS, which somebody else ended.
    is_behind_proxy: bool,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressRefusal {
    /// It does not say whom it is for.
    #[error("a request has one `Host`, and a path as its address")]
    Malformed,
    /// It is for another server.
    #[error("this server does not serve this host")]
    Host,
    /// A page of another site sent it.
    #[error("requests of other sites are refused")]
    Origin,
}

impl AddressPolicy {
    /// The names of this machine, at a port or at every port.
    pub fn loopback(port: Option<u16>) -> Self {
        let names = [Ipv4Addr::LOCALHOST.to_string(), "localhost".to_owned(), "[::1]".to_owned()];
        let hosts = names.map(|host| Authority { host, port }).into();
        Self { hosts, ..Self::default() }
    }

    /// A server whose pages come over http or, through a proxy, over https. It answers to no host yet.
    pub fn behind_proxy() -> Self {
        Self { is_behind_proxy: true, ..Self::default() }
    }

    /// Answers to a host as well. One without a port is meant at every port.
    pub fn allow_host(mut self, host: Authority) -> Self {
        self.hosts.push(host);
        self
    }

    /// Accepts requests of the pages of another origin.
    pub fn allow_origin(mut self, origin: WebOrigin) -> Self {
        self.origins.push(origin);
        self
    }

    /// Whether a request may be served.
    ///
    /// # Errors
    ///
    /// It is for another server, sent by a page of another site, or does not say whom it is for.
    pub fn check<B>(&self, request: &Request<B>) -> Result<(), AddressRefusal> {
        let host = requested_host(request.uri(), request.headers())?;
        let host: Authority = host.parse().map_err(|_| AddressRefusal::Host)?;
        let is_meant = |it: &Authority| {
            it.host == host.host && it.port.is_none_or(|port| host.port == Some(port))
        };
        if !self.hosts.iter().any(is_meant) {
            return Err(AddressRefusal::Host);
        }
        let Some(origin) =
            single(request.headers(), &ORIGIN).map_err(|_| AddressRefusal::Origin)?
        else {
            return Ok(());
        };
        let origin = origin.parse::<WebOrigin>().map_err(|_| AddressRefusal::Origin)?;
        let is_own = origin == WebOrigin::new(origin.is_secure, host)
            && (!origin.is_secure || self.is_behind_proxy);
        match is_own || self.origins.contains(&origin) {
            true => Ok(()),
            false => Err(AddressRefusal::Origin),
        }
    }
}

/// The `Host` of a request, whatever it says.
///
/// # Errors
///
/// There is none, more than one, or the address of the request names one too.
pub fn requested_host<'r>(
    address: &Uri,
    headers: &'r HeaderMap,
) -> Result<&'r str, AddressRefusal> {
    if address.authority().is_some() || address.scheme().is_some() {
        return Err(AddressRefusal::Malformed);
    }
    let host = single(headers, &HOST).map_err(|_| AddressRefusal::Malformed)?;
    host.ok_or(AddressRefusal::Malformed)
}

/// The only value of a header.
fn single<'r>(headers: &'r HeaderMap, name: &HeaderName) -> Result<Option<&'r str>, SeveralValues> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    match values.next() {
        None => Ok(Some(HeaderValue::to_str(value).unwrap_or(""))),
        Some(_) => Err(SeveralValues),
    }
}

/// A header occurs twice.
struct SeveralValues;
