//! Calls of tools, and the ids that name them.
//!
//! [`CallId`] is the content key: equal calls have equal ids, on every machine and in every run.
//! [`RecordId`] names one record, so that the repeat of an equal call has its own. [`Handle`] is the
//! short form that the model sees. [`ToolCall`] is the record itself.

mod record;

#[cfg(test)]
mod tests;

pub use crate::id::{CallId, Handle, HandleTable, IdempotencyKey, OccurrenceCounter, RecordId};

pub use record::{CallError, CallState, CallTime, IllegalTransition, ToolCall, ToolResults};
