//! What a request says, before a dialect encodes it.
//!
//! A [`Prompt`] contains rendered text only ([`PromptText`]), so that no dialect can put untrusted text into a request
//! without its envelope, and it contains media only if the dialect supports them. Its order is the order of the request:
//! the beginning is the same from one request to the next, which is what the prompt caches of providers rely on.
//!
//! ```
//! use haft_core::trust::{EnvelopeKey, PromptRenderer};
//! use haft_providers::prompt::{ContentPart, Prompt, PromptEntry, UserEntry};
//!
//! let renderer = PromptRenderer::new(EnvelopeKey::from_bytes([7; 32]));
//! let text = renderer.spoken_text("What is the weather?");
//! let mut prompt = Prompt::default();
//! prompt.timeline.push(PromptEntry::User(UserEntry::new(vec![ContentPart::Text(text)])));
//! assert_eq!(prompt.timeline.len(), 1);
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use haft_core::args::RawArgs;
use haft_core::call::{RecordId, ToolCall};
use haft_core::json::ValueKind;
use haft_core::media::{Media, MediaKind};
use haft_core::tool::{OfferPoint, Tool};
use haft_core::trust::{
    MediaFrame, PromptRenderer, PromptText, TrustTier, sanitized_definition, sanitized_file_name,
    sanitized_mime_type,
};
use serde_json::{Value, json};

/// The content of a request to the model.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Prompt {
    /// The system prompt, and the sections before the timeline.
    pub system: Vec<SystemPart>,
    /// Messages, generations and results, oldest first.
    pub timeline: Vec<PromptEntry>,
    /// The sections after the timeline.
    pub trailing: Vec<SystemPart>,
    /// The tools that the model sees. Within a turn the list only grows at its end.
    pub tools: Vec<OfferedTool>,
}

/// A part of the system text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SystemPart {
    /// The section that it belongs to.
    pub section: PromptSection,
    /// The text. Never empty.
    pub text: PromptText,
}

impl SystemPart {
    /// A part of a section.
    #[must_use]
    pub fn new(section: PromptSection, text: PromptText) -> Self {
        Self { section, text }
    }
}

/// A section of the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PromptSection {
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

/// An entry of the timeline.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PromptEntry {
    /// A message to the model from a user or from another agent. The words of another agent are never attributed to the
    /// model itself.
    User(UserEntry),
    /// One generation of the model, with its thoughts, its text and its calls.
    Assistant(AssistantEntry),
    /// The results of the calls of the generation before, one for each, in the order of the calls.
    ToolResults(Vec<CallResult>),
}

/// A message to the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UserEntry {
    /// The name of the author, where the wire has a field for it: letters, digits, `_` and `-`, at most 64.
    pub name: Option<String>,
    /// The content. Never empty.
    pub content: Vec<ContentPart>,
}

impl UserEntry {
    /// A message of the only user, who needs no name.
    #[must_use]
    pub fn new(content: Vec<ContentPart>) -> Self {
        Self { name: None, content }
    }

    /// Sets the name of the author.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }
}

/// One generation of the model.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AssistantEntry {
    /// Its thoughts.
    pub thoughts: Vec<AssistantThought>,
    /// Its text.
    pub content: Vec<ContentPart>,
    /// Its calls, in the order of the model.
    pub calls: Vec<AssistantCall>,
}

impl AssistantEntry {
    /// A generation that is only text.
    #[must_use]
    pub fn new(content: Vec<ContentPart>) -> Self {
        Self { content, ..Self::default() }
    }

    /// Sets the thoughts.
    #[must_use]
    pub fn with_thoughts(self, thoughts: Vec<AssistantThought>) -> Self {
        Self { thoughts, ..self }
    }

    /// Sets the calls.
    #[must_use]
    pub fn with_calls(self, calls: Vec<AssistantCall>) -> Self {
        Self { calls, ..self }
    }
}

/// A thought of the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AssistantThought {
    /// As text, in an envelope.
    Text(PromptText),
    /// The payload of the provider that produced it, for that provider only. It is sent unchanged or not at all.
    Opaque(Arc<Value>),
}

/// A call of the model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AssistantCall {
    /// The id of the record. The result has the same.
    pub id: RecordId,
    /// The id on the wire, unique in the prompt: the id that the provider gave, if that is unique and valid.
    pub wire_id: String,
    /// The name of the tool on the wire.
    pub wire_name: Arc<str>,
    /// The arguments as the model wrote them: a JSON object, or the text that was not one.
    pub args: CallArgs,
    /// The payload that the provider wants back with the call, for the provider that produced it.
    pub opaque: Option<Arc<Value>>,
}

impl AssistantCall {
    /// A call that was recorded under this id, with its id and the name of its tool on the wire.
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

/// The arguments of a recorded call, as the model wrote them: the order of keys and the digits of numbers remain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallArgs {
    /// The text of a JSON object.
    Object(Arc<str>),
    /// A text that is not a JSON object.
    Invalid(Arc<str>),
}

impl CallArgs {
    /// The arguments of a record: as the model wrote them if they are a JSON object, else as they ran. Text that was
    /// repaired or coerced before it ran is shown as what it became, so that the model sees what was executed.
    #[must_use]
    pub fn of_call(call: &ToolCall) -> Self {
        match (Self::from_raw(call.raw()), &call.accepted) {
            (Self::Invalid(_), Some(accepted)) => Self::Object(accepted.to_string().into()),
            (args, _) => args,
        }
    }

    /// The text, whether it is an object or not.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Object(text) | Self::Invalid(text) => text,
        }
    }

    /// Raw arguments.
    #[must_use]
    pub fn from_raw(raw: &RawArgs) -> Self {
        let text = raw.to_text().as_ref().into();
        match raw.parsed() {
            Ok(args) if args.root().kind() == ValueKind::Object => Self::Object(text),
            _ => Self::Invalid(text),
        }
    }

    /// Returns the arguments with reserved tags and control tokens in their strings made inert, as the renderer does it.
    pub(crate) fn cleaned(self, renderer: &PromptRenderer) -> Self {
        let clean = |text: Arc<str>| match renderer.call_args(&text) {
            Cow::Owned(clean) => clean.into(),
            Cow::Borrowed(_) => text,
        };
        match self {
            Self::Object(text) => Self::Object(clean(text)),
            Self::Invalid(text) => Self::Invalid(clean(text)),
        }
    }

    /// Returns the text of a JSON object in any case. A text that is not one is wrapped in an object under
    /// `invalid_arguments`, because providers refuse a whole request for one malformed call of the past.
    #[must_use]
    pub fn to_json(&self) -> Cow<'_, str> {
        match self {
            Self::Object(text) => Cow::Borrowed(text),
            Self::Invalid(text) => json!({ "invalid_arguments": &**text }).to_string().into(),
        }
    }
}

/// The result of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallResult {
    /// The id of the record.
    pub id: RecordId,
    /// The id of the call on the wire.
    pub wire_id: String,
    /// The name of the tool on the wire.
    pub wire_name: Arc<str>,
    /// Whether the call failed.
    pub is_error: bool,
    /// What the model is shown. Never empty.
    pub content: Vec<ContentPart>,
}

impl CallResult {
    /// The result of a call that succeeded.
    #[must_use]
    pub fn new(call: &AssistantCall, content: Vec<ContentPart>) -> Self {
        Self {
            id: call.id,
            wire_id: call.wire_id.clone(),
            wire_name: Arc::clone(&call.wire_name),
            is_error: false,
            content,
        }
    }

    /// Marks the call as failed.
    #[must_use]
    pub fn into_error(self) -> Self {
        Self { is_error: true, ..self }
    }
}

/// A part of the content of an entry.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ContentPart {
    /// Text.
    Text(PromptText),
    /// Media that the dialect supports at this position.
    Media(NativeMedia),
}

/// Media with their bytes, and the text that frames them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NativeMedia {
    /// The kind.
    pub kind: MediaKind,
    /// The media type, safe for a header.
    pub mime_type: String,
    /// The file name, safe to be shown.
    pub filename: String,
    /// The bytes.
    pub base64: Arc<str>,
    /// The text before and after the media.
    pub frame: MediaFrame,
}

impl NativeMedia {
    /// Media as base64, with the text that frames them.
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

/// A tool that the model may call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OfferedTool {
    /// Its name on the wire: letters, digits, `_` and `-`, at most 64.
    pub wire_name: Arc<str>,
    /// The tool. It may be hidden or removed since it was first offered.
    pub tool: Tool,
    /// For a tool that was added after the first request of the turn: when that was.
    pub added_at: Option<OfferPoint>,
}

impl OfferedTool {
    /// A tool with its name on the wire.
    #[must_use]
    pub fn new(wire_name: impl Into<Arc<str>>, tool: Tool) -> Self {
        Self { wire_name: wire_name.into(), tool, added_at: None }
    }

    /// The description of the tool for a request: reserved tags are inert, and the model is told if a third party wrote
    /// it. Dialects send this text and not the description of the tool itself.
    ///
    /// ```
    /// use haft_core::tool::Tool;
    /// use haft_core::trust::{ForeignText, TrustTier};
    /// use haft_providers::prompt::OfferedTool;
    ///
    /// let text = ForeignText::new("Searches.", TrustTier::ThirdPartyPublic);
    /// let tool = Tool::builder("search").foreign_description(text).handler(|| "found").build()?;
    /// let shown = OfferedTool::new("search", tool).description().into_owned();
    /// assert_eq!(shown, "(described by a third party) Searches.");
    /// # Ok::<(), haft_core::tool::InvalidTool>(())
    /// ```
    #[must_use]
    pub fn description(&self) -> Cow<'_, str> {
        let text = sanitized_definition(self.tool.description());
        match self.tool.definition_tier() {
            TrustTier::FirstParty => text,
            _ => format!("(described by a third party) {text}").into(),
        }
    }
}

/// Where in a prompt media are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MediaPosition {
    /// In a message to the model.
    User,
    /// In a generation of the model.
    Assistant,
    /// In the result of a call.
    ToolResult,
}
