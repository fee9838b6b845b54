//! Models behind HTTP.
//!
//! A [`Provider`] is a [`Dialect`] on one core. The core does what all have in common: it turns the state of a turn
//! into a [`Prompt`](prompt::Prompt) through the trust funnel, keeps it within the context window, sends it,
//! assembles what comes back into a [`Generation`](generation::Generation) and hands it to the loop as a step.
//! A dialect only writes requests and reads answers.
//!
//! Every provider sends through a [`Transport`](transport::Transport), so that requests can be bounded, retried,
//! recorded and replayed without the provider knowing:
//!
//! - [`transport`]: requests, responses, and `HttpTransport` (feature `http`), where every wait has a limit.
//! - [`retry`]: [`Client`](retry::Client) tries again what is worth it, within a budget.
//! - [`summary`]: what was said long ago, in short.
//! - [`cassette`]: requests and responses in a file, for tests without a network.
//! - [`sse`], [`ndjson`]: the two framings of streamed responses.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod assemble;
pub mod budget;
pub mod cassette;
pub mod codes;
pub mod dialect;
pub mod dialects;
pub mod down_schema;
pub mod generation;
pub mod names;
pub mod ndjson;
pub mod options;
pub mod prompt;
pub mod provider;
pub mod reasoning;
pub mod retry;
mod secret;
pub mod sse;
pub mod summary;
pub mod text_calls;
pub mod transport;
mod verbatim;

pub use self::dialect::Dialect;
pub use self::options::{InvalidOptions, Options};
pub use self::provider::{Provider, ProviderBuilder};
pub use self::summary::RollingSummary;
