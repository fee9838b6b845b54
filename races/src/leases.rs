//! The renewal of leases.

#[expect(unused, reason = "this is a file of another crate, of which not all is used")]
#[path = "../../crates/haft/src/turn/lease.rs"]
mod lease;

mod tests;
