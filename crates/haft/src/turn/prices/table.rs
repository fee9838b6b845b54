//! The prices that Haft ships with.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::TokenPrices;

/// Prices of models in US dollars, as their providers published them on one day. They are data of this version of Haft:
/// nothing is looked up, and prices that changed since that day are wrong.
///
/// Where a price depends on the length of the prompt, it is that of short prompts.
///
/// ```
/// use haft::events::Usage;
/// use haft::turn::PriceTable;
///
/// let table = PriceTable::bundled();
/// let prices = table.prices_of("openai", "gpt-5-mini").unwrap();
/// assert!(prices.cost(Usage::new(1_000_000, 0)) > 0.0);
/// assert_eq!(table.prices_of("openai", "my-own-model"), None);
/// println!("prices of {}", table.date());
/// ```
#[derive(Debug)]
pub struct PriceTable {
    date: &'static str,
    source: &'static str,
    /// By provider and model, in lower case.
    prices: HashMap<(&'static str, &'static str), TokenPrices>,
}

impl PriceTable {
    /// The table of this version of Haft.
    #[must_use]
    pub fn bundled() -> &'static Self {
        static TABLE: LazyLock<PriceTable> = LazyLock::new(|| PriceTable::parse(TEXT));
        &TABLE
    }

    /// The day of the prices, as `YYYY-MM-DD`.
    #[must_use]
    pub fn date(&self) -> &str {
        self.date
    }

    /// Where the prices come from: the name and the version of a collection.
    #[must_use]
    pub fn source(&self) -> &str {
        self.source
    }

    /// The prices of a model, by the names of its provider and of the model, such as `openai` and `gpt-5-mini`. A date at
    /// the end of the name, which names a version of the model, makes no difference if the table does not list the version.
    #[must_use]
    pub fn prices_of(&self, provider: &str, model: &str) -> Option<TokenPrices> {
        let provider = match provider {
            "openai-responses" => "openai",
            other => other,
        };
        let model = model.to_ascii_lowercase();
        let find = |model: &str| self.prices.get(&(provider, model)).copied();
        find(&model).or_else(|| find(without_date(&model)?))
    }

    /// Reads the table. A line that is not a row of it is left out.
    fn parse(text: &'static str) -> Self {
        let mut table = Self { date: "", source: "", prices: HashMap::new() };
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("date", date)) => table.date = date,
                Some(("source", source)) => table.source = source,
                Some((provider, rest)) => {
                    let row = parse_row(rest);
                    table.prices.extend(row.map(|(model, prices)| ((provider, model), prices)));
                }
                None => {}
            }
        }
        table
    }
}

/// A model, and the prices of what it reads, what it writes and, if it differs, what it reads from a cache.
fn parse_row(row: &'static str) -> Option<(&'static str, TokenPrices)> {
    let mut fields = row.split(' ');
    let model = fields.next()?;
    let input = fields.next()?;
    let output = fields.next()?;
    let prices = TokenPrices::per_million(input.parse().ok()?, output.parse().ok()?);
    match fields.next() {
        Some(cached) => Some((model, prices.cached(cached.parse().ok()?))),
        None => Some((model, prices)),
    }
}

/// A name without the date at its end, `-20250929` or `-2025-09-29`, if it has one.
fn without_date(model: &str) -> Option<&str> {
    ["-00000000", "-0000-00-00"].into_iter().find_map(|form| {
        let at = model.len().checked_sub(form.len())?;
        let (name, end) = model.split_at_checked(at)?;
        let fits = |(found, form): (u8, u8)| match form {
            b'0' => found.is_ascii_digit(),
            dash => found == dash,
        };
        end.bytes().zip(form.bytes()).all(fits).then_some(name)
    })
}

/// The table, which `cargo xtask prices` writes.
const TEXT: &str = include_str!("table.txt");

#[cfg(test)]
mod tests {
    use super::{PriceTable, TEXT, TokenPrices, without_date};

    #[test]
    fn every_line_of_the_table_is_a_price() {
        let rows = TEXT.lines().filter(|line| !line.starts_with(['#', ' ']));
        let rows: Vec<&str> = rows.skip(2).collect();
        let table = PriceTable::bundled();
        assert_eq!(table.prices.len(), rows.len());
        assert!(rows.is_sorted(), "a later version changes few lines");
        for (name, prices) in &table.prices {
            for price in [prices.input, prices.output, prices.cached] {
                assert!((0.0..=1000.0).contains(&price), "{name:?}: {prices:?}");
            }
        }
        assert!(table.source().starts_with("genai-prices "), "{}", table.source());
        let date: Vec<&str> = table.date().split('-').collect();
        assert!(matches!(date.as_slice(), [year, _, _] if *year >= "2026"), "{date:?}");
    }

    #[test]
    fn models_are_found_by_their_names_and_versions() {
        let table = PriceTable::bundled();
        let mini = Some(TokenPrices::per_million(0.25, 2.0).cached(0.025));
        assert_eq!(table.prices_of("openai", "gpt-5-mini"), mini);
        assert_eq!(table.prices_of("openai-responses", "GPT-5-mini"), mini);
        assert_eq!(table.prices_of("openai", "gpt-5-mini-2030-01-31"), mini);
        assert_eq!(table.prices_of("openai", "gpt-5-mini-next"), None);
        assert_eq!(table.prices_of("groq", "gpt-5-mini"), None);
        assert_eq!(table.prices_of("openai", ""), None);
        let sonnet = Some(TokenPrices::per_million(3.0, 15.0).cached(0.3));
        assert_eq!(table.prices_of("anthropic", "claude-sonnet-4-5-20250929"), sonnet);
    }

    #[test]
    fn a_date_at_the_end_is_a_version() {
        assert_eq!(without_date("m-20250929"), Some("m"));
        assert_eq!(without_date("m-2025-09-29"), Some("m"));
        for name in ["m-2025", "m-2025092", "-2025x929", "äöü-ß250929", "20250929", ""] {
            assert_eq!(without_date(name), None, "{name}");
        }
    }
}
