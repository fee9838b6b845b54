//! The event hub.

#[expect(
    unused,
    unreachable_pub,
    clippy::needless_pass_by_ref_mut,
    reason = "these are lines of another crate, of which not all are used"
)]
mod events {
    include!(concat!(env!("OUT_DIR"), "/events.rs"));
}

mod tests;
