//! What views say about the records of stored turns.

use std::collections::HashMap;

use haft::Media;
use haft::events::ErrorReport;
use haft::records::{HandleTable, RecordId, ToolCall, ToolResults};
use haft::schema::{Change, ChangeKind};
use haft::stores::{RowKind, StopReason, StoredTurn};
use haft::trust::TrustTier;
use haft::turn::{StoredTurns, TurnHistory, TurnOutcome, TurnRecord};

use crate::wire::{CoercionRow, ErrorView, MediaRow, SourceTier, TokenUsage};

/// A record that the timeline of a turn shows.
pub(crate) struct ShownRecord {
    pub(crate) kind: RowKind,
    pub(crate) id: String,
    pub(crate) record: TurnRecord,
}

impl ShownRecord {
    /// Reads the records of a turn that its timeline shows. A record that cannot be read is left out, because a page about
    /// the rest is better than none, and `unreadable` says so.
    pub(crate) async fn read_all(
        turns: &StoredTurns,
        turn: &StoredTurn,
        unreadable: &mut Vec<String>,
    ) -> Vec<Self> {
        let mut read = Vec::new();
        for row in &turn.rows {
            if !matches!(row.kind, RowKind::Message | RowKind::Thought | RowKind::ToolCall) {
                continue;
            }
            match turns.read_record(row).await {
                Ok(record) => read.push(Self { kind: row.kind, id: row.id.clone(), record }),
                Err(error) => {
                    unreadable.push(format!("{} `{}`: {error}", row.kind.as_str(), row.id));
                }
            }
        }
        read
    }

    /// The call, if it is one.
    pub(crate) fn as_call(&self) -> Option<&ToolCall> {
        match &self.record {
            TurnRecord::ToolCall(call) => Some(call),
            _ => None,
        }
    }

    /// What was said or thought.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.record {
            TurnRecord::Message(message) => message.content().map(haft::records::Text::as_str),
            TurnRecord::Thought(thought) => Some(thought.content().as_str()),
            _ => None,
        }
    }
}

/// Adds to the error of a turn that a part of the turn cannot be read.
pub(crate) fn add_unreadable(error: Option<ErrorView>, unreadable: &[String]) -> Option<ErrorView> {
    let Some(first) = unreadable.first() else { return error };
    let note = match unreadable.len() {
        1 => format!("the store is damaged: {first}"),
        count => {
            format!("the store is damaged: {count} records cannot be read, the first is {first}")
        }
    };
    Some(match error {
        Some(error) => ErrorView { message: format!("{}; {note}", error.message), ..error },
        None => ErrorView { code: None, message: note, cause: None, stage: None, retryable: false },
    })
}

/// Why a turn stopped. The reason of a cancellation counts as an error.
pub(crate) fn stop_error(history: &TurnHistory) -> Option<ErrorView> {
    if let Some(error) = history.error() {
        return Some(error_view(error));
    }
    match &history.end.as_ref()?.outcome {
        TurnOutcome::Cancelled { reason } => Some(stop_view(StopReason::new(reason))),
        _ => None,
    }
}

/// Why a turn stopped, as lists say it.
pub(crate) fn stop_view(reason: StopReason) -> ErrorView {
    let StopReason { message, code, stage, .. } = reason;
    ErrorView { code, message, cause: None, stage, retryable: false }
}

fn error_view(error: &ErrorReport) -> ErrorView {
    ErrorView {
        code: error.code.as_ref().map(ToString::to_string),
        message: error.message.to_string(),
        cause: error.cause.as_ref().map(ToString::to_string),
        stage: error.stage.as_ref().map(ToString::to_string),
        retryable: error.retryable,
    }
}

/// The handles of the calls of a turn, by their records.
#[derive(Debug, Default)]
pub(crate) struct CallHandles(HashMap<RecordId, Vec<String>>);

impl CallHandles {
    pub(crate) fn of(calls: &[&ToolCall]) -> Self {
        let mut table = HandleTable::default();
        let mut handles = HashMap::new();
        // A handle is as long as it takes to tell its call from all others, which costs time for every call. A turn
        // without artifacts needs none.
        if !calls.iter().any(|call| matches!(call.results, Some(ToolResults::Artifacts(_)))) {
            return Self(handles);
        }
        for call in calls {
            let handle = table.insert(call.id());
            let count = match &call.results {
                Some(ToolResults::Artifacts(all)) if !call.from_artifact_tool && !call.inline => {
                    all.len()
                }
                _ => 0,
            };
            let each = match count {
                0 => continue,
                1 => vec![handle.to_string()],
                _ => (0..count).map(|part| format!("{handle}.{part}")).collect(),
            };
            handles.insert(call.id(), each);
        }
        Self(handles)
    }

    pub(crate) fn of_record(&self, record: RecordId) -> &[String] {
        self.0.get(&record).map_or(&[], Vec::as_slice)
    }
}

/// A tier on the wire.
pub(crate) const fn tier_view(tier: TrustTier) -> SourceTier {
    match tier {
        TrustTier::FirstParty => SourceTier::FirstParty,
        TrustTier::ThirdPartyPrivate => SourceTier::ThirdPartyPrivate,
        TrustTier::ThirdPartyPublic => SourceTier::ThirdPartyPublic,
    }
}

/// The media types that a browser shows as a picture without running anything. In an `img` element no script of an SVG runs
/// and nothing is loaded from elsewhere.
const PICTURES: [&str; 6] =
    ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml"];

/// Whether a browser may show media of this type.
pub(crate) fn is_previewable(mime_type: &str) -> bool {
    PICTURES.contains(&mime_type)
}

/// A medium on the wire.
pub(crate) fn media_row(media: &Media) -> MediaRow {
    let id = media.id().map(|it| it.as_str().to_owned());
    MediaRow {
        previewable: id.is_some() && is_previewable(media.mime_type()),
        id,
        filename: media.filename().to_owned(),
        mime_type: media.mime_type().to_owned(),
        tier: tier_view(media.trust_tier()),
    }
}

/// A coercion with a short label.
pub(crate) fn coercion_row(change: &Change) -> CoercionRow {
    let label = match &change.kind {
        ChangeKind::Repaired(repair) => repair_label(&repair.to_string()),
        ChangeKind::Absent => "no arguments",
        ChangeKind::Default => "default",
        ChangeKind::Number => "text → number",
        ChangeKind::Boolean => "text → boolean",
        ChangeKind::Null => "text → null",
        ChangeKind::Json => "JSON in a text",
        ChangeKind::Wrapped => "value → list",
        ChangeKind::Case => "letter case",
        ChangeKind::Dropped => "empty → absent",
        ChangeKind::Unwrapped(_) => "wrapper removed",
        ChangeKind::Renamed(_) => "alias",
        _ => "changed",
    };
    CoercionRow {
        label: label.to_owned(),
        pointer: change.pointer.clone(),
        text: change.to_string(),
    }
}

/// A short label for what was repaired.
fn repair_label(text: &str) -> &'static str {
    let known = [
        ("fence", "code fence"),
        ("comma", "trailing comma"),
        ("quotes", "single quotes"),
        ("control", "raw control"),
    ];
    known.iter().find(|(word, _)| text.contains(word)).map_or("Python word", |(_, label)| label)
}

/// The labels of coercions for a row: defaults are counted, equal labels stand once.
pub(crate) fn coercion_labels(changes: &[Change]) -> Vec<String> {
    let defaults = changes.iter().filter(|it| matches!(it.kind, ChangeKind::Default)).count();
    let mut labels: Vec<String> = Vec::new();
    for change in changes.iter().filter(|it| !matches!(it.kind, ChangeKind::Default)) {
        let label = coercion_row(change).label;
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    match defaults {
        0 => {}
        1 => labels.push("1 default".to_owned()),
        n => labels.push(format!("{n} defaults")),
    }
    labels
}

/// Tokens on the wire.
pub(crate) fn token_usage(usage: haft::events::Usage) -> TokenUsage {
    TokenUsage { prompt: usage.prompt, completion: usage.completion, cached: usage.cached }
}

/// The beginning of a text, cut at a character, and how many bytes are left out.
pub(crate) fn shorten(text: &str, limit: usize) -> (String, u64) {
    if text.len() <= limit {
        return (text.to_owned(), 0);
    }
    let cut = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (shown, left_out) = text.split_at(cut);
    (shown.to_owned(), left_out.len() as u64)
}

/// A text in one line, cut.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let (cut, left) = shorten(text.trim(), limit);
    let line: String = cut
        .chars()
        .map(|it| if it == '\n' || it == '\r' || it == '\t' { ' ' } else { it })
        .collect();
    if left > 0 { format!("{line}…") } else { line }
}

#[cfg(test)]
mod tests {
    use haft::Agent;
    use haft::executors::ScriptExecutor;
    use haft::stores::{Row, RowKind, StoredTurn, TurnSummary};
    use haft::turn::Timestamp;

    use super::{ShownRecord, add_unreadable};

    #[tokio::test]
    async fn a_record_that_cannot_be_read_is_reported() {
        let summary = TurnSummary::new("t".parse().unwrap(), Timestamp::EPOCH);
        let mut turn = StoredTurn::new(summary);
        turn.rows =
            vec![Row::new(RowKind::Message, "m2", "{"), Row::new(RowKind::Memory, "m3", "{")];
        let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#).unwrap();
        let agent = Agent::builder(script).build().unwrap();
        let mut unreadable = Vec::new();
        let read = ShownRecord::read_all(agent.stored_turns(), &turn, &mut unreadable).await;
        assert_eq!((read.len(), unreadable.len()), (0, 1));
        let error = add_unreadable(None, &unreadable).unwrap();
        assert!(error.message.starts_with("the store is damaged: message `m2`: "), "{error:?}");
        let both = add_unreadable(Some(error), &unreadable).unwrap();
        assert_eq!(both.message.matches("`m2`").count(), 2);
        assert_eq!(add_unreadable(None, &[]), None);
    }
}
