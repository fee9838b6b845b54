//! The prices of models, by their names.

use std::collections::HashMap;

use haft::events::Usage;
use haft::executors::ExecutorDescription;
use haft::turn::{PriceTable, TokenPrices};

/// The prices that the application sets, by `PROVIDER:MODEL`. Other models have those of the [`PriceTable`].
#[derive(Debug, Default)]
pub(crate) struct PriceList(HashMap<String, TokenPrices>);

impl PriceList {
    pub(crate) fn insert(&mut self, model: String, prices: TokenPrices) {
        self.0.insert(model, prices);
    }

    /// What a step cost, if the price of its model is known.
    pub(crate) fn cost_of(&self, executor: &ExecutorDescription, usage: Usage) -> Option<f64> {
        let ExecutorDescription::Model { provider, model, .. } = executor else { return None };
        let own = self.0.get(&format!("{provider}:{model}")).copied();
        let prices = own.or_else(|| PriceTable::bundled().prices_of(provider, model));
        prices.map(|prices| prices.cost(usage))
    }
}

#[cfg(test)]
mod tests {
    use super::{ExecutorDescription, PriceList, PriceTable, TokenPrices};
    use haft::events::Usage;

    #[test]
    fn cached_tokens_have_a_price_of_their_own_and_unknown_models_have_none() {
        let mut usage = Usage::default();
        (usage.prompt, usage.completion, usage.cached) = (2_000_000, 100_000, 1_500_000);
        let prices = TokenPrices::per_million(2.0, 10.0).cached(0.2);
        assert!((prices.cost(usage) - (1.0 + 0.3 + 1.0)).abs() < 1e-9);
        assert_eq!(PriceList::default().cost_of(&ExecutorDescription::default(), usage), None);
    }

    #[test]
    fn own_prices_replace_those_of_the_table() {
        let model = ExecutorDescription::Model {
            provider: "openai".to_owned(),
            model: "gpt-5-mini".to_owned(),
            base_url: String::new(),
            options: serde_json::Map::new(),
        };
        let usage = Usage::new(1_000_000, 0);
        let mut prices = PriceList::default();
        let known =
            PriceTable::bundled().prices_of("openai", "gpt-5-mini").map(|it| it.cost(usage));
        assert!(known.is_some());
        assert_eq!(prices.cost_of(&model, usage), known);
        prices.insert("openai:gpt-5-mini".to_owned(), TokenPrices::per_million(9.0, 0.0));
        assert_eq!(prices.cost_of(&model, usage), Some(9.0));
    }
}
