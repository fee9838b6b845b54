//! What waits beside turns, and what stands for what it waits with.

pub(crate) mod gates;
pub(crate) mod lease_store;
pub(crate) mod leases;
pub(crate) mod watch;
