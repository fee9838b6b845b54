//! OpenAI Chat Completions, and all servers that are compatible with it: gateways, hosted and local ones.
//!
//! ```
//! use haft_providers::dialects::chat_completions::{ChatCompletions, ReasoningField};
//! use haft_providers::Provider;
//!
//! let dialect = ChatCompletions::new().reasoning_fields([ReasoningField::ReasoningContent]);
//! let model = Provider::builder(dialect, "qwen3").base_url("http://localhost:8000/v1").build()?;
//! assert_eq!(model.model(), "qwen3");
//! # Ok::<(), haft_providers::ProviderError>(())
//! ```

mod decode;
mod encode;
mod options;
mod wire;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use haft_core::media::MediaKind;
use serde_json::{Map, Value, json};

use super::openai_service::{KeyHeader, is_own_host};
use super::shared::IMAGES;
use crate::dialect::{
    AnswerRequest, Delivery, Dialect, EncodeError, EncodedRequest, ModelRequest, ResponseDecoder,
};
use crate::prompt::MediaPosition;
use crate::tool_schema::lower_answer;

/// The dialect of `POST /chat/completions`.
///
/// An earlier generation is one assistant message with all its calls, followed by one `tool` message for each. Only
/// messages of users can contain media: media of results and of the assistant follow in a user message. The field
/// `extra_content` of a call is sent back unchanged, as Gemini requires for its thought signatures.
///
/// ```
/// use haft_providers::Provider;
/// use haft_providers::dialects::chat_completions::ChatCompletions;
///
/// let local = Provider::builder(ChatCompletions::new(), "qwen3")
///     .base_url("http://localhost:11434/v1")
///     .build()?;
/// assert_eq!(local.model(), "qwen3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChatCompletions {
    reasoning_fields: Arc<[ReasoningField]>,
    key_header: KeyHeader,
}

/// A field of a response that contains reasoning.
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
    /// The dialect of OpenAI. Reasoning, which gateways send in fields of their own, is read from `reasoning` and
    /// `reasoning_content`.
    #[must_use]
    pub fn new() -> Self {
        let fields = [ReasoningField::Reasoning, ReasoningField::ReasoningContent];
        Self { reasoning_fields: fields.into(), key_header: KeyHeader::Bearer }
    }

    /// Sets the fields of a response that contain reasoning. If two have the same text, the first one counts.
    #[must_use]
    pub fn reasoning_fields(mut self, fields: impl IntoIterator<Item = ReasoningField>) -> Self {
        self.reasoning_fields = fields.into_iter().collect();
        self
    }

    /// Sends the key in the header `api-key`, as Azure OpenAI expects it; a token of Microsoft Entra ID is sent without this.
    /// The base URL is `https://RESOURCE.openai.azure.com/openai/v1`, and the model is a deployment.
    #[must_use]
    pub const fn azure_key(mut self) -> Self {
        self.key_header = KeyHeader::Azure;
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

    fn base_url(&self) -> &'static str {
        self.key_header.base_url()
    }

    fn is_own_service(&self, host: &str) -> bool {
        is_own_host(host)
    }

    fn path(&self, _model: &str, _delivery: Delivery) -> String {
        "/chat/completions".to_owned()
    }

    fn auth_headers(&self, key: &str) -> Vec<(&'static str, String)> {
        self.key_header.headers(key)
    }

    fn options_schema(&self) -> Value {
        options::schema()
    }

    fn check_options(&self, options: &Map<String, Value>) -> Vec<(String, String)> {
        options::check(options)
    }

    fn add_answer_options(&self, options: &mut Map<String, Value>, answer: &AnswerRequest<'_>) {
        let (schema, strict) = lower_answer(answer.format.schema());
        let format = json!({"name": answer.format.name(), "schema": schema, "strict": strict});
        options
            .entry("response_format")
            .or_insert_with(|| json!({"type": "json_schema", "json_schema": format}));
    }

    fn output_limit(&self, options: &Map<String, Value>) -> Option<u64> {
        let limit = |key| options.get(key).and_then(Value::as_u64);
        limit("max_completion_tokens").or_else(|| limit("max_tokens"))
    }

    fn is_context_overflow(&self, status: u16, body: &str) -> bool {
        let error: Value = serde_json::from_str(body).unwrap_or_default();
        let code = error.pointer("/error/code").and_then(Value::as_str);
        matches!(status, 400 | 413) && code == Some("context_length_exceeded")
    }

    fn supports_media(&self, kind: MediaKind, mime_type: &str, position: MediaPosition) -> bool {
        position == MediaPosition::User
            && match kind {
                MediaKind::Image => IMAGES.contains(&mime_type),
                MediaKind::Audio => encode::audio_format(mime_type).is_some(),
                MediaKind::Document => true,
                MediaKind::Video => false,
            }
    }

    fn replay_tags(&self) -> &'static [&'static str] {
        &[EXTRA_CONTENT_TAG]
    }

    fn encode_request(&self, request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
        encode::encode_request(request)
    }

    fn response_decoder(&self, _request: &ModelRequest<'_>) -> Box<dyn ResponseDecoder> {
        Box::new(decode::ChatDecoder::new(Arc::clone(&self.reasoning_fields)))
    }
}

/// The tag of calls with an `extra_content` field, which the server wants back unchanged.
const EXTRA_CONTENT_TAG: &str = "chat-completions-extra-content";
