//! How many tokens a text is, and how sure that number is.
//!
//! An [`Encoding`] is a name, a [`TokenCounter`] turns text into a [`TokenCount`], and a count always says
//! whether it is exact. [`HeuristicCounter`] is the counter of this crate: it needs no tables and is
//! never exact. Exact counters live where their tables do. [`Estimators`] is one counter plus your own
//! ones by name, and a [`Text`](crate::record::Text) remembers what it counted.
//!
//! ```
//! use haft_core::record::Text;
//! use haft_core::tokens::{Certainty, Encoding, Estimators};
//!
//! let estimators = Estimators::default();
//! let text = Text::from("x".repeat(35));
//! let count = text.count(&estimators, "claude")?;
//! assert_eq!((count.tokens, count.certainty), (10, Certainty::Heuristic));
//!
//! let unknown = "cl200k".parse::<Encoding>().unwrap_err();
//! assert!(unknown.to_string().starts_with("no encoding `cl200k`; known are `gpt2`, `r50k_base`"));
//! # Ok::<(), haft_core::tokens::TokenError>(())
//! ```

mod count_cache;
mod encoding;
mod error;
mod estimators;
mod heuristic;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use self::count_cache::CountCache;
pub use self::encoding::Encoding;
pub use self::error::{BoxError, CounterFailed, ShadowsBuiltin, TokenError, UnknownEncoding};
pub use self::estimators::{CountWarning, Estimators};
pub use self::heuristic::{HeuristicCounter, HeuristicTally};

/// A number of tokens and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "counters of others build it")]
pub struct TokenCount {
    /// The number of tokens.
    pub tokens: u64,
    /// How sure it is.
    pub certainty: Certainty,
}

impl TokenCount {
    /// A count that the encoding itself would give.
    #[must_use]
    pub const fn exact(tokens: u64) -> Self {
        Self { tokens, certainty: Certainty::Exact }
    }

    /// A count that may be off.
    #[must_use]
    pub const fn heuristic(tokens: u64) -> Self {
        Self { tokens, certainty: Certainty::Heuristic }
    }

    /// Whether the encoding itself would give this count.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.certainty == Certainty::Exact
    }
}

/// How sure a count is. The order is the order of trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a count is right or it is a guess")]
pub enum Certainty {
    /// A rule of thumb: good for budgets with a margin, not for limits that must hold.
    Heuristic,
    /// What the encoding itself gives for the text.
    Exact,
}

/// Counts the tokens of a text in the built-in encodings.
///
/// Text that spells a special token, such as `<|endoftext|>`, is text like any other.
pub trait TokenCounter: Send + Sync {
    /// The number of tokens that `text` is in `encoding`.
    ///
    /// # Errors
    ///
    /// The counter could not count; which texts that can happen for is the counter's to say.
    fn count(&self, encoding: Encoding, text: &str) -> Result<TokenCount, TokenError>;
}

impl<C: TokenCounter + ?Sized> TokenCounter for Arc<C> {
    fn count(&self, encoding: Encoding, text: &str) -> Result<TokenCount, TokenError> {
        (**self).count(encoding, text)
    }
}
