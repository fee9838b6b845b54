//! Values that the calls of a tool share.

use std::ops::{Deref, DerefMut};

/// A value that all calls of a tool share: a client, a pool of connections, a configuration. Each call receives a clone.
///
/// A function with `#[tool]` takes it as a parameter, and the function that creates the tool then takes the value, so
/// that a tool without its state does not compile. A closure captures such a value instead.
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
