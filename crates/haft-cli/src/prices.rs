//! The prices of models and the cost of turns: the user's own prices, and those that Haft ships with.

use std::collections::BTreeSet;
use std::fmt;

use haft::events::Usage;
use haft::executors::ExecutorDescription;
use haft::turn::{PriceTable, StepHistory, TokenPrices, TurnHistory};
use haft_server::ApiBuilder;

use crate::config::UserConfig;
use crate::model_providers::PRESETS;

/// Whose prices they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PriceSource {
    /// The user set them.
    User,
    /// Haft ships with them.
    Table,
}

/// What the steps of a turn cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TurnCost {
    /// In US dollars; nothing if the prices of no step are known.
    pub(crate) amount: Option<f64>,
    /// Whether prices of the table were used, which are those of one day.
    uses_table: bool,
    /// The models whose prices are not known.
    unpriced: BTreeSet<String>,
}

impl TurnCost {
    /// Adds what another turn cost.
    pub(crate) fn merge(&mut self, other: Self) {
        if let Some(amount) = other.amount {
            self.amount = Some(self.amount.unwrap_or_default() + amount);
        }
        self.uses_table |= other.uses_table;
        self.unpriced.extend(other.unpriced);
    }

    fn add(&mut self, config: &UserConfig, executor: &ExecutorDescription, usage: Usage) {
        let ExecutorDescription::Model { provider, model, .. } = executor else { return };
        match find_prices(config, provider, model) {
            Some((prices, source)) => {
                self.amount = Some(self.amount.unwrap_or_default() + prices.cost(usage));
                self.uses_table |= source == PriceSource::Table;
            }
            // A model that runs on this machine has no price.
            None if PRESETS.iter().any(|it| it.name == provider && it.is_local) => {}
            None => drop(self.unpriced.insert(format!("{provider}:{model}"))),
        }
    }
}

/// The amount and the day of its prices. Nothing if there is nothing to say, as for a script.
impl fmt::Display for TurnCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let models: Vec<String> = self.unpriced.iter().map(|it| format!("`{it}`")).collect();
        let models = models.join(" and ");
        match self.amount {
            Some(amount) => {
                f.write_str(&format_cost(amount))?;
                if self.uses_table {
                    write!(f, " (prices of {})", PriceTable::bundled().date())?;
                }
                match self.unpriced.is_empty() {
                    true => Ok(()),
                    false => write!(f, " without {models}, whose prices are not known"),
                }
            }
            None if self.unpriced.is_empty() => Ok(()),
            None => write!(f, "cost unknown (no prices of {models})"),
        }
    }
}

impl UserConfig {
    /// The prices that the inspector shows costs by.
    pub(crate) fn add_prices(&self, api: ApiBuilder) -> ApiBuilder {
        self.prices.iter().fold(api, |api, (name, own)| {
            let known = name.split_once(':');
            let known = known
                .and_then(|(provider, model)| PriceTable::bundled().prices_of(provider, model));
            api.prices(name.as_str(), own.complete(known))
        })
    }

    /// What the steps of a turn cost.
    pub(crate) fn cost_of(&self, history: &TurnHistory) -> TurnCost {
        let mut cost = TurnCost::default();
        for step in &history.steps {
            cost.add(self, &step.executor, step.usage);
        }
        cost
    }

    /// What a step cost, if the prices of its model are known.
    pub(crate) fn cost_of_step(&self, step: &StepHistory) -> Option<f64> {
        Some(self.prices_of(&step.executor)?.cost(step.usage))
    }

    /// The prices of the model of an executor, if it is one and its prices are known.
    pub(crate) fn prices_of(&self, executor: &ExecutorDescription) -> Option<TokenPrices> {
        let ExecutorDescription::Model { provider, model, .. } = executor else { return None };
        self.prices_of_model(provider, model)
    }

    /// The prices of a model, if they are known.
    pub(crate) fn prices_of_model(&self, provider: &str, model: &str) -> Option<TokenPrices> {
        find_prices(self, provider, model).map(|(prices, _)| prices)
    }
}

/// The prices of a model, and whose they are. The user's own go before those of the table.
fn find_prices(
    config: &UserConfig,
    provider: &str,
    model: &str,
) -> Option<(TokenPrices, PriceSource)> {
    let known = PriceTable::bundled().prices_of(provider, model);
    match config.prices.get(&format!("{provider}:{model}")) {
        Some(own) => Some((own.complete(known), PriceSource::User)),
        None => known.map(|it| (it, PriceSource::Table)),
    }
}

/// An amount of US dollars. A small one has more digits, and one that costs something is not shown as nothing.
pub(crate) fn format_cost(cost: f64) -> String {
    match cost {
        _ if cost > 0.0 && cost < 0.000_001 => "<$0.000001".to_owned(),
        _ if cost > 0.0 && cost < 0.001 => format!("${cost:.6}"),
        _ => format!("${cost:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{ExecutorDescription, PriceTable, TokenPrices, TurnCost, Usage};
    use crate::config::ModelPrices;
    use crate::config::UserConfig;

    fn model(provider: &str, model: &str) -> ExecutorDescription {
        ExecutorDescription::Model {
            provider: provider.to_owned(),
            model: model.to_owned(),
            base_url: String::new(),
            options: serde_json::Map::new(),
        }
    }

    #[track_caller]
    fn check(config: &str, executor: &ExecutorDescription, expected: Option<TokenPrices>) {
        let config = UserConfig::parse(config, "config.toml".as_ref()).unwrap();
        assert_eq!(config.prices_of(executor), expected, "{config:?}");
    }

    #[test]
    fn the_own_prices_go_before_those_of_the_table() {
        let known = PriceTable::bundled().prices_of("openai", "gpt-5-mini");
        let table = known.unwrap();
        assert!(table.cached < table.input, "{table:?}");
        let mini = model("openai", "gpt-5-mini");
        let own = |keys: &str| format!("[prices.\"openai:gpt-5-mini\"]\n{keys}");
        check("", &mini, known);
        check(&own(""), &mini, known);
        let prices = TokenPrices::per_million(7.0, 9.0);
        check(&own("input = 7\noutput = 9"), &mini, Some(prices));
        check(&own("input = 7\noutput = 9\ncached = 0.5"), &mini, Some(prices.cached(0.5)));
        check(&own("cached = 0.5"), &mini, Some(table.cached(0.5)));
        check(&own("input = 7"), &mini, Some(TokenPrices::per_million(7.0, table.output)));
    }

    #[test]
    fn tokens_of_a_cache_cost_what_others_cost_unless_they_have_a_price() {
        let mine = model("mine", "m");
        check("", &mine, None);
        let own = |keys: &str| format!("[prices.\"mine:m\"]\n{keys}");
        let prices = TokenPrices::per_million(2.0, 8.0);
        check(&own("input = 2\noutput = 8"), &mine, Some(prices));
        check(&own("input = 2\noutput = 8\ncached = 0.25"), &mine, Some(prices.cached(0.25)));
        let usage = Usage::new(2_000_000, 0).with_cached(1_000_000);
        assert_eq!(ModelPrices::default().complete(Some(prices.cached(0.25))).cost(usage), 2.25);
        assert_eq!(prices.cost(usage), 4.0);
    }

    #[test]
    fn a_cost_says_the_day_of_its_prices_and_what_is_not_known() {
        let config = UserConfig::default();
        let mut cost = TurnCost::default();
        cost.add(&config, &ExecutorDescription::Custom { name: None }, Usage::new(5, 5));
        cost.add(&config, &model("ollama", "qwen3"), Usage::new(5, 5));
        assert_eq!(cost.to_string(), "");
        cost.add(&config, &model("openai", "m"), Usage::new(5, 5));
        assert_eq!(cost.to_string(), "cost unknown (no prices of `openai:m`)");
        cost.add(&config, &model("openai", "gpt-5-mini"), Usage::new(4_000_000, 0));
        let date = PriceTable::bundled().date();
        assert_eq!(
            cost.to_string(),
            format!("$1.0000 (prices of {date}) without `openai:m`, whose prices are not known")
        );
    }
}
