//! What comes back from a model, put together.

mod assembler;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use haft_core::usage::Usage;
use serde_json::Value;

pub use self::assembler::{AnswerTooLarge, Assembler, MAX_BYTES, MAX_CALLS};

/// One answer of a model, whole.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Generation {
    /// The visible text.
    pub text: String,
    /// What it thought, by the channel it came in, in the order in which the channels began.
    pub reasoning: Vec<Reasoning>,
    /// The calls, in the model's order. None has an id of ours yet.
    pub calls: Vec<GeneratedCall>,
    /// Why it ended; nothing if it did not end but break off.
    pub finish: Option<Finish>,
    /// Why it ended, in the provider's words.
    pub finish_reason: Option<String>,
    /// What it cost.
    pub usage: Usage,
    /// The model that answered.
    pub model: Option<String>,
    /// The provider's id of the answer.
    pub id: Option<String>,
}

/// A line of thought.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Reasoning {
    /// The field or block it came in.
    pub channel: String,
    /// The text.
    pub text: String,
    /// What the provider wants back as it came, and the tag of those who understand it.
    pub opaque: Option<(Value, Arc<str>)>,
}

/// A call as the model wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GeneratedCall {
    /// The provider's id.
    pub id: Option<String>,
    /// The tool's name on the wire.
    pub name: String,
    /// The arguments, as text.
    pub arguments: String,
    /// Whether the provider said that the call is complete.
    pub complete: bool,
    /// What the provider wants back with the call, and the tag of those who understand it.
    pub opaque: Option<(Value, Arc<str>)>,
}

/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Finish {
    /// The model had said all.
    Stop,
    /// The model wants calls to be made.
    ToolCalls,
    /// The answer is longer than allowed.
    Length,
    /// The model refused.
    Refused,
    /// Somebody filtered the answer.
    Filtered,
    /// The context window is full.
    ContextOverflow,
    /// The provider wants to be asked again with what it said so far.
    Paused,
}

/// What came of a generation. Only the first two are successes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// There is an answer.
    Answer,
    /// There are calls to make.
    ToolCalls,
    /// It broke off, or was longer than allowed. Its calls must not be made.
    Truncated,
    /// The model refused.
    Refused,
    /// Somebody filtered it.
    Filtered,
    /// It ended and said nothing.
    Empty,
    /// The prompt did not fit.
    ContextOverflow,
}

impl Outcome {
    /// Its word in events and observers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::ToolCalls => "tool-calls",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
            Self::Filtered => "filtered",
            Self::Empty => "empty",
            Self::ContextOverflow => "context-overflow",
        }
    }
}

/// What a decoder says of a stream, piece by piece.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'e> {
    /// Who answers.
    Begin {
        /// The provider's id of the answer.
        id: Option<&'e str>,
        /// The model.
        model: Option<&'e str>,
    },
    /// A piece of the visible text.
    Text(&'e str),
    /// A piece of a thought.
    Reasoning {
        /// The field or block it came in.
        channel: &'e str,
        /// The piece.
        text: &'e str,
    },
    /// What the provider wants back with a thought.
    ReasoningOpaque {
        /// The field or block.
        channel: &'e str,
        /// What, as it came.
        payload: Value,
        /// The tag of those who understand it.
        tag: &'static str,
    },
    /// A call, or more of one. Names are given once; a decoder that sees one twice says it once.
    Call {
        /// Tells the calls of one answer apart.
        slot: u32,
        /// The provider's id.
        id: Option<&'e str>,
        /// The name of the tool.
        name: Option<&'e str>,
        /// A piece of the arguments.
        arguments: &'e str,
    },
    /// What the provider wants back with a call.
    CallOpaque {
        /// Which call.
        slot: u32,
        /// What, as it came.
        payload: Value,
        /// The tag of those who understand it.
        tag: &'static str,
    },
    /// A call is complete.
    CallEnd {
        /// Which.
        slot: u32,
    },
    /// What it cost so far. Each says all that is known; a field that is zero is not known.
    Usage(Usage),
    /// Why it ended.
    Finish {
        /// As we see it; nothing if we do not know the word.
        finish: Option<Finish>,
        /// In the provider's words.
        reason: &'e str,
    },
    /// The stream is over, as it should be.
    End,
}
