//! The event hub of Haft, for a scheduler that tries interleavings: the lines of `haft::events` with the locks and
//! counters of `shuttle`, which decides at each of them which thread goes on.

#[cfg(test)]
#[expect(
    unused,
    unreachable_pub,
    clippy::needless_pass_by_ref_mut,
    reason = "these are lines of another crate, of which not all are used"
)]
mod events {
    include!(concat!(env!("OUT_DIR"), "/events.rs"));
}

#[cfg(test)]
mod tests;
