//! What talks to model providers over HTTP.
//!
//! - [`sse`], [`ndjson`]: the two framings of streamed responses.

pub mod ndjson;
pub mod sse;
