//! What a request says, before a dialect writes it.
//!
//! A [`Prompt`] holds rendered text only ([`PromptText`]), so that no dialect can put a string of somebody into
//! a request, and a medium only if the dialect can show it. Its order is the order of the request: the beginning
//! is the same from one request to the next, which is what caches of providers live on.

use std::borrow::Cow;
use std::sync::Arc;

use haft_core::args::RawArgs;
use haft_core::call::RecordId;
use haft_core::json::ValueKind;
use haft_core::media::{Media, MediaKind};
use haft_core::tool::Tool;
use haft_core::trust::{MediaFrame, PromptText, sanitized_file_name, sanitized_mime_type};
use serde_json::{Value, json};

/// Everything that a request says to the model.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Prompt {
    /// What stands before the timeline: the system prompt, and the buckets before it.
    pub system: Vec<SystemPart>,
    /// What was said and done, oldest first.
    pub timeline: Vec<Entry>,
    /// The buckets behind the timeline.
    pub trailing: Vec<SystemPart>,
    /// The tools that the model may call, in the order of their registry.
    pub tools: Vec<OfferedTool>,
}

/// A part of the system text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SystemPart {
    /// What it is.
    pub bucket: Bucket,
    /// The text. Never empty.
    pub text: PromptText,
}

impl SystemPart {
    /// A part of a bucket.
    #[must_use]
    pub fn new(bucket: Bucket, text: PromptText) -> Self {
        Self { bucket, text }
    }
}

/// Where a part of the prompt comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Bucket {
    /// The system prompt.
    SystemPrompt,
    /// Standing instructions.
    StandingInstructions,
    /// Memories.
    Memories,
    /// Retrieved records.
    Retrievables,
    /// Messages, thoughts and calls.
    Timeline,
    /// The schemas of tools.
    Tools,
}

/// Something in the timeline.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Entry {
    /// Somebody speaks to the model: a user, or another agent, whose words are never put into the model's own
    /// mouth.
    Heard(Heard),
    /// The model itself: one generation, with its thoughts, its words and its calls.
    Own(Own),
    /// The results of the calls of the generation before, one for each, in the order of the calls.
    Results(Vec<CallResult>),
}

/// What somebody said to the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Heard {
    /// Who, where the wire has a place for a name: letters, digits, `_` and `-`, at most 64.
    pub name: Option<String>,
    /// What. Never empty.
    pub content: Vec<Content>,
}

impl Heard {
    /// What the one user said, who needs no name.
    #[must_use]
    pub fn new(content: Vec<Content>) -> Self {
        Self { name: None, content }
    }

    /// The same, with a name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }
}

/// What the model said in one generation.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Own {
    /// What it thought.
    pub thoughts: Vec<OwnThought>,
    /// What it said.
    pub content: Vec<Content>,
    /// What it wanted to be called, in its order.
    pub calls: Vec<OwnCall>,
}

impl Own {
    /// A generation that only said something.
    #[must_use]
    pub fn new(content: Vec<Content>) -> Self {
        Self { content, ..Self::default() }
    }

    /// The same, with what was thought.
    #[must_use]
    pub fn thinking(self, thoughts: Vec<OwnThought>) -> Self {
        Self { thoughts, ..self }
    }

    /// The same, with what was called.
    #[must_use]
    pub fn calling(self, calls: Vec<OwnCall>) -> Self {
        Self { calls, ..self }
    }
}

/// A thought of the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OwnThought {
    /// As text, in an envelope.
    Text(PromptText),
    /// As the provider gave it, for the provider that gave it. It is sent as it came or not at all.
    Opaque(Arc<Value>),
}

/// A call of the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OwnCall {
    /// The record. Its result names it.
    pub id: RecordId,
    /// The id for the wire, unique in the prompt: the provider's own where it gave one that is.
    pub wire_id: String,
    /// The tool's name on the wire.
    pub wire_name: Arc<str>,
    /// The arguments as the model wrote them: a JSON object, or the text that was not one.
    pub args: CallArgs,
    /// What the provider wants back with the call, for the provider that gave it.
    pub opaque: Option<Arc<Value>>,
}

impl OwnCall {
    /// A call that was recorded under this id, with its id and its tool's name on the wire.
    #[must_use]
    pub fn new(
        id: RecordId,
        wire_id: impl Into<String>,
        wire_name: impl Into<Arc<str>>,
        args: CallArgs,
    ) -> Self {
        Self { id, wire_id: wire_id.into(), wire_name: wire_name.into(), args, opaque: None }
    }
}

/// Arguments of a call that was made, as the model wrote them: no key moves and no digit is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallArgs {
    /// The text of a JSON object.
    Object(String),
    /// What came instead.
    Broken(String),
}

impl CallArgs {
    /// The arguments as they came.
    #[must_use]
    pub fn of(raw: &RawArgs) -> Self {
        let text = raw.to_text().into_owned();
        match raw.parsed() {
            Ok(args) if args.root().kind() == ValueKind::Object => Self::Object(text),
            _ => Self::Broken(text),
        }
    }

    /// The text of a JSON object in any case: what is none stands in one under `invalid_arguments`, because
    /// providers refuse a whole request for one broken call of the past.
    #[must_use]
    pub fn to_json(&self) -> Cow<'_, str> {
        match self {
            Self::Object(text) => text.into(),
            Self::Broken(text) => json!({ "invalid_arguments": text }).to_string().into(),
        }
    }
}

/// What came of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallResult {
    /// The record.
    pub id: RecordId,
    /// The same id as that of the call.
    pub wire_id: String,
    /// The tool's name on the wire.
    pub wire_name: Arc<str>,
    /// Whether the call failed.
    pub is_error: bool,
    /// What is shown. Never empty.
    pub content: Vec<Content>,
}

impl CallResult {
    /// What came of a call that succeeded.
    #[must_use]
    pub fn of(call: &OwnCall, content: Vec<Content>) -> Self {
        Self {
            id: call.id,
            wire_id: call.wire_id.clone(),
            wire_name: Arc::clone(&call.wire_name),
            is_error: false,
            content,
        }
    }

    /// The same, of one that failed.
    #[must_use]
    pub fn failed(self) -> Self {
        Self { is_error: true, ..self }
    }
}

/// A piece of what is shown.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(PromptText),
    /// A medium that the dialect said it can show.
    Media(NativeMedia),
}

/// A medium with its bytes, and the text that frames it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NativeMedia {
    /// What it is.
    pub kind: MediaKind,
    /// Its type, fit for a header.
    pub mime_type: String,
    /// Its name, fit to be shown.
    pub filename: String,
    /// Its bytes.
    pub base64: Arc<str>,
    /// What stands before and behind it.
    pub frame: MediaFrame,
}

impl NativeMedia {
    /// The bytes of a medium as base64, and what frames them.
    #[must_use]
    pub fn new(media: &Media, base64: impl Into<Arc<str>>, frame: MediaFrame) -> Self {
        Self {
            kind: media.kind(),
            mime_type: sanitized_mime_type(media.mime_type()).to_owned(),
            filename: sanitized_file_name(media.filename()),
            base64: base64.into(),
            frame,
        }
    }
}

/// A tool as it is offered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OfferedTool {
    /// Its name on the wire: letters, digits, `_` and `-`, at most 64.
    pub wire_name: Arc<str>,
    /// The tool.
    pub tool: Tool,
}

impl OfferedTool {
    /// A tool by its name on the wire.
    #[must_use]
    pub fn new(wire_name: impl Into<Arc<str>>, tool: Tool) -> Self {
        Self { wire_name: wire_name.into(), tool }
    }
}

/// Where a medium stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// In what somebody said to the model.
    Heard,
    /// In what the model said.
    Own,
    /// In the result of a call.
    Result,
}
