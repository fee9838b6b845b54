//! Haft's own variants: the one place where each benchmark gets its `ours`.
//!
//! A benchmark without one leaves the row out and prints `null` for `ours` and `ratio`.

use serde_json::Value;

use crate::{agreement::Disagreements, measure::Variant};

/// Dispatch of the three-field call: parse, validate, coerce, call id, two events, panic guard,
/// typed handler. Answers the handler's text.
pub(crate) fn dispatch_small(_text: &'static str) -> Option<Variant> {
    None
}

/// Dispatch of the forty-field call, as [`dispatch_small`].
pub(crate) fn dispatch_large(_text: &'static str) -> Option<Variant> {
    None
}

/// The call id of a tool and its parsed arguments. Answers lower-case hex.
pub(crate) fn call_id(_tool: &str, _args: &Value) -> Option<Variant> {
    None
}

/// Disagreements between the schema shown and the decoder, over all shapes and `documents`.
pub(crate) fn disagreements(_documents: &[Value]) -> Option<Disagreements> {
    None
}
