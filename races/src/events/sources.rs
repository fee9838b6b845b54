//! The files of the event hub, next to each other as in `haft`.

#[path = "../../../crates/haft/src/events/filter.rs"]
pub(crate) mod filter;
#[path = "../../../crates/haft/src/events/hub.rs"]
pub(crate) mod hub;
#[path = "../../../crates/haft/src/events/subscription.rs"]
pub(crate) mod subscription;
