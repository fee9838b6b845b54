//! Who renews leases, and who has lost one.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;

use haft_core::clock::Timestamp;
use shuttle::future;
use shuttle::sync::Mutex;

#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) turn: &'static str,
}

pub(crate) enum StoreError {
    LeaseLost {},
    Unknown {},
}

pub(crate) type Renewed = Pin<Box<dyn Future<Output = Result<Lease, StoreError>> + Send>>;

pub(crate) trait Store: Send + Sync {
    fn renew(&self, lease: Lease, now: Timestamp) -> Renewed;
}

/// A store that counts.
#[derive(Default)]
pub(crate) struct Counting {
    pub(crate) renewed: Mutex<HashMap<&'static str, usize>>,
    pub(crate) lost: HashSet<&'static str>,
}

impl Counting {
    pub(crate) fn renewals(&self, turn: &str) -> usize {
        self.renewed.lock().unwrap().get(turn).copied().unwrap_or_default()
    }
}

impl Store for Counting {
    fn renew(&self, lease: Lease, _: Timestamp) -> Renewed {
        *self.renewed.lock().unwrap().entry(lease.turn).or_default() += 1;
        let answer = match lease.turn {
            "unknown" => Err(StoreError::Unknown {}),
            turn if self.lost.contains(turn) => Err(StoreError::LeaseLost {}),
            _ => Ok(lease),
        };
        Box::pin(async move {
            future::yield_now().await;
            answer
        })
    }
}
