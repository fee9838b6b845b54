//! The contract of a dialect, which implements the API of one provider.
//!
//! A [`Dialect`] encodes requests and decodes responses. It has no state and does no I/O, and it is the only code that
//! knows the shapes of its wire format. Everything that providers have in common (the prompt, retries, limits, the
//! context window) is done by [`Provider`](crate::Provider).
//!
//! The checks of `conformance::dialect` say whether a dialect keeps the contract.

use bytes::Bytes;
use haft_core::answer::AnswerFormat;
use haft_core::media::MediaKind;
use haft_http::uri;
use serde_json::{Map, Value};

use crate::generation::GenerationEvent;
use crate::prompt::{MediaPosition, Prompt};

/// The implementation of one provider's API. It encodes requests and decodes responses, has no state and does no I/O.
pub trait Dialect: Send + Sync + 'static {
    /// The name in events and errors, and the key of the turn's stash under which the options of one turn are:
    /// `openai-chat-completions`. It has no `.`, which separates the keys of the stash.
    fn name(&self) -> &'static str;

    /// The default base address of requests.
    fn base_url(&self) -> &'static str;

    /// Whether the service at a host is the one whose API this is, and not another one with a compatible API. Features
    /// that only that service is known to support, such as typed answers, are then used by default.
    fn is_own_service(&self, host: &str) -> bool {
        host == uri::host(self.base_url())
    }

    /// The path behind the base address; it begins with a slash.
    fn path(&self, model: &str, delivery: Delivery) -> String;

    /// How the events of a streamed response are separated.
    fn framing(&self) -> Framing {
        Framing::Sse
    }

    /// The headers that carry the API key.
    fn auth_headers(&self, key: &str) -> Vec<(&'static str, String)>;

    /// Further headers that every request has, such as the version of the API.
    fn headers(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The JSON Schema of the options that go into the request, and of no others. It refuses unknown options.
    fn options_schema(&self) -> Value;

    /// Problems of options that the schema accepts one by one, as pairs of an option and a message.
    fn check_options(&self, _options: &Map<String, Value>) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Adds the options with which the provider generates only answers in a given format, unless the options already
    /// set a format. By default there are none: the instruction of the turn tells the model about the format. The loop
    /// checks the answer in any case.
    fn add_answer_options(&self, _options: &mut Map<String, Value>, _answer: &AnswerRequest<'_>) {}

    /// How many tokens the options allow the model to generate; `None` if they do not say.
    fn output_limit(&self, _options: &Map<String, Value>) -> Option<u64> {
        None
    }

    /// Whether a response with an error status says that the prompt does not fit into the context window.
    fn is_context_overflow(&self, _status: u16, _body: &str) -> bool {
        false
    }

    /// Whether a response with an error status refuses reasoning of earlier generations that was sent back. The request
    /// is then sent once more without it.
    fn is_replay_rejected(&self, _status: u16, _body: &str) -> bool {
        false
    }

    /// Whether media of a type can be sent natively at a position.
    fn supports_media(&self, kind: MediaKind, mime_type: &str, position: MediaPosition) -> bool;

    /// The tags of opaque payloads that it sends back; payloads with other tags are left out.
    fn replay_tags(&self) -> &'static [&'static str];

    /// Whether its servers put messages as text into the chat template of a model, so that control tokens in content, such
    /// as `<|im_end|>`, can take effect. They are then made inert by default; the option `neutralizeControlTokens` decides
    /// otherwise.
    fn applies_chat_template(&self) -> bool {
        false
    }

    /// Encodes a request.
    ///
    /// # Errors
    ///
    /// The prompt cannot be expressed in this dialect.
    fn encode_request(&self, request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError>;

    /// A decoder for the response to this request.
    fn response_decoder(&self, request: &ModelRequest<'_>) -> Box<dyn ResponseDecoder>;
}

/// The format that the answer of a turn must have, for a request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AnswerRequest<'r> {
    /// The format.
    pub format: &'r AnswerFormat,
    /// Whether the request offers tools, which the model may call before it answers.
    pub offers_tools: bool,
}

/// How a response is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Delivery {
    /// As a stream of events, while it is generated.
    #[default]
    Streamed,
    /// As one body, when it is complete.
    Whole,
}

impl Delivery {
    /// Whether the response is a stream: the value of the `stream` field that most wire formats have.
    ///
    /// ```
    /// use haft_providers::dialect::Delivery;
    ///
    /// assert!(Delivery::Streamed.is_streamed());
    /// assert!(!Delivery::Whole.is_streamed());
    /// ```
    #[must_use]
    pub const fn is_streamed(self) -> bool {
        matches!(self, Self::Streamed)
    }
}

/// How the events of a streamed response are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON value per line.
    Ndjson,
}

/// A request to a model, before it is encoded.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ModelRequest<'r> {
    /// The model.
    pub model: &'r str,
    /// The prompt.
    pub prompt: &'r Prompt,
    /// Options that the schema of the dialect has accepted.
    pub options: &'r Map<String, Value>,
    /// How the response is delivered.
    pub delivery: Delivery,
}

impl<'r> ModelRequest<'r> {
    /// A request with a streamed response.
    #[must_use]
    pub const fn new(model: &'r str, prompt: &'r Prompt, options: &'r Map<String, Value>) -> Self {
        Self { model, prompt, options, delivery: Delivery::Streamed }
    }

    /// Sets how the response is delivered.
    #[must_use]
    pub const fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }
}

/// An encoded request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EncodedRequest {
    /// The body, JSON.
    pub body: Bytes,
    /// What was changed or left out so that the provider accepts the request.
    pub notes: Vec<RequestNote>,
    /// Headers that only this request needs, such as that of a beta feature.
    pub headers: Vec<(&'static str, String)>,
}

impl EncodedRequest {
    /// A body, and notes about what was changed.
    #[must_use]
    pub fn new(body: impl Into<Bytes>, notes: Vec<RequestNote>) -> Self {
        Self { body: body.into(), notes, headers: Vec::new() }
    }

    /// Adds a header that only this request needs.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A note for the operator about something that a request leaves out or changes.
///
/// ```
/// use haft_providers::dialect::{NoteTopic, RequestNote};
///
/// let note = RequestNote::new(NoteTopic::SchemaKeywordLeftOut, "a pattern was left out");
/// assert_eq!(note.topic.as_str(), "schema-keyword-left-out");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestNote {
    /// The topic, for filters.
    pub topic: NoteTopic,
    /// What happened.
    pub message: String,
}

impl RequestNote {
    /// A note.
    #[must_use]
    pub fn new(topic: impl Into<NoteTopic>, message: impl Into<String>) -> Self {
        Self { topic: topic.into(), message: message.into() }
    }
}

/// The topic of a [`RequestNote`], for filters.
///
/// ```
/// use haft_providers::dialect::NoteTopic;
///
/// assert_eq!(NoteTopic::SchemaNarrowed.as_str(), "schema-narrowed");
/// assert!(NoteTopic::SchemaNarrowed.is_about_tool_schema());
/// assert_eq!(NoteTopic::from("schema-narrowed"), NoteTopic::SchemaNarrowed);
/// assert_eq!(NoteTopic::from("seed-rounded"), NoteTopic::Custom("seed-rounded"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoteTopic {
    /// A text of only white space is not sent.
    BlankTextLeftOut,
    /// A call has no result; the request contains a text that says so.
    CallWithoutResult,
    /// A content is sent in part.
    ContentCut,
    /// A media file is not sent.
    MediaLeftOut,
    /// A message was added that the provider requires.
    MessageAdded,
    /// Adjacent messages of one role were merged.
    MessagesMerged,
    /// An option for tools is not sent, because there are no tools.
    OptionWithoutTools,
    /// The reasoning of an earlier generation is not sent.
    ReasoningLeftOut,
    /// Results were moved to the beginning of a message.
    ResultsMoved,
    /// A keyword of a tool's schema is not sent.
    SchemaKeywordLeftOut,
    /// The schema that the model sees accepts less than the schema of the tool.
    SchemaNarrowed,
    /// The thinking of an earlier generation is not sent.
    ThinkingLeftOut,
    /// Thinking is switched off for this request.
    ThinkingOff,
    /// The timeline ended with a message of the model.
    TimelineEndedOnOwn,
    /// The choice of a tool is not sent.
    ToolChoiceLeftOut,
    /// A tool is offered without strict mode.
    ToolNotStrict,
    /// System text behind the timeline was moved.
    TrailingSystemMoved,
    /// A topic of a custom dialect.
    Custom(&'static str),
}

impl NoteTopic {
    /// All topics of the built-in dialects.
    const BUILT_IN: [Self; 17] = [
        Self::BlankTextLeftOut,
        Self::CallWithoutResult,
        Self::ContentCut,
        Self::MediaLeftOut,
        Self::MessageAdded,
        Self::MessagesMerged,
        Self::OptionWithoutTools,
        Self::ReasoningLeftOut,
        Self::ResultsMoved,
        Self::SchemaKeywordLeftOut,
        Self::SchemaNarrowed,
        Self::ThinkingLeftOut,
        Self::ThinkingOff,
        Self::TimelineEndedOnOwn,
        Self::ToolChoiceLeftOut,
        Self::ToolNotStrict,
        Self::TrailingSystemMoved,
    ];

    /// Its name: `schema-keyword-left-out`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BlankTextLeftOut => "blank-text-left-out",
            Self::CallWithoutResult => "call-without-result",
            Self::ContentCut => "content-cut",
            Self::MediaLeftOut => "media-left-out",
            Self::MessageAdded => "message-added",
            Self::MessagesMerged => "messages-merged",
            Self::OptionWithoutTools => "option-without-tools",
            Self::ReasoningLeftOut => "reasoning-left-out",
            Self::ResultsMoved => "results-moved",
            Self::SchemaKeywordLeftOut => "schema-keyword-left-out",
            Self::SchemaNarrowed => "schema-narrowed",
            Self::ThinkingLeftOut => "thinking-left-out",
            Self::ThinkingOff => "thinking-off",
            Self::TimelineEndedOnOwn => "timeline-ended-on-own",
            Self::ToolChoiceLeftOut => "tool-choice-left-out",
            Self::ToolNotStrict => "tool-not-strict",
            Self::TrailingSystemMoved => "trailing-system-moved",
            Self::Custom(name) => name,
        }
    }

    /// Whether it is about how the schema of a tool is sent.
    #[must_use]
    pub const fn is_about_tool_schema(self) -> bool {
        matches!(self, Self::SchemaKeywordLeftOut | Self::SchemaNarrowed | Self::ToolNotStrict)
    }
}

impl From<&'static str> for NoteTopic {
    /// The built-in topic of this name, or a custom one.
    fn from(name: &'static str) -> Self {
        let built_in = Self::BUILT_IN.into_iter().find(|topic| topic.as_str() == name);
        built_in.unwrap_or(Self::Custom(name))
    }
}

/// A prompt that cannot be expressed in a dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
#[expect(clippy::exhaustive_structs, reason = "custom dialects build it")]
pub struct EncodeError(pub String);

impl EncodeError {
    /// An error with this reason.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Decodes one response.
pub trait ResponseDecoder: Send {
    /// Decodes an event of a stream and reports what it contains.
    ///
    /// # Errors
    ///
    /// The provider reports a failure, or the event is not valid in the dialect. The decoder is not used after an
    /// error.
    fn decode_event(
        &mut self,
        event: StreamEvent<'_>,
        report: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<(), DecodeError>;

    /// Decodes a response that was delivered as one body.
    ///
    /// # Errors
    ///
    /// As [`decode_event`](Self::decode_event).
    fn decode_whole(
        &mut self,
        body: &[u8],
        report: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<(), DecodeError>;
}

/// One event of a streamed response.
///
/// ```
/// use haft_providers::dialect::StreamEvent;
///
/// let event = StreamEvent::new("{}").with_name("ping");
/// assert_eq!((event.name, event.data), (Some("ping"), "{}"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamEvent<'f> {
    /// The type of a server-sent event, where it has one.
    pub name: Option<&'f str>,
    /// The data.
    pub data: &'f str,
}

impl<'f> StreamEvent<'f> {
    /// An event without a name.
    #[must_use]
    pub const fn new(data: &'f str) -> Self {
        Self { name: None, data }
    }

    /// Sets the name.
    #[must_use]
    pub const fn with_name(self, name: &'f str) -> Self {
        Self { name: Some(name), ..self }
    }
}

/// Why a response could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The provider reports a failure in the response.
    #[error("the provider reports an error{}: {message}", kind.as_deref().map(|it| format!(" ({it})")).unwrap_or_default())]
    Provider {
        /// The kind of failure, in the words of the provider.
        kind: Option<String>,
        /// The message of the provider.
        message: String,
        /// Whether a retry may help.
        retryable: bool,
    },
    /// The response is not valid in the dialect.
    #[error("the answer cannot be read: {0}")]
    Malformed(String),
}
