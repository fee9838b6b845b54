//! Selects the executor of a turn: a model of a provider, or the agent's script.

use std::sync::Arc;

use anyhow::Result;
use haft::executors::{DispatchExecutor, ExecutorDescription};
use haft::providers::{Options, ProviderBuilder, ProviderError};
use serde_json::{Map, Value};

use crate::agent::AgentDir;
use crate::args::RunOptions;
use crate::config::UserConfig;
use crate::model_providers::ProviderSpec;
use crate::user_error::UserError;

/// Splits a name of the form `PROVIDER:MODEL`.
pub(crate) fn split_model_name(name: &str) -> Result<(&str, &str), UserError> {
    let missing = match name.split_once(':') {
        Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
            return Ok((provider, model));
        }
        Some((_, "")) => "model",
        _ => "provider",
    };
    let error = UserError::new(format!("`{name}` names no {missing}"));
    Err(error.hint("write PROVIDER:MODEL, such as openai:gpt-5-mini"))
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

/// Adds to the hint of a model that cannot be used that the agent has a script, which needs none.
fn offer_script(error: anyhow::Error, agent: &AgentDir) -> anyhow::Error {
    const OFFER: &str = "the agent has a script, which needs no model: --model script";
    match error.downcast::<UserError>() {
        Ok(error) if agent.file.script.is_some() => {
            let hint = match error.advice() {
                Some(question) if question.ends_with('?') => format!("{question} Or: {OFFER}"),
                Some(hint) => format!("{hint}; {OFFER}"),
                None => OFFER.to_owned(),
            };
            error.hint(hint).into()
        }
        Ok(error) => error.into(),
        Err(error) => error,
    }
}

/// The value of `--model` that selects the agent's script.
const SCRIPT: &str = "script";

/// The value of `--model` that selects the default model of the user's configuration.
const DEFAULT: &str = "default";

/// Finds what takes the steps of turns, with the user's configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecutorFinder<'c> {
    pub(crate) config: &'c UserConfig,
    pub(crate) purpose: ExecutorUse,
}

impl ExecutorFinder<'_> {
    /// The model of `--model`, else the one of the agent file, else the agent's script. An agent that names neither has the
    /// default model of the user's configuration. The API key and the base URL of a provider are read from the
    /// environment.
    pub(crate) fn of_agent(
        &self,
        agent: &AgentDir,
        model: Option<&str>,
    ) -> Result<Arc<dyn DispatchExecutor>> {
        let default = self.config.model.as_deref().filter(|_| agent.file.script.is_none());
        match model.or(agent.file.model.as_deref()).or(default) {
            Some(SCRIPT) | None => load_script(agent),
            Some(name) => self
                .of_name(name, agent.file.options.clone())
                .map_err(|error| offer_script(error, agent)),
        }
    }

    /// The model with a name of the form `PROVIDER:MODEL`, or `default` for the one of the user's configuration.
    pub(crate) fn of_name(
        &self,
        name: &str,
        options: Map<String, Value>,
    ) -> Result<Arc<dyn DispatchExecutor>> {
        let name = match (name, self.config.model.as_deref()) {
            (DEFAULT, Some(model)) => model,
            (DEFAULT, None) => {
                let error = UserError::new("the configuration has no default model");
                return Err(error.hint("haft config set model openai:gpt-5-mini").into());
            }
            (name, _) => name,
        };
        let (provider, model) = split_model_name(name)?;
        let spec = ProviderSpec::find(provider, self.config)?;
        let options = spec.merge_options(options);
        ProviderConfig { model, options, purpose: self.purpose }.build_executor(&spec)
    }

    /// The executor that took the steps of a stored turn. The provider, the model and the options are those of the turn;
    /// the headers come from the agent file and the configuration, and the API key and the base URL from the environment.
    pub(crate) fn of_turn(
        &self,
        agent: &AgentDir,
        stored: &ExecutorDescription,
    ) -> Result<Arc<dyn DispatchExecutor>> {
        match stored {
            ExecutorDescription::Model { provider, model, options, .. } => {
                let mut options = options.clone();
                if let Some(headers) = agent.file.options.get("headers") {
                    options.insert("headers".to_owned(), headers.clone());
                }
                let spec = ProviderSpec::find(provider, self.config)?;
                let options = spec.add_headers(options);
                ProviderConfig { model, options, purpose: self.purpose }.build_executor(&spec)
            }
            ExecutorDescription::Script { .. } => load_script(agent),
            other => {
                let error = UserError::new(format!("the turn was begun by {other}"));
                Err(error.hint(CHANGE_EXECUTOR).into())
            }
        }
    }
}

fn load_script(agent: &AgentDir) -> Result<Arc<dyn DispatchExecutor>> {
    let script = agent.load_script()?.ok_or_else(|| {
        let error = UserError::new(format!("`{}` has no model and no script", agent.name()));
        error.hint("select a model: --model openai:gpt-5-mini")
    })?;
    Ok(Arc::new(script))
}

/// The hint for a turn that this executor may not resume.
pub(crate) const CHANGE_EXECUTOR: &str = "`haft resume TURN --change-executor` continues it with the model of --model or of the agent file";

/// Returns an error if `--model` names another executor than the one that took the steps of a turn. A value of the
/// environment variable HAFT_MODEL is for new turns and is not compared.
pub(crate) fn check_model_option(options: &RunOptions, stored: &ExecutorDescription) -> Result<()> {
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
    /// Builds a provider. To show requests needs no API key.
    fn build_executor(self, spec: &ProviderSpec) -> Result<Arc<dyn DispatchExecutor>> {
        let options = Options::from(Value::Object(self.options));
        let builder = ProviderBuilder::new(spec.new_dialect(), self.model);
        let mut builder = builder.name(spec.name.as_str()).options(options);
        if let Some(url) = &spec.base_url {
            builder = builder.base_url(url.as_str());
        }
        if let ExecutorUse::Run { plain_http } = self.purpose {
            spec.require_url()?;
            match spec.read_key() {
                Some(key) => builder = builder.key(key),
                None if spec.needs_key => return Err(spec.missing_key().into()),
                None => {}
            }
            if plain_http {
                builder = builder.allow_key_over_plain_http();
            }
            if let Some(transport) = spec.proxy_transport()? {
                builder = builder.transport(transport);
            }
        }
        match builder.build() {
            Ok(provider) => Ok(Arc::new(provider)),
            Err(ProviderError::PlainHttp { host }) => {
                let message = format!("the API key is not sent to `{host}` over unencrypted HTTP");
                let hint = "use https, or --plain-http if you trust the network";
                Err(UserError::new(message).hint(hint).into())
            }
            Err(error @ ProviderError::NoTransport { .. }) => {
                // The library says what is missing, and systems differ in where it comes from.
                let hint = "https needs the certificates of the system: install the package ca-certificates, or name a file \
                            with SSL_CERT_FILE";
                let error = anyhow::Error::from(error);
                let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
                let message = format!("there is no HTTP client: {}", causes.join(": "));
                Err(UserError::new(message).hint(hint).into())
            }
            Err(other) => Err(other.into()),
        }
    }
}
