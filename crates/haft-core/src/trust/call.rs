//! What tools return, and the handles that stand for it.

use super::envelope::{Attributes, family_of};
use super::nonce::Slot;
use super::origin::{PartOrigin, Scope};
use super::prompt::{PromptText, family};
use super::sanitize::one_line;
use super::{PromptRenderer, TrustTier};
use crate::artifact::SpooledArtifact;
use crate::call::{ToolCall, ToolResults};

/// A large result that the model does not see, and how to query it.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "whoever shows a handle states all of it")]
pub struct ArtifactHandle<'a> {
    /// The text with which the model names it.
    pub handle: &'a str,
    /// The content.
    pub artifact: &'a SpooledArtifact,
    /// How many lines it has, if that is known.
    pub line_count: Option<u64>,
    /// The names of the tools that query it, if the handle says so. Of several handles in one step the first one does.
    pub tools: &'a [&'a str],
    /// How its content begins; empty for nothing.
    pub preview: &'a str,
}

/// Longest source in a handle, in characters.
const MAX_SOURCE: usize = 100;

/// Longest list of tools in a handle, in bytes.
const MAX_TOOL_LIST: usize = 400;

impl PromptRenderer {
    /// Text that a call returned, as its `part`-th result, counted from zero. The record has the tier: the call that of
    /// its own text, an artifact its own.
    #[must_use]
    pub fn tool_result(&self, call: &ToolCall, part: u32, text: &str) -> PromptText {
        let tier = result_tier(call, part);
        self.seal_result(call, (part, tier), Attributes::default(), text)
    }

    /// Text that is shown at the place of a call's `part`-th result and that the call did not return. It may quote
    /// arguments, so that it is untrusted.
    #[must_use]
    pub fn tool_note(&self, call: &ToolCall, part: u32, text: &str) -> PromptText {
        self.seal_result(call, (part, TrustTier::UNTRUSTED), Attributes::default(), text)
    }

    /// Why a call has no result. An error may quote anything, so that it is untrusted whatever the tool is.
    #[must_use]
    pub fn tool_error(&self, call: &ToolCall, message: &str) -> PromptText {
        let attributes = Attributes::default().text("kind", "tool-error");
        self.seal_result(call, (0, TrustTier::UNTRUSTED), attributes, message)
    }

    /// Seals a text of a call. The call itself says which tool it is, so that the envelope does not.
    fn seal_result(
        &self,
        call: &ToolCall,
        (part, tier): (u32, TrustTier),
        attributes: Attributes<'_>,
        text: &str,
    ) -> PromptText {
        let record = call.id().to_string();
        let slot = Slot { family: family_of(tier), scope: "call", record: &record, part };
        self.seal(&slot, attributes, &self.clean(text))
    }

    /// The handle of the `part`-th artifact of a record. Always untrusted.
    #[must_use]
    pub fn handle(
        &self,
        origin: PartOrigin<'_>,
        part: u32,
        handle: &ArtifactHandle<'_>,
    ) -> PromptText {
        let record = origin.record();
        let scope = origin.scope(Scope::Handle);
        let slot = Slot { family: family::UNTRUSTED, scope, record: &record, part };
        let attributes = Attributes::default().text("kind", "artifact-handle");
        self.seal(&slot, attributes, &self.clean(&handle_text(origin, handle)))
    }
}

/// The tier of a call's `part`-th result. What is no result of the call has the lowest.
fn result_tier(call: &ToolCall, part: u32) -> TrustTier {
    match &call.results {
        Some(ToolResults::Text(_)) if part == 0 => call.label(),
        Some(ToolResults::Artifacts(all)) => {
            let artifact = usize::try_from(part).ok().and_then(|at| all.get(at));
            artifact.map_or(TrustTier::UNTRUSTED, SpooledArtifact::label)
        }
        _ => TrustTier::UNTRUSTED,
    }
}

/// The words of a handle: a line of facts, one of advice, and how the content begins.
fn handle_text(origin: PartOrigin<'_>, shown: &ArtifactHandle<'_>) -> String {
    let mut out = format!(
        "callId: {}, {}, {} bytes",
        one_line(shown.handle),
        one_line(shown.artifact.kind().as_str()),
        shown.artifact.reader().byte_length(),
    );
    if let Some(lines) = shown.line_count {
        out.push_str(&format!(", {lines} lines"));
    }
    if let Some(source) = origin.source() {
        let source: String = one_line(source).chars().take(MAX_SOURCE).collect();
        out.push_str(&format!(", from {source}"));
    }
    if !shown.tools.is_empty() {
        out.push_str("\nToo large to show; query it by its callId with ");
        push_tools(&mut out, shown.tools);
        out.push('.');
    }
    if !shown.preview.is_empty() {
        out.push_str("\nIt begins:\n");
        out.push_str(shown.preview);
    }
    out
}

fn push_tools(out: &mut String, tools: &[&str]) {
    let mut left = MAX_TOOL_LIST;
    for (n, name) in tools.iter().enumerate() {
        let name = one_line(name);
        let Some(rest) = left.checked_sub(name.len() + 2) else {
            out.push_str(&format!(" and {} more", tools.len() - n));
            return;
        };
        left = rest;
        if n > 0 {
            out.push_str(", ");
        }
        out.push_str(&name);
    }
}
