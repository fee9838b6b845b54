//! Model providers for Haft: models behind HTTP as executors of turns.
//!
//! A [`Provider`] combines a [`Dialect`] with what all providers have in common: it assembles the state of a turn into a
//! [`Prompt`](prompt::Prompt) through the trust funnel, keeps it within the context window, sends it with retries, reads
//! the response into a [`Generation`](generation::Generation), and returns it to the turn loop as a step. A dialect only
//! encodes requests and decodes responses.
//!
//! # Example
//!
//! ```
//! use haft_providers::dialects::chat_completions::ChatCompletions;
//! use haft_providers::{Options, Provider};
//!
//! let model = Provider::builder(ChatCompletions::new(), "gpt-5-mini")
//!     .key("sk-…")
//!     .options(Options::new().with("temperature", 0.2))
//!     .build()?;
//! assert_eq!(model.model(), "gpt-5-mini");
//! # Ok::<(), haft_providers::ProviderError>(())
//! ```
//!
//! # Modules
//!
//! - [`dialects`]: the four dialects of this crate. [`dialect`] is the contract for custom ones, [`prompt`] and
//!   [`generation`] are what a dialect encodes and decodes, and [`framing`], [`tool_schema`] and [`wire_names`] are tools
//!   for it.
//! - [`transport`]: how requests are sent, so that they can be limited or answered by a test without the provider knowing.
//! - [`retry`]: retries within a budget.
//! - [`summary`]: a rolling summary that replaces old exchanges of a long conversation.
//! - `conformance` (feature): checks for custom dialects and transports.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `http` | no | `transport::HttpTransport`; needs a TLS backend for https |
//! | `rustls` | no | TLS of `http` by rustls with aws-lc-rs |
//! | `native-tls` | no | TLS of `http` by the library of the operating system |
//! | `rustls-no-provider` | no | TLS of `http` by rustls with the cryptography provider that the program installs |
//! | `conformance` | no | `conformance`: checks for custom dialects and transports |
//!
//! # Dependencies
//!
//! This crate may depend on `haft-core` and `haft-http`, and on no other crate of Haft.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod assembly;
pub mod codes;
#[cfg(feature = "conformance")]
pub mod conformance;
mod context_window;
pub mod dialect;
pub mod dialects;
pub mod framing;
pub mod generation;
mod options;
pub mod prompt;
mod provider;
mod reasoning;
mod record_lookup;
mod replay;
pub mod retry;
pub mod summary;
mod text_calls;
pub mod tool_schema;
pub mod transport;
pub mod wire_names;

pub use self::dialect::Dialect;
pub use self::options::{InvalidOptions, Options};
pub use self::provider::{
    GenerationReport, PromptReport, Provider, ProviderBuilder, ProviderError, ResponseExcerpt,
};
pub use self::summary::RollingSummary;

/// Mechanics for the tests, benchmarks and fuzz targets of Haft. They may change in every version.
#[doc(hidden)]
pub mod internals {
    pub use crate::assembly::{
        AssembleError, AssembledPrompt, AssemblyOptions, MediaCache, Omissions, RenderCache,
        UnsupportedMedia, assemble_prompt,
    };
    pub use crate::reasoning::{ReasoningFilter, ReasoningPiece};
    pub use crate::text_calls::{ParsedText, TextCall, TextCallFilter};
}
