//! Anthropic Messages.
//!
//! ```
//! use haft_providers::dialects::anthropic_messages::AnthropicMessages;
//! use haft_providers::{Options, Provider};
//!
//! let options = Options::new().with("max_tokens", 4096).with("cache_ttl", "1h");
//! let model = Provider::builder(AnthropicMessages::new(), "claude-sonnet-4-5").key("sk-…").options(options).build()?;
//! # let _ = model;
//! # Ok::<(), haft_providers::ProviderError>(())
//! ```
//!
//! Options have the names of the API: `max_tokens`, `temperature`, `top_p`, `top_k`, `stop_sequences`, `thinking`,
//! `output_config`, `tool_choice`, `metadata`, `service_tier`, `container`, `inference_geo`, `user_profile_id`, `speed`. The
//! API requires `max_tokens`; the default is [`DEFAULT_MAX_TOKENS`], plus the budget of `thinking` if there is one. Two
//! options are not sent but control the breakpoints of the prompt cache: `cache_breakpoints` (`auto`, which is the default,
//! `system-only` or `off`) and `cache_ttl` (`5m` or `1h`).
//!
//! # Thinking
//!
//! The API wants signed thinking back in the original order of blocks, or not at all. The thought of a generation with
//! thinking therefore stores the order of its blocks. The generation is sent back in that order if its texts and calls are
//! unchanged and the model is the same. Otherwise its thinking is left out with a note. Two texts of one generation that
//! were not adjacent have an empty line between them.
//!
//! # Roles
//!
//! Adjacent messages of one role become one message, the results of calls are at its beginning, and neither the first nor
//! the last message is from the model. The sections behind the timeline are added to the last message of the user, after
//! the last breakpoint of the cache.

mod additions;
mod cache;
mod decode;
mod encode;
mod options;
mod wire;

#[cfg(test)]
mod tests;

use haft_core::media::MediaKind;
use serde_json::{Map, Value, json};

use crate::dialect::{
    AnswerRequest, Delivery, Dialect, EncodeError, EncodedRequest, ModelRequest, ResponseDecoder,
};
use crate::prompt::MediaPosition;
use crate::tool_schema::lower_answer;

/// The default for `max_tokens`.
pub const DEFAULT_MAX_TOKENS: u64 = 8192;

/// The version of the API that requests are written for.
const VERSION: &str = "2023-06-01";

/// The tag of thinking.
const TAG: &str = "anthropic-messages-thinking-v1";

/// The dialect of the Messages API.
///
/// ```
/// use haft_providers::dialects::anthropic_messages::AnthropicMessages;
/// use haft_providers::{Dialect as _, Provider};
///
/// let model = Provider::builder(AnthropicMessages::new(), "claude-haiku-4-5").key("sk-…").build()?;
/// assert_eq!(model.model(), "claude-haiku-4-5");
/// assert_eq!(AnthropicMessages::new().name(), "anthropic-messages");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnthropicMessages {
    has_bearer_key: bool,
}

impl AnthropicMessages {
    /// The dialect.
    #[must_use]
    pub const fn new() -> Self {
        Self { has_bearer_key: false }
    }

    /// Sends the key as `Authorization: Bearer`, as gateways expect it, in place of `x-api-key`.
    ///
    /// ```
    /// use haft_providers::Dialect as _;
    /// use haft_providers::dialects::anthropic_messages::AnthropicMessages;
    ///
    /// let dialect = AnthropicMessages::new().bearer_key();
    /// assert_eq!(dialect.auth_headers("t"), [("authorization", "Bearer t".to_owned())]);
    /// ```
    #[must_use]
    pub const fn bearer_key(mut self) -> Self {
        self.has_bearer_key = true;
        self
    }
}

impl Dialect for AnthropicMessages {
    fn name(&self) -> &'static str {
        "anthropic-messages"
    }

    fn base_url(&self) -> &'static str {
        "https://api.anthropic.com/v1"
    }

    fn path(&self, _model: &str, _delivery: Delivery) -> String {
        "/messages".to_owned()
    }

    fn auth_headers(&self, key: &str) -> Vec<(&'static str, String)> {
        match self.has_bearer_key {
            true => vec![("authorization", format!("Bearer {key}"))],
            false => vec![("x-api-key", key.to_owned())],
        }
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        vec![("anthropic-version", VERSION.to_owned())]
    }

    fn options_schema(&self) -> Value {
        options::schema()
    }

    fn check_options(&self, options: &Map<String, Value>) -> Vec<(String, String)> {
        options::check(options)
    }

    fn add_answer_options(&self, options: &mut Map<String, Value>, answer: &AnswerRequest<'_>) {
        // What cannot be said strictly is refused by the provider.
        let (schema, true) = lower_answer(answer.format.schema()) else { return };
        if let Value::Object(output) = options.entry("output_config").or_insert_with(|| json!({})) {
            output
                .entry("format")
                .or_insert_with(|| json!({"type": "json_schema", "schema": schema}));
        }
    }

    fn output_limit(&self, options: &Map<String, Value>) -> Option<u64> {
        Some(options::max_tokens(options))
    }

    fn is_context_overflow(&self, status: u16, body: &str) -> bool {
        let too_long = ["prompt is too long", "exceed context limit"];
        status == 413 || (status == 400 && too_long.iter().any(|it| body.contains(it)))
    }

    fn is_replay_rejected(&self, status: u16, body: &str) -> bool {
        let error: Value = serde_json::from_str(body).unwrap_or_default();
        let said = |path| error.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let message = said("/error/message");
        // The error has no code of its own, only a message.
        let about = message.contains("thinking");
        let refused = message.contains("signature") || message.contains("cannot be modified");
        status == 400 && said("/error/type") == "invalid_request_error" && about && refused
    }

    fn supports_media(&self, kind: MediaKind, mime_type: &str, position: MediaPosition) -> bool {
        // Messages of the model can only contain text.
        position != MediaPosition::Assistant && encode::is_native(kind, mime_type)
    }

    fn replay_tags(&self) -> &'static [&'static str] {
        &[TAG]
    }

    fn encode_request(&self, request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
        encode::encode_request(request)
    }

    fn response_decoder(&self, request: &ModelRequest<'_>) -> Box<dyn ResponseDecoder> {
        Box::new(decode::MessagesDecoder::new(request.model))
    }
}
