//! What every fuzz target asserts, as plain functions that any harness can call.
//!
//! A function takes the fuzzer's bytes and panics when a promise is broken. Input that a target has
//! no use for is passed over.

mod envelope;
mod json;
mod json_shape;
mod jsonpath;
mod judge;
mod markdown;
mod mcp;
mod spool;
mod text_calls;
mod tools;
mod wire;

pub use envelope::envelope;
pub use json::{canonical_json, lenient_json};
pub use json_shape::json_shape;
pub use jsonpath::jsonpath;
pub use judge::{foreign_schema, schema_validation};
pub use markdown::markdown_index;
pub use mcp::mcp_messages;
pub use spool::line_index;
pub use text_calls::text_calls;
pub use tools::tools;
pub use wire::{ndjson, sse};
