//! What tells providers apart.

use bytes::Bytes;
use haft_core::error::ErrorCode;
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

    /// The path behind the base address; it begins with a slash.
    fn path(&self, model: &str, stream: bool) -> String;

    /// How the pieces of an answer are told apart.
    fn framing(&self) -> Framing {
        Framing::Sse
    }

    /// The codes of its errors.
    fn codes(&self) -> Codes;

    /// The headers that carry the key, and others that every request has.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// The JSON Schema of the options that go into the request, and of nothing else. It refuses unknown ones.
    fn options(&self) -> Value;

    /// What is wrong with options that are each right. Each problem names its option.
    fn check(&self, _options: &Map<String, Value>) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The tools that the options force the model to call, by the name that their registry knows.
    fn forced_tools(&self, _options: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    /// How many tokens the options let the model write, if they say so.
    fn output_limit(&self, _options: &Map<String, Value>) -> Option<u64> {
        None
    }

    /// Whether an answer with an error status says that the prompt does not fit.
    fn is_overflow(&self, _status: u16, _body: &str) -> bool {
        false
    }

    /// Whether an answer with an error status says that reasoning of earlier answers, which went back as it came, was
    /// refused. The request is then sent once more without it.
    fn is_replay_rejected(&self, _status: u16, _body: &str) -> bool {
        false
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

/// How the pieces of an answer are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// A JSON value a line.
    Ndjson,
}

/// The codes of a dialect's errors.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "dialects of others build it, and need to say all")]
pub struct Codes {
    /// Options were refused.
    pub options: ErrorCode,
    /// The prompt does not fit.
    pub overflow: ErrorCode,
    /// An error status, or no answer.
    pub http: ErrorCode,
    /// The answer cannot be read, or reports an error.
    pub stream: ErrorCode,
    /// The answer stopped coming.
    pub stalled: ErrorCode,
    /// The answer did not begin in time.
    pub timeout: ErrorCode,
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
    /// A request whose answer comes in pieces.
    #[must_use]
    pub const fn new(model: &'r str, prompt: &'r Prompt, options: &'r Map<String, Value>) -> Self {
        Self { model, prompt, options, stream: true }
    }

    /// A request whose answer comes whole.
    #[must_use]
    pub const fn whole(mut self) -> Self {
        self.stream = false;
        self
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
    /// A body, and what was changed on the way.
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
#[expect(clippy::exhaustive_structs, reason = "dialects of others build it")]
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
