//! Anthropic Messages.
//!
//! Options have the names of the API: `max_tokens`, `temperature`, `top_p`, `top_k`, `stop_sequences`, `thinking`,
//! `output_config`, `tool_choice`, `metadata`, `service_tier`, `container`, `inference_geo`, `user_profile_id`,
//! `speed`. The API requires `max_tokens`; without the option it is [`DEFAULT_MAX_TOKENS`], on top of the budget of
//! `thinking` where that has one. Two options are not sent but say where breakpoints of the prompt cache stand:
//! `cache_breakpoints` (`auto`, `system-only` or `off`; `auto` if nothing is said) and `cache_ttl` (`5m` or `1h`).
//!
//! # Thinking
//!
//! The API wants signed thinking back in the very order of blocks in which it came, or not at all. A generation
//! that thought therefore keeps the order of its blocks with its thought, and is replayed by it if the texts and
//! calls are still what they were and the model is the same one. Otherwise its thinking is left out with a note.
//! Two texts of one generation that were not next to each other have an empty line between them.
//!
//! # Roles
//!
//! Messages of one role in a row become one message, results of calls stand at its beginning, and neither the
//! first nor the last message is the model's. What the buckets behind the timeline say is added to the last
//! message of the user, behind the last breakpoint of the cache.

mod cache;
mod decode;
mod encode;
mod messages;
mod options;
mod replay;
mod wire;

#[cfg(test)]
mod tests;
use crate::codes as provider_codes;
use haft_core::media::MediaKind;
use serde_json::{Map, Value};

use crate::dialect::{CannotEncode, Codes, Decoder, Dialect, Encoded, Request};
use crate::prompt::Place;

/// Tokens that the model may write if the options say nothing.
pub const DEFAULT_MAX_TOKENS: u64 = 8192;

/// The version of the API that requests are written for.
const VERSION: &str = "2023-06-01";

/// The tag of thinking.
const TAG: &str = "anthropic-messages-thinking-v1";

/// The dialect of the Messages API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnthropicMessages;

impl AnthropicMessages {
    /// The dialect.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Dialect for AnthropicMessages {
    fn name(&self) -> &'static str {
        "anthropic-messages"
    }

    fn stash_key(&self) -> &'static str {
        "anthropicMessages"
    }

    fn base_url(&self) -> &'static str {
        "https://api.anthropic.com/v1"
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/messages".to_owned()
    }

    fn codes(&self) -> Codes {
        Codes {
            options: provider_codes::INVALID_ANTHROPIC_MESSAGES_OPTIONS,
            overflow: provider_codes::ANTHROPIC_MESSAGES_CONTEXT_OVERFLOW,
            http: provider_codes::ANTHROPIC_MESSAGES_HTTP_ERROR,
            stream: provider_codes::ANTHROPIC_MESSAGES_STREAM_ERROR,
            stalled: provider_codes::ANTHROPIC_MESSAGES_STREAM_STALLED,
            timeout: provider_codes::ANTHROPIC_MESSAGES_REQUEST_TIMEOUT,
        }
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|it| ("x-api-key", it.to_owned()));
        key.into_iter().chain([("anthropic-version", VERSION.to_owned())]).collect()
    }

    fn options(&self) -> Value {
        options::schema()
    }

    fn check(&self, options: &Map<String, Value>) -> Vec<(String, String)> {
        options::check(options)
    }

    fn forced_tools(&self, options: &Map<String, Value>) -> Vec<String> {
        let name = options.get("tool_choice").and_then(|it| it.get("name")).and_then(Value::as_str);
        name.map(str::to_owned).into_iter().collect()
    }

    fn output_limit(&self, options: &Map<String, Value>) -> Option<u64> {
        Some(options::max_tokens(options))
    }

    fn is_overflow(&self, status: u16, body: &str) -> bool {
        let too_long = ["prompt is too long", "exceed context limit"];
        status == 413 || (status == 400 && too_long.iter().any(|it| body.contains(it)))
    }

    fn is_replay_rejected(&self, status: u16, body: &str) -> bool {
        let error: Value = serde_json::from_str(body).unwrap_or_default();
        let said = |path| error.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let message = said("/error/message");
        // There is no code for it, only the words.
        let about = message.contains("thinking");
        let refused = message.contains("signature") || message.contains("cannot be modified");
        status == 400 && said("/error/type") == "invalid_request_error" && about && refused
    }

    fn shows(&self, kind: MediaKind, mime_type: &str, place: Place) -> bool {
        // The model's own messages hold text alone.
        place != Place::Own && messages::is_native(kind, mime_type)
    }

    fn replays(&self) -> &'static [&'static str] {
        &[TAG]
    }

    fn encode(&self, request: &Request<'_>) -> Result<Encoded, CannotEncode> {
        encode::encode(request)
    }

    fn decoder(&self, request: &Request<'_>) -> Box<dyn Decoder> {
        Box::new(decode::MessagesDecoder::new(request.model))
    }
}
