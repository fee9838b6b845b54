//! Text: counts, changes, differences, patterns, encodings and hashes.

mod cases;
mod html_entities;
mod pattern;
pub(super) mod text_analyze;
pub(super) mod text_diff;
pub(super) mod text_encode;
pub(super) mod text_extract;
pub(super) mod text_hash;
pub(super) mod text_transform;

use haft_core::tool::{InvalidTool, Tool};

/// `text_analyze`, `text_transform`, `text_diff`, `text_extract`, `text_encode` and `text_hash`.
///
/// # Errors
///
/// None is expected: the definitions are fixed.
pub fn text() -> Result<Vec<Tool>, InvalidTool> {
    [
        text_analyze::text_analyze(),
        text_transform::text_transform(),
        text_diff::text_diff(),
        text_extract::text_extract(),
        text_encode::text_encode(),
        text_hash::text_hash(),
    ]
    .into_iter()
    .collect()
}

/// The maximum size of a result.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
