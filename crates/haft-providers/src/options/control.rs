//! Control options: those that are never sent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haft_core::media::Media;
use haft_core::tokens::Estimators;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::assembly::{AssemblyOptions, ThoughtSurfacing, UnsupportedMedia};
use crate::dialect::Delivery;
use crate::prompt::PromptSection;
use crate::reasoning::ReasoningFormat;
use crate::text_calls::TextCallFormat;

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
    /// Whether forcing a tool that lives only for the dispatch is an error.
    pub(crate) strict_tool_choice: bool,
    /// Whether a response without calls ends the dispatch; it does by default. Output middleware can withhold the end. If
    /// not, output middleware has to end the dispatch, or the model is asked again.
    pub(crate) auto_ack: bool,
    /// The format of calls that the model writes as text.
    pub(crate) text_calls: Option<TextCallFormat>,
    /// The format of reasoning that the model writes as text.
    pub(crate) reasoning: Option<ReasoningFormat>,
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
    /// How long after the first attempt the last one may begin, in milliseconds.
    pub(crate) budget_ms: Option<u64>,
    /// The statuses that are retried.
    pub(crate) retriable_statuses: Option<Vec<u16>>,
    /// Whether the hints of the provider about retries are honored.
    pub(crate) honor_retry_after: Option<bool>,
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
    bucket_order: Option<Vec<SectionName>>,
    context_window: Option<u64>,
    output_reserve: Option<u64>,
    token_encoding: Option<String>,
    context_shedding: bool,
    self_identity: Option<Arc<str>>,
    thought_surfacing: ThoughtSurfacing,
    replay_compatibility: Vec<String>,
    strict_tool_choice: bool,
    auto_ack: Option<bool>,
    unsupported_media_policy: Option<MediaPolicyInput>,
    local_tool_call_parser: Option<ParserInput<TextCallFormat>>,
    reasoning_parser: Option<ParserInput<ReasoningFormat>>,
    neutralize_control_tokens: Option<bool>,
    structured_output: Option<StructuredOutput>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum SectionName {
    StandingInstructions,
    Memories,
    Retrievables,
    Timeline,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum MediaPolicyInput {
    Word(String),
    Keys {
        #[serde(rename = "stashKeys")]
        stash_keys: Vec<String>,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ParserInput<T> {
    Format(T),
    Off(ParserOff),
}

#[derive(Deserialize)]
enum ParserOff {
    #[serde(rename = "none")]
    None,
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
        let default = AssemblyOptions::default();
        let order =
            input.bucket_order.map(|all| all.into_iter().map(SectionName::section).collect());
        let assembly = AssemblyOptions {
            section_order: order.unwrap_or(default.section_order),
            self_identity: input.self_identity.unwrap_or(default.self_identity),
            thoughts: input.thought_surfacing,
            replay_compatibility: input.replay_compatibility,
            unsupported_media: input
                .unsupported_media_policy
                .map(MediaPolicyInput::meaning)
                .unwrap_or_default(),
            ..default
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
            strict_tool_choice: input.strict_tool_choice,
            auto_ack: input.auto_ack.unwrap_or(true),
            text_calls: input.local_tool_call_parser.and_then(ParserInput::format),
            reasoning: input.reasoning_parser.and_then(ParserInput::format),
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

impl SectionName {
    const fn section(self) -> PromptSection {
        match self {
            Self::StandingInstructions => PromptSection::StandingInstructions,
            Self::Memories => PromptSection::Memories,
            Self::Retrievables => PromptSection::Retrievables,
            Self::Timeline => PromptSection::Timeline,
        }
    }
}

impl MediaPolicyInput {
    fn meaning(self) -> UnsupportedMedia {
        match self {
            Self::Keys { stash_keys } => UnsupportedMedia::FallbackStash(stash_keys),
            Self::Word(word) => match word.as_str() {
                "fallback-stash" => {
                    let keys = Media::TEXT_KEYS.iter().map(|key| (*key).to_owned());
                    UnsupportedMedia::FallbackStash(keys.collect())
                }
                "synthetic-description" => UnsupportedMedia::SyntheticDescription,
                _ => UnsupportedMedia::Throw,
            },
        }
    }
}

impl<T> ParserInput<T> {
    fn format(self) -> Option<T> {
        match self {
            Self::Format(format) => Some(format),
            Self::Off(_) => None,
        }
    }
}
