//! OpenAI Responses.
//!
//! ```
//! use haft_providers::dialects::openai_responses::OpenAiResponses;
//! use haft_providers::{Options, Provider};
//!
//! let options = Options::new().with("reasoning_replay", "encrypted").with("strict", true);
//! let model = Provider::builder(OpenAiResponses::new(), "gpt-5").key("sk-…").options(options).build()?;
//! # let _ = model;
//! # Ok::<(), haft_providers::ProviderError>(())
//! ```
//!
//! Requests store nothing with the provider (`store` is false): the turn has everything, so the whole turn is sent. Options
//! have the names of the API: `include`, `max_output_tokens`, `max_tool_calls`, `metadata`, `parallel_tool_calls`,
//! `prompt_cache_key`, `prompt_cache_retention`, `reasoning`, `safety_identifier`, `service_tier`, `stream_options`,
//! `temperature`, `text`, `tool_choice`, `top_logprobs`, `top_p`, `truncation`, `user`. Three more are not sent:
//!
//! - `system_prompt_channel`: where the system text goes: into `instructions`, which is the default, into a
//!   `developer-item` or into a `system-item`.
//! - `strict`: whether tools are offered in strict mode, each if its schema has a strict form
//!   ([`lower_strict`](crate::tool_schema::lower_strict)). By default the model sees the schema that is enforced,
//!   unchanged.
//! - `reasoning_replay`: `encrypted` asks for encrypted reasoning and sends it back; `off`, which is the default, does not.
//!
//! # Reasoning
//!
//! A generation is sent back with its reasoning, item by item in the original order, only if its texts and calls are
//! unchanged and the model is the same. Otherwise it is sent without its reasoning and without the ids of its items.

mod decode;
mod encode;
mod options;
mod wire;

#[cfg(test)]
mod tests;

use haft_core::media::MediaKind;
use serde_json::{Map, Value, json};

use super::openai_service::{KeyHeader, is_own_host};
use crate::dialect::{
    AnswerRequest, Delivery, Dialect, EncodeError, EncodedRequest, ModelRequest, ResponseDecoder,
};
use crate::prompt::MediaPosition;
use crate::tool_schema::lower_answer;

/// The tag of reasoning.
const TAG: &str = "openai-responses-reasoning-v1";

/// The dialect of the Responses API.
///
/// ```
/// use haft_providers::dialects::openai_responses::OpenAiResponses;
/// use haft_providers::{Options, Provider};
///
/// let builder = Provider::builder(OpenAiResponses::new(), "gpt-5-mini").key("sk-…");
/// let refused = builder.options(Options::new().with("temprature", 0.2)).build();
/// assert!(refused.is_err(), "the option is misspelled");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenAiResponses {
    key_header: KeyHeader,
}

impl OpenAiResponses {
    /// The dialect.
    #[must_use]
    pub const fn new() -> Self {
        Self { key_header: KeyHeader::Bearer }
    }

    /// Sends the key in the header `api-key`, as Azure OpenAI expects it; a token of Microsoft Entra ID is sent without this.
    /// The base URL is `https://RESOURCE.openai.azure.com/openai/v1`, and the model is a deployment.
    #[must_use]
    pub const fn azure_key(mut self) -> Self {
        self.key_header = KeyHeader::Azure;
        self
    }
}

impl Dialect for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn base_url(&self) -> &'static str {
        self.key_header.base_url()
    }

    fn is_own_service(&self, host: &str) -> bool {
        is_own_host(host)
    }

    fn path(&self, _model: &str, _delivery: Delivery) -> String {
        "/responses".to_owned()
    }

    fn auth_headers(&self, key: &str) -> Vec<(&'static str, String)> {
        self.key_header.headers(key)
    }

    fn options_schema(&self) -> Value {
        options::schema()
    }

    fn add_answer_options(&self, options: &mut Map<String, Value>, answer: &AnswerRequest<'_>) {
        let (schema, strict) = lower_answer(answer.format.schema());
        let name = answer.format.name();
        if let Value::Object(text) = options.entry("text").or_insert_with(|| json!({})) {
            text.entry("format").or_insert_with(
                || json!({"type": "json_schema", "name": name, "schema": schema, "strict": strict}),
            );
        }
    }

    fn output_limit(&self, options: &Map<String, Value>) -> Option<u64> {
        options.get("max_output_tokens").and_then(Value::as_u64)
    }

    fn is_context_overflow(&self, status: u16, body: &str) -> bool {
        status == 400 && body.contains("context_length_exceeded")
    }

    fn is_replay_rejected(&self, status: u16, body: &str) -> bool {
        let error: Value = serde_json::from_str(body).unwrap_or_default();
        let said = |path| error.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (code, message) = (said("/error/code"), said("/error/message"));
        // The second error has no code of its own: an item of reasoning needs the item that follows it.
        let parted = message.contains("reasoning") && message.contains("without its required");
        status == 400 && (code == "invalid_encrypted_content" || parted)
    }

    fn supports_media(&self, kind: MediaKind, mime_type: &str, position: MediaPosition) -> bool {
        // Items of the model can only contain text.
        position != MediaPosition::Assistant && encode::is_native(kind, mime_type)
    }

    fn replay_tags(&self) -> &'static [&'static str] {
        &[TAG]
    }

    fn encode_request(&self, request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
        encode::encode_request(request)
    }

    fn response_decoder(&self, request: &ModelRequest<'_>) -> Box<dyn ResponseDecoder> {
        Box::new(decode::ResponsesDecoder::new(request.model))
    }
}
