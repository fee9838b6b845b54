//! What tells providers apart.

use bytes::Bytes;
use haft_core::media::MediaKind;
use serde_json::{Map, Value};

use super::generation::Event;
use super::prompt::{Place, Prompt};

/// How one kind of provider is spoken to. It writes requests and reads answers, keeps nothing, and does no I/O.
pub trait Dialect: Send + Sync + 'static {
    /// The name in events and errors: `openai-chat-completions`.
    fn name(&self) -> &'static str;

    /// The key of the turn's stash under which options of one turn stand: `openaiChatCompletions`.
    fn stash_key(&self) -> &'static str;

    /// Where requests go if nothing else is said.
    fn base_url(&self) -> &'static str;

    /// The path behind the base address.
    fn path(&self) -> &'static str;

    /// The headers that carry the key, and others that every request has.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// The JSON Schema of the options that go into the request, and of nothing else. It refuses unknown ones.
    fn options(&self) -> Value;

    /// What is wrong with options that are each right. Each problem names its option.
    fn check(&self, _options: &Map<String, Value>) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Whether a medium can be shown natively there.
    fn shows(&self, kind: MediaKind, mime_type: &str, place: Place) -> bool;

    /// The tags of opaque payloads that it gets back; those of others are left out.
    fn replays(&self) -> &'static [&'static str];

    /// Writes a request.
    ///
    /// # Errors
    ///
    /// The prompt cannot be said in this dialect.
    fn encode(&self, request: &Request<'_>) -> Result<Encoded, CannotEncode>;

    /// A reader for the answer to this request.
    fn decoder(&self, request: &Request<'_>) -> Box<dyn Decoder>;
}

/// What a dialect writes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'r> {
    /// The model.
    pub model: &'r str,
    /// What is said.
    pub prompt: &'r Prompt,
    /// Options that the schema of the dialect accepted.
    pub options: &'r Map<String, Value>,
    /// Whether the answer is to come in pieces.
    pub stream: bool,
}

impl<'r> Request<'r> {
    /// A request whose answer comes whole.
    #[must_use]
    pub fn new(model: &'r str, prompt: &'r Prompt, options: &'r Map<String, Value>) -> Self {
        Self { model, prompt, options, stream: false }
    }

    /// The same request, whose answer comes in pieces.
    #[must_use]
    pub fn streamed(self) -> Self {
        Self { stream: true, ..self }
    }
}

/// A request as it is sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Encoded {
    /// The body: JSON.
    pub body: Bytes,
    /// What was changed or left out so that the provider takes it.
    pub notes: Vec<Note>,
}

impl Encoded {
    /// A body, and what was changed for it.
    #[must_use]
    pub fn new(body: impl Into<Bytes>, notes: Vec<Note>) -> Self {
        Self { body: body.into(), notes }
    }
}

/// Something that a dialect changed or could not say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// What sort of note it is, for filters: `schema-keyword-left-out`.
    pub topic: &'static str,
    /// What happened, in words for the operator.
    pub message: String,
}

impl Note {
    /// A note.
    #[must_use]
    pub fn new(topic: &'static str, message: impl Into<String>) -> Self {
        Self { topic, message: message.into() }
    }
}

/// A prompt that cannot be said in a dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
#[non_exhaustive]
pub struct CannotEncode(pub String);

impl CannotEncode {
    /// Says why.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// Reads one answer.
pub trait Decoder: Send {
    /// Reads an event of a stream.
    ///
    /// # Errors
    ///
    /// The provider says that it failed, or the event is not what the dialect knows. After an error nothing
    /// more is read.
    fn event(
        &mut self,
        event: Option<&str>,
        data: &str,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), AnswerError>;

    /// Reads an answer that came whole.
    ///
    /// # Errors
    ///
    /// As [`event`](Self::event).
    fn whole(&mut self, body: &[u8], tell: &mut dyn FnMut(Event<'_>)) -> Result<(), AnswerError>;
}

/// Why an answer could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The provider says in the answer that it failed.
    #[error("the provider reports an error{}: {message}", kind.as_deref().map(|it| format!(" ({it})")).unwrap_or_default())]
    Provider {
        /// What kind, in its words.
        kind: Option<String>,
        /// What, in its words.
        message: String,
        /// Whether asking again may help.
        retryable: bool,
    },
    /// It is not what the dialect knows.
    #[error("the answer cannot be read: {0}")]
    Malformed(String),
}
