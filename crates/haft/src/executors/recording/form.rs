//! The serialized form of a recording.

use haft_core::args::RawArgs;
use haft_core::artifact::{ArtifactDraft, ArtifactKind};
use haft_core::call::{CallError, CallId, RecordId};
use haft_core::error::ErrorCode;
use haft_core::media::{Media, MediaReader as _, MemoryReader, ReaderResolvers};
use haft_core::spool::SpoolPayload;
use haft_core::step::{NextAction, ProposedCall, StepRequest};
use haft_core::tool::{ToolFailure, ToolOutput};
use haft_core::trust::TrustTier;
use haft_core::usage::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::InvalidRecording;

/// What every recording begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub(super) struct Versioned {
    format: String,
    version: u32,
}

impl Versioned {
    const FORMAT: &'static str = "haft-recording";
    const VERSION: u32 = 1;

    pub(super) fn new() -> Self {
        Self { format: Self::FORMAT.to_owned(), version: Self::VERSION }
    }

    pub(super) fn check(&self) -> Result<(), InvalidRecording> {
        if self.format != Self::FORMAT {
            let reason = format!("its format is `{}`, not `{}`", self.format, Self::FORMAT);
            return Err(InvalidRecording::Unreadable { reason });
        }
        match self.version {
            Self::VERSION => Ok(()),
            found => Err(InvalidRecording::OtherVersion { found, known: Self::VERSION }),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RecordingForm {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u32,
    pub(super) tools: Vec<ToolForm>,
    pub(super) steps: Vec<StepForm>,
    pub(super) calls: Vec<CallForm>,
}

/// A tool as the model saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ToolForm {
    pub(super) name: String,
    pub(super) description: String,
    /// JSON Schema text.
    pub(super) input_schema: String,
}

/// What an executor did in one iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct StepForm {
    pub(super) iteration: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) thoughts: Vec<ThoughtForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) messages: Vec<MessageForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<ProposalForm>,
    pub(super) then: NextAction,
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub(super) usage: Usage,
    /// Why the step was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<FailureForm>,
    /// The request with which it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<RequestForm>,
}

/// A request as it was sent. Most of it is the beginning of the request before, which is not repeated: a recording grows
/// with the turn, and not with its square.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RequestForm {
    pub(super) model: String,
    pub(super) sha256: String,
    /// How many bytes at its beginning are those of the request of the last step that has one.
    pub(super) shared_bytes: usize,
    /// The bytes after them.
    pub(super) rest: String,
}

impl RequestForm {
    /// The recorded form of a request that follows another one. A body that is not text is recorded by its hash alone.
    pub(super) fn of(request: &StepRequest, before: &str) -> Self {
        let text = std::str::from_utf8(&request.body).unwrap_or_default();
        let shared = before.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        let shared = (0..=shared).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let rest = text.split_at(shared).1.to_owned();
        let (model, sha256) = (request.model.clone(), request.sha256());
        Self { model, sha256, shared_bytes: shared, rest }
    }

    /// The body, if the request before was this one.
    pub(super) fn body(&self, before: &str) -> Option<String> {
        Some(before.get(..self.shared_bytes)?.to_owned() + &self.rest)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FailureForm {
    /// Nothing in recordings that say only that the executor failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<ErrorCode>,
    pub(super) message: String,
    pub(super) retryable: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ThoughtForm {
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) payload: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replay_compatibility: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MessageForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schemars", schemars(with = "Vec<Media>"))]
    pub(super) attachments: Vec<Value>,
}

/// A call that the model asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ProposalForm {
    pub(super) id: CallId,
    pub(super) tool: String,
    /// The text that was received.
    pub(super) args: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) provider_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) payload: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replay_compatibility: Option<String>,
}

impl ProposalForm {
    pub(super) fn of(call: &ProposedCall) -> Self {
        let payload = call.payload.as_ref();
        Self {
            id: call.args.call_id(&call.tool),
            tool: call.tool.clone(),
            args: call.args.to_text().into_owned(),
            provider_id: call.provider_id.clone(),
            payload: payload.map(|(payload, _)| payload.clone()),
            replay_compatibility: payload.map(|(_, tag)| tag.to_string()),
        }
    }

    pub(super) fn raw(&self) -> Result<RawArgs, InvalidRecording> {
        raw(&self.args, &self.tool, RecordId::first(self.id))
    }

    pub(super) fn to_proposed_call(&self) -> Result<ProposedCall, InvalidRecording> {
        let mut call = ProposedCall::new(self.tool.clone(), self.raw()?);
        call.provider_id.clone_from(&self.provider_id);
        let tag = self.replay_compatibility.as_deref().map(Into::into);
        call.payload = self.payload.clone().zip(tag);
        Ok(call)
    }
}

/// A call and its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CallForm {
    pub(super) id: RecordId,
    pub(super) tool: String,
    /// The text that was received.
    pub(super) args: String,
    pub(super) outcome: OutcomeForm,
}

impl CallForm {
    pub(super) fn raw(&self) -> Result<RawArgs, InvalidRecording> {
        raw(&self.args, &self.tool, self.id)
    }
}

fn raw(text: &str, tool: &str, id: RecordId) -> Result<RawArgs, InvalidRecording> {
    RawArgs::from_text_of(text, tool, id.call_id())
        .ok_or_else(|| InvalidRecording::Damaged { id: id.to_string(), tool: tool.to_owned() })
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum OutcomeForm {
    Text(String),
    Artifacts(Vec<PartForm>),
    Media(#[cfg_attr(feature = "schemars", schemars(with = "Vec<Media>"))] Vec<Value>),
    Error(CallError),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PartForm {
    pub(super) kind: ArtifactKind,
    pub(super) label: TrustTier,
    pub(super) content: ContentForm,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(super) enum ContentForm {
    Text(String),
    /// What [`MemoryReader`] says of itself: base64.
    Bytes(Value),
}

impl ContentForm {
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => {
                let reader = MemoryReader::new(error.into_bytes());
                Self::Bytes(reader.describe().map(|it| it.locator).unwrap_or_default())
            }
        }
    }

    fn payload(&self) -> Result<SpoolPayload, ToolFailure> {
        Ok(match self {
            Self::Text(text) => SpoolPayload::Text(text.clone()),
            Self::Bytes(locator) => {
                SpoolPayload::Stream(MemoryReader::from_locator(locator)?.open())
            }
        })
    }
}

impl OutcomeForm {
    /// The output of the handler of the call in a replay.
    pub(super) fn output(&self, tool: &str) -> Result<ToolOutput, ToolFailure> {
        match self {
            Self::Text(text) => Ok(ToolOutput::Text(text.clone())),
            Self::Artifacts(parts) => {
                let drafts = parts.iter().map(|part| {
                    let draft = ArtifactDraft::new(part.kind.clone(), part.content.payload()?);
                    Ok(draft.with_label(part.label))
                });
                drafts.collect::<Result<_, ToolFailure>>().map(ToolOutput::Artifacts)
            }
            Self::Media(all) => {
                let media = all.iter().map(open_media);
                Ok(ToolOutput::Media(media.collect::<Result<_, _>>()?))
            }
            Self::Error(error) => {
                // The executor says again who failed.
                let prefix = format!("`{tool}` failed: ");
                let words = error.message.strip_prefix(&prefix).unwrap_or(&error.message);
                let failure = ToolFailure::new(words);
                Err(if error.retryable { failure.retryable() } else { failure })
            }
        }
    }
}

/// A recorded media item, with the tier that was recorded.
pub(super) fn open_media(recorded: &Value) -> Result<Media, ToolFailure> {
    let mut media = Media::from_json(&recorded.to_string())?;
    media.open(&ReaderResolvers::default())?;
    Ok(media)
}
