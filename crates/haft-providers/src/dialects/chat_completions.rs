//! OpenAI's Chat Completions, and all who speak it: gateways, hosted and local servers.

mod decode;
mod encode;
mod options;

#[cfg(test)]
mod tests;

use crate::codes as provider_codes;
use haft_core::media::MediaKind;
use serde_json::{Map, Value};
use std::sync::Arc;

use crate::dialect::{CannotEncode, Codes, Decoder, Dialect, Encoded, Request};
use crate::prompt::Place;

/// The dialect of `POST /chat/completions`.
///
/// One generation of the past is one assistant message with all its calls, followed by one `tool` message for each.
/// Only messages of users can hold media there: those of results and of the assistant stand in a user message behind.
#[derive(Clone, Debug)]
pub struct ChatCompletions {
    reasoning_fields: Arc<[ReasoningField]>,
}

/// A field of an answer that holds reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasoningField {
    /// `reasoning`
    Reasoning,
    /// `reasoning_content`
    ReasoningContent,
}

impl ReasoningField {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::ReasoningContent => "reasoning_content",
        }
    }
}

impl ChatCompletions {
    /// The dialect as OpenAI speaks it. Reasoning, which gateways send in fields of their own, is looked for in
    /// `reasoning` and `reasoning_content`.
    #[must_use]
    pub fn new() -> Self {
        let fields = [ReasoningField::Reasoning, ReasoningField::ReasoningContent];
        Self { reasoning_fields: fields.into() }
    }

    /// The fields of an answer that hold reasoning. The first one that has text counts where two say the same.
    #[must_use]
    pub fn reasoning_fields(mut self, fields: impl IntoIterator<Item = ReasoningField>) -> Self {
        self.reasoning_fields = fields.into_iter().collect();
        self
    }
}

impl Default for ChatCompletions {
    fn default() -> Self {
        Self::new()
    }
}

impl Dialect for ChatCompletions {
    fn name(&self) -> &'static str {
        "openai-chat-completions"
    }

    fn stash_key(&self) -> &'static str {
        "openaiChatCompletions"
    }

    fn base_url(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/chat/completions".to_owned()
    }

    fn codes(&self) -> Codes {
        Codes {
            options: provider_codes::INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS,
            overflow: provider_codes::OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW,
            http: provider_codes::OPENAI_CHAT_COMPLETIONS_HTTP_ERROR,
            stream: provider_codes::OPENAI_CHAT_COMPLETIONS_STREAM_ERROR,
            stalled: provider_codes::OPENAI_CHAT_COMPLETIONS_STREAM_STALLED,
            timeout: provider_codes::OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT,
        }
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn options(&self) -> Value {
        options::schema()
    }

    fn check(&self, options: &Map<String, Value>) -> Vec<(String, String)> {
        options::check(options)
    }

    fn forced_tools(&self, options: &Map<String, Value>) -> Vec<String> {
        options::forced_tools(options)
    }

    fn output_limit(&self, options: &Map<String, Value>) -> Option<u64> {
        let limit = |key| options.get(key).and_then(Value::as_u64);
        limit("max_completion_tokens").or_else(|| limit("max_tokens"))
    }

    fn is_overflow(&self, status: u16, body: &str) -> bool {
        let error: Value = serde_json::from_str(body).unwrap_or_default();
        let code = error.pointer("/error/code").and_then(Value::as_str);
        matches!(status, 400 | 413) && code == Some("context_length_exceeded")
    }

    fn shows(&self, kind: MediaKind, mime_type: &str, place: Place) -> bool {
        place == Place::Heard
            && match kind {
                MediaKind::Image => IMAGES.contains(&mime_type),
                MediaKind::Audio => encode::audio_format(mime_type).is_some(),
                MediaKind::Document => true,
                MediaKind::Video => false,
            }
    }

    fn replays(&self) -> &'static [&'static str] {
        &[]
    }

    fn encode(&self, request: &Request<'_>) -> Result<Encoded, CannotEncode> {
        encode::request(request)
    }

    fn decoder(&self, _request: &Request<'_>) -> Box<dyn Decoder> {
        Box::new(decode::ChatDecoder::new(Arc::clone(&self.reasoning_fields)))
    }
}

/// The types of images that are understood everywhere.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
