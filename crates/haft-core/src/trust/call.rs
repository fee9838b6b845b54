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
    /// The tools that query it, each with what it does. If that would be long, only the names are shown: the model
    /// has the descriptions already.
    pub tools: &'a [(&'a str, &'a str)],
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
        let kind = if tier.is_trusted() { "trusted-tool-result" } else { "tool-result" };
        self.seal_result(call, part, (tier, kind), text)
    }

    /// Text that is shown at the place of a call's `part`-th result and that the call did not return. It may quote
    /// arguments, so that it is untrusted.
    #[must_use]
    pub fn tool_note(&self, call: &ToolCall, part: u32, text: &str) -> PromptText {
        self.seal_result(call, part, (TrustTier::UNTRUSTED, "tool-result"), text)
    }

    /// Why a call has no result. An error may quote anything, so that it is untrusted whatever the tool is.
    #[must_use]
    pub fn tool_error(&self, call: &ToolCall, message: &str) -> PromptText {
        self.seal_result(call, 0, (TrustTier::UNTRUSTED, "tool-error"), message)
    }

    fn seal_result(
        &self,
        call: &ToolCall,
        part: u32,
        (tier, kind): (TrustTier, &'static str),
        text: &str,
    ) -> PromptText {
        let record = call.id().to_string();
        let slot = Slot { family: family_of(tier), scope: "call", record: &record, part };
        let attributes = Attributes::default().nonce().text("kind", kind);
        self.seal(&slot, attributes.text("tool", call.tool()), &self.clean(text))
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
        let attributes = Attributes::default().nonce().text("kind", "artifact-handle");
        let attributes = attributes.optional("tool", origin.tool());
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

/// The words of a handle. They stay below 200 tokens.
fn handle_text(origin: PartOrigin<'_>, shown: &ArtifactHandle<'_>) -> String {
    let what = match origin {
        PartOrigin::Call(_) | PartOrigin::Message(_) => "This result",
        PartOrigin::Retrieved(_) => "This retrieved record",
    };
    let mut out = format!(
        "{what} is too large to show. It is kept as an artifact:\ncallId: {}\nkind: {}\n",
        one_line(shown.handle),
        one_line(shown.artifact.kind().as_str()),
    );
    if let Some(source) = origin.source() {
        let source: String = one_line(source).chars().take(MAX_SOURCE).collect();
        out.push_str(&format!("source: {source}\n"));
    }
    out.push_str(&format!("byteLength: {}\n", shown.artifact.reader().byte_length()));
    if let Some(lines) = shown.line_count {
        out.push_str(&format!("lineCount: {lines}\n"));
    }
    if !shown.tools.is_empty() {
        out.push_str("To read it, call one of these tools with this callId:\n");
        push_tools(&mut out, shown.tools);
        out.push('\n');
    }
    out.push_str("Query it as often as you need in this turn; it is shown nowhere else.");
    out
}

fn push_tools(out: &mut String, tools: &[(&str, &str)]) {
    let described =
        |(name, does): &(&str, &str)| format!("{} — {}", one_line(name), one_line(does));
    let list: Vec<String> = tools.iter().map(described).collect();
    let list = list.join("\n");
    if list.len() <= MAX_TOOL_LIST {
        out.push_str(&list);
        return;
    }
    let mut left = MAX_TOOL_LIST;
    for (n, (name, _)) in tools.iter().enumerate() {
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
