//! Text that remembers its counts.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::DispatchContext;
use crate::tokens::{
    BoxError, CountCache, Estimators, EvaluatorInvalid, TokenCount, TokenError, panicked,
};

type Evaluator = dyn Fn(Option<&DispatchContext>) -> Result<Arc<str>, BoxError> + Send + Sync;

/// A text that remembers how many tokens it is: a fixed one, or one that an evaluator makes when it is
/// needed.
///
/// A count is cached per name and set of [`Estimators`], so that a guess is never served where an exact
/// count was asked for. The count of a dynamic text is cached for the text without a context; with one, it
/// is counted each time, since the evaluator may say something else each time.
///
/// ```
/// use haft_core::DispatchContext;
/// use haft_core::context::Tokenizable;
///
/// let greeting = Tokenizable::dynamic(|ctx: Option<&DispatchContext>| {
///     Ok(ctx.map_or("hello".into(), |ctx| format!("hello, {}", ctx.turn_id()).into()))
/// });
/// let ctx = DispatchContext::builder("turn-1").build();
/// assert_eq!(&*greeting.render(None)?, "hello");
/// assert_eq!(&*greeting.render(Some(&ctx))?, "hello, turn-1");
/// # Ok::<(), haft_core::tokens::EvaluatorInvalid>(())
/// ```
#[derive(Clone)]
pub struct Tokenizable {
    source: Source,
    counts: CountCache,
}

#[derive(Clone)]
enum Source {
    Fixed(Arc<str>),
    Dynamic(Arc<Evaluator>),
}

impl Tokenizable {
    /// A text that never changes unless it is [`set`](Self::set).
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self::from_source(Source::Fixed(text.into()))
    }

    /// A text that `evaluator` makes each time, from a context if there is one.
    pub fn dynamic(
        evaluator: impl Fn(Option<&DispatchContext>) -> Result<Arc<str>, BoxError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self::from_source(Source::Dynamic(Arc::new(evaluator)))
    }

    fn from_source(source: Source) -> Self {
        Self { source, counts: CountCache::default() }
    }

    /// Whether an evaluator makes the text.
    #[must_use]
    pub const fn is_dynamic(&self) -> bool {
        matches!(self.source, Source::Dynamic(_))
    }

    /// Replaces text or evaluator and forgets every count.
    pub fn set(&mut self, value: impl Into<Self>) {
        *self = Self::from_source(value.into().source);
    }

    /// The text. A fixed one does not look at the context.
    ///
    /// # Errors
    ///
    /// The evaluator failed or panicked.
    pub fn render(&self, ctx: Option<&DispatchContext>) -> Result<Arc<str>, EvaluatorInvalid> {
        match &self.source {
            Source::Fixed(text) => Ok(Arc::clone(text)),
            Source::Dynamic(evaluator) => {
                let made = catch_unwind(AssertUnwindSafe(|| evaluator(ctx)));
                let made = made.unwrap_or_else(|payload| Err(panicked(&*payload)));
                made.map_err(|source| EvaluatorInvalid { source })
            }
        }
    }

    /// The number of tokens of the text, a dynamic one without a context.
    ///
    /// # Errors
    ///
    /// Nothing counts under that name, the counter failed, or the evaluator did.
    pub fn count(&self, estimators: &Estimators, name: &str) -> Result<TokenCount, TokenError> {
        let stamp = estimators.stamp();
        if let Some(count) = self.counts.get(stamp, name) {
            return Ok(count);
        }
        // Not under the lock: an evaluator may be slow, or count the very text it belongs to.
        let count = estimators.count(name, &self.render(None)?)?;
        self.counts.insert(stamp, name, count);
        Ok(count)
    }

    /// The number of tokens of the text as it is in `ctx`.
    ///
    /// # Errors
    ///
    /// Nothing counts under that name, the counter failed, or the evaluator did.
    pub fn count_in(
        &self,
        ctx: &DispatchContext,
        estimators: &Estimators,
        name: &str,
    ) -> Result<TokenCount, TokenError> {
        if !self.is_dynamic() {
            return self.count(estimators, name);
        }
        estimators.count(name, &self.render(Some(ctx))?)
    }

    #[cfg(test)]
    pub(crate) fn counts_kept(&self) -> usize {
        self.counts.len()
    }
}

impl fmt::Debug for Tokenizable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Fixed(text) => f.debug_tuple("Tokenizable").field(text).finish(),
            Source::Dynamic(_) => f.write_str("Tokenizable(dynamic)"),
        }
    }
}

impl From<&str> for Tokenizable {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Tokenizable {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<Arc<str>> for Tokenizable {
    fn from(text: Arc<str>) -> Self {
        Self::new(text)
    }
}

impl Serialize for Tokenizable {
    /// The text, a dynamic one without a context.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.render(None).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Tokenizable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Arc::<str>::deserialize(deserializer).map(Self::new)
    }
}
