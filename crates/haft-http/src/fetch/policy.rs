//! The policy that decides which URLs can be fetched.

use std::net::IpAddr;

use reqwest::Url;

use super::address::{Network, canonical_address, non_public_kind};
use super::display_url;
use super::error::FetchError;
use crate::refusal::UrlRefusal;

/// Decides which URLs can be fetched. The application configures it.
///
/// The default allows https only, no user name or password in the URL, no redirects, any host, and only addresses on
/// the public Internet. Loopback, private, link-local, unique-local, carrier-grade NAT, multicast, documentation and
/// reserved addresses are refused, and so are metadata services and IPv4 addresses inside IPv6 addresses. A name is
/// checked by the addresses that it resolves to, and exactly those addresses are used for the connection, so a name
/// that changes its address (DNS rebinding) cannot bypass the check. Proxies of the environment are not used.
///
/// ```
/// use std::net::Ipv4Addr;
///
/// use haft_http::fetch::UrlPolicy;
///
/// // Media of a service on a private network.
/// let policy = UrlPolicy::public()
///     .only_hosts(["media.example.com", "*.cdn.example.com"])
///     .allow_network(Ipv4Addr::new(10, 20, 0, 0), 16);
/// # let _ = policy;
/// ```
#[derive(Clone, Debug, Default)]
pub struct UrlPolicy {
    allows_http: bool,
    pub(super) redirects: usize,
    hosts: Option<Vec<String>>,
    networks: Vec<Network>,
    allows_redirects_between_origins: bool,
}

impl UrlPolicy {
    /// The default: https to the public Internet.
    #[must_use]
    pub fn public() -> Self {
        Self::default()
    }

    /// Allows plain http as well, which every party on the route can read and modify.
    #[must_use]
    pub fn allow_http(mut self) -> Self {
        self.allows_http = true;
        self
    }

    /// Follows up to this many redirects. Each target is checked like the first URL and gets the headers of its own
    /// origin. A redirect from https to http is refused. With [`UrlPolicy::allow_network`], a redirect has to stay on
    /// the same scheme, host and port, so that one private service cannot choose what is read from another.
    #[must_use]
    pub fn allow_redirects(mut self, most: usize) -> Self {
        self.redirects = most;
        self
    }

    /// Allows redirects to other origins although the policy allows addresses that are not public. Use it only if every
    /// allowed private service may be read on behalf of every other one.
    #[must_use]
    pub fn allow_private_redirects(mut self) -> Self {
        self.allows_redirects_between_origins = true;
        self
    }

    /// Allows only these hosts: names, `*.name` for all subdomains of a name, or addresses. Their addresses are still
    /// checked.
    #[must_use]
    pub fn only_hosts<H: AsRef<str>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        let hosts = hosts.into_iter().map(|it| bare_host(it.as_ref()).to_ascii_lowercase());
        self.hosts = Some(hosts.collect());
        self
    }

    /// Allows the addresses that share the first `prefix` bits with this one, even if they are not public.
    #[must_use]
    pub fn allow_network(mut self, base: impl Into<IpAddr>, prefix: u8) -> Self {
        self.networks.push(Network::new(base.into(), prefix));
        self
    }

    /// Checks the target of a redirect that is about to be followed.
    pub(super) fn check_redirect(&self, from: &Url, to: &Url) -> Result<(), FetchError> {
        self.check(to)?;
        let stays = from.origin() == to.origin() || self.allows_redirects_between_origins;
        match stays || self.networks.is_empty() {
            true => Ok(()),
            false => {
                Err(FetchError::Refused { url: display_url(to), why: UrlRefusal::OtherOrigin })
            }
        }
    }

    /// Checks a URL. A name is checked again when it is resolved.
    pub(super) fn check(&self, url: &Url) -> Result<(), FetchError> {
        let refused = |why| Err(FetchError::Refused { url: display_url(url), why });
        match url.scheme() {
            "https" => {}
            "http" if self.allows_http => {}
            "http" => return refused(UrlRefusal::PlainHttp),
            _ => return refused(UrlRefusal::Scheme),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused(UrlRefusal::UserInfo);
        }
        let Some(host) = url.host_str().map(bare_host).filter(|host| !host.is_empty()) else {
            return refused(UrlRefusal::Host);
        };
        if !self.allows_host(host) {
            return refused(UrlRefusal::Host);
        }
        match host.parse() {
            Ok(address) => match self.refused_kind(address) {
                Some(sort) => refused(UrlRefusal::Address { sort, address }),
                None => Ok(()),
            },
            Err(_) => Ok(()),
        }
    }

    /// The kind of an address that the policy refuses.
    pub(super) fn refused_kind(&self, address: IpAddr) -> Option<&'static str> {
        let address = canonical_address(address);
        if self.networks.iter().any(|network| network.contains(address)) {
            return None;
        }
        non_public_kind(address)
    }

    fn allows_host(&self, host: &str) -> bool {
        let Some(allowed) = &self.hosts else { return true };
        allowed.iter().any(|it| match it.strip_prefix("*.") {
            Some(parent) => {
                host.strip_suffix(parent).is_some_and(|it| it.len() > 1 && it.ends_with('.'))
            }
            None => it == host,
        })
    }

    pub(super) const fn is_https_only(&self) -> bool {
        !self.allows_http
    }
}

/// A host without the brackets of an IPv6 address and without a trailing dot.
fn bare_host(host: &str) -> &str {
    let inner = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    inner.unwrap_or_else(|| host.strip_suffix('.').unwrap_or(host))
}
