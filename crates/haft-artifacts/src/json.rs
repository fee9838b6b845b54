//! JSON of any size: queries that walk it instead of loading it.
//!
//! ```
//! use haft_artifacts::json::JsonView;
//! use haft_core::spool::SpoolStore;
//! use haft_stores::MemorySpoolStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let records = "{\"id\":1,\"role\":\"user\"}\n{\"id\":2,\"role\":\"admin\"}\n";
//! let reader = MemorySpoolStore::new().write("call-1".into(), records.into()).await?;
//! let view = JsonView::new(reader);
//!
//! assert_eq!(view.detect_notation().await?.name(), "jsonl");
//! assert_eq!(view.get("$.role", 0).await?.as_str(), "user\nadmin");
//! let admins = view.filter("$[?@.role == 'admin']", 0).await?;
//! assert_eq!(admins.as_str(), "[\n  {\n    \"id\": 2,\n    \"role\": \"admin\"\n  }\n]");
//! # Ok(())
//! # }
//! ```
//!
//! # What is JSON
//!
//! Without a hint the content is JSON if it is one JSON value, else JSON lines if every line that is not
//! blank is one, else JSON5. A byte order mark is passed over. Up to 16 MiB content is checked to the letter
//! before the first answer; of larger content all brackets and strings are, and what a query looks
//! at is checked to the letter. Bytes inside strings that are not UTF-8 are read as U+FFFD.

mod block_masks;
mod blocking_source;
mod cache;
mod children;
mod container;
mod cursor;
mod error;
mod json5;
mod json_lines;
mod notation;
mod operations;
mod path_eval;
mod queries;
mod scan;
mod skip;
mod validate;
mod view;

#[cfg(test)]
mod tests;

pub use self::cache::JsonCache;
pub use self::error::{InvalidJson, JsonError};
pub use self::notation::JsonNotation;
pub use self::queries::JsonFormat;
pub use self::view::{JsonLength, JsonView};
