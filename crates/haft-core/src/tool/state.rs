//! Values that the calls of a tool share.

use std::fmt;
use std::future::Future;
use std::ops::{Deref, DerefMut};

use super::handler::signature;
use super::{Handler, IntoHandler, IntoToolOutput, ToolBuilder};
use crate::schema::args::FromArgs;
use crate::tool::context::DispatchContext;

/// A value that all calls of a tool share: a client, a pool of connections, a configuration. Each call receives a clone.
///
/// A function with `#[tool]` takes it as a parameter, and the function that creates the tool then takes the value. A
/// closure receives what [`ToolBuilder::state`] was given. A tool without its state does not compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper that handlers match")]
pub struct State<T>(pub T);

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for State<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Values that can be the state of a tool: every type that is `Clone`, `Send`, `Sync` and `'static`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the state of a tool",
    note = "state is `Clone + Send + Sync + 'static`; wrap it in `Arc`"
)]
pub trait SharedState: Clone + Send + Sync + 'static {}

impl<T: Clone + Send + Sync + 'static> SharedState for T {}

/// Checks that a value can be shared. Used by the expansion of `#[tool]`.
#[doc(hidden)]
pub fn shared_state<T: SharedState>(state: T) -> T {
    state
}

/// A [`ToolBuilder`] whose handler receives a value: the next call gives the handler.
#[must_use = "a builder does nothing until `build` is called"]
pub struct ToolBuilderWithState<T> {
    builder: ToolBuilder,
    state: T,
}

impl<T: SharedState> ToolBuilderWithState<T> {
    pub(super) fn new(builder: ToolBuilder, state: T) -> Self {
        Self { builder, state }
    }

    /// Sets the handler. See [`IntoHandlerWithState`] for the possible signatures.
    pub fn handler<S>(self, handler: impl IntoHandlerWithState<S, T>) -> ToolBuilder {
        self.builder.erased_handler(handler.into_handler(self.state))
    }
}

impl<T> fmt::Debug for ToolBuilderWithState<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolBuilderWithState").field(&self.builder).finish()
    }
}

/// Functions and closures that can be handlers with state, async or not:
///
/// - `fn(State<T>) -> R`, for tools without arguments
/// - `fn(A, State<T>) -> R`
/// - `fn(A, State<T>, &DispatchContext) -> R` if not async
/// - `fn(A, State<T>, DispatchContext) -> R` if async
///
/// where `A` is [`FromArgs`] and `R` is [`IntoToolOutput`].
#[diagnostic::on_unimplemented(
    message = "this cannot be the handler of a tool whose state is `{T}`",
    label = "not a handler",
    note = "a handler with state is `fn(A, State<{T}>) -> R`; `DispatchContext` comes third, by value if the handler is async and as `&DispatchContext` if not",
    note = "`A` derives `ToolArgs`, or is `Args` or `serde_json::Value`; annotate both in closures: `|args: Search, State(client): State<Client>| …`",
    note = "a future must be `Send`: hold no `Rc`, `RefCell` or std lock guard across an `.await`"
)]
pub trait IntoHandlerWithState<Signature, T>: Send + Sync + 'static {
    /// Forgets the signature and binds the state.
    fn into_handler(self, state: T) -> Handler;
}

impl<F, T, R> IntoHandlerWithState<signature::WithoutArgs, T> for F
where
    F: Fn(State<T>) -> R + Send + Sync + 'static,
    T: SharedState,
    R: IntoToolOutput,
{
    fn into_handler(self, state: T) -> Handler {
        let run = move || self(State(state.clone()));
        IntoHandler::<signature::WithoutArgs>::into_handler(run)
    }
}

impl<F, T, Fut, R> IntoHandlerWithState<signature::AsyncWithoutArgs, T> for F
where
    F: FnOnce(State<T>) -> Fut + Clone + Send + Sync + 'static,
    T: SharedState,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolOutput + 'static,
{
    fn into_handler(self, state: T) -> Handler {
        let run = move || self(State(state));
        IntoHandler::<signature::AsyncWithoutArgs>::into_handler(run)
    }
}

impl<F, A, T, R> IntoHandlerWithState<signature::WithArgs<A>, T> for F
where
    F: Fn(A, State<T>) -> R + Send + Sync + 'static,
    A: FromArgs,
    T: SharedState,
    R: IntoToolOutput,
{
    fn into_handler(self, state: T) -> Handler {
        let run = move |args: A| self(args, State(state.clone()));
        IntoHandler::<signature::WithArgs<A>>::into_handler(run)
    }
}

impl<F, A, T, Fut, R> IntoHandlerWithState<signature::AsyncWithArgs<A>, T> for F
where
    F: FnOnce(A, State<T>) -> Fut + Clone + Send + Sync + 'static,
    A: FromArgs,
    T: SharedState,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolOutput + 'static,
{
    fn into_handler(self, state: T) -> Handler {
        let run = move |args: A| self(args, State(state));
        IntoHandler::<signature::AsyncWithArgs<A>>::into_handler(run)
    }
}

impl<F, A, T, R> IntoHandlerWithState<signature::WithContext<A>, T> for F
where
    F: Fn(A, State<T>, &DispatchContext) -> R + Send + Sync + 'static,
    A: FromArgs,
    T: SharedState,
    R: IntoToolOutput,
{
    fn into_handler(self, state: T) -> Handler {
        let run = move |args: A, ctx: &DispatchContext| self(args, State(state.clone()), ctx);
        IntoHandler::<signature::WithContext<A>>::into_handler(run)
    }
}

impl<F, A, T, Fut, R> IntoHandlerWithState<signature::AsyncWithContext<A>, T> for F
where
    F: FnOnce(A, State<T>, DispatchContext) -> Fut + Clone + Send + Sync + 'static,
    A: FromArgs,
    T: SharedState,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolOutput + 'static,
{
    fn into_handler(self, state: T) -> Handler {
        let run = move |args: A, ctx: DispatchContext| self(args, State(state), ctx);
        IntoHandler::<signature::AsyncWithContext<A>>::into_handler(run)
    }
}
