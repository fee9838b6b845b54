//! The event hub.

#[expect(
    unused,
    unreachable_pub,
    clippy::needless_pass_by_ref_mut,
    reason = "these are files of another crate, of which not all is used"
)]
mod sources;

mod tests;
