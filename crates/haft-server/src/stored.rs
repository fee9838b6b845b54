//! Reads the records of stored turns: the one place that knows their stored form.

use std::collections::HashMap;

use haft::records::{HandleTable, RecordId};
use haft::schema::{Change, ChangeKind};
use haft::stores::{Row, RowKind, StoredTurn};
use haft::turn::{Timestamp, TurnOutcome};
use serde::Deserialize;
use serde_json::Value;

use crate::wire::{CoercionRow, ErrorView, MediaRow, SourceTier, TokenUsage};

/// A call as its row has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) raw: String,
    #[serde(default)]
    pub(crate) accepted: Option<String>,
    #[serde(default)]
    pub(crate) edited: Option<String>,
    #[serde(default)]
    pub(crate) changes: Vec<Change>,
    pub(crate) state: String,
    #[serde(default)]
    pub(crate) results: Option<StoredResults>,
    #[serde(default)]
    pub(crate) error: Option<StoredCallError>,
    #[serde(default)]
    pub(crate) cause: Option<String>,
    pub(crate) label: String,
    #[serde(default)]
    pub(crate) from_artifact_tool: bool,
    #[serde(default)]
    pub(crate) inline: bool,
    pub(crate) iteration: u32,
    pub(crate) ordinal: u32,
    #[serde(default)]
    pub(crate) provider_id: Option<String>,
    pub(crate) created_at: Timestamp,
    #[serde(default)]
    pub(crate) completed_at: Option<Timestamp>,
}

impl StoredCall {
    /// The content key: what the ids of repeated calls share.
    pub(crate) fn key(&self) -> &str {
        self.id.split('#').next().unwrap_or_default()
    }
}

/// What a call returned.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum StoredResults {
    Text(String),
    Artifacts(Vec<StoredArtifact>),
    Media(Vec<StoredMedia>),
}

#[derive(Debug, Deserialize)]
pub(crate) struct StoredArtifact {
    pub(crate) kind: String,
    pub(crate) label: String,
    #[serde(default)]
    pub(crate) content: Option<StoredDigest>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StoredDigest {
    pub(crate) bytes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredMedia {
    #[serde(default)]
    id: Option<String>,
    mime_type: String,
    filename: String,
    trust_tier: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StoredCallError {
    pub(crate) code: String,
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) retryable: bool,
}

/// A message or a thought as its row has it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredText {
    #[serde(default)]
    pub(crate) role: Option<String>,
    #[serde(default)]
    pub(crate) content: Option<String>,
    #[serde(default)]
    pub(crate) attachments: Vec<StoredMedia>,
    pub(crate) created_at: Timestamp,
}

/// A record of a turn.
#[derive(Debug)]
pub(crate) enum StoredRecord {
    Message(StoredText),
    Thought(StoredText),
    Call(Box<StoredCall>),
}

impl StoredRecord {
    /// Reads the records of a turn that its timeline shows, with their kinds and ids. A record that cannot be read is
    /// left out, because a page about the rest is better than none, and `unreadable` says so.
    pub(crate) fn read_all(
        turn: &StoredTurn,
        unreadable: &mut Vec<String>,
    ) -> Vec<(RowKind, String, Self)> {
        let mut read = Vec::new();
        for row in &turn.rows {
            match Self::read(row) {
                Ok(Some(record)) => read.push((row.kind, row.id.clone(), record)),
                Ok(None) => {}
                Err(error) => {
                    unreadable.push(format!("{} `{}`: {error}", row.kind.as_str(), row.id));
                }
            }
        }
        read
    }

    /// Reads a record. Returns `None` if it does not stand in the timeline.
    fn read(row: &Row) -> serde_json::Result<Option<Self>> {
        let text: &str = &row.json;
        Ok(Some(match row.kind {
            RowKind::Message => Self::Message(serde_json::from_str(text)?),
            RowKind::Thought => Self::Thought(serde_json::from_str(text)?),
            RowKind::ToolCall => Self::Call(Box::new(serde_json::from_str(text)?)),
            _ => return Ok(None),
        }))
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

/// Reads the system prompt from the first entry of a journal.
pub(crate) fn read_system_prompt(turn: &StoredTurn) -> String {
    #[derive(Deserialize)]
    struct Started {
        system_prompt: String,
    }
    let first = turn.journal.first().and_then(|text| serde_json::from_str::<Started>(text).ok());
    first.map(|it| it.system_prompt).unwrap_or_default()
}

/// Reads how a turn ended: when, and with which error. The reason of a cancellation, or the limit that was reached,
/// counts as an error.
pub(crate) fn read_end(turn: &StoredTurn) -> Option<(Timestamp, Option<ErrorView>)> {
    #[derive(Deserialize)]
    struct Ended {
        entry: String,
        at: Timestamp,
        #[serde(default)]
        error: Option<StoredError>,
        #[serde(default)]
        outcome: Option<TurnOutcome>,
    }
    #[derive(Deserialize)]
    struct StoredError {
        #[serde(default)]
        code: Option<String>,
        message: String,
        #[serde(default)]
        stage: Option<String>,
        #[serde(default)]
        retryable: bool,
        #[serde(default)]
        cause: Option<String>,
    }
    let ended: Ended = serde_json::from_str(turn.journal.last()?).ok()?;
    if ended.entry != "ended" {
        return None;
    }
    let error = ended.error.map(|it| ErrorView {
        code: it.code,
        message: it.message,
        cause: it.cause,
        stage: it.stage,
        retryable: it.retryable,
    });
    let outcome = match ended.outcome {
        Some(TurnOutcome::Cancelled { reason }) => Some(reason),
        Some(TurnOutcome::LimitReached { limit }) => {
            Some(format!("the turn reached its limit of {limit}"))
        }
        _ => None,
    };
    let outcome = outcome.map(|message| ErrorView {
        code: None,
        message,
        cause: None,
        stage: None,
        retryable: false,
    });
    Some((ended.at, error.or(outcome)))
}

/// How many earlier turns the model saw.
pub(crate) fn count_earlier_turns(turn: &StoredTurn) -> u64 {
    let mut hydrated = turn.journal.iter().filter(|text| text.contains("\"hydrated\""));
    let entry = hydrated.find_map(|text| serde_json::from_str::<Value>(text).ok());
    let count = entry.as_ref().and_then(|entry| entry.pointer("/range/count"));
    count.and_then(Value::as_u64).unwrap_or(0)
}

/// The handles of the calls of a turn, by their records.
#[derive(Debug, Default)]
pub(crate) struct CallHandles(HashMap<String, Vec<String>>);

impl CallHandles {
    pub(crate) fn of(calls: &[&StoredCall]) -> Self {
        let mut table = HandleTable::default();
        let mut handles = HashMap::new();
        // A handle is as long as it takes to tell its call from all others, which costs time for every call. A turn
        // without artifacts needs none.
        if !calls.iter().any(|call| matches!(call.results, Some(StoredResults::Artifacts(_)))) {
            return Self(handles);
        }
        for call in calls {
            let Ok(record) = call.id.parse::<RecordId>() else { continue };
            let handle = table.insert(record);
            let count = match &call.results {
                Some(StoredResults::Artifacts(all)) if !call.from_artifact_tool && !call.inline => {
                    all.len()
                }
                _ => 0,
            };
            let each = match count {
                0 => continue,
                1 => vec![handle.to_string()],
                _ => (0..count).map(|part| format!("{handle}.{part}")).collect(),
            };
            handles.insert(call.id.clone(), each);
        }
        Self(handles)
    }

    pub(crate) fn of_record(&self, record: &str) -> &[String] {
        self.0.get(record).map_or(&[], Vec::as_slice)
    }
}

/// The tier with a stored name. An unknown name is the least trusted tier.
pub(crate) fn tier_of(word: &str) -> SourceTier {
    match word {
        "first-party" => SourceTier::FirstParty,
        "third-party-private" => SourceTier::ThirdPartyPrivate,
        _ => SourceTier::ThirdPartyPublic,
    }
}

/// The media types that a browser shows as a picture without running anything.
const PICTURES: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

/// Whether a browser may show media of this type.
pub(crate) fn is_previewable(mime_type: &str) -> bool {
    PICTURES.contains(&mime_type)
}

impl StoredMedia {
    pub(crate) fn to_row(&self) -> MediaRow {
        MediaRow {
            id: self.id.clone(),
            filename: self.filename.clone(),
            mime_type: self.mime_type.clone(),
            tier: tier_of(&self.trust_tier),
            previewable: self.id.is_some() && is_previewable(&self.mime_type),
        }
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
    use haft::stores::{Row, RowKind, StoredTurn, TurnSummary};
    use haft::turn::Timestamp;

    use super::{StoredRecord, add_unreadable};

    #[test]
    fn a_record_that_cannot_be_read_is_reported() {
        let summary = TurnSummary::new("t".parse().unwrap(), Timestamp::EPOCH);
        let mut turn = StoredTurn::new(summary);
        let text =
            r#"{"role": "user", "content": "hi", "createdAt": "1970-01-01T00:00:00.000000Z"}"#;
        turn.rows = vec![
            Row::new(RowKind::Message, "m1", text),
            Row::new(RowKind::Message, "m2", "{"),
            Row::new(RowKind::Memory, "m3", "{"),
        ];
        let mut unreadable = Vec::new();
        assert_eq!(StoredRecord::read_all(&turn, &mut unreadable).len(), 1);
        assert_eq!(unreadable.len(), 1);
        let error = add_unreadable(None, &unreadable).unwrap();
        assert!(error.message.starts_with("the store is damaged: message `m2`: EOF"), "{error:?}");
        let both = add_unreadable(Some(error), &unreadable).unwrap();
        assert_eq!(both.message.matches("m2").count(), 2);
        assert_eq!(add_unreadable(None, &[]), None);
    }
}
