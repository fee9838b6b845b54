//! The event hub of Haft, for a scheduler that tries interleavings: the lines of `haft::events` with the locks and
//! counters of `shuttle`, which decides at each of them which thread goes on.

#[cfg(test)]
#[allow(
    unused,
    unreachable_pub,
    clippy::all,
    clippy::nursery,
    reason = "these are lines of another crate"
)]
mod events {
    include!(concat!(env!("OUT_DIR"), "/events.rs"));
}

#[cfg(test)]
mod tests;
