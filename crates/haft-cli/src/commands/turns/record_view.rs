//! Records of a turn as text.

use std::collections::HashMap;
use std::time::Duration;

use haft::Media;
use haft::records::{CallState, Retrievable, ToolCall, ToolResults};
use haft::stores::Row;
use haft::turn::{StoredTurns, TurnError, TurnRecord};

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

/// A row of a turn and its record, or why it cannot be read.
pub(super) struct ReadRecord<'t> {
    pub(super) row: &'t Row,
    pub(super) record: Result<TurnRecord, TurnError>,
}

impl ReadRecord<'_> {
    /// The call, if it is one.
    pub(super) fn as_call(&self) -> Option<&ToolCall> {
        match &self.record {
            Ok(TurnRecord::ToolCall(call)) => Some(call),
            _ => None,
        }
    }
}

/// Reads the records of rows. One that is damaged does not hide the others.
pub(super) async fn read_records<'t>(
    turns: &StoredTurns,
    rows: impl IntoIterator<Item = &'t Row>,
) -> Vec<ReadRecord<'t>> {
    let mut records = Vec::new();
    for row in rows {
        records.push(ReadRecord { row, record: turns.read_record(row).await });
    }
    records
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
    pub(super) fn to_text(&self, record: &ReadRecord<'_>) -> String {
        let read = match &record.record {
            Ok(read) => read,
            Err(error) => {
                let problem = format!("{} cannot be read: {error:#}", record.row.id);
                return self.labelled(record.row.kind.as_str(), &sanitize(&problem));
            }
        };
        let (label, text) = match read {
            TurnRecord::Message(message) => {
                let text = message.content().map(|it| sanitize(it.as_str()));
                (message.role().as_str(), text.unwrap_or_default())
            }
            TurnRecord::Thought(thought) => ("thought", sanitize(thought.content().as_str())),
            TurnRecord::ToolCall(call) => ("call", self.call_to_text(call)),
            TurnRecord::Memory(memory) => ("memory", sanitize(memory.content().as_str())),
            TurnRecord::Retrievable(record) => ("source", source_to_text(record)),
            _ => return String::new(),
        };
        self.labelled(label, &text)
    }

    /// Writes a line with a label in front. Further lines are indented.
    pub(super) fn labelled(&self, label: &str, text: &str) -> String {
        let label = self.terminal.style_stdout(TextRole::Warning, format!("{label:<10}"));
        format!("{label} {}\n", text.trim_end().replace('\n', "\n           "))
    }

    fn call_to_text(&self, call: &ToolCall) -> String {
        let muted = |text: &str| self.terminal.style_stdout(TextRole::Muted, text);
        let raw = call.raw().to_text();
        let mut text =
            format!("{} {}", sanitize(call.tool()), self.shorten(&sanitize(&raw), MAX_ARGS));
        // How long a call took whose process died is not known.
        let is_timed = call.started_at.is_some() && call.completed_at.is_some();
        if is_timed && call.state() != CallState::Unknown {
            let duration = Duration::from_millis(call.time.tool);
            text.push_str(&muted(&format!("  {}", format_duration(duration))));
        }
        if call.time.person > 0 {
            let waited = Duration::from_millis(call.time.person);
            let waited = format!("  waited {} for a person", format_duration(waited));
            text.push_str(&muted(&waited));
        }
        for change in &call.changes {
            text.push_str(&format!("\n  coerced {}", sanitize(&change.to_string())));
        }
        if let Some(grant) = &call.grant {
            text.push_str(&format!("\n  approved by the standing approval {grant}"));
        }
        if let Some(edited) = &call.edited {
            let edited = self.shorten(&sanitize(&edited.to_text()), MAX_ARGS);
            text.push_str(&format!("\n  edited {edited}"));
        }
        if let Some(accepted) = call.accepted.as_ref().map(ToString::to_string)
            && parse_json_or_text(&accepted) != parse_json_or_text(&raw)
        {
            let accepted = self.shorten(&sanitize(&accepted), MAX_ARGS);
            text.push_str(&format!("\n  accepted {accepted}"));
        }
        let outcome = self.outcome_to_text(call);
        let outcome = outcome.trim_end();
        let separator = if outcome.contains('\n') { "\n" } else { " " };
        let outcome = format!("{}{separator}{outcome}", call.state().as_str());
        text.push_str(&format!("\n  {}", outcome.replace('\n', "\n  ")));
        if let Some(cause) = call.cause() {
            text.push_str(&format!("\n  cause: {}", sanitize(cause)));
        }
        text
    }

    /// The result as the model saw it, else as it is stored, or the error.
    fn outcome_to_text(&self, call: &ToolCall) -> String {
        if let Some(error) = &call.error {
            return format!("{}: {}", error.code, sanitize(&error.message));
        }
        let id = call.id().to_string();
        if let Some(seen) = self.facts.seen.get(&id) {
            return self.shorten(&sanitize(seen), MAX_RESULT);
        }
        let lines: Vec<String> = match &call.results {
            Some(ToolResults::Text(text)) => return self.shorten(&sanitize(text), MAX_RESULT),
            Some(ToolResults::Artifacts(all)) => {
                let handles = self.facts.handles.get(&id).map(Vec::as_slice).unwrap_or_default();
                let lines = all.iter().enumerate().map(|(n, artifact)| {
                    let handle = handles.get(n).map(|it| format!(" {it}")).unwrap_or_default();
                    let bytes = artifact.reader().byte_length();
                    format!("{}{handle}, {bytes} bytes", artifact.kind().as_str())
                });
                lines.collect()
            }
            Some(ToolResults::Media(all)) => {
                let line = |it: &Media| format!("{} {}", it.mime_type(), it.filename());
                all.iter().map(|it| sanitize(&line(it))).collect()
            }
            _ => Vec::new(),
        };
        lines.join("\n")
    }

    fn shorten(&self, text: &str, limit: usize) -> String {
        if self.is_full { text.to_owned() } else { elide(text, limit) }
    }
}

/// A retrieved record: where it comes from, and the id by which a model or `haft artifact --turn` opens it.
fn source_to_text(record: &Retrievable) -> String {
    let id = sanitize(record.id().as_str());
    match record.source() {
        Some(source) => format!("{} ({id})", sanitize(source)),
        None => id,
    }
}
