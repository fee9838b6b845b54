//! The record of a call: the request, the outcome, and the state.

use crate::error::codes;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallId, RecordId};
use crate::artifact::SpooledArtifact;
use crate::clock::Timestamp;
use crate::error::{Coded, ErrorCode};
use crate::failure::bounded_message;
use crate::gate::GrantId;
use crate::json::{Document, OWN_DEPTH, OWN_TEXT, ValueKind};
use crate::media::{Media, ReaderResolvers};
use crate::record::{
    InvalidRecord, LoadError, Record, RecordFault, RecordFaults, RecordList, check_payload,
    nesting_depth, payload_fits,
};
use crate::schema::Change;
use crate::schema::args::{Args, RawArgs};
use crate::store::RowKind;
use crate::tier::{TrustTier, stored_tier};

/// The record of one call of a tool.
///
/// Every proposed call ends as exactly one record that the model sees: also one with arguments that were refused, of a
/// tool that does not exist, or that was cancelled. It contains the raw arguments, the accepted ones, and the changes
/// between them. The call id is computed, never given, so that it cannot be wrong.
///
/// ```
/// use std::num::NonZeroU32;
/// use haft_core::RawArgs;
/// use haft_core::call::{CallState, ToolCall};
/// use haft_core::clock::Timestamp;
///
/// let args = RawArgs::text(r#"{"city": "Paris"}"#);
/// let call = ToolCall::requested("get_weather", args, NonZeroU32::MIN, Timestamp::EPOCH);
/// assert_eq!((call.tool(), call.state()), ("get_weather", CallState::Requested));
/// assert_eq!(call.id().call_id(), call.call_id());
/// ```
///
/// Its arguments are stored as text, because a JSON value would lose digits of long integers, and because text that is not
/// JSON must be stored too. When a call is read, its id is computed again and compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolCall {
    pub(crate) id: RecordId,
    pub(crate) tool: Arc<str>,
    #[serde(with = "args_text")]
    pub(crate) raw: RawArgs,
    /// The arguments the handler got, or `None` if they were refused.
    #[serde(default, with = "accepted_text", skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Args>,
    /// The arguments that a person approved instead of the raw ones. Boxed, because few calls have them.
    #[serde(default, with = "edited_text", skip_serializing_if = "Option::is_none")]
    pub edited: Option<Box<RawArgs>>,
    /// The standing approval by which it ran, if no person was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantId>,
    /// What coercion changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    pub(crate) state: CallState,
    /// Its outcome, or `None` before the end and for calls that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<ToolResults>,
    /// Why it failed, in the words that the model sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CallError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<Box<str>>,
    #[serde(deserialize_with = "stored_tier")]
    pub(crate) label: TrustTier,
    /// Whether the tool was a query on artifacts, whose results are never queried themselves.
    pub from_artifact_tool: bool,
    /// Whether an artifact is shown to the model in full instead of as a handle.
    pub inline: bool,
    /// The iteration that asked for it, from zero.
    pub iteration: u32,
    /// Its place among the calls of the iteration, from zero.
    pub ordinal: u32,
    /// The id that the provider gave the call. It goes back to that provider and nowhere else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) payload: Option<Arc<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) replay_compatibility: Option<Arc<str>>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When the record changed last.
    pub updated_at: Timestamp,
    /// When its handler began, or `None` if it has not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// What its time was spent on.
    #[serde(default, skip_serializing_if = "CallTime::is_zero")]
    pub time: CallTime,
}

/// What the time of a call was spent on, in milliseconds. Waiting for other calls is neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CallTime {
    /// The work of its tool, from the beginning of the handler to the end of a streamed result.
    pub tool: u64,
    /// Waiting for the decisions of people, in all processes that ran the turn.
    pub person: u64,
}

impl CallTime {
    const fn is_zero(&self) -> bool {
        self.tool == 0 && self.person == 0
    }
}

/// The state of a call. States change in one direction; see [`ToolCall::advance`].
///
/// ```
/// use haft_core::call::CallState;
///
/// assert!(CallState::Requested.may_become(CallState::Approved));
/// assert!(!CallState::Succeeded.may_become(CallState::Requested));
/// assert!(CallState::Succeeded.is_final());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CallState {
    /// The model asked for it.
    Requested,
    /// Its arguments were accepted, and it was approved where that is required.
    Approved,
    /// Its handler runs.
    Running,
    /// It gave a result.
    Succeeded,
    /// It gave an error.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// Its handler was running when the process died, and what it did is unknown.
    Unknown,
}

/// What a call gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolResults {
    /// Text that the model sees as it is.
    Text(String),
    /// Artifacts, queried through handles. Never empty.
    Artifacts(Vec<SpooledArtifact>),
    /// Media, shown natively. Never empty.
    Media(Vec<Media>),
}

/// Why a call failed, as it is stored in the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CallError {
    /// The stable code.
    pub code: ErrorCode,
    /// The message that the model sees.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
}

/// A record cannot go from one state to the other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the call `{id}` is {from:?} and cannot become {to:?}")]
#[non_exhaustive]
pub struct IllegalTransition {
    /// The record.
    pub id: RecordId,
    /// Where it is.
    pub from: CallState,
    /// Where it was to go.
    pub to: CallState,
}

impl Coded for IllegalTransition {
    fn code(&self) -> ErrorCode {
        codes::INVALID_INITIAL_TOOL_CALL_VALUE
    }
}

/// The word that is stored.
impl std::fmt::Display for CallState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Requested => "requested",
            Self::Approved => "approved",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        })
    }
}

impl CallState {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Approved => "approved",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the call is over.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled | Self::Unknown)
    }

    /// Whether a call may change from this state to another. A call that has not begun can fail (refused) or be
    /// cancelled; only a running one can succeed or become unknown.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Requested => matches!(next, Self::Approved | Self::Failed | Self::Cancelled),
            Self::Approved => matches!(next, Self::Running | Self::Failed | Self::Cancelled),
            Self::Running => next.is_final(),
            Self::Succeeded | Self::Failed | Self::Cancelled | Self::Unknown => false,
        }
    }
}

impl ToolCall {
    /// The record of a newly requested call. `occurrence` distinguishes equal calls of one turn; see
    /// [`OccurrenceCounter`](super::OccurrenceCounter).
    #[must_use]
    pub fn requested(
        tool: impl Into<String>,
        raw: RawArgs,
        occurrence: std::num::NonZeroU32,
        at: Timestamp,
    ) -> Self {
        let tool = Arc::<str>::from(tool.into());
        let id = RecordId::new(raw.call_id(&tool), occurrence);
        Self::requested_with_id(id, tool, raw, at)
    }

    /// The record of a call that was just requested and whose id is known.
    pub(crate) fn requested_with_id(
        id: RecordId,
        tool: Arc<str>,
        raw: RawArgs,
        at: Timestamp,
    ) -> Self {
        Self {
            id,
            tool,
            raw,
            accepted: None,
            edited: None,
            grant: None,
            changes: Vec::new(),
            state: CallState::Requested,
            results: None,
            error: None,
            cause: None,
            label: TrustTier::UNTRUSTED,
            from_artifact_tool: false,
            inline: false,
            iteration: 0,
            ordinal: 0,
            provider_id: None,
            payload: None,
            replay_compatibility: None,
            created_at: at,
            updated_at: at,
            started_at: None,
            completed_at: None,
            time: CallTime::default(),
        }
    }

    /// Sets where it was requested: the iteration, and the position among its calls, both counted from zero.
    #[must_use]
    pub fn at_place(mut self, iteration: u32, ordinal: u32) -> Self {
        (self.iteration, self.ordinal) = (iteration, ordinal);
        self
    }

    /// Notes the arguments that a person approved instead of the raw ones, as JSON text.
    #[must_use]
    pub fn with_edited(mut self, arguments: &str) -> Self {
        self.edited = Some(Box::new(RawArgs::text(arguments)));
        self
    }

    /// Notes the standing approval by which the call runs.
    #[must_use]
    pub const fn with_grant(mut self, grant: GrantId) -> Self {
        self.grant = Some(grant);
        self
    }

    /// The arguments that the tool is called with: the edited ones, or else the raw ones.
    #[must_use]
    pub fn proposed(&self) -> &RawArgs {
        self.edited.as_deref().unwrap_or(&self.raw)
    }

    /// Sets the id that the provider gave the call.
    #[must_use]
    pub fn with_provider_id(mut self, id: impl Into<String>) -> Self {
        self.provider_id = Some(id.into());
        self
    }

    /// Sets a value that the provider wants back unchanged, and the tag of the providers that understand it. `null`
    /// counts as no value; there can be a tag without a value.
    ///
    /// # Errors
    ///
    /// The tag is empty, or the value is nested too deeply.
    pub fn with_payload(
        mut self,
        payload: Value,
        replay_compatibility: impl Into<Arc<str>>,
    ) -> Result<Self, InvalidRecord> {
        self.payload = Some(payload).filter(|it| !it.is_null()).map(Arc::new);
        self.replay_compatibility = Some(replay_compatibility.into());
        let mut faults = RecordFaults::default();
        check_payload(self.payload(), self.replay_compatibility.as_ref(), &mut faults);
        faults.end("tool call", codes::INVALID_INITIAL_TOOL_CALL_VALUE)?;
        Ok(self)
    }

    /// Names the media among the results that have no name yet.
    pub(crate) fn name_media(&mut self) {
        if let Some(ToolResults::Media(all)) = &mut self.results {
            for (n, media) in all.iter_mut().enumerate() {
                media.assign_id(self.id, n);
            }
        }
    }

    /// Whether a medium among the results has no name yet.
    pub(crate) fn has_unnamed_media(&self) -> bool {
        matches!(&self.results, Some(ToolResults::Media(all)) if all.iter().any(|it| it.id().is_none()))
    }

    /// The record in any state, however it got there.
    #[cfg(test)]
    pub(crate) fn in_state(mut self, state: CallState, label: TrustTier, at: Timestamp) -> Self {
        (self.state, self.label, self.updated_at) = (state, label, at);
        self.completed_at = Some(at).filter(|_| state.is_final());
        self
    }

    /// The record of a call that ended without a result. A call that has already ended stays unchanged.
    #[must_use]
    pub fn ended(mut self, state: CallState, error: CallError, at: Timestamp) -> Self {
        if self.state.is_final() || !state.is_final() || state == CallState::Succeeded {
            return self;
        }
        self.state = state;
        self.label = TrustTier::UNTRUSTED;
        (self.results, self.error, self.cause) = (None, Some(error), None);
        (self.updated_at, self.completed_at) = (at, Some(at));
        self
    }

    /// Records what made a failed call fail, for the operator: the chain of errors, or the message of a panic. The text
    /// is truncated to 4 KiB, is not stored if the message for the model says the same, and is never sent to a model.
    #[must_use]
    pub fn with_cause(mut self, cause: Option<String>) -> Self {
        let said = self.error.as_ref().map(|error| error.message.as_str());
        self.cause = cause
            .filter(|cause| !cause.is_empty() && said.is_some_and(|said| !said.contains(cause)))
            .map(|cause| bounded_message(cause).into());
        self
    }

    /// What made the call fail, for the operator, or `None` if the message of [`error`](Self::error) says it all.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    /// Ends a call that had succeeded until its result could not be stored.
    pub(crate) fn fail(self, error: CallError) -> Self {
        self.end_without_result(CallState::Failed, error)
    }

    /// Ends a call that must not be repeated and whose result could not be stored: it had its effect.
    pub(crate) fn end_unknown(self, error: CallError) -> Self {
        self.end_without_result(CallState::Unknown, error)
    }

    /// Sets when a call ended whose result was still streamed.
    pub(crate) fn end_at(&mut self, at: Timestamp) {
        self.updated_at = at;
        self.completed_at = Some(at);
    }

    fn end_without_result(mut self, state: CallState, error: CallError) -> Self {
        self.state = state;
        self.label = TrustTier::UNTRUSTED;
        self.results = None;
        self.error = Some(error);
        self
    }

    /// Name of the record, unique in its turn.
    #[must_use]
    pub const fn id(&self) -> RecordId {
        self.id
    }

    /// The content key of the call.
    #[must_use]
    pub const fn call_id(&self) -> CallId {
        self.id.call_id()
    }

    /// The tool that was called. It need not exist.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The arguments as they were received.
    #[must_use]
    pub fn raw(&self) -> &RawArgs {
        &self.raw
    }

    /// The text of its result, or `None` if it has no result, or artifacts or media.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use haft_core::RawArgs;
    /// use haft_core::call::{ToolCall, ToolResults};
    /// use haft_core::clock::Timestamp;
    ///
    /// let mut call = ToolCall::requested("add", RawArgs::text("{}"), NonZeroU32::MIN, Timestamp::EPOCH);
    /// assert_eq!(call.text(), None);
    /// call.results = Some(ToolResults::Text("42".to_owned()));
    /// assert_eq!(call.text(), Some("42"));
    /// ```
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.results {
            Some(ToolResults::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// How much the call's own text may be trusted, fixed when it ran: registering another tool under the name later
    /// changes nothing. Errors are never trusted, and media have labels of their own.
    #[must_use]
    pub const fn label(&self) -> TrustTier {
        self.label
    }

    /// What the provider wants back unchanged; never `null`.
    #[must_use]
    pub fn payload(&self) -> Option<&Value> {
        self.payload.as_deref()
    }

    /// The tag of those who understand the payload.
    #[must_use]
    pub fn replay_compatibility(&self) -> Option<&str> {
        self.replay_compatibility.as_deref()
    }

    /// Whether the payload can be sent to a provider that understands these tags. A call without a tag, or with the tag
    /// `plain-text`, can be sent to any provider.
    #[must_use]
    pub fn replays_with(&self, understood: &[&str]) -> bool {
        payload_fits(self.replay_compatibility(), understood)
    }

    /// The state of the call.
    #[must_use]
    pub const fn state(&self) -> CallState {
        self.state
    }

    /// Moves the call to another state.
    ///
    /// # Errors
    ///
    /// The states do not follow each other; the record is unchanged.
    pub fn advance(&mut self, to: CallState, at: Timestamp) -> Result<(), IllegalTransition> {
        if !self.state.may_become(to) {
            return Err(IllegalTransition { id: self.id, from: self.state, to });
        }
        self.state = to;
        self.updated_at = at;
        if to.is_final() {
            self.completed_at = Some(at);
        }
        Ok(())
    }
}

impl Record for ToolCall {
    type Id = RecordId;

    const KIND: RowKind = RowKind::ToolCall;

    fn key(&self) -> RecordId {
        self.id
    }

    fn check(&self) -> Result<(), InvalidRecord> {
        let mut faults = RecordFaults::default();
        let wrong = [
            (
                self.state.is_final() != self.completed_at.is_some(),
                "`completedAt` belongs to calls that have ended, and to all of them",
            ),
            (
                (self.state == CallState::Succeeded) != self.results.is_some(),
                "`results` belong to calls that succeeded, and to all of them",
            ),
            (
                self.state == CallState::Failed && self.error.is_none(),
                "a call that failed has an `error`",
            ),
            (
                self.error.is_some() && !(self.state.is_final() && self.results.is_none()),
                "`error` belongs to calls that have ended without results",
            ),
            (
                self.cause.is_some() && self.error.is_none(),
                "`cause` belongs to calls that have an `error`",
            ),
            (
                self.from_artifact_tool
                    && !matches!(self.results, None | Some(ToolResults::Text(_))),
                "a query on artifacts answers with text",
            ),
            (
                matches!(&self.results, Some(ToolResults::Artifacts(all)) if all.is_empty())
                    || matches!(&self.results, Some(ToolResults::Media(all)) if all.is_empty()),
                "a list of `results` is empty",
            ),
            (
                self.accepted.as_ref().is_some_and(|it| it.root().kind() != ValueKind::Object),
                "`accepted` is not an object",
            ),
        ];
        for (bad, what) in wrong {
            faults.add_if(bad, RecordFault::Mismatch(what));
        }
        if let Some(ToolResults::Media(media)) = &self.results {
            faults.media("results", media);
        }
        check_payload(self.payload(), self.replay_compatibility.as_ref(), &mut faults);
        check_extent("raw", &self.raw.to_text(), self.raw.parsed().is_ok(), &mut faults);
        if let Some(accepted) = &self.accepted {
            check_extent("accepted", &accepted.to_string(), true, &mut faults);
        }
        faults.end("tool call", codes::INVALID_INITIAL_TOOL_CALL_VALUE)
    }

    fn restored(mut self) -> Result<Self, LoadError> {
        if self.raw.call_id(&self.tool) == self.call_id() {
            return Ok(self);
        }
        let text = self.raw.to_text().into_owned();
        self.raw = RawArgs::from_text_of(&text, &self.tool, self.call_id()).ok_or_else(|| {
            let reason = "its id is not that of its tool and its raw arguments";
            LoadError::damaged(Self::KIND, reason)
        })?;
        Ok(self)
    }

    async fn open(&mut self, readers: &ReaderResolvers) -> Result<(), LoadError> {
        match &mut self.results {
            Some(ToolResults::Artifacts(all)) => {
                for artifact in all {
                    *artifact = readers.open_artifact(artifact).await?;
                }
            }
            Some(ToolResults::Media(all)) => {
                for media in all {
                    media.open(readers)?;
                }
            }
            Some(ToolResults::Text(_)) | None => {}
        }
        Ok(())
    }
}

/// Finds JSON text that could not be parsed again.
fn check_extent(field: &'static str, text: &str, is_json: bool, faults: &mut RecordFaults) {
    if !is_json {
        return;
    }
    faults.add_if(text.len() > OWN_TEXT, RecordFault::TooLong { field });
    faults.add_if(nesting_depth(text) > OWN_DEPTH, RecordFault::TooDeep { field });
}

/// Arguments as text.
mod args_text {
    use std::borrow::Cow;

    use super::{Deserialize, RawArgs};

    pub(super) fn serialize<S: serde::Serializer>(raw: &RawArgs, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&raw.to_text())
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        from: D,
    ) -> Result<RawArgs, D::Error> {
        Ok(RawArgs::text(&Cow::<str>::deserialize(from)?))
    }
}

/// Accepted arguments as text.
mod accepted_text {
    use std::borrow::Cow;

    use serde::de::Error as _;

    use super::{Args, Deserialize, Document};

    pub(super) fn serialize<S: serde::Serializer>(
        accepted: &Option<Args>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match accepted {
            Some(args) => to.serialize_some(&args.to_string()),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Args>, D::Error> {
        let text = Option::<Cow<'de, str>>::deserialize(from)?;
        let document = text.map(|text| Document::parse_own(&text)).transpose();
        Ok(document.map_err(D::Error::custom)?.map(Args::new))
    }
}

/// Edited arguments as text.
mod edited_text {
    use std::borrow::Cow;

    use super::{Deserialize, RawArgs};

    pub(super) fn serialize<S: serde::Serializer>(
        edited: &Option<Box<RawArgs>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match edited {
            Some(raw) => to.serialize_some(&raw.to_text()),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Box<RawArgs>>, D::Error> {
        let text = Option::<Cow<'de, str>>::deserialize(from)?;
        Ok(text.map(|text| Box::new(RawArgs::text(&text))))
    }
}

impl RecordList<ToolCall> {
    /// How often a call is in the list. It is computed from the list, so that it is correct after every change.
    #[must_use]
    pub fn call_count(&self, id: CallId) -> usize {
        self.count_keys(|key| key.call_id() == id)
    }
}

impl CallError {
    /// An error that no tool made.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>, retryable: bool) -> Self {
        Self { code, message: message.into(), retryable }
    }
}
