//! The native chat API of Ollama: `POST /api/chat`, with one JSON value per line.
//!
//! The OpenAI endpoint of Ollama ignores `num_ctx` and `think`, and truncates long prompts silently. This dialect sends
//! both options, and requests an error instead of truncation.
//!
//! ```
//! use haft_providers::dialects::ollama::Ollama;
//! use haft_providers::{Options, Provider};
//!
//! let model = Provider::builder(Ollama::new(), "qwen3")
//!     .options(Options::new().with("num_ctx", 32_768).with("think", true))
//!     .build()?;
//! assert_eq!(model.model(), "qwen3");
//! # Ok::<(), haft_providers::ProviderError>(())
//! ```

mod decode;
mod encode;
mod options;
mod wire;

#[cfg(test)]
mod tests;

use haft_core::media::MediaKind;
use serde_json::{Map, Value};

use crate::dialect::{
    AnswerRequest, Delivery, Dialect, EncodeError, EncodedRequest, Framing, ModelRequest,
    ResponseDecoder,
};
use crate::prompt::MediaPosition;

/// The dialect of `POST /api/chat`.
///
/// - Without the option `num_ctx` a request has a context of [`DEFAULT_NUM_CTX`](Self::DEFAULT_NUM_CTX) tokens: the default
///   of the server is too small for tools. The server allocates memory for it.
/// - A prompt that does not fit is an error and is not truncated, unless the option `truncate` is true. Servers before
///   0.12.4 do not know that option, and truncate.
/// - `max_tokens`, `max_completion_tokens` and `reasoning_effort` are other names of `num_predict` and `think`.
/// - Images of users are sent; other media follow the policy for unsupported media.
///
/// ```
/// use haft_providers::Provider;
/// use haft_providers::dialects::ollama::Ollama;
///
/// let local = Provider::builder(Ollama::new(), "llama3.2").build()?;
/// assert_eq!(local.model(), "llama3.2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Ollama;

impl Ollama {
    /// The size of the context in tokens if the option `num_ctx` is not set.
    pub const DEFAULT_NUM_CTX: u64 = 16_384;

    /// The dialect.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Dialect for Ollama {
    fn name(&self) -> &'static str {
        "ollama"
    }

    fn base_url(&self) -> &'static str {
        "http://localhost:11434"
    }

    fn path(&self, _model: &str, _delivery: Delivery) -> String {
        "/api/chat".to_owned()
    }

    fn framing(&self) -> Framing {
        Framing::Ndjson
    }

    fn auth_headers(&self, key: &str) -> Vec<(&'static str, String)> {
        vec![("authorization", format!("Bearer {key}"))]
    }

    fn options_schema(&self) -> Value {
        options::schema()
    }

    fn check_options(&self, options: &Map<String, Value>) -> Vec<(String, String)> {
        options::check(options)
    }

    fn add_answer_options(&self, options: &mut Map<String, Value>, answer: &AnswerRequest<'_>) {
        // A format holds for every generation, so that a model could not call tools.
        if !answer.offers_tools {
            options.entry("format").or_insert_with(|| answer.format.schema().json_schema());
        }
    }

    fn output_limit(&self, options: &Map<String, Value>) -> Option<u64> {
        options::output_limit(options)
    }

    fn is_context_overflow(&self, status: u16, body: &str) -> bool {
        status == 400 && decode::is_overflow_message(body)
    }

    fn supports_media(&self, kind: MediaKind, mime_type: &str, position: MediaPosition) -> bool {
        position == MediaPosition::User && kind == MediaKind::Image && IMAGES.contains(&mime_type)
    }

    fn replay_tags(&self) -> &'static [&'static str] {
        &[]
    }

    fn applies_chat_template(&self) -> bool {
        true
    }

    fn encode_request(&self, request: &ModelRequest<'_>) -> Result<EncodedRequest, EncodeError> {
        encode::encode_request(request)
    }

    fn response_decoder(&self, _request: &ModelRequest<'_>) -> Box<dyn ResponseDecoder> {
        Box::new(decode::OllamaDecoder::default())
    }
}

/// The types of images that the server decodes.
const IMAGES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];
