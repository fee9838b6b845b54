//! Queries of JSON of any size, which walk the content instead of loading it.
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
//! assert_eq!(view.get("$[?@.role == 'admin'].id", 0).await?.as_str(), "[\n  2\n]");
//! assert_eq!(view.sql("SELECT max(id) FROM data", 0).await?.as_str(), "max(id)\n2");
//! # Ok(())
//! # }
//! ```
//!
//! # What is JSON
//!
//! Unless [`JsonView::notation`] declares the notation, the content is JSON if it is one JSON value, else
//! JSON Lines if every line that is not blank is one. A byte order mark is skipped. Content of
//! up to 16 MiB is validated before the first result. In larger content all brackets and strings are
//! checked, and the values that a query reads are validated. Bytes inside strings that are not UTF-8 are
//! read as U+FFFD.
//!
//! # Two evaluators of JSONPath
//!
//! Paths are evaluated in two places that form a pair. [`crate::jsonpath`] evaluates a path on a tree
//! in memory. The modules `path_eval` and `children` evaluate the same path on content that is too large for a
//! tree: they walk the containers that the path leads through by their offsets, and hand every value that
//! fits into a tree to [`crate::jsonpath`]. Only that module knows the meaning of filters, so that the
//! two cannot disagree about them. The property tests in `json::model` compare the results of both on the
//! same content, with limits so small that nearly everything is walked.

mod block_masks;
mod blocking_source;
mod cache;
mod children;
mod container;
mod cursor;
mod error;
mod format;
mod json_lines;
mod notation;
mod operations;
mod path_eval;
mod scan;
mod skip;
mod validate;
mod view;

#[cfg(test)]
mod tests;

pub use self::cache::JsonCache;
pub use self::error::{InvalidJson, JsonError};
pub use self::format::JsonFormat;
pub use self::notation::JsonNotation;
pub use self::view::{JsonLength, JsonView};
