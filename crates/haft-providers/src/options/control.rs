//! The options of the core.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haft_core::media::Media;
use haft_core::tokens::Estimators;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::assemble::{How, ThoughtSurfacing, UnsupportedMedia};
use crate::prompt::Bucket;
use crate::reasoning::ReasoningFormat;
use crate::text_calls::TextCallFormat;

/// The options of the core. None of them is ever sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Control {
    /// The model.
    pub model: String,
    /// Headers that are set last, over all others.
    pub headers: BTreeMap<String, String>,
    /// Whether the answer comes in pieces; yes if not said.
    pub stream: bool,
    /// The longest time between two pieces, within that of the transport.
    pub stream_idle_timeout: Option<Duration>,
    /// The longest time until an answer begins, within that of the transport.
    pub request_timeout: Option<Duration>,
    /// What is changed of the policy of retries.
    pub retry: RetryOptions,
    /// How the prompt is put together.
    pub how: How,
    /// How many tokens the model can hold, question and answer together.
    pub context_window: Option<u64>,
    /// How many of them are kept for the answer; as many as it may have if not said.
    pub output_reserve: Option<u64>,
    /// What counts the tokens of the prompt; nobody does if there is none.
    pub token_encoding: Option<String>,
    /// Whether a prompt that does not fit is made to, instead of being refused.
    pub context_shedding: bool,
    /// Whether forcing a tool that lives only for the dispatch is an error.
    pub strict_tool_choice: bool,
    /// Whether an answer without calls ends the dispatch; yes if not said. Output middleware can withhold the end.
    /// If not, output middleware has to end the dispatch, or the model is asked again.
    pub auto_ack: bool,
    /// How calls are found that the model writes as text.
    pub text_calls: Option<TextCallFormat>,
    /// How reasoning is found that the model writes as text.
    pub reasoning: Option<ReasoningFormat>,
}

/// What is changed of a policy of retries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RetryOptions {
    /// How often a request is sent at most.
    pub max_attempts: Option<u32>,
    /// How long to wait after the first failure, in milliseconds.
    pub base_delay_ms: Option<u64>,
    /// How long to wait at most, in milliseconds.
    pub max_delay_ms: Option<u64>,
    /// How long all of it may take, in milliseconds.
    pub budget_ms: Option<u64>,
    /// The statuses that are worth another attempt.
    pub retriable_statuses: Option<Vec<u16>>,
    /// Whether the provider is heeded that says how long to wait.
    pub honor_retry_after: Option<bool>,
}

/// The options as they are written; their schema has accepted them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    model: String,
    headers: BTreeMap<String, String>,
    stream: Option<bool>,
    stream_idle_timeout_ms: u64,
    request_timeout_ms: u64,
    retry: RetryOptions,
    bucket_order: Option<Vec<BucketName>>,
    context_window: Option<u64>,
    output_reserve: Option<u64>,
    token_encoding: Option<String>,
    context_shedding: bool,
    self_identity: Option<Arc<str>>,
    thought_surfacing: ThoughtSurfacing,
    replay_compatibility: Vec<String>,
    strict_tool_choice: bool,
    auto_ack: Option<bool>,
    unsupported_media_policy: Option<Policy>,
    local_tool_call_parser: Option<Parser<TextCallFormat>>,
    reasoning_parser: Option<Parser<ReasoningFormat>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum BucketName {
    StandingInstructions,
    Memories,
    Retrievables,
    Timeline,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Policy {
    Word(String),
    Keys {
        #[serde(rename = "stashKeys")]
        stash_keys: Vec<String>,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Parser<T> {
    Format(T),
    Off(Off),
}

#[derive(Deserialize)]
enum Off {
    #[serde(rename = "none")]
    None,
}

impl Control {
    pub(super) fn read(
        values: Map<String, Value>,
        estimators: &Estimators,
    ) -> Result<Self, Vec<String>> {
        let written: Written = serde_json::from_value(Value::Object(values))
            .map_err(|error| vec![error.to_string()])?;
        let problems = written.problems(estimators);
        if !problems.is_empty() {
            return Err(problems);
        }
        let default = How::default();
        let order =
            written.bucket_order.map(|all| all.into_iter().map(BucketName::bucket).collect());
        let how = How {
            bucket_order: order.unwrap_or(default.bucket_order),
            self_identity: written.self_identity.unwrap_or(default.self_identity),
            thoughts: written.thought_surfacing,
            replay_compatibility: written.replay_compatibility,
            unsupported_media: written
                .unsupported_media_policy
                .map(Policy::meaning)
                .unwrap_or_default(),
            ..default
        };
        let time = |ms| (ms > 0).then(|| Duration::from_millis(ms));
        Ok(Self {
            model: written.model,
            headers: written.headers,
            stream: written.stream.unwrap_or(true),
            stream_idle_timeout: time(written.stream_idle_timeout_ms),
            request_timeout: time(written.request_timeout_ms),
            retry: written.retry,
            how,
            context_window: written.context_window,
            output_reserve: written.output_reserve,
            token_encoding: written.token_encoding,
            context_shedding: written.context_shedding,
            strict_tool_choice: written.strict_tool_choice,
            auto_ack: written.auto_ack.unwrap_or(true),
            text_calls: written.local_tool_call_parser.and_then(Parser::format),
            reasoning: written.reasoning_parser.and_then(Parser::format),
        })
    }
}

impl Written {
    /// What does not go together.
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

impl BucketName {
    const fn bucket(self) -> Bucket {
        match self {
            Self::StandingInstructions => Bucket::StandingInstructions,
            Self::Memories => Bucket::Memories,
            Self::Retrievables => Bucket::Retrievables,
            Self::Timeline => Bucket::Timeline,
        }
    }
}

impl Policy {
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

impl<T> Parser<T> {
    fn format(self) -> Option<T> {
        match self {
            Self::Format(format) => Some(format),
            Self::Off(_) => None,
        }
    }
}
