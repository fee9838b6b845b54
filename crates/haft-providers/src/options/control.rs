//! Control options: those that are never sent.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_core::tokens::Estimators;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::assembly::{AssemblyOptions, UnsupportedMedia};
use crate::dialect::Delivery;

/// The control options of a provider. None of them is ever sent.
#[derive(Clone, Debug)]
pub(crate) struct ControlOptions {
    /// The model.
    pub(crate) model: String,
    /// Headers that are set last, over all others.
    pub(crate) headers: BTreeMap<String, String>,
    /// How the response is delivered; streamed by default.
    pub(crate) delivery: Delivery,
    /// The longest time without progress of a stream; comments that keep a connection open are no progress.
    pub(crate) stream_idle_timeout: Option<Duration>,
    /// The longest time until a response begins, within the limit of the transport.
    pub(crate) request_timeout: Option<Duration>,
    /// Changes to the retry policy.
    pub(crate) retry: RetryOptions,
    /// How the prompt is assembled.
    pub(crate) assembly: AssemblyOptions,
    /// The context window of the model in tokens, prompt and response together.
    pub(crate) context_window: Option<u64>,
    /// The tokens that are reserved for the response; its limit by default.
    pub(crate) output_reserve: Option<u64>,
    /// The counter of tokens; without one the prompt is not measured.
    pub(crate) token_encoding: Option<String>,
    /// Whether a prompt that does not fit is made smaller instead of being refused.
    pub(crate) context_shedding: bool,
    /// Whether calls are read that the model writes as text.
    pub(crate) parse_text_calls: bool,
    /// Whether reasoning is read that the model writes between `<think>` and `</think>`.
    pub(crate) parse_think_tags: bool,
    /// Whether control tokens of chat templates in content are made inert; by dialect and address by default.
    pub(crate) neutralize_control_tokens: Option<bool>,
    /// How the format of an answer is requested; by default it depends on the address.
    pub(crate) structured_output: Option<StructuredOutput>,
}

/// How a provider is asked for an answer in a given format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StructuredOutput {
    /// By the option that the API has for it, and by an instruction.
    Native,
    /// By an instruction alone.
    Instruction,
}

/// How long a stream may make no progress by default. Models that reason send comments for minutes.
const DEFAULT_STREAM_IDLE_MS: u64 = 300_000;

/// Changes to a retry policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RetryOptions {
    /// The maximum number of attempts.
    pub(crate) max_attempts: Option<u32>,
    /// How long to wait after the first failure, in milliseconds.
    pub(crate) base_delay_ms: Option<u64>,
    /// How long to wait at most, in milliseconds.
    pub(crate) max_delay_ms: Option<u64>,
}

/// The options as they are input; their schema has accepted them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ControlInput {
    model: String,
    headers: BTreeMap<String, String>,
    stream: Option<bool>,
    stream_idle_timeout_ms: Option<u64>,
    request_timeout_ms: u64,
    retry: RetryOptions,
    context_window: Option<u64>,
    output_reserve: Option<u64>,
    token_encoding: Option<String>,
    context_shedding: bool,
    unsupported_media_policy: UnsupportedMedia,
    parse_text_calls: bool,
    parse_think_tags: bool,
    neutralize_control_tokens: Option<bool>,
    structured_output: Option<StructuredOutput>,
}

impl ControlOptions {
    pub(super) fn from_values(
        values: Map<String, Value>,
        estimators: &Estimators,
    ) -> Result<Self, Vec<String>> {
        let input: ControlInput = serde_json::from_value(Value::Object(values))
            .map_err(|error| vec![error.to_string()])?;
        let problems = input.problems(estimators);
        if !problems.is_empty() {
            return Err(problems);
        }
        let assembly = AssemblyOptions {
            unsupported_media: input.unsupported_media_policy,
            ..AssemblyOptions::default()
        };
        let time = |ms| (ms > 0).then(|| Duration::from_millis(ms));
        Ok(Self {
            model: input.model,
            headers: input.headers,
            delivery: match input.stream {
                Some(false) => Delivery::Whole,
                Some(true) | None => Delivery::Streamed,
            },
            stream_idle_timeout: time(
                input.stream_idle_timeout_ms.unwrap_or(DEFAULT_STREAM_IDLE_MS),
            ),
            request_timeout: time(input.request_timeout_ms),
            retry: input.retry,
            assembly,
            context_window: input.context_window,
            output_reserve: input.output_reserve,
            token_encoding: input.token_encoding,
            context_shedding: input.context_shedding,
            parse_text_calls: input.parse_text_calls,
            parse_think_tags: input.parse_think_tags,
            neutralize_control_tokens: input.neutralize_control_tokens,
            structured_output: input.structured_output,
        })
    }
}

impl ControlInput {
    /// Options that contradict each other.
    fn problems(&self, estimators: &Estimators) -> Vec<String> {
        let mut problems = Vec::new();
        if self.model.is_empty() {
            problems.push("`model` is missing".to_owned());
        }
        let Some(encoding) = &self.token_encoding else { return problems };
        if self.context_window.is_none() {
            problems.push("`tokenEncoding` needs `contextWindow`".to_owned());
        }
        if !estimators.names().any(|name| name == encoding) {
            let known: Vec<&str> = estimators.names().collect();
            let known = known.join("`, `");
            problems
                .push(format!("`tokenEncoding`: no encoding `{encoding}`; known are `{known}`"));
        }
        problems
    }
}
