//! Providers, models, and what checks of them found.

use haft::turn::{Timestamp, TokenPrices};
use schemars::JsonSchema;
use serde::Serialize;

/// A line of `haft models`: a provider.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProviderLine<'p> {
    /// Its name.
    pub(crate) provider: &'p str,
    /// The API that it speaks.
    pub(crate) dialect: &'p str,
    /// Its address; nothing if it must be configured.
    pub(crate) base_url: Option<String>,
    /// The variable of its key.
    pub(crate) key_variable: Option<&'p str>,
    /// Whether a key is set.
    pub(crate) has_key: bool,
    /// Whether it needs a key.
    pub(crate) needs_key: bool,
}

/// A line of `haft models PROVIDER`: a model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelLine<'m> {
    /// The model as `--model` takes it.
    pub(crate) model: String,
    /// The provider.
    pub(crate) provider: &'m str,
    /// The name of the model at the provider.
    pub(crate) id: &'m str,
    /// Its prices, if they are known.
    pub(crate) prices: Option<PrintedPrices>,
}

/// The prices of a model per million tokens, in US dollars.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrintedPrices {
    /// Of tokens that it reads.
    pub(crate) input: f64,
    /// Of tokens that it writes.
    pub(crate) output: f64,
    /// Of tokens that it reads from a cache.
    pub(crate) cached: f64,
}

impl From<TokenPrices> for PrintedPrices {
    fn from(prices: TokenPrices) -> Self {
        Self { input: prices.input, output: prices.output, cached: prices.cached }
    }
}

/// A line of `haft doctor`: a check.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DoctorLine<'c> {
    /// What was checked.
    pub(crate) check: &'c str,
    /// How it ended.
    pub(crate) status: CheckStatus,
    /// What was found.
    pub(crate) text: &'c str,
}

/// How a check ended.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CheckStatus {
    /// It found no problem.
    Ok,
    /// It found a problem.
    Failed,
    /// It was not made, or its result says nothing.
    Skipped,
}

impl CheckStatus {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// A line of `haft serve token list`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenLine<'t> {
    /// The id by which the token is revoked.
    pub(crate) id: &'t str,
    /// The tenant whose turns it opens.
    pub(crate) tenant: &'t str,
    /// Its name.
    pub(crate) name: &'t str,
    /// When it was created.
    pub(crate) created_at: Timestamp,
}
