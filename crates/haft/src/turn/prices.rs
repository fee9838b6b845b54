//! What tokens cost, and what a turn may cost.

mod table;
#[cfg(test)]
mod tests;

use haft_core::usage::Usage;

pub use self::table::PriceTable;

/// The prices of a model for a million tokens, in any currency. [`PriceTable`] has those of many models.
///
/// ```
/// use haft::events::Usage;
/// use haft::turn::TokenPrices;
///
/// let prices = TokenPrices::per_million(3.0, 15.0).cached(0.3);
/// let usage = Usage::new(1_000_000, 100_000).with_cached(500_000);
/// assert_eq!(prices.cost(usage), 1.5 + 0.15 + 1.5);
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
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a cost is rounded")]
    pub fn cost(&self, usage: Usage) -> f64 {
        let [fresh, cached, written] = priced_tokens(usage).map(|tokens| tokens as f64);
        (fresh * self.input + cached * self.cached + written * self.output) / 1e6
    }
}

/// What a turn may cost, and the prices that its tokens are counted by: [`Limits::cost`](super::Limits::cost).
///
/// Amounts are rounded up to a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostLimit {
    max: u64,
    input: u64,
    output: u64,
    cached: u64,
}

impl CostLimit {
    /// A limit of this amount, by the prices of the model that takes the steps of the turn. Both are in the same
    /// currency.
    #[must_use]
    pub fn new(max: f64, prices: TokenPrices) -> Self {
        Self {
            max: to_millionths(max),
            input: to_millionths(prices.input),
            output: to_millionths(prices.output),
            cached: to_millionths(prices.cached),
        }
    }

    /// Whether no turn could take a step.
    pub(super) const fn is_zero(self) -> bool {
        self.max == 0
    }

    /// Whether these tokens cost as much as the turn may cost.
    pub(super) fn is_reached(self, usage: Usage) -> bool {
        let prices = [self.input, self.cached, self.output];
        let priced = priced_tokens(usage).into_iter().zip(prices);
        let cost: u128 = priced.map(|(tokens, price)| u128::from(tokens) * u128::from(price)).sum();
        cost >= u128::from(self.max) * 1_000_000
    }
}

/// The tokens that have different prices: read by the model, read from a cache, and written.
fn priced_tokens(usage: Usage) -> [u64; 3] {
    let cached = usage.cached.min(usage.prompt);
    [usage.prompt - cached, cached, usage.completion]
}

/// An amount in millionths, rounded up. Anything but a positive number is 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates"
)]
fn to_millionths(amount: f64) -> u64 {
    // The product of a short decimal number can be a little more than the whole number that it means.
    (amount * 1e6 - 1e-6).ceil() as u64
}
