//! What the larger events carry.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bound::{BoundedText, BoundedValue};
use super::wire::nanoseconds;
use crate::artifact::ArtifactKind;
use crate::call::{CallId, CallState, Handle, ToolCall, ToolResults};
use crate::clock::Timestamp;
use crate::error::{Coded, ErrorCode};
use crate::failure::causes_beyond;
use crate::gate::{GateDecision, GrantId};
use crate::store::StopReason;
use crate::usage::Usage;

/// A piece of a message or a thought.
///
/// Pieces of one stream, in order, are its text: each says where it begins. The whole text comes once,
/// with the last piece. [`Streams`](crate::stream::StreamTracker) makes these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StreamDelta {
    /// The stream.
    pub id: Arc<str>,
    /// When its first piece arrived.
    pub created_at: Timestamp,
    /// When this piece arrived.
    pub updated_at: Timestamp,
    /// This piece; often empty in the last one.
    #[serde(rename = "aDelta")]
    pub delta: Arc<str>,
    /// How many bytes of the text come before this piece.
    pub offset: u64,
    /// The whole text, only in the last piece of a stream that was not withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<Arc<str>>,
    /// The state of the stream.
    pub state: StreamState,
    /// Whether this is the last piece, whichever way the stream ended.
    pub is_complete: bool,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
}

/// The state of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StreamState {
    /// More may come.
    Open,
    /// It ended as it should.
    Sealed,
    /// It was withdrawn, because the model was asked again: forget its text.
    Superseded,
    /// It was aborted; its text is what arrived before that.
    Aborted,
}

/// A call as it becomes known: announced, perhaps in parts, and then completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCallReport {
    /// The call's record, where it is known when the call is announced; else a name that stays the
    /// same for all reports of the call.
    pub id: Arc<str>,
    /// The tool; empty until known.
    pub tool: BoundedText,
    /// The arguments as they were received; `None` until they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<BoundedValue>,
    /// Content key of the call; nothing until tool and arguments are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<CallId>,
    /// When it was announced.
    pub created_at: Timestamp,
    /// When this report was made.
    pub updated_at: Timestamp,
    /// Its outcome, without its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<ResultSummary>,
    /// Whether the call is over.
    pub is_complete: bool,
    /// Whether it failed.
    pub is_error: bool,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// The standing approval by which it ran, if no person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantId>,
}

impl ToolCallReport {
    /// The state of a call, with the handle that the model knows it by.
    #[must_use]
    pub fn of(call: &ToolCall, handle: Option<&Handle>) -> Self {
        let is_complete = call.state().is_final();
        Self {
            id: call.id().with_text(|text| text.into()),
            tool: Arc::clone(&call.tool).into(),
            args: call.raw().parsed().ok().map(Into::into),
            checksum: Some(call.call_id()),
            created_at: call.created_at,
            updated_at: call.updated_at,
            results: is_complete.then(|| ResultSummary::of(call, handle)),
            is_complete,
            is_error: call.error.is_some(),
            completed_at: call.completed_at,
            grant: call.grant,
        }
    }
}

/// The outcome of a call, without its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResultSummary {
    /// The state of the call.
    pub state: CallState,
    /// What sort of result it is.
    pub kind: ResultKind,
    /// How the first artifact is queried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactKind>,
    /// How many artifacts or media there are; one for text.
    pub count: usize,
    /// Their bytes together, where all are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The name by which the model asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<BoundedText>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorCode>,
    /// Why it failed, in the words that the model reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<BoundedText>,
}

/// The sorts of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ResultKind {
    /// Nothing.
    None,
    /// Text that the model sees.
    Text,
    /// Artifacts that the model queries.
    Artifacts,
    /// Media that the model sees.
    Media,
    /// A message about what went wrong.
    Error,
}

impl ResultSummary {
    /// The summary of a record, with the handle that the model knows it by.
    #[must_use]
    pub fn of(call: &ToolCall, handle: Option<&Handle>) -> Self {
        let mut summary = Self {
            state: call.state(),
            kind: ResultKind::None,
            artifact: None,
            count: 0,
            bytes: None,
            handle: handle.map(|it| it.shared().into()),
            error: call.error.as_ref().map(|it| it.code.clone()),
            message: call.error.as_ref().map(|it| it.message.as_str().into()),
        };
        match (&call.results, &call.error) {
            (Some(ToolResults::Text(text)), _) => {
                summary.kind = ResultKind::Text;
                summary.count = 1;
                summary.bytes = Some(text.len() as u64);
            }
            (Some(ToolResults::Artifacts(list)), _) => {
                summary.kind = ResultKind::Artifacts;
                summary.artifact = list.first().map(|it| it.kind().clone());
                summary.count = list.len();
                summary.bytes = Some(list.iter().map(|it| it.reader().byte_length()).sum());
            }
            (Some(ToolResults::Media(list)), _) => {
                summary.kind = ResultKind::Media;
                summary.count = list.len();
                summary.bytes = list.iter().map(crate::media::Media::byte_length).sum();
            }
            (None, Some(error)) => {
                summary.kind = ResultKind::Error;
                summary.count = 1;
                summary.bytes = Some(error.message.len() as u64);
            }
            (None, None) => {}
        }
        summary
    }
}

/// What a provider says about one generation. Everything is optional: providers differ.
///
/// ```
/// use haft_core::event::GenerationStats;
/// use haft_core::usage::Usage;
///
/// let stats = GenerationStats::new(Usage::new(100, 20)).model("small-1").finish_reason("stop");
/// assert_eq!(stats.usage.total, 120);
/// assert_eq!(stats.model.as_deref(), Some("small-1"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct GenerationStats {
    /// Token counts; zero if the provider reports none.
    #[serde(flatten)]
    pub usage: Usage,
    /// How long all of it took.
    #[serde(rename = "totalDurationNs", with = "nanoseconds")]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<u64>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_duration: Option<Duration>,
    /// How long loading the model took.
    #[serde(rename = "loadDurationNs", with = "nanoseconds")]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<u64>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_duration: Option<Duration>,
    /// How long reading the prompt took.
    #[serde(rename = "promptEvalDurationNs", with = "nanoseconds")]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<u64>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_eval_duration: Option<Duration>,
    /// How long writing took.
    #[serde(rename = "evalDurationNs", with = "nanoseconds")]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<u64>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eval_duration: Option<Duration>,
    /// Why the model stopped, in the provider's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<BoundedText>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<BoundedText>,
    /// The provider that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<BoundedText>,
    /// The provider's id of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<BoundedText>,
    /// What else the provider reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<BoundedValue>,
}

impl GenerationStats {
    /// Statistics that say what it cost. The rest is set by field or by the methods below.
    #[must_use]
    pub fn new(usage: Usage) -> Self {
        Self { usage, ..Self::default() }
    }

    /// The model that answered.
    #[must_use]
    pub fn model(mut self, name: impl Into<BoundedText>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// The provider that answered.
    #[must_use]
    pub fn provider(mut self, name: impl Into<BoundedText>) -> Self {
        self.provider = Some(name.into());
        self
    }

    /// The provider's id of the response.
    #[must_use]
    pub fn response_id(mut self, id: impl Into<BoundedText>) -> Self {
        self.response_id = Some(id.into());
        self
    }

    /// Why the model stopped, in the provider's words.
    #[must_use]
    pub fn finish_reason(mut self, reason: impl Into<BoundedText>) -> Self {
        self.finish_reason = Some(reason.into());
        self
    }

    /// What else the provider reported.
    #[must_use]
    pub fn raw(mut self, data: impl Into<BoundedValue>) -> Self {
        self.raw = Some(data.into());
        self
    }
}

/// An error as observers see it.
///
/// ```
/// use haft_core::error::codes;
/// use haft_core::event::ErrorReport;
///
/// let report = ErrorReport::coded(codes::LIMIT_REACHED, "too many calls").at("executor");
/// assert_eq!(report.message.as_str(), "too many calls");
/// assert_eq!(report.stage.as_deref(), Some("executor"));
/// assert!(!report.retryable);
/// assert!(ErrorReport::reason("the user said no").code.is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErrorReport {
    /// The stable code, or `None` for a reason in words that was not given a code yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// What went wrong.
    pub message: BoundedText,
    /// Where in the turn: the name of a pipeline or a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<BoundedText>,
    /// Whether the same operation may succeed when it is tried again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retryable: bool,
    /// The chain of causes, without what the message already says. For the operator; a model never sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<BoundedText>,
}

impl ErrorReport {
    /// The report of an error that has a code, with its causes.
    #[must_use]
    pub fn of(error: &(impl Coded + std::error::Error + ?Sized)) -> Self {
        let report = Self::coded(error.code(), BoundedText::display(error));
        Self { retryable: error.retryable(), ..report }.caused_by(error.source())
    }

    /// The report of an error that has a code and a message.
    #[must_use]
    pub fn coded(code: ErrorCode, message: impl Into<BoundedText>) -> Self {
        Self { retryable: code.retryable(), code: Some(code), ..Self::reason(message) }
    }

    /// The report of a reason in words.
    #[must_use]
    pub fn reason(message: impl Into<BoundedText>) -> Self {
        Self { code: None, message: message.into(), stage: None, retryable: false, cause: None }
    }

    /// Adds the causes, without what the message already says.
    #[must_use]
    pub fn caused_by(mut self, cause: Option<&(dyn std::error::Error + 'static)>) -> Self {
        self.cause = causes_beyond(&self.message, cause).map(Into::into);
        self
    }

    /// Gives a code to a report that has none.
    #[must_use]
    pub fn or_code(mut self, code: ErrorCode) -> Self {
        self.code.get_or_insert(code);
        self
    }

    /// Says where it happened.
    #[must_use]
    pub fn at(mut self, stage: impl Into<BoundedText>) -> Self {
        self.stage = Some(stage.into());
        self
    }
}

impl From<&ErrorReport> for StopReason {
    fn from(error: &ErrorReport) -> Self {
        let mut reason = Self::new(error.message.as_str());
        reason.code = error.code.as_ref().map(|it| it.as_str().to_owned());
        reason.stage = error.stage.as_ref().map(|it| it.as_str().to_owned());
        reason
    }
}

impl From<&str> for ErrorReport {
    fn from(reason: &str) -> Self {
        Self::reason(reason)
    }
}

impl From<String> for ErrorReport {
    fn from(reason: String) -> Self {
        Self::reason(reason)
    }
}

/// How a dispatch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DispatchStatus {
    /// It was acknowledged.
    Ack,
    /// It failed.
    Nack,
    /// It was cancelled.
    Aborted,
    /// A limit stopped it.
    LimitReached,
}

/// How a gate closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum GateResult {
    /// The gate was resolved.
    Resolved,
    /// The gate was rejected.
    Rejected,
    /// The turn was cancelled first.
    Aborted,
    /// No decision arrived in time.
    Timeout,
}

/// Observers see how a gate closed, and neither the value nor the reason.
impl From<&GateDecision> for GateResult {
    fn from(decision: &GateDecision) -> Self {
        match decision {
            GateDecision::Resolved { .. } => Self::Resolved,
            GateDecision::Rejected { .. } => Self::Rejected,
            GateDecision::Aborted => Self::Aborted,
            GateDecision::Timeout => Self::Timeout,
        }
    }
}

/// How much a log message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogLevel {
    /// Every step.
    Trace,
    /// For debugging.
    Debug,
    /// Worth knowing.
    Info,
    /// Something is not as it should be.
    Warn,
    /// Something failed.
    Error,
}
