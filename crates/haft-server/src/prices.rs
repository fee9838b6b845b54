//! What tokens cost.

use std::collections::HashMap;

use haft::events::Usage;
use haft::executors::ExecutorDescription;

/// The prices of a model, in US dollars for a million tokens.
///
/// ```
/// use haft_server::TokenPrices;
///
/// let prices = TokenPrices::per_million(3.0, 15.0).cached(0.3);
/// assert_eq!(prices.cached, 0.3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TokenPrices {
    /// Tokens that the model reads.
    pub input: f64,
    /// Tokens that the model writes.
    pub output: f64,
    /// Tokens that the model reads from a cache.
    pub cached: f64,
}

impl TokenPrices {
    /// Prices for a million tokens that the model reads and writes. Tokens from a cache cost as much as others.
    #[must_use]
    pub const fn per_million(input: f64, output: f64) -> Self {
        Self { input, output, cached: input }
    }

    /// Sets the price of tokens that the model reads from a cache.
    #[must_use]
    pub const fn cached(mut self, price: f64) -> Self {
        self.cached = price;
        self
    }

    /// What tokens cost.
    #[expect(clippy::cast_precision_loss, reason = "a cost is rounded")]
    pub(crate) fn cost(&self, usage: Usage) -> f64 {
        let fresh = usage.prompt.saturating_sub(usage.cached) as f64;
        let (cached, written) = (usage.cached as f64, usage.completion as f64);
        (fresh * self.input + cached * self.cached + written * self.output) / 1e6
    }
}

/// The prices that are known, by `PROVIDER:MODEL`.
#[derive(Debug, Default)]
pub(crate) struct PriceList(HashMap<String, TokenPrices>);

impl PriceList {
    pub(crate) fn insert(&mut self, model: String, prices: TokenPrices) {
        self.0.insert(model, prices);
    }

    /// What a step cost, if the price of its model is known.
    pub(crate) fn cost_of(
        &self,
        executor: Option<&ExecutorDescription>,
        usage: Usage,
    ) -> Option<f64> {
        let ExecutorDescription::Model { provider, model, .. } = executor? else { return None };
        self.0.get(&format!("{provider}:{model}")).map(|prices| prices.cost(usage))
    }
}

#[cfg(test)]
mod tests {
    use super::{PriceList, TokenPrices};
    use haft::events::Usage;

    #[test]
    fn cached_tokens_have_a_price_of_their_own_and_unknown_models_have_none() {
        let mut usage = Usage::default();
        (usage.prompt, usage.completion, usage.cached) = (2_000_000, 100_000, 1_500_000);
        let prices = TokenPrices::per_million(2.0, 10.0).cached(0.2);
        assert!((prices.cost(usage) - (1.0 + 0.3 + 1.0)).abs() < 1e-9);
        assert_eq!(PriceList::default().cost_of(None, usage), None);
    }
}
