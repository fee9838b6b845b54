//! The user's configuration: the default model, named providers and prices.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use haft::turn::TokenPrices;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::state_dir::{is_missing, user_dir};
use crate::text_file::{MAX_TEXT_BYTES, read_named_text};
use crate::user_error::{SourceLocation, UserError, suggestion};

/// The configuration file of the user.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserConfig {
    /// Model of agents whose file names neither a model nor a script.
    pub(crate) model: Option<String>,
    /// Providers, by the name that stands before the colon of a model.
    #[serde(default)]
    pub(crate) providers: BTreeMap<String, ProviderTable>,
    /// Prices, by `PROVIDER:MODEL`. They go before those that Haft ships with.
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

impl UserConfig {
    /// Reads the configuration file. Without a file everything has its default.
    pub(crate) fn read() -> Result<Self> {
        let Some(path) = config_path() else { return Ok(Self::default()) };
        let text = match read_named_text(&path, MAX_TEXT_BYTES) {
            Ok(text) => text,
            Err(error) if is_missing(&error) => return Ok(Self::default()),
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

/// The user's prices of a model per million tokens, in US dollars. A price that is absent is the one that Haft ships
/// with, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelPrices {
    /// Price of tokens that the model reads.
    input: Option<f64>,
    /// Price of tokens that the model writes.
    output: Option<f64>,
    /// Price of tokens that the model reads from a cache; default: the price of `input`.
    cached: Option<f64>,
}

impl ModelPrices {
    /// All prices of the model, with those that are known without the user.
    pub(crate) fn complete(self, known: Option<TokenPrices>) -> TokenPrices {
        let input = self.input.or(known.map(|it| it.input)).unwrap_or_default();
        let output = self.output.or(known.map(|it| it.output)).unwrap_or_default();
        // The known price of a cache belongs to the known price of what is read.
        let known_cached = known.filter(|_| self.input.is_none()).map(|it| it.cached);
        let cached = self.cached.or(known_cached).unwrap_or(input);
        TokenPrices::per_million(input, output).cached(cached)
    }
}
