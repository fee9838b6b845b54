//! Records of a turn as text.

use std::collections::HashMap;

use haft::schema::Change;
use haft::stores::{Row, RowKind};
use haft::turn::Timestamp;
use serde_json::Value;

use super::parse_json_or_text;
use crate::commands::{elide, format_duration};
use crate::terminal::{Terminal, TextRole, sanitize};

/// What is known about the calls of a turn beyond their records.
#[derive(Debug, Default)]
pub(super) struct CallFacts {
    /// The results as the model saw them, by the id of the call.
    pub(super) seen: HashMap<String, String>,
    /// The handles of artifacts, by the id of the call.
    pub(super) handles: HashMap<String, Vec<String>>,
}

/// Writes records as text.
pub(super) struct RecordView<'v> {
    pub(super) terminal: &'v Terminal,
    pub(super) facts: &'v CallFacts,
    /// Whether long arguments and results are written whole.
    pub(super) is_full: bool,
}

/// How much of arguments and of results is shown, in characters.
const MAX_ARGS: usize = 400;
const MAX_RESULT: usize = 2000;

impl RecordView<'_> {
    /// Writes a record in one line or a few lines.
    pub(super) fn to_text(&self, row: &Row) -> String {
        let record = parse_json_or_text(&row.json);
        let field = |name: &str| text_field(&record, name);
        let (label, text) = match row.kind {
            RowKind::Message => (field("role"), field("content")),
            RowKind::Thought => ("thought".to_owned(), field("content")),
            RowKind::ToolCall => ("call".to_owned(), self.call_to_text(&row.id, &record)),
            RowKind::Memory => ("memory".to_owned(), field("content")),
            RowKind::Retrievable => ("source".to_owned(), source_to_text(&record)),
            RowKind::Instruction => return String::new(),
            _ => (row.kind.as_str().to_owned(), row.id.clone()),
        };
        self.labelled(&label, &text)
    }

    /// Writes a line with a label in front. Further lines are indented.
    pub(super) fn labelled(&self, label: &str, text: &str) -> String {
        let label = self.terminal.style_stdout(TextRole::Warning, format!("{label:<10}"));
        format!("{label} {}\n", text.trim_end().replace('\n', "\n           "))
    }

    fn call_to_text(&self, id: &str, call: &Value) -> String {
        let muted = |text: &str| self.terminal.style_stdout(TextRole::Muted, text);
        let raw = text_field(call, "raw");
        let mut text = format!("{} {}", text_field(call, "tool"), self.shorten(&raw, MAX_ARGS));
        if let Some(duration) = call_duration(call) {
            text.push_str(&muted(&format!("  {}", format_duration(duration))));
        }
        let changes = call.get("changes").and_then(Value::as_array);
        for change in changes.into_iter().flatten() {
            // A change that this version does not know is shown as it is stored.
            let change = match serde_json::from_value::<Change>(change.clone()) {
                Ok(known) => known.to_string(),
                Err(_) => change.to_string(),
            };
            text.push_str(&format!("\n  coerced {}", sanitize(&change)));
        }
        let grant = text_field(call, "grant");
        if !grant.is_empty() {
            text.push_str(&format!("\n  approved by the standing approval {grant}"));
        }
        let edited = text_field(call, "edited");
        if !edited.is_empty() {
            text.push_str(&format!("\n  edited {}", self.shorten(&edited, MAX_ARGS)));
        }
        let accepted = text_field(call, "accepted");
        if !accepted.is_empty() && parse_json_or_text(&accepted) != parse_json_or_text(&raw) {
            text.push_str(&format!("\n  accepted {}", self.shorten(&accepted, MAX_ARGS)));
        }
        let outcome = self.outcome_to_text(id, call);
        let outcome = outcome.trim_end();
        let separator = if outcome.contains('\n') { "\n" } else { " " };
        let outcome = format!("{}{separator}{outcome}", text_field(call, "state"));
        text.push_str(&format!("\n  {}", outcome.replace('\n', "\n  ")));
        let cause = text_field(call, "cause");
        if !cause.is_empty() {
            text.push_str(&format!("\n  cause: {cause}"));
        }
        text
    }

    /// The result as the model saw it, else as it is stored, or the error.
    fn outcome_to_text(&self, id: &str, call: &Value) -> String {
        if let Some(error) = call.get("error").filter(|it| it.is_object()) {
            let (code, message) = (text_field(error, "code"), text_field(error, "message"));
            return format!("{code}: {message}");
        }
        if let Some(seen) = self.facts.seen.get(id) {
            return self.shorten(&sanitize(seen), MAX_RESULT);
        }
        let Some(results) = call.get("results") else { return String::new() };
        if let Some(text) = results.get("text").and_then(Value::as_str) {
            return self.shorten(&sanitize(text), MAX_RESULT);
        }
        let artifacts = results.get("artifacts").and_then(Value::as_array);
        let handles = self.facts.handles.get(id).map(Vec::as_slice).unwrap_or_default();
        let artifacts = artifacts.into_iter().flatten().enumerate().map(|(n, artifact)| {
            let handle = handles.get(n).map_or("", String::as_str);
            let bytes = artifact.get("bytes").and_then(Value::as_u64);
            let bytes = bytes.map(|it| format!(", {it} bytes")).unwrap_or_default();
            format!("{} {handle}{bytes}", text_field(artifact, "kind"))
        });
        let media = results.get("media").and_then(Value::as_array);
        let media = media.into_iter().flatten().map(|media| {
            format!("{} {}", text_field(media, "mimeType"), text_field(media, "filename"))
        });
        artifacts.chain(media).collect::<Vec<_>>().join("\n")
    }

    fn shorten(&self, text: &str, limit: usize) -> String {
        if self.is_full { text.to_owned() } else { elide(text, limit) }
    }
}

/// How long a call took, from its announcement to its end.
fn call_duration(call: &Value) -> Option<std::time::Duration> {
    let time = |name: &str| serde_json::from_value::<Timestamp>(call.get(name)?.clone()).ok();
    Some(time("completedAt")?.duration_since(time("createdAt")?))
}

/// A retrieved record: where it comes from, and the id by which a model or `haft artifact --turn` opens it.
fn source_to_text(record: &Value) -> String {
    let (id, source) = (text_field(record, "id"), text_field(record, "source"));
    if source.is_empty() { id } else { format!("{source} ({id})") }
}

fn text_field(record: &Value, name: &str) -> String {
    match record.get(name) {
        Some(Value::String(text)) => sanitize(text),
        Some(Value::Null) | None => String::new(),
        Some(other) => sanitize(&other.to_string()),
    }
}
