//! Scopes of observers: the work that an event begins runs inside of them.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A scope of an observer that work runs in, such as a `tracing` span. See
/// [`Observer::scope`](super::Observer::scope).
pub trait WorkScope: Send + Sync {
    /// Enters the scope on this thread, until the guard is dropped. Guards are dropped in reverse order.
    fn enter(&self) -> Box<dyn ScopeGuard + '_>;
}

/// Leaves a scope when it is dropped.
pub trait ScopeGuard {}

impl<T> ScopeGuard for T {}

/// The scopes of all observers for one piece of work. Clones are the same scopes.
#[derive(Clone, Default)]
pub struct WorkScopes(Option<Arc<[Arc<dyn WorkScope>]>>);

impl WorkScopes {
    /// Runs work inside of the scopes.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.0.is_some().then(|| self.enter());
        work()
    }

    /// A future that is polled inside of the scopes.
    pub fn wrap<F: Future + Unpin>(&self, work: F) -> ScopedFuture<F> {
        ScopedFuture { scopes: self.clone(), work }
    }

    fn enter(&self) -> EnteredScopes<'_> {
        let mut entered = EnteredScopes(Vec::new());
        for scope in self.0.iter().flat_map(|scopes| scopes.iter()) {
            // A scope that panics is left out and breaks nothing.
            entered.0.extend(catch_unwind(AssertUnwindSafe(|| scope.enter())).ok());
        }
        entered
    }
}

impl FromIterator<Arc<dyn WorkScope>> for WorkScopes {
    fn from_iter<I: IntoIterator<Item = Arc<dyn WorkScope>>>(scopes: I) -> Self {
        let scopes: Vec<_> = scopes.into_iter().collect();
        Self((!scopes.is_empty()).then(|| scopes.into()))
    }
}

impl std::fmt::Debug for WorkScopes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WorkScopes({})", self.0.as_ref().map_or(0, |scopes| scopes.len()))
    }
}

struct EnteredScopes<'s>(Vec<Box<dyn ScopeGuard + 's>>);

impl Drop for EnteredScopes<'_> {
    fn drop(&mut self) {
        while let Some(guard) = self.0.pop() {
            drop(guard);
        }
    }
}

/// A future that is polled inside of scopes.
#[derive(Debug)]
#[must_use = "a future does nothing until it is polled"]
pub struct ScopedFuture<F> {
    scopes: WorkScopes,
    work: F,
}

impl<F: Future + Unpin> Future for ScopedFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { scopes, work } = self.get_mut();
        let _entered = scopes.0.is_some().then(|| scopes.enter());
        Pin::new(work).poll(cx)
    }
}
