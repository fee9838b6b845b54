//! The calls of a turn, their results and their artifacts.

use std::borrow::Cow;

use haft::records::{RecordId, ToolCall, ToolResults};
use haft::turn::{Gate, GateSettlement};

use super::ReadTurn;
use super::gates::preview_view;
use crate::stored::{
    ShownRecord, coercion_labels, coercion_row, media_row, one_line, shorten, tier_view,
};
use crate::wire::{
    ArtifactRow, CallFilter, CallPage, CallRow, CallView, ErrorView, GateMark, MediaRow, ResultRow,
    SourceTier, TimelineItem,
};

/// How much of the arguments of a call stands in a timeline, in bytes.
const MAX_ARGUMENTS: usize = 240;
/// How much of a result stands in a timeline, in bytes.
const MAX_RESULT_LINE: usize = 160;
/// How much of a result stands in the view of its call, in bytes.
const MAX_RESULT: usize = 128 * 1024;
/// How many calls a page has by default, and at most.
const DEFAULT_CALLS: usize = 500;
const MAX_CALLS: usize = 5000;

impl ReadTurn {
    /// Lists calls, as items of the timeline.
    pub(crate) fn call_page(&self, filter: &CallFilter) -> CallPage {
        let is_selected = |call: &ToolCall| match &filter.artifact {
            Some(handle) => {
                call.from_artifact_tool && queried_handle(call).as_deref() == Some(handle)
            }
            None => true,
        };
        let selected: Vec<usize> = (0..self.records.len())
            .filter(|at| self.call_at(*at).is_some_and(is_selected))
            .collect();
        let count = filter.count.unwrap_or(DEFAULT_CALLS).min(MAX_CALLS);
        let page = selected.iter().skip(filter.start).take(count);
        let calls: Vec<TimelineItem> = page.filter_map(|at| self.item_of(*at)).collect();
        CallPage { calls, total: selected.len() }
    }

    fn call_at(&self, at: usize) -> Option<&ToolCall> {
        self.records.get(at).and_then(ShownRecord::as_call)
    }

    pub(super) fn call_row(&self, call: &ToolCall, attempt: u32) -> CallRow {
        let gate = self.gate_of(call).map(|(gate, settlement)| GateMark {
            id: gate.id.to_string(),
            decision: settlement.as_ref().map(|it| it.decision.as_str().to_owned()),
        });
        CallRow {
            record: call.id().to_string(),
            call_key: call.call_id().to_string(),
            tool: call.tool().to_owned(),
            arguments: one_line(&call.raw().to_text(), MAX_ARGUMENTS),
            coercions: coercion_labels(&call.changes),
            state: call.state().as_str().to_owned(),
            refused: call.error.is_some() && did_not_run(call),
            error: call.error.as_ref().map(|error| ErrorView {
                code: Some(error.code.to_string()),
                message: shorten(&error.message, 2000).0,
                cause: call.cause().map(str::to_owned),
                stage: None,
                retryable: error.retryable,
            }),
            result: call.results.as_ref().map(|results| self.result_row(call, results)),
            attempt,
            gate,
            edited: call.edited.is_some(),
            decision_time: None,
        }
    }

    /// The newest gate of a call.
    pub(super) fn gate_of(&self, call: &ToolCall) -> Option<&(Gate, Option<GateSettlement>)> {
        self.gate_of_call.get(&call.id()).and_then(|at| self.gates.get(*at))
    }

    fn result_row(&self, call: &ToolCall, results: &ToolResults) -> ResultRow {
        let handles = self.handles.of_record(call.id()).to_vec();
        let (text, bytes, artifact_kind, media) = match results {
            ToolResults::Text(text) => {
                let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                (one_line(first, MAX_RESULT_LINE), Some(text.len() as u64), None, Vec::new())
            }
            ToolResults::Artifacts(all) => {
                let bytes = all.iter().map(|it| it.reader().byte_length()).sum();
                let kind = all.first().map(|it| it.kind().as_str().to_owned());
                (String::new(), Some(bytes), kind, Vec::new())
            }
            ToolResults::Media(all) => {
                let media: Vec<MediaRow> = all.iter().map(media_row).collect();
                let names: Vec<&str> = media.iter().map(|it| it.filename.as_str()).collect();
                (names.join(", "), None, None, media)
            }
            _ => (String::new(), None, None, Vec::new()),
        };
        ResultRow { text, bytes, handles, artifact_kind, media }
    }

    /// The artifacts of the turn, in the order of their calls.
    pub(crate) fn artifacts(&self) -> Vec<ArtifactRow> {
        let mut rows = Vec::new();
        for call in self.calls() {
            let Some(ToolResults::Artifacts(all)) = &call.results else { continue };
            for (artifact, handle) in all.iter().zip(self.handles.of_record(call.id())) {
                rows.push(ArtifactRow {
                    handle: handle.clone(),
                    name: artifact_name(call),
                    kind: artifact.kind().as_str().to_owned(),
                    bytes: artifact.reader().byte_length(),
                    lines: None,
                    tier: tier_view(artifact.label()),
                    record: Some(call.id().to_string()),
                    step: Some(call.iteration + 1),
                    tool: Some(call.tool().to_owned()),
                    lost: false,
                    content: None,
                    content_problem: None,
                });
            }
        }
        rows
    }

    /// One call with everything that is stored of it.
    pub(crate) fn call_view(&self, record: &str) -> Option<CallView> {
        let record: RecordId = record.parse().ok()?;
        let at = (0..self.records.len())
            .find(|at| self.call_at(*at).is_some_and(|call| call.id() == record))?;
        let call = self.call_at(at)?;
        let (result, omitted_bytes) = match (&call.results, &call.error) {
            (Some(ToolResults::Text(text)), _) => {
                let (text, left) = shorten(text, MAX_RESULT);
                (Some(text), left)
            }
            (None, Some(error)) => (Some(error.message.clone()), 0),
            _ => (None, 0),
        };
        Some(CallView {
            call: self.call_row(call, self.attempts.get(at).copied().unwrap_or(1)),
            step: call.iteration + 1,
            ordinal: call.ordinal + 1,
            created_at: call.created_at.to_string(),
            raw: call.raw().to_text().into_owned(),
            edited: call.edited.as_deref().map(|it| it.to_text().into_owned()),
            accepted: call.accepted.as_ref().map(ToString::to_string),
            coercions: call.changes.iter().map(coercion_row).collect(),
            preview: self
                .gate_of(call)
                .and_then(|(gate, _)| gate.preview.as_ref())
                .map(preview_view),
            result,
            omitted_bytes,
            tier: match &call.error {
                Some(_) => SourceTier::ThirdPartyPublic,
                None => tier_view(call.label()),
            },
            is_query: call.from_artifact_tool,
            queried_handle: queried_handle(call).filter(|_| call.from_artifact_tool),
        })
    }

    /// The trust of the result of a call that a provider knows by this id.
    pub(crate) fn tier_of_provider_id(&self, id: &str) -> Option<SourceTier> {
        let call = self.calls().find(|call| call.provider_id.as_deref() == Some(id))?;
        call.error.is_none().then(|| tier_view(call.label()))
    }
}

/// The handle of the artifact that a query is about.
fn queried_handle(call: &ToolCall) -> Option<String> {
    let proposed = call.edited.as_deref().unwrap_or(call.raw());
    let accepted = call.accepted.as_ref().map(ToString::to_string);
    let text = accepted.map_or_else(|| proposed.to_text(), Cow::from);
    let arguments: serde_json::Value = serde_json::from_str(&text).ok()?;
    arguments.get("callId")?.as_str().map(str::to_owned)
}

/// Whether a call ended before its handler ran.
const fn did_not_run(call: &ToolCall) -> bool {
    call.started_at.is_none()
}

/// The file, address or name that a call is about, else its tool.
fn artifact_name(call: &ToolCall) -> String {
    let accepted = call.accepted.as_ref().map(ToString::to_string);
    let text = accepted.map_or_else(|| call.raw().to_text(), Cow::from);
    let args: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let named = ["path", "file", "filename", "url", "name", "table", "query"];
    let value = named.iter().find_map(|key| args.get(key)?.as_str());
    value.map_or_else(|| call.tool().to_owned(), |text| one_line(text, 120))
}
