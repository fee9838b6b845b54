//! Text: counts, changes, differences, patterns, encodings and hashes.

mod base64;
mod cases;
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

/// The most bytes that a result may have.
const LONGEST: usize = 4 * 1024 * 1024;
