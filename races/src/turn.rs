//! The bells of gates, and what stands for what they wait with.

pub(crate) mod gates;
pub(crate) mod watch;
