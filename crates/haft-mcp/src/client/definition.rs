//! From the definition that a server gives to a tool of Haft.

use haft_core::invariant::OrReport as _;
use haft_core::json::{Document, canonical_text};
use haft_core::tool::Digest;

/// The hash of a definition: which server gives it, and everything that it says about a tool, except for icons.
pub(super) fn definition_digest(server: &str, tool: &rmcp::model::Tool) -> Digest {
    let mut tool = tool.clone();
    tool.icons = None;
    let value = serde_json::to_value(&tool).or_report_default("a definition is JSON");
    // The order of members does not matter, but every other difference does.
    let text = match Document::from_value(&value) {
        Ok(document) => canonical_text(document.root()),
        Err(_) => value.to_string(),
    };
    Digest::of(format!("{server:?} {text}").as_bytes())
}
