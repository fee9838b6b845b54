//! The things that can happen.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bound::{BoundedText, BoundedValue};
use super::report::{
    DispatchStatus, ErrorReport, GateResult, GenerationStats, LogLevel, StreamDelta, ToolCallReport,
};
use super::wire::{milliseconds, whole_milliseconds};
use crate::call::CallId;
use crate::clock::Timestamp;
use crate::error::ErrorCode;
use crate::gate::GrantId;
use crate::id::ToolName;
use crate::schema::{Change, Problems};
use crate::store::TurnStatus;
use crate::usage::Usage;

/// The things that can happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum EventKind {
    /// A piece of a message.
    Message(StreamDelta),
    /// A piece of a thought.
    Thought(StreamDelta),
    /// A call was announced, or completed.
    ToolCall(ToolCallReport),
    /// A turn began.
    TurnStart {},
    /// A turn ended, whichever way.
    TurnEnd {
        /// How it ended.
        status: TurnStatus,
        /// What went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorReport>,
        /// Whether only this attempt to run the turn ended, and the turn can be resumed.
        #[serde(default, skip_serializing_if = "is_false")]
        resumable: bool,
        /// How many iterations it had.
        iterations: u32,
        /// What it cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// When it began.
        started_at: Timestamp,
        /// How long it took.
        #[serde(rename = "durationMs", with = "milliseconds")]
        #[cfg_attr(feature = "schemars", schemars(with = "f64"))]
        duration: Duration,
    },
    /// A dispatch began.
    DispatchStart {},
    /// A dispatch ended, whichever way.
    DispatchEnd {
        /// How it ended.
        status: DispatchStatus,
        /// What went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorReport>,
        /// How many iterations it had.
        iterations: u32,
        /// What it cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// When it began.
        started_at: Timestamp,
        /// How long it took.
        #[serde(rename = "durationMs", with = "milliseconds")]
        #[cfg_attr(feature = "schemars", schemars(with = "f64"))]
        duration: Duration,
    },
    /// An iteration began.
    IterationStart {},
    /// An iteration ended, whichever way.
    IterationEnd {
        /// What it cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// When it began.
        started_at: Timestamp,
        /// How long it took.
        #[serde(rename = "durationMs", with = "milliseconds")]
        #[cfg_attr(feature = "schemars", schemars(with = "f64"))]
        duration: Duration,
    },
    /// The arguments of a call were accepted and its handler is about to run.
    ToolExecutionStart {
        /// The tool.
        tool_name: ToolName,
        /// Content key of the call.
        call_id: CallId,
        /// The accepted arguments.
        args: BoundedValue,
        /// What coercion changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<Change>,
        /// How many changes are not listed.
        #[serde(default, skip_serializing_if = "is_zero")]
        changes_left_out: usize,
        /// When the call began.
        started_at: Timestamp,
    },
    /// A handler has ended.
    ToolExecutionEnd {
        /// The tool.
        tool_name: ToolName,
        /// Content key of the call, the same as at the start.
        call_id: CallId,
        /// When the call began.
        started_at: Timestamp,
        /// How long it took.
        #[serde(rename = "durationMs", with = "milliseconds")]
        #[cfg_attr(feature = "schemars", schemars(with = "f64"))]
        duration: Duration,
        /// Whether it failed.
        is_error: bool,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ErrorCode>,
        /// What made it fail, for the operator: the chain of errors, or the message of a panic. The model does not see
        /// it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<BoundedText>,
    },
    /// The arguments of a call were refused; the handler was not called.
    ToolExecutionRejected {
        /// The tool.
        tool_name: ToolName,
        /// Content key of the call.
        call_id: CallId,
        /// Every problem.
        problems: Problems,
    },
    /// A gate waits for an answer.
    TurnGateOpen {
        /// The gate.
        gate_id: Arc<str>,
        /// Why the turn asks.
        reason: BoundedText,
        /// What the answer is about.
        payload: BoundedValue,
        /// JSON Schema of the answer; the gate's record has it whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<BoundedValue>,
        /// How long it waits.
        #[serde(rename = "timeoutMs", with = "whole_milliseconds")]
        #[cfg_attr(feature = "schemars", schemars(with = "Option<u64>"))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<Duration>,
    },
    /// A gate waits no longer.
    TurnGateClosed {
        /// The gate.
        gate_id: Arc<str>,
        /// How it closed.
        result: GateResult,
        /// The standing approval that closed it, if no person was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<GrantId>,
    },
    /// What a provider says about one generation.
    GenerationStats(GenerationStats),
    /// Something that a handler or middleware wants to be seen.
    Log {
        /// How much it matters.
        level: LogLevel,
        /// What sort of message it is, for filters.
        #[serde(rename = "kind")]
        topic: BoundedText,
        /// The message.
        message: BoundedText,
        /// Data that goes with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<BoundedValue>,
    },
    /// The agent did something with less than it should have had.
    Warning {
        /// The part that noticed.
        source: BoundedText,
        /// What sort of warning it is, for filters.
        #[serde(rename = "kind")]
        topic: BoundedText,
        /// The message.
        message: BoundedText,
        /// Data that goes with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<BoundedValue>,
    },
    /// Something failed that is not the failure of a tool.
    Error(ErrorReport),
}

macro_rules! names {
    ($($name:ident = $text:literal;)*) => {
        /// The names of events.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub enum EventName {
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl EventName {
            /// All names.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name as it is written in events.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }

        impl EventKind {
            /// Its name.
            #[must_use]
            pub const fn name(&self) -> EventName {
                match self { $(Self::$name { .. } => EventName::$name,)* }
            }
        }
    };
}

names! {
    Message = "message";
    Thought = "thought";
    ToolCall = "toolCall";
    TurnStart = "turnStart";
    TurnEnd = "turnEnd";
    DispatchStart = "dispatchStart";
    DispatchEnd = "dispatchEnd";
    IterationStart = "iterationStart";
    IterationEnd = "iterationEnd";
    ToolExecutionStart = "toolExecutionStart";
    ToolExecutionEnd = "toolExecutionEnd";
    ToolExecutionRejected = "toolExecutionRejected";
    TurnGateOpen = "turnGateOpen";
    TurnGateClosed = "turnGateClosed";
    GenerationStats = "generationStats";
    Log = "log";
    Warning = "warning";
    Error = "error";
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl EventKind {
    /// A log entry; its texts are bounded.
    pub(crate) fn log(
        level: LogLevel,
        topic: &str,
        message: &str,
        payload: Option<serde_json::Value>,
    ) -> Self {
        let payload = payload.map(Into::into);
        Self::Log { level, topic: topic.into(), message: message.into(), payload }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
