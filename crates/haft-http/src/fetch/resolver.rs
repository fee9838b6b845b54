//! Resolves names, and returns only the addresses that the policy allows.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::policy::UrlPolicy;
use crate::refusal::{RefusedNameError, UrlRefusal};

pub(super) type Lookup =
    dyn Fn(String) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> + Send + Sync;

/// Resolves names with the operating system.
pub(super) fn system_lookup() -> Arc<Lookup> {
    Arc::new(|host| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|it| it.ip()).collect())
        })
    })
}

/// The resolver of the client: connections use exactly the addresses that it returns.
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
                match policy.refused_kind(address) {
                    None => allowed.push(SocketAddr::new(address, 0)),
                    Some(sort) => refused = Some(UrlRefusal::Address { sort, address }),
                }
            }
            match refused {
                Some(why) if allowed.is_empty() => Err(RefusedNameError(why).into()),
                _ => Ok(Box::new(allowed.into_iter()) as Addrs),
            }
        })
    }
}
