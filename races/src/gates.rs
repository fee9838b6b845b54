//! The notification of turns whose gates were settled.

#[path = "../../crates/haft/src/turn/gates/notifier.rs"]
mod notifier;

mod tests;
