//! The future that the methods of a contract return.

use std::pin::Pin;

/// A boxed future that can move between threads, as the methods of object-safe contracts return it.
///
/// `Box::pin(async move { … })` makes one.
///
/// ```
/// use haft_core::BoxFuture;
///
/// fn read_length(text: &str) -> BoxFuture<'_, usize> {
///     Box::pin(async move { text.len() })
/// }
/// # let _ = read_length("a");
/// ```
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
