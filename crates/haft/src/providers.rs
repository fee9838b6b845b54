//! What talks to model providers over HTTP.
//!
//! Every provider sends through a [`Transport`](transport::Transport), so that requests can be bounded, retried,
//! recorded and replayed without the provider knowing:
//!
//! - [`transport`]: requests, responses, and [`HttpTransport`](transport::HttpTransport), where every wait has a limit.
//! - [`retry`]: [`Client`](retry::Client) tries again what is worth it, within a budget.
//! - [`cassette`]: requests and responses in a file, for tests without a network.
//! - [`sse`], [`ndjson`]: the two framings of streamed responses.

pub mod cassette;
pub mod ndjson;
pub mod retry;
pub mod sse;
pub mod transport;
