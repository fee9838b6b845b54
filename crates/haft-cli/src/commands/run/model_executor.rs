//! Selects the executor of a turn: a model of a provider, or the agent's script.

use anyhow::Result;
use haft::executors::ScriptExecutor;
use haft::executors::{DispatchExecutor, StepContext, StepFuture};
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::{Dialect, Options, Provider, ProviderError};
use serde_json::Value;

use crate::agent::Agent;
use crate::args::RunOptions;
use crate::user_error::UserError;

/// The executor of an agent's turns.
pub(crate) enum ModelExecutor {
    Script(ScriptExecutor),
    ChatCompletions(Provider<ChatCompletions>),
    Responses(Provider<OpenAiResponses>),
    Anthropic(Provider<AnthropicMessages>),
}

impl DispatchExecutor for ModelExecutor {
    fn step(&self, ctx: StepContext) -> StepFuture<'_> {
        match self {
            Self::Script(it) => it.step(ctx),
            Self::ChatCompletions(it) => it.step(ctx),
            Self::Responses(it) => it.step(ctx),
            Self::Anthropic(it) => it.step(ctx),
        }
    }
}

/// The value of `--model` that selects the agent's script.
const SCRIPT: &str = "script";

/// The base URL of a local Ollama server.
const OLLAMA_URL: &str = "http://localhost:11434/v1";

impl ModelExecutor {
    /// Selects the model of `--model`, else the one of the agent file, else the agent's script. The API key and the
    /// base URL of a provider are read from the environment.
    pub(crate) fn select(agent: &Agent, options: &RunOptions) -> Result<Self> {
        match options.model.as_deref().or(agent.file.model.as_deref()) {
            Some(SCRIPT) | None => {
                let script = agent.load_script()?.ok_or_else(|| {
                    let error =
                        UserError::new(format!("`{}` has no model and no script", agent.name()));
                    error.hint("select a model: --model openai:gpt-5-mini")
                })?;
                Ok(Self::Script(script))
            }
            Some(model) => Self::read_provider(agent, model, options.plain_http),
        }
    }

    fn read_provider(agent: &Agent, name: &str, plain_http: bool) -> Result<Self> {
        let Some((provider, model)) = name.split_once(':') else {
            let error = UserError::new(format!("`{name}` names no provider"));
            return Err(error.hint("write PROVIDER:MODEL, such as openai:gpt-5-mini").into());
        };
        let options = Options::from(Value::Object(agent.file.options.clone()));
        let config = ProviderConfig { model, options, plain_http };
        match provider {
            "openai" => config
                .build_from_env(ChatCompletions::new(), "OPENAI", None)
                .map(Self::ChatCompletions),
            "ollama" => config
                .build_from_env(ChatCompletions::new(), "OLLAMA", Some(OLLAMA_URL))
                .map(Self::ChatCompletions),
            "openai-responses" => {
                config.build_from_env(OpenAiResponses::new(), "OPENAI", None).map(Self::Responses)
            }
            "anthropic" => config
                .build_from_env(AnthropicMessages::new(), "ANTHROPIC", None)
                .map(Self::Anthropic),
            other => {
                let error = UserError::new(format!("unknown provider `{other}`"));
                let known = "known providers: openai, openai-responses, anthropic, ollama";
                Err(error.hint(known).into())
            }
        }
    }
}

/// What the command line and the agent file configure about a provider.
struct ProviderConfig<'a> {
    model: &'a str,
    options: Options,
    /// Whether the API key may be sent over unencrypted HTTP.
    plain_http: bool,
}

impl ProviderConfig<'_> {
    /// Builds a provider with the API key and the base URL that the environment has under a prefix.
    fn build_from_env<D: Dialect>(
        self,
        dialect: D,
        prefix: &str,
        default_url: Option<&str>,
    ) -> Result<Provider<D>> {
        let read_variable = |name: &str| {
            let value = std::env::var_os(format!("{prefix}_{name}"))?.into_string().ok()?;
            Some(value).filter(|it| !it.is_empty())
        };
        let mut builder = Provider::builder(dialect, self.model).options(self.options);
        let url = read_variable("BASE_URL").or_else(|| default_url.map(str::to_owned));
        match (read_variable("API_KEY"), &url) {
            (Some(key), _) => builder = builder.key(key),
            (None, Some(_)) => {}
            (None, None) => {
                let error = UserError::new(format!("no API key: {prefix}_API_KEY is not set"));
                let hint = format!("for a server that needs no key, set {prefix}_BASE_URL");
                return Err(error.hint(hint).into());
            }
        }
        if let Some(url) = url {
            builder = builder.base_url(with_version(url));
        }
        if self.plain_http {
            builder = builder.allow_key_over_plain_http();
        }
        builder.build().map_err(|error| match error {
            ProviderError::PlainHttp { .. } => {
                let hint = "use https, or --plain-http if you trust the network";
                UserError::new(error.to_string()).hint(hint).into()
            }
            other => other.into(),
        })
    }
}

/// Adds the API version to a base URL that has no path.
fn with_version(url: String) -> String {
    let after_host = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    match after_host {
        None | Some((_, "")) => format!("{}/v1", url.trim_end_matches('/')),
        Some(_) => url,
    }
}
