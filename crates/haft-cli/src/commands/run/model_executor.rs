//! Selects the executor of a turn: a model of a provider, or the agent's script.

use anyhow::Result;
use haft::executors::ScriptExecutor;
use haft::executors::{
    DispatchExecutor, ExecutorDescription, RequestFuture, StepContext, StepFuture,
};
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::ollama::Ollama;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::{Dialect, Options, Provider, ProviderError};
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::args::RunOptions;
use crate::user_error::UserError;

/// The executor of an agent's turns.
pub(crate) enum ModelExecutor {
    Script(ScriptExecutor),
    ChatCompletions(Provider<ChatCompletions>),
    Responses(Provider<OpenAiResponses>),
    Anthropic(Provider<AnthropicMessages>),
    Ollama(Provider<Ollama>),
}

impl DispatchExecutor for ModelExecutor {
    fn step(&self, ctx: StepContext) -> StepFuture<'_> {
        match self {
            Self::Script(it) => it.step(ctx),
            Self::ChatCompletions(it) => it.step(ctx),
            Self::Responses(it) => it.step(ctx),
            Self::Anthropic(it) => it.step(ctx),
            Self::Ollama(it) => it.step(ctx),
        }
    }

    fn description(&self) -> ExecutorDescription {
        match self {
            Self::Script(it) => it.description(),
            Self::ChatCompletions(it) => it.description(),
            Self::Responses(it) => it.description(),
            Self::Anthropic(it) => it.description(),
            Self::Ollama(it) => it.description(),
        }
    }

    fn render_request(&self, ctx: StepContext) -> RequestFuture<'_> {
        match self {
            Self::Script(it) => it.render_request(ctx),
            Self::ChatCompletions(it) => it.render_request(ctx),
            Self::Responses(it) => it.render_request(ctx),
            Self::Anthropic(it) => it.render_request(ctx),
            Self::Ollama(it) => it.render_request(ctx),
        }
    }
}

/// What an executor is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExecutorUse {
    /// It runs turns.
    Run {
        /// Whether the API key may be sent over unencrypted HTTP.
        plain_http: bool,
    },
    /// It renders requests, which needs no API key.
    Show,
}

/// The value of `--model` that selects the agent's script.
const SCRIPT: &str = "script";

/// The base URL of a local Ollama server.
const OLLAMA_URL: &str = "http://localhost:11434";

impl ModelExecutor {
    /// Selects the model of `--model`, else the one of the agent file, else the agent's script. The API key and the
    /// base URL of a provider are read from the environment.
    pub(crate) fn select(agent: &Agent, options: &RunOptions) -> Result<Self> {
        let purpose = ExecutorUse::Run { plain_http: options.plain_http };
        Self::select_for(agent, options.model.as_deref(), purpose)
    }

    /// Selects a model or the agent's script, as [`select`](Self::select) does.
    pub(crate) fn select_for(
        agent: &Agent,
        model: Option<&str>,
        purpose: ExecutorUse,
    ) -> Result<Self> {
        match model.or(agent.file.model.as_deref()) {
            Some(SCRIPT) | None => Self::load_script(agent),
            Some(name) => {
                let Some((provider, model)) = name.split_once(':') else {
                    let error = UserError::new(format!("`{name}` names no provider"));
                    let hint = "write PROVIDER:MODEL, such as openai:gpt-5-mini";
                    return Err(error.hint(hint).into());
                };
                let options = agent.file.options.clone();
                ProviderConfig { model, options, purpose }.read_provider(provider)
            }
        }
    }

    /// The executor that took the steps of a stored turn. The provider, the model and the options are those of the turn;
    /// the headers come from the agent file, and the API key and the base URL from the environment.
    pub(crate) fn of_turn(
        agent: &Agent,
        stored: &ExecutorDescription,
        purpose: ExecutorUse,
    ) -> Result<Self> {
        match stored {
            ExecutorDescription::Model { provider, model, options, .. } => {
                let mut options = options.clone();
                if let Some(headers) = agent.file.options.get("headers") {
                    options.insert("headers".to_owned(), headers.clone());
                }
                ProviderConfig { model, options, purpose }.read_provider(provider)
            }
            ExecutorDescription::Script { .. } => Self::load_script(agent),
            other => {
                let error = UserError::new(format!("the turn was begun by {other}"));
                Err(error.hint(CHANGE_EXECUTOR).into())
            }
        }
    }

    fn load_script(agent: &Agent) -> Result<Self> {
        let script = agent.load_script()?.ok_or_else(|| {
            let error = UserError::new(format!("`{}` has no model and no script", agent.name()));
            error.hint("select a model: --model openai:gpt-5-mini")
        })?;
        Ok(Self::Script(script))
    }
}

/// The hint for a turn that this executor may not resume.
pub(super) const CHANGE_EXECUTOR: &str = "`haft resume TURN --change-executor` continues it with the model of --model or of the agent file";

/// Returns an error if `--model` names another executor than the one that took the steps of a turn. A value of the
/// environment variable HAFT_MODEL is for new turns and is not compared.
pub(super) fn check_model_option(options: &RunOptions, stored: &ExecutorDescription) -> Result<()> {
    let Some(given) = options.model.as_deref() else { return Ok(()) };
    let is_default = std::env::var_os("HAFT_MODEL").is_some_and(|it| it == given);
    let is_stored = match stored {
        ExecutorDescription::Model { provider, model, .. } => {
            given.split_once(':') == Some((provider, model))
        }
        ExecutorDescription::Script { .. } => given == SCRIPT,
        _ => false,
    };
    if is_default || is_stored {
        return Ok(());
    }
    let error = UserError::new(format!("the turn was begun by {stored}, and --model is `{given}`"));
    Err(error.hint(CHANGE_EXECUTOR).into())
}

/// What the command line, the agent file or a stored turn configures about a provider.
struct ProviderConfig<'a> {
    model: &'a str,
    options: Map<String, Value>,
    purpose: ExecutorUse,
}

impl ProviderConfig<'_> {
    fn read_provider(self, provider: &str) -> Result<ModelExecutor> {
        match provider {
            "openai" => self
                .build_from_env(ChatCompletions::new(), provider, ("OPENAI", None))
                .map(ModelExecutor::ChatCompletions),
            "ollama" => self
                .build_from_env(Ollama::new(), provider, ("OLLAMA", Some(OLLAMA_URL)))
                .map(ModelExecutor::Ollama),
            "openai-responses" => self
                .build_from_env(OpenAiResponses::new(), provider, ("OPENAI", None))
                .map(ModelExecutor::Responses),
            "anthropic" => self
                .build_from_env(AnthropicMessages::new(), provider, ("ANTHROPIC", None))
                .map(ModelExecutor::Anthropic),
            other => {
                let error = UserError::new(format!("unknown provider `{other}`"));
                let known = "known providers: openai, openai-responses, anthropic, ollama";
                Err(error.hint(known).into())
            }
        }
    }

    /// Builds a provider with the API key and the base URL that the environment has under a prefix, else with the default
    /// URL.
    fn build_from_env<D: Dialect>(
        self,
        dialect: D,
        name: &str,
        (prefix, default_url): (&str, Option<&str>),
    ) -> Result<Provider<D>> {
        let read_variable = |name: &str| {
            let value = std::env::var_os(format!("{prefix}_{name}"))?.into_string().ok()?;
            Some(value).filter(|it| !it.is_empty())
        };
        let options = Options::from(Value::Object(self.options));
        let mut builder = Provider::builder(dialect, self.model).name(name).options(options);
        let url = read_variable("BASE_URL").or_else(|| default_url.map(str::to_owned));
        if let ExecutorUse::Run { plain_http } = self.purpose {
            match (read_variable("API_KEY"), &url) {
                (Some(key), _) => builder = builder.key(key),
                (None, Some(_)) => {}
                (None, None) => {
                    let error = UserError::new(format!("no API key: {prefix}_API_KEY is not set"));
                    let hint = format!("for a server that needs no key, set {prefix}_BASE_URL");
                    return Err(error.hint(hint).into());
                }
            }
            if plain_http {
                builder = builder.allow_key_over_plain_http();
            }
        }
        if let Some(url) = url {
            let is_versioned = prefix != "OLLAMA";
            let url = if is_versioned { with_version(url) } else { without_version(&url) };
            builder = builder.base_url(url);
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

/// Removes the version of the OpenAI-compatible API, which earlier versions of Haft used for Ollama.
fn without_version(url: &str) -> String {
    let trimmed = url.trim_end_matches('/');
    trimmed.strip_suffix("/v1").unwrap_or(trimmed).to_owned()
}

/// Adds the API version to a base URL that has no path.
fn with_version(url: String) -> String {
    let after_host = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    match after_host {
        None | Some((_, "")) => format!("{}/v1", url.trim_end_matches('/')),
        Some(_) => url,
    }
}
