//! Models behind HTTP.
//!
//! A provider is a [`Dialect`] on one core. The core does what all have in common: it turns the state of a turn
//! into a [`Prompt`](prompt::Prompt) through the trust funnel, keeps it within the context window, sends it,
//! assembles what comes back into a [`Generation`](generation::Generation) and hands it to the loop as a step.
//! A dialect only writes requests and reads answers.

pub mod assemble;
pub mod chat_completions;
pub mod dialect;
pub mod generation;
pub mod names;
pub mod options;
pub mod prompt;
pub mod reasoning;
pub mod text_calls;

pub use self::dialect::Dialect;
pub use self::options::{InvalidOptions, Options};
