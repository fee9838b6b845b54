//! Records of a turn: messages, memories, thoughts, retrieved texts, and tool calls with their ids.

#[doc(inline)]
pub use haft_core::call::{
    CallError, CallId, CallState, Handle, HandleTable, IdempotencyKey, IllegalTransition,
    OccurrenceCounter, RecordId, ToolCall, ToolResults,
};
#[doc(inline)]
pub use haft_core::record::{
    Identifier, Identity, InvalidRecord, LoadError, Memory, Message, MessageRole, NotStorable,
    Record, RecordFault, RecordList, RecordName, RecordSequence, Retrievable, RetrievableContent,
    Text, Thought,
};
