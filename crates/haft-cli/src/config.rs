//! The user's configuration: the default model, named providers and prices.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use haft::executors::ExecutorDescription;
use haft::turn::{StepHistory, TokenPrices, TurnHistory};
use haft_server::ApiBuilder;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::state_dir::user_dir;
use crate::text_file::{MAX_TEXT_BYTES, read_named_text};
use crate::user_error::{SourceLocation, UserError, suggestion};

/// The configuration file of the user.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserConfig {
    /// Model of agents whose file names neither a model nor a script.
    pub(crate) model: Option<String>,
    /// Providers, by the name that stands before the colon of a model.
    #[serde(default)]
    pub(crate) providers: BTreeMap<String, ProviderTable>,
    /// Prices, by `PROVIDER:MODEL`.
    #[serde(default)]
    pub(crate) prices: BTreeMap<String, ModelPrices>,
}

/// A provider of models.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderTable {
    /// Provider whose settings are the defaults of this one.
    pub(crate) preset: Option<String>,
    /// API of the provider.
    pub(crate) dialect: Option<DialectName>,
    /// Base URL of the API.
    pub(crate) base_url: Option<String>,
    /// Environment variable with the API key.
    pub(crate) key_env: Option<String>,
    /// Version of the API of Azure OpenAI.
    pub(crate) api_version: Option<String>,
    /// Options of every request, unless the agent file sets them.
    #[serde(default)]
    pub(crate) options: Map<String, Value>,
}

/// The API of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DialectName {
    ChatCompletions,
    Responses,
    Anthropic,
    Ollama,
}

impl DialectName {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat-completions",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
        }
    }
}

/// The prices of a model per million tokens, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelPrices {
    /// Price of tokens that the model reads.
    #[serde(default)]
    input: f64,
    /// Price of tokens that the model writes.
    #[serde(default)]
    output: f64,
    /// Price of tokens that the model reads from a cache; default: the price of `input`.
    cached: Option<f64>,
}

impl From<ModelPrices> for TokenPrices {
    fn from(prices: ModelPrices) -> Self {
        let cached = prices.cached.unwrap_or(prices.input);
        Self::per_million(prices.input, prices.output).cached(cached)
    }
}

impl UserConfig {
    /// Reads the configuration file. Without a file everything has its default.
    pub(crate) fn read() -> Result<Self> {
        let Some(path) = config_path() else { return Ok(Self::default()) };
        let text = match read_named_text(&path, MAX_TEXT_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
            }
        };
        Ok(Self::parse(&text, &path)?)
    }

    /// Parses the text of a configuration file.
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self, UserError> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| {
                text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1
            });
            let location = SourceLocation { file: path.to_owned(), line, key: None };
            explain_parse_error(error.message()).at(location)
        })
    }

    /// The prices that the inspector shows costs by.
    pub(crate) fn add_prices(&self, api: ApiBuilder) -> ApiBuilder {
        let prices = self.prices.iter();
        prices.fold(api, |api, (model, prices)| api.prices(model.as_str(), (*prices).into()))
    }

    /// Whether the prices of any model are known.
    pub(crate) fn has_prices(&self) -> bool {
        !self.prices.is_empty()
    }

    /// What the steps of a turn cost; nothing if the prices of none are known.
    pub(crate) fn cost_of(&self, history: &TurnHistory) -> Option<f64> {
        history.steps.iter().filter_map(|step| self.cost_of_step(step)).reduce(|a, b| a + b)
    }

    /// What a step cost, if the prices of its model are known.
    pub(crate) fn cost_of_step(&self, step: &StepHistory) -> Option<f64> {
        Some(self.prices_of(step.executor.as_ref()?)?.cost(step.usage))
    }

    /// The prices of the model of an executor, if it is one and its prices are known.
    pub(crate) fn prices_of(&self, executor: &ExecutorDescription) -> Option<TokenPrices> {
        let ExecutorDescription::Model { provider, model, .. } = executor else { return None };
        let prices = self.prices.get(&format!("{provider}:{model}")).copied();
        prices.map(Into::into)
    }
}

/// The error of the parser. For an unknown name it suggests a valid one.
fn explain_parse_error(message: &str) -> UserError {
    let (problem, expected) = message.split_once(", expected ").unwrap_or((message, ""));
    let wrong = problem.split('`').nth(1).unwrap_or_default();
    let valid: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    match suggestion(wrong, &valid).filter(|_| problem.starts_with("unknown ")) {
        Some(hint) => UserError::new(problem).hint(hint),
        None => UserError::new(message),
    }
}

/// The path of the configuration file: `HAFT_CONFIG`, else `haft/config.toml` in `XDG_CONFIG_HOME`, which is `~/.config`
/// by default. `None` without a home directory.
pub(crate) fn config_path() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("HAFT_CONFIG").filter(|it| !it.is_empty()) {
        return Some(path.into());
    }
    Some(user_dir("XDG_CONFIG_HOME", ".config")?.join("haft/config.toml"))
}
