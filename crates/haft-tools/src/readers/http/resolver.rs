//! Names to addresses, of which only those that are allowed are handed on.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::error::RefusedUrl;
use super::policy::UrlPolicy;

pub(super) type Lookup =
    dyn Fn(String) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> + Send + Sync;

/// Asks the system.
pub(super) fn system() -> Arc<Lookup> {
    Arc::new(|host| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|it| it.ip()).collect())
        })
    })
}

/// Resolves for connections: what it gives is what is connected to.
pub(super) struct CheckedResolver {
    pub(super) policy: Arc<UrlPolicy>,
    pub(super) lookup: Arc<Lookup>,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = (self.lookup)(name.as_str().to_owned());
        let policy = Arc::clone(&self.policy);
        Box::pin(async move {
            let mut allowed = Vec::new();
            let mut refused = None;
            for address in found.await? {
                match policy.refuses(address) {
                    None => allowed.push(SocketAddr::new(address, 0)),
                    Some(sort) => refused = Some(RefusedUrl::Address { sort, address }),
                }
            }
            match refused {
                Some(why) if allowed.is_empty() => Err(RefusedName(why).into()),
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}

/// A name that has no address which is allowed.
#[derive(Clone, Debug)]
pub(super) struct RefusedName(pub(super) RefusedUrl);

impl std::error::Error for RefusedName {}

impl fmt::Display for RefusedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The refusal that is somewhere among the causes of an error.
pub(super) fn refusal(error: &(dyn std::error::Error + 'static)) -> Option<RefusedUrl> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(RefusedName(why)) = error.downcast_ref() {
            return Some(why.clone());
        }
        next = error.source();
    }
    None
}
