//! One counter for the built-in encodings, and others by name.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use indexmap::IndexMap;

use super::error::panicked;
use super::{
    BoxError, CounterFailed, Encoding, HeuristicCounter, HeuristicTally, ShadowsBuiltin,
    TokenCount, TokenCounter, TokenError, UnknownEncoding,
};
use crate::invariant::OrReport as _;

type Estimator = dyn Fn(&str) -> Result<TokenCount, BoxError> + Send + Sync;

/// The counters of a program: one for the built-in encodings, and any number of others by name.
///
/// A value that is passed along, not a global one. Cheap to clone.
///
/// ```
/// use haft_core::error::Coded as _;
/// use haft_core::tokens::{TokenCount, Estimators};
///
/// let mut estimators = Estimators::default();
/// estimators.register("words", |text| Ok(TokenCount::exact(text.split_whitespace().count() as u64)))?;
/// assert_eq!(estimators.count("words", "one two")?, TokenCount::exact(2));
///
/// let refused = estimators.register("claude", |_| Ok(TokenCount::exact(0))).unwrap_err();
/// assert_eq!(refused.code(), "E_TOKEN_ESTIMATOR_SHADOWS_BUILTIN");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Estimators {
    builtin: Arc<dyn TokenCounter>,
    custom: IndexMap<Arc<str>, Arc<Estimator>>,
    stamp: u64,
}

impl Estimators {
    /// Counts the built-in encodings with `builtin`.
    #[must_use]
    pub fn new(builtin: impl TokenCounter + 'static) -> Self {
        Self { builtin: Arc::new(builtin), custom: IndexMap::new(), stamp: next_stamp() }
    }

    /// Adds an estimator, or replaces the one of that name.
    ///
    /// # Errors
    ///
    /// The name is that of a built-in encoding.
    pub fn register(
        &mut self,
        name: impl Into<Arc<str>>,
        estimator: impl Fn(&str) -> Result<TokenCount, BoxError> + Send + Sync + 'static,
    ) -> Result<(), ShadowsBuiltin> {
        let name = name.into();
        if let Ok(encoding) = name.parse() {
            return Err(ShadowsBuiltin { encoding });
        }
        self.custom.insert(name, Arc::new(estimator));
        self.stamp = next_stamp();
        Ok(())
    }

    /// The names that count, the built-in ones first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let builtin = Encoding::ALL.iter().map(|encoding| encoding.as_str());
        builtin.chain(self.custom.keys().map(|name| &**name))
    }

    /// The number of tokens that `text` is in the encoding, or by the estimator, of that name.
    ///
    /// # Errors
    ///
    /// Nothing has that name, or what has it failed or panicked.
    pub fn count(&self, name: &str, text: &str) -> Result<TokenCount, TokenError> {
        if let Ok(encoding) = name.parse::<Encoding>() {
            let counted = catch_unwind(AssertUnwindSafe(|| self.builtin.count(encoding, text)));
            return counted.unwrap_or_else(|payload| {
                Err(CounterFailed::new(name, panicked(&*payload)).into())
            });
        }
        let Some(estimator) = self.custom.get(name) else {
            let custom = self.custom.keys().map(|name| &**name);
            return Err(UnknownEncoding::new(name, custom).into());
        };
        let counted = catch_unwind(AssertUnwindSafe(|| estimator(text)));
        let counted = counted.unwrap_or_else(|payload| Err(panicked(&*payload)));
        counted.map_err(|source| CounterFailed::new(name, source).into())
    }

    /// Like [`count`](Self::count), but a counter that fails is reported to `warn` and replaced by the
    /// rule of thumb for `claude`.
    ///
    /// # Errors
    ///
    /// There is no encoding or estimator of that name.
    pub fn count_or_estimate(
        &self,
        name: &str,
        text: &str,
        warn: impl FnOnce(CountWarning<'_>),
    ) -> Result<TokenCount, TokenError> {
        match self.count(name, text) {
            Err(TokenError::Counter(error)) => {
                warn(CountWarning { encoding: name, error: &error, preview: preview(text) });
                let mut tally = HeuristicTally::new(Encoding::Claude);
                tally.push(text);
                Ok(tally.finish())
            }
            counted => counted,
        }
    }

    /// Distinguishes sets of counters: sets with equal stamps give equal counts.
    pub(crate) const fn stamp(&self) -> u64 {
        self.stamp
    }
}

impl Default for Estimators {
    /// Counts by rule of thumb.
    fn default() -> Self {
        Self::new(HeuristicCounter)
    }
}

impl fmt::Debug for Estimators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let custom: Vec<&str> = self.custom.keys().map(|name| &**name).collect();
        f.debug_struct("Estimators").field("custom", &custom).finish_non_exhaustive()
    }
}

/// A counter failed and the count is a guess.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CountWarning<'a> {
    /// The name that was counted under.
    pub encoding: &'a str,
    /// What failed.
    pub error: &'a CounterFailed,
    /// How the text begins: at most 80 UTF-16 units.
    pub preview: &'a str,
}

const PREVIEW_UNITS: usize = 80;

fn preview(text: &str) -> &str {
    let mut units = 0;
    let end = text.char_indices().find(|(_, char)| {
        units += char.len_utf16();
        units > PREVIEW_UNITS
    });
    end.map_or(text, |(end, _)| text.get(..end).or_report("a character begins at a boundary", text))
}

fn next_stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
