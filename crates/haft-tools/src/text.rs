//! Tools for text: counts, transformations, differences, patterns, encodings and hashes.

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

/// Creates the tools `text_analyze`, `text_transform`, `text_diff`, `text_extract`, `text_encode` and `text_hash`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use haft_core::{DispatchContext, ToolRegistry};
///
/// let tools = ToolRegistry::with_tools(haft_tools::text()?)?;
/// let ctx = DispatchContext::builder("turn-1").build();
/// let call = tools.find("text_hash")?.executor(&ctx).call(r#"{"text": "hello"}"#).await;
/// assert!(format!("{:?}", call.outcome?).replace('\\', "").contains(r#"2cf24dba"#));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Does not fail in practice, because the definitions are fixed.
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
