//! Executors that need no model: scripts, recordings and forks.
//!
//! - [`ScriptExecutor`] takes its steps from a text that a person wrote. It replaces the model when none is configured,
//!   and in tests.
//! - [`RecordingExecutor`] records the steps of another executor, and [`Recording::replay`] repeats them, with tools
//!   whose handlers never run.
//! - [`Fork`] repeats the first steps of a stored turn in a new turn and leaves the rest to another executor.

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
    MAX_STREAM_BYTES, StreamError, StreamPart, StreamReport, StreamTracker,
};

pub use self::fork::{Fork, ForkExecutor, LaterCalls};
pub use self::recording::{
    InvalidRecording, NotReplayable, Recording, RecordingError, RecordingExecutor,
    ReplayDifference, ReplayExecutor,
};
pub use self::script::{InvalidScript, PlannedCall, Script, ScriptExecutor, ScriptFault};
