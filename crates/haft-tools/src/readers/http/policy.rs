//! Which URLs may be read.

use std::net::IpAddr;

use reqwest::Url;

use super::address::{Network, not_public, plain};
use super::error::{FetchError, RefusedUrl};
use super::shown;

/// Which URLs may be read. The application owns it.
///
/// By default: https only, no user name or password in the URL, no redirects, any host, and only
/// addresses of the public Internet. Loopback, private, link-local, unique-local, carrier-grade NAT,
/// multicast, documentation and reserved addresses are refused, and so are metadata services and IPv4
/// addresses that are written as IPv6. Names are checked by the addresses that they resolve to, at the
/// moment of the connection and with no look-up in between, so that a name which changes its address
/// gains nothing. Proxies of the environment are not used.
///
/// ```
/// use std::net::Ipv4Addr;
///
/// use haft_tools::readers::UrlPolicy;
///
/// // Media of one's own service, on a private network.
/// let policy = UrlPolicy::public()
///     .only_hosts(["media.example.com", "*.cdn.example.com"])
///     .allow_network(Ipv4Addr::new(10, 20, 0, 0), 16);
/// # let _ = policy;
/// ```
#[derive(Clone, Debug, Default)]
pub struct UrlPolicy {
    http: bool,
    pub(super) redirects: usize,
    hosts: Option<Vec<String>>,
    networks: Vec<Network>,
}

impl UrlPolicy {
    /// The default: https to the public Internet.
    #[must_use]
    pub fn public() -> Self {
        Self::default()
    }

    /// Allows http too, which anybody on the way can read and change.
    #[must_use]
    pub fn allow_http(mut self) -> Self {
        self.http = true;
        self
    }

    /// Follows up to this many redirects. Each is checked as the first URL was, gets the headers of its
    /// own origin, and never leads from https to http.
    #[must_use]
    pub fn allow_redirects(mut self, most: usize) -> Self {
        self.redirects = most;
        self
    }

    /// Allows these hosts and no others: names, `*.name` for all names below a name, or addresses. Their
    /// addresses are checked all the same.
    #[must_use]
    pub fn only_hosts<H: AsRef<str>>(mut self, hosts: impl IntoIterator<Item = H>) -> Self {
        let hosts = hosts.into_iter().map(|it| bare(it.as_ref()).to_ascii_lowercase());
        self.hosts = Some(hosts.collect());
        self
    }

    /// Allows the addresses that share the first `prefix` bits with this one, although they are not of
    /// the public Internet.
    #[must_use]
    pub fn allow_network(mut self, base: impl Into<IpAddr>, prefix: u8) -> Self {
        self.networks.push(Network::new(base.into(), prefix));
        self
    }

    /// Checks everything that can be seen in a URL. Names are checked again when they are resolved.
    pub(super) fn check(&self, url: &Url) -> Result<(), FetchError> {
        let refused = |why| Err(FetchError::Refused { url: shown(url), why });
        match url.scheme() {
            "https" => {}
            "http" if self.http => {}
            "http" => return refused(RefusedUrl::PlainHttp),
            _ => return refused(RefusedUrl::Scheme),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused(RefusedUrl::UserInfo);
        }
        let Some(host) = url.host_str().map(bare).filter(|host| !host.is_empty()) else {
            return refused(RefusedUrl::Host);
        };
        if !self.allows_host(host) {
            return refused(RefusedUrl::Host);
        }
        match host.parse() {
            Ok(address) => match self.refuses(address) {
                Some(sort) => refused(RefusedUrl::Address { sort, address }),
                None => Ok(()),
            },
            Err(_) => Ok(()),
        }
    }

    /// What sort of address it is, if it may not be connected to.
    pub(super) fn refuses(&self, address: IpAddr) -> Option<&'static str> {
        let address = plain(address);
        if self.networks.iter().any(|network| network.contains(address)) {
            return None;
        }
        not_public(address)
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
        !self.http
    }
}

/// A host without the brackets of IPv6 and without the dot of the root.
fn bare(host: &str) -> &str {
    let inner = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    inner.unwrap_or_else(|| host.strip_suffix('.').unwrap_or(host))
}
