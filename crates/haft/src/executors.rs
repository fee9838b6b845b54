//! Executors that need no model: a script, and what was recorded before.
//!
//! - [`ScriptExecutor`] takes its steps from a text that a person wrote. It is what runs when no model is
//!   configured, and the double of a model in tests.
//! - [`RecordingExecutor`] writes down what another executor does, and [`Recording::replay`] gives it back, with
//!   tools whose handlers never run.
//! - [`Fork`] repeats the first steps of a stored turn in a new one and leaves the rest to another executor.

mod difference;
mod fork;
mod recorded_tool;
mod recording;
mod results;
mod script;

#[doc(inline)]
pub use haft_core::step::{
    DispatchExecutor, ExecutorDescription, NextAction, ProposedCall, Step, StepContext, StepError,
    StepRequest,
};
#[doc(inline)]
pub use haft_core::stream::{
    MAX_STREAM_BYTES, StreamError, StreamPart, StreamReport, StreamTracker, ToolCallUpdate,
};

pub use self::fork::{Fork, ForkExecutor, LaterCalls};
pub use self::recording::{
    InvalidRecording, NotReplayable, Recording, RecordingError, RecordingExecutor,
    ReplayDifference, ReplayExecutor,
};
pub use self::script::{InvalidScript, PlannedCall, Script, ScriptExecutor, ScriptFault};
