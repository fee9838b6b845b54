//! What tools return, and the handles that stand for it.

use crate::id::RecordId;
use crate::trust::envelope::{Attributes, family_of};
use crate::trust::nonce::Slot;
use crate::trust::prompt::family;
use crate::trust::sanitize::one_line;
use crate::trust::{EnvelopeModality, PromptRenderer, PromptText, TrustLabel};

/// Text that a tool returned.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct ToolResultPart<'a> {
    tool: &'a str,
    call: RecordId,
    part: u32,
    kind: Kind,
    label: TrustLabel,
    modality: Option<EnvelopeModality>,
    body: &'a str,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Result,
    Error,
}

impl<'a> ToolResultPart<'a> {
    /// A result with the label that its record keeps.
    pub fn new(tool: &'a str, call: RecordId, label: TrustLabel, body: &'a str) -> Self {
        Self { tool, call, part: 0, kind: Kind::Result, label, modality: None, body }
    }

    /// An error. It may quote anything, so that it is untrusted whatever the tool is.
    pub fn error(tool: &'a str, call: RecordId, message: &'a str) -> Self {
        let kind = Kind::Error;
        Self { kind, ..Self::new(tool, call, TrustLabel::UNTRUSTED, message) }
    }

    /// Which part of the result it is, if there are several; the first is 0.
    pub fn part(mut self, part: u32) -> Self {
        self.part = part;
        self
    }

    /// States what the text was extracted from.
    pub fn modality(mut self, modality: EnvelopeModality) -> Self {
        self.modality = Some(modality);
        self
    }
}

/// What a part belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartOrigin<'a> {
    /// A call of a tool.
    Call {
        /// The tool.
        tool: &'a str,
        /// The record.
        id: RecordId,
    },
    /// A message, by its id.
    Message(&'a str),
    /// A retrieved record, by its id.
    Retrieved(&'a str),
}

impl<'a> PartOrigin<'a> {
    pub(super) fn tool(self) -> Option<&'a str> {
        match self {
            Self::Call { tool, .. } => Some(tool),
            Self::Message(_) | Self::Retrieved(_) => None,
        }
    }

    pub(super) fn record(self) -> String {
        match self {
            Self::Call { id, .. } => id.to_string(),
            Self::Message(id) | Self::Retrieved(id) => id.to_owned(),
        }
    }

    pub(super) const fn scope(self, of: Scope) -> &'static str {
        match (of, self) {
            (Scope::Handle, Self::Call { .. }) => "call handle",
            (Scope::Handle, Self::Message(_)) => "message handle",
            (Scope::Handle, Self::Retrieved(_)) => "retrieved handle",
            (Scope::Media, Self::Call { .. }) => "call media",
            (Scope::Media, Self::Message(_)) => "message media",
            (Scope::Media, Self::Retrieved(_)) => "retrieved media",
        }
    }
}

/// What of a record an envelope holds.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    Handle,
    Media,
}

/// A large result that the model does not see, and how to query it. Always untrusted.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct HandlePart<'a> {
    origin: PartOrigin<'a>,
    part: u32,
    handle: &'a str,
    kind: &'a str,
    source: Option<&'a str>,
    byte_length: Option<u64>,
    line_count: Option<u64>,
    tools: &'a [(&'a str, &'a str)],
}

impl<'a> HandlePart<'a> {
    /// The handle of an artifact of this kind, by the text with which the model names it.
    pub fn new(origin: PartOrigin<'a>, handle: &'a str, kind: &'a str) -> Self {
        let (source, byte_length, line_count) = (None, None, None);
        Self { origin, part: 0, handle, kind, source, byte_length, line_count, tools: &[] }
    }

    /// Which part of the result it is, if there are several; the first is 0.
    pub fn part(mut self, part: u32) -> Self {
        self.part = part;
        self
    }

    /// Where it comes from, such as the name of a file. The first 100 characters are shown.
    pub fn source(mut self, source: &'a str) -> Self {
        self.source = Some(source);
        self
    }

    /// How long it is in bytes.
    pub fn byte_length(mut self, bytes: u64) -> Self {
        self.byte_length = Some(bytes);
        self
    }

    /// How many lines it has.
    pub fn line_count(mut self, lines: u64) -> Self {
        self.line_count = Some(lines);
        self
    }

    /// The tools that query it, each with what it does. If that would be long, only the names are
    /// shown: the model has the descriptions already.
    pub fn tools(mut self, tools: &'a [(&'a str, &'a str)]) -> Self {
        self.tools = tools;
        self
    }

    /// The words of the handle. They stay below 200 tokens.
    pub(super) fn body(&self) -> String {
        let what = match self.origin {
            PartOrigin::Call { .. } | PartOrigin::Message(_) => "This result",
            PartOrigin::Retrieved(_) => "This retrieved record",
        };
        let mut out = format!(
            "{what} is too large to show. It is kept as an artifact:\ncallId: {}\nkind: {}\n",
            one_line(self.handle),
            one_line(self.kind),
        );
        if let Some(source) = self.source {
            let source: String = one_line(source).chars().take(MAX_SOURCE).collect();
            out.push_str(&format!("source: {source}\n"));
        }
        let facts = [("byteLength", self.byte_length), ("lineCount", self.line_count)];
        for (name, value) in facts.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
            out.push_str(&format!("{name}: {value}\n"));
        }
        if !self.tools.is_empty() {
            out.push_str("To read it, call one of these tools with this callId:\n");
            push_tools(&mut out, self.tools);
            out.push('\n');
        }
        out.push_str("Query it as often as you need in this turn; it is shown nowhere else.");
        out
    }
}

/// Longest source in a handle, in characters.
const MAX_SOURCE: usize = 100;

/// Longest list of tools in a handle, in bytes.
const MAX_TOOL_LIST: usize = 400;

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

impl PromptRenderer {
    /// A result or an error of a tool.
    #[must_use]
    pub fn tool_result(&self, part: &ToolResultPart<'_>) -> PromptText {
        let (label, kind) = match part.kind {
            Kind::Error => (TrustLabel::UNTRUSTED, "tool-error"),
            Kind::Result if part.label.is_trusted() => (part.label, "trusted-tool-result"),
            Kind::Result => (part.label, "tool-result"),
        };
        let record = part.call.to_string();
        let slot =
            Slot { family: family_of(label), scope: "call", record: &record, part: part.part };
        let attributes = Attributes::default().nonce().text("kind", kind);
        let attributes = attributes.text("tool", part.tool).modality(part.modality);
        self.seal(&slot, attributes, &self.clean(part.body))
    }

    /// A handle.
    #[must_use]
    pub fn handle(&self, part: &HandlePart<'_>) -> PromptText {
        let record = part.origin.record();
        let slot = Slot {
            family: family::UNTRUSTED,
            scope: part.origin.scope(Scope::Handle),
            record: &record,
            part: part.part,
        };
        let attributes = Attributes::default().nonce().text("kind", "artifact-handle");
        let attributes = attributes.optional("tool", part.origin.tool());
        self.seal(&slot, attributes, &self.clean(&part.body()))
    }
}
