//! Tools for text: counts, transformations, differences, patterns, encodings and hashes.

mod cases;
pub(super) mod encode_text;
mod html_entities;
mod pattern;
pub(super) mod string_extract;
pub(super) mod string_transform;
pub(super) mod text_analyze;
pub(super) mod text_diff;
pub(super) mod text_hash;

use haft_core::tool::{InvalidTool, Tool, ToolBuilder};

/// Creates the tools `text_analyze`, `string_transform`, `text_diff`, `string_extract`, `encode_text` and `text_hash`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use haft_core::{DispatchContext, ToolRegistry};
///
/// let tools = ToolRegistry::new(haft_tools::text()?)?;
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
        string_transform::string_transform(),
        text_diff::text_diff(),
        string_extract::string_extract(),
        encode_text::encode_text(),
        text_hash::text_hash(),
    ]
    .into_iter()
    .map(ToolBuilder::build)
    .collect()
}

/// The maximum size of a result.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
