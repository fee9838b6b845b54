//! Which calls of one step may run in parallel.

use haft_core::call::ToolCall;
use haft_core::tool::{Concurrency, Tool};

/// Which calls must not run in parallel.
pub(super) enum ConcurrencyClass {
    Parallel,
    Exclusive,
    Keyed(String),
}

impl ConcurrencyClass {
    pub(super) fn of(tool: &Tool, call: &ToolCall) -> Self {
        match tool.concurrency() {
            Concurrency::Exclusive => Self::Exclusive,
            Concurrency::Keyed(pointer) => {
                let key = call.raw().to_value().pointer(pointer).map(ToString::to_string);
                Self::Keyed(key.unwrap_or_default())
            }
            _ => Self::Parallel,
        }
    }

    pub(super) fn conflicts_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exclusive, _) | (_, Self::Exclusive) => true,
            (Self::Keyed(one), Self::Keyed(other)) => one == other,
            _ => false,
        }
    }
}
