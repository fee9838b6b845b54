//! The event hub.

#[expect(
    unused,
    unreachable_pub,
    reason = "these are files of another crate, of which not all is used"
)]
mod sources;

mod tests;
