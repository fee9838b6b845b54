//! Who takes the steps of a turn: a model, or the agent's script.

use anyhow::Result;
use haft::executors::Scripted;
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::provider::ProviderError;
use haft::providers::{Dialect, Options, Provider};
use haft::step::{Executor, StepContext, StepFuture};
use serde_json::Value;

use crate::agent::Agent;
use crate::args::RunOutput;
use crate::failure::Failure;

pub(crate) enum Model {
    Script(Scripted),
    Chat(Provider<ChatCompletions>),
    Responses(Provider<OpenAiResponses>),
    Anthropic(Provider<AnthropicMessages>),
}

impl Executor for Model {
    fn step(&self, cx: StepContext) -> StepFuture<'_> {
        match self {
            Self::Script(it) => it.step(cx),
            Self::Chat(it) => it.step(cx),
            Self::Responses(it) => it.step(cx),
            Self::Anthropic(it) => it.step(cx),
        }
    }
}

/// What stands for the agent's script instead of a model.
const SCRIPT: &str = "script";

impl Model {
    /// The one that was asked for, else the agent's, else its script.
    pub(crate) fn of(agent: &Agent, output: &RunOutput) -> Result<Self> {
        match output.model.as_deref().or(agent.file.model.as_deref()) {
            Some(SCRIPT) | None => {
                let script = agent.script()?.ok_or_else(|| {
                    let failure =
                        Failure::new(format!("`{}` has no model and no script", agent.name()));
                    failure.hint("say which model: --model openai:gpt-5-mini")
                })?;
                Ok(Self::Script(script))
            }
            Some(model) => Self::named(agent, model, output.plain_http),
        }
    }

    fn named(agent: &Agent, name: &str, plain_http: bool) -> Result<Self> {
        let Some((provider, model)) = name.split_once(':') else {
            let failure = Failure::new(format!("`{name}` names no provider"));
            return Err(failure.hint("write PROVIDER:MODEL, such as openai:gpt-5-mini").into());
        };
        let options = Options::from(Value::Object(agent.file.options.clone()));
        let asked = Asked { model, options, plain_http };
        match provider {
            "openai" => asked.built(ChatCompletions::new(), "OPENAI", None).map(Self::Chat),
            "ollama" => {
                let here = Some("http://localhost:11434/v1");
                asked.built(ChatCompletions::new(), "OLLAMA", here).map(Self::Chat)
            }
            "openai-responses" => {
                asked.built(OpenAiResponses::new(), "OPENAI", None).map(Self::Responses)
            }
            "anthropic" => {
                asked.built(AnthropicMessages::new(), "ANTHROPIC", None).map(Self::Anthropic)
            }
            other => {
                let failure = Failure::new(format!("no provider is called `{other}`"));
                let known = "known are openai, openai-responses, anthropic and ollama";
                Err(failure.hint(known).into())
            }
        }
    }
}

/// What was asked for, beside the provider.
struct Asked<'a> {
    model: &'a str,
    options: Options,
    /// Whether a key may go over the network as it is.
    plain_http: bool,
}

impl Asked<'_> {
    /// A provider with the key and the address that the environment has for it.
    fn built<D: Dialect>(self, dialect: D, prefix: &str, url: Option<&str>) -> Result<Provider<D>> {
        let variable = |name: &str| {
            let value = std::env::var_os(format!("{prefix}_{name}"))?.into_string().ok()?;
            Some(value).filter(|it| !it.is_empty())
        };
        let mut builder = Provider::builder(dialect, self.model).options(self.options);
        let url = variable("BASE_URL").or_else(|| url.map(str::to_owned));
        match (variable("API_KEY"), &url) {
            (Some(key), _) => builder = builder.key(key),
            (None, Some(_)) => {}
            (None, None) => {
                let failure = Failure::new(format!("there is no key: {prefix}_API_KEY is not set"));
                let hint = format!("a server that needs none is named by {prefix}_BASE_URL");
                return Err(failure.hint(hint).into());
            }
        }
        if let Some(url) = url {
            builder = builder.base_url(versioned(url));
        }
        if self.plain_http {
            builder = builder.allow_key_over_plain_http();
        }
        builder.build().map_err(|error| match error {
            ProviderError::PlainHttp { .. } => {
                let hint = "use https, or --plain-http if the network is yours alone";
                Failure::new(error.to_string()).hint(hint).into()
            }
            other => other.into(),
        })
    }
}

/// An address with its version: some name only the host.
fn versioned(url: String) -> String {
    let after_host = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    match after_host {
        None | Some((_, "")) => format!("{}/v1", url.trim_end_matches('/')),
        Some(_) => url,
    }
}
