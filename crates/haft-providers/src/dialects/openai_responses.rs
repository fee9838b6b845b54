//! OpenAI Responses.
//!
//! Requests keep nothing with the provider (`store` is false): the turn has everything, so the whole of it is sent.
//! Options have the names of the API: `include`, `max_output_tokens`, `max_tool_calls`, `metadata`,
//! `parallel_tool_calls`, `prompt_cache_key`, `prompt_cache_retention`, `reasoning`, `safety_identifier`,
//! `service_tier`, `stream_options`, `temperature`, `text`, `tool_choice`, `top_logprobs`, `top_p`, `truncation`,
//! `user`. Three more are not sent:
//!
//! - `system_prompt_channel`: the system text stands in `instructions` (if nothing is said), in a `developer-item`
//!   or in a `system-item`.
//! - `strict`: whether tools are offered in the strict mode, each if its schema has a strict form
//!   ([`down_schema::strict`](crate::down_schema::strict)). Without it, which is what happens if nothing is said,
//!   the model sees the schema that is enforced, word for word.
//! - `reasoning_replay`: `encrypted` asks for encrypted reasoning and sends it back; `off`, which is what happens if
//!   nothing is said, does not.
//!
//! # Reasoning
//!
//! A generation is sent back with its reasoning item by item in its order, or without it and without the ids of
//! its items: only if its texts and calls are still what they were, and the model is the same one.

mod decode;
mod encode;
mod items;
mod options;
mod tools;
mod wire;

#[cfg(test)]
mod tests;
use crate::codes as provider_codes;
use haft_core::media::MediaKind;
use serde_json::{Map, Value};

use crate::dialect::{CannotEncode, Codes, Decoder, Dialect, Encoded, Request};
use crate::prompt::Place;

/// The tag of reasoning.
const TAG: &str = "openai-responses-reasoning-v1";

/// The dialect of the Responses API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenAiResponses;

impl OpenAiResponses {
    /// The dialect.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Dialect for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn stash_key(&self) -> &'static str {
        "openaiResponses"
    }

    fn base_url(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/responses".to_owned()
    }

    fn codes(&self) -> Codes {
        Codes {
            options: provider_codes::INVALID_OPENAI_RESPONSES_OPTIONS,
            overflow: provider_codes::OPENAI_RESPONSES_CONTEXT_OVERFLOW,
            http: provider_codes::OPENAI_RESPONSES_HTTP_ERROR,
            stream: provider_codes::OPENAI_RESPONSES_STREAM_ERROR,
            stalled: provider_codes::OPENAI_RESPONSES_STREAM_STALLED,
            timeout: provider_codes::OPENAI_RESPONSES_REQUEST_TIMEOUT,
        }
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|it| ("authorization", format!("Bearer {it}"))).into_iter().collect()
    }

    fn options(&self) -> Value {
        options::schema()
    }

    fn forced_tools(&self, options: &Map<String, Value>) -> Vec<String> {
        tools::forced(options)
    }

    fn output_limit(&self, options: &Map<String, Value>) -> Option<u64> {
        options.get("max_output_tokens").and_then(Value::as_u64)
    }

    fn is_overflow(&self, status: u16, body: &str) -> bool {
        status == 400 && body.contains("context_length_exceeded")
    }

    fn is_replay_rejected(&self, status: u16, body: &str) -> bool {
        let error: Value = serde_json::from_str(body).unwrap_or_default();
        let said = |path| error.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (code, message) = (said("/error/code"), said("/error/message"));
        // The second has no code of its own: items of reasoning and what follows them are kept together.
        let parted = message.contains("reasoning") && message.contains("without its required");
        status == 400 && (code == "invalid_encrypted_content" || parted)
    }

    fn shows(&self, kind: MediaKind, mime_type: &str, place: Place) -> bool {
        // The model's own items hold text alone.
        place != Place::Own && items::is_native(kind, mime_type)
    }

    fn replays(&self) -> &'static [&'static str] {
        &[TAG]
    }

    fn encode(&self, request: &Request<'_>) -> Result<Encoded, CannotEncode> {
        encode::encode(request)
    }

    fn decoder(&self, request: &Request<'_>) -> Box<dyn Decoder> {
        Box::new(decode::ResponsesDecoder::new(request.model))
    }
}
