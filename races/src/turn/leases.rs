//! The leases of turns.

use super::{lease_store, watch};

#[expect(unused, reason = "these are lines of another crate, of which not all are used")]
pub(crate) mod lease {
    include!(concat!(env!("OUT_DIR"), "/leases.rs"));
}

mod tests;
