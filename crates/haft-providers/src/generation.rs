//! What a model generates: the events that a dialect decodes, and the generation that they add up to.
//!
//! ```
//! use haft_providers::generation::{FinishReason, GenerationAssembler, GenerationEvent, GenerationOutcome};
//!
//! let mut assembler = GenerationAssembler::new();
//! assembler.push(GenerationEvent::TextDelta("Hel"))?;
//! assembler.push(GenerationEvent::TextDelta("lo"))?;
//! assembler.push(GenerationEvent::Finish { finish: Some(FinishReason::Stop), reason: "stop" })?;
//! let (generation, outcome) = assembler.finish();
//! assert_eq!((generation.text.as_str(), outcome), ("Hello", GenerationOutcome::Completed));
//! # Ok::<(), haft_providers::generation::ResponseTooLarge>(())
//! ```

mod assembler;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use haft_core::usage::Usage;
use serde_json::Value;

pub use self::assembler::{
    GenerationAssembler, MAX_GENERATED_BYTES, MAX_GENERATED_CALLS, ResponseTooLarge,
};

/// One complete response of a model.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Generation {
    /// The visible text.
    pub text: String,
    /// The reasoning, by the channel in which it arrived, in the order in which the channels began.
    pub reasoning: Vec<GeneratedReasoning>,
    /// The calls, in the order of the model. Haft has not given them ids yet.
    pub calls: Vec<GeneratedCall>,
    /// Why the generation ended; `None` if the response was interrupted, or if the dialect does not know the reason.
    pub finish: Option<FinishReason>,
    /// Why the generation ended, in the words of the provider.
    pub finish_reason: Option<String>,
    /// The tokens that were used.
    pub usage: Usage,
    /// The model that responded.
    pub model: Option<String>,
    /// The provider's id of the response.
    pub id: Option<String>,
}

/// The reasoning of one channel.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GeneratedReasoning {
    /// The field or block in which it arrived.
    pub channel: String,
    /// The text.
    pub text: String,
    /// The payload that the provider wants back unchanged, and the tag of the dialects that understand it.
    pub opaque: Option<(Value, Arc<str>)>,
}

/// A call as the model wrote it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GeneratedCall {
    /// The provider's id.
    pub id: Option<String>,
    /// The name of the tool on the wire.
    pub name: String,
    /// The arguments, as text.
    pub arguments: String,
    /// Whether the provider reported that the call is complete.
    pub complete: bool,
    /// The payload that the provider wants back with the call, and the tag of the dialects that understand it.
    pub opaque: Option<(Value, Arc<str>)>,
}

/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// The response is complete.
    Stop,
    /// The model proposes calls.
    ToolCalls,
    /// The response reached the limit on its length.
    Length,
    /// The model refused.
    Refused,
    /// A content filter stopped the response.
    Filtered,
    /// The context window is full.
    ContextOverflow,
    /// The provider expects another request with what was generated so far.
    Paused,
}

/// The outcome of a generation. Only the first two are successes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GenerationOutcome {
    /// A complete response without calls.
    Completed,
    /// Calls to make.
    ToolCalls,
    /// The response was interrupted, or reached the limit on its length. Its calls must not be made.
    Truncated,
    /// The model refused.
    Refused,
    /// A content filter stopped it.
    Filtered,
    /// It ended without any content.
    Empty,
    /// The prompt did not fit.
    ContextOverflow,
}

impl GenerationOutcome {
    /// Its name in events and in observers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "answer",
            Self::ToolCalls => "tool-calls",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
            Self::Filtered => "filtered",
            Self::Empty => "empty",
            Self::ContextOverflow => "context-overflow",
        }
    }
}

/// What a decoder reads from a response, in order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GenerationEvent<'e> {
    /// The response begins.
    Start {
        /// The provider's id of the response.
        id: Option<&'e str>,
        /// The model.
        model: Option<&'e str>,
    },
    /// More of the visible text.
    TextDelta(&'e str),
    /// More of the reasoning.
    ReasoningDelta {
        /// The field or block in which it arrived.
        channel: &'e str,
        /// The text.
        text: &'e str,
    },
    /// The payload that the provider wants back with the reasoning of a channel.
    ReasoningPayload {
        /// The field or block.
        channel: &'e str,
        /// The payload, unchanged.
        payload: Value,
        /// The tag of the dialects that understand it.
        tag: &'static str,
    },
    /// A call, or more of one. A name is given once: a decoder that reads it twice reports it once.
    CallDelta {
        /// Distinguishes the calls of one response.
        slot: u32,
        /// The provider's id.
        id: Option<&'e str>,
        /// The name of the tool.
        name: Option<&'e str>,
        /// More of the arguments.
        arguments: &'e str,
    },
    /// The payload that the provider wants back with a call.
    CallPayload {
        /// The call.
        slot: u32,
        /// The payload, unchanged.
        payload: Value,
        /// The tag of the dialects that understand it.
        tag: &'static str,
    },
    /// A call is complete.
    CallEnd {
        /// The call.
        slot: u32,
    },
    /// The tokens used so far. Each event has all that is known; a field that is zero is unknown.
    Usage(Usage),
    /// Why the generation ended.
    Finish {
        /// The reason; `None` if the dialect does not know the provider's name for it.
        finish: Option<FinishReason>,
        /// The provider's name for the reason.
        reason: &'e str,
    },
    /// The response is complete.
    End,
}
