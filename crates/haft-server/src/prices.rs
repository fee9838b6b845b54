//! The prices of models, by their names.

use std::collections::HashMap;

use haft::events::Usage;
use haft::executors::ExecutorDescription;
use haft::turn::TokenPrices;

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
