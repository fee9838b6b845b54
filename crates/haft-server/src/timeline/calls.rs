//! The calls of a turn, their results and their artifacts.

use haft::turn::{Gate, GateSettlement};

use super::gates::preview_view;
use super::{ReadTurn, as_call};
use crate::stored::{
    StoredCall, StoredResults, coercion_labels, coercion_row, one_line, shorten, tier_of,
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
        let is_selected = |call: &StoredCall| match &filter.artifact {
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

    fn call_at(&self, at: usize) -> Option<&StoredCall> {
        self.records.get(at).and_then(|(_, _, record)| as_call(record))
    }

    pub(super) fn call_row(&self, call: &StoredCall, attempt: u32) -> CallRow {
        let gate = self.gate_of(call).map(|(gate, settlement)| GateMark {
            id: gate.id.to_string(),
            decision: settlement.as_ref().map(|it| it.decision.as_str().to_owned()),
        });
        CallRow {
            record: call.id.clone(),
            call_key: call.key().to_owned(),
            tool: call.tool.clone(),
            arguments: one_line(&call.raw, MAX_ARGUMENTS),
            coercions: coercion_labels(&call.changes),
            state: call.state.clone(),
            refused: call.error.is_some() && did_not_run(call),
            error: call.error.as_ref().map(|error| ErrorView {
                code: Some(error.code.clone()),
                message: shorten(&error.message, 2000).0,
                cause: call.cause.clone(),
                stage: None,
                retryable: error.retryable,
            }),
            result: call.results.as_ref().map(|results| self.result_row(call, results)),
            attempt,
            gate,
            edited: call.edited.is_some(),
        }
    }

    /// The newest gate of a call.
    fn gate_of(&self, call: &StoredCall) -> Option<&(Gate, Option<GateSettlement>)> {
        self.gate_of_call.get(&call.id).and_then(|at| self.gates.get(*at))
    }

    fn result_row(&self, call: &StoredCall, results: &StoredResults) -> ResultRow {
        let handles = self.handles.of_record(&call.id).to_vec();
        let (text, bytes, artifact_kind, media) = match results {
            StoredResults::Text(text) => {
                let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                (one_line(first, MAX_RESULT_LINE), Some(text.len() as u64), None, Vec::new())
            }
            StoredResults::Artifacts(all) => {
                let sizes: Option<Vec<u64>> =
                    all.iter().map(|it| Some(it.content.as_ref()?.bytes)).collect();
                let kind = all.first().map(|it| it.kind.clone());
                (String::new(), sizes.map(|all| all.iter().sum()), kind, Vec::new())
            }
            StoredResults::Media(all) => {
                let media: Vec<MediaRow> =
                    all.iter().map(crate::stored::StoredMedia::to_row).collect();
                let names: Vec<&str> = media.iter().map(|it| it.filename.as_str()).collect();
                (names.join(", "), None, None, media)
            }
        };
        ResultRow { text, bytes, handles, artifact_kind, media }
    }

    /// The artifacts of the turn, in the order of their calls.
    pub(crate) fn artifacts(&self) -> Vec<ArtifactRow> {
        let mut rows = Vec::new();
        for call in self.calls() {
            let Some(StoredResults::Artifacts(all)) = &call.results else { continue };
            for (artifact, handle) in all.iter().zip(self.handles.of_record(&call.id)) {
                rows.push(ArtifactRow {
                    handle: handle.clone(),
                    name: artifact_name(call),
                    kind: artifact.kind.clone(),
                    bytes: artifact.content.as_ref().map_or(0, |it| it.bytes),
                    lines: None,
                    tier: tier_of(&artifact.label),
                    record: Some(call.id.clone()),
                    step: Some(call.iteration + 1),
                    tool: Some(call.tool.clone()),
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
        let at = (0..self.records.len())
            .find(|at| self.call_at(*at).is_some_and(|call| call.id == record))?;
        let call = self.call_at(at)?;
        let (result, omitted_bytes) = match (&call.results, &call.error) {
            (Some(StoredResults::Text(text)), _) => {
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
            raw: call.raw.clone(),
            edited: call.edited.clone(),
            accepted: call.accepted.clone(),
            coercions: call.changes.iter().map(coercion_row).collect(),
            preview: self
                .gate_of(call)
                .and_then(|(gate, _)| gate.preview.as_ref())
                .map(preview_view),
            result,
            omitted_bytes,
            tier: match &call.error {
                Some(_) => SourceTier::ThirdPartyPublic,
                None => tier_of(&call.label),
            },
            is_query: call.from_artifact_tool,
            queried_handle: queried_handle(call).filter(|_| call.from_artifact_tool),
        })
    }

    /// The trust of the result of a call that a provider knows by this id.
    pub(crate) fn tier_of_provider_id(&self, id: &str) -> Option<SourceTier> {
        let call = self.calls().find(|call| call.provider_id.as_deref() == Some(id))?;
        call.error.is_none().then(|| tier_of(&call.label))
    }
}

/// The handle of the artifact that a query is about.
fn queried_handle(call: &StoredCall) -> Option<String> {
    let arguments = call.accepted.as_deref().or(call.edited.as_deref()).unwrap_or(&call.raw);
    let arguments: serde_json::Value = serde_json::from_str(arguments).ok()?;
    arguments.get("callId")?.as_str().map(str::to_owned)
}

/// Whether a call failed before its handler ran.
fn did_not_run(call: &StoredCall) -> bool {
    call.accepted.is_none() || call.error.as_ref().is_some_and(|it| it.code.contains("GATE"))
}

/// The file, address or name that a call is about, else its tool.
fn artifact_name(call: &StoredCall) -> String {
    let args: serde_json::Value =
        serde_json::from_str(call.accepted.as_deref().unwrap_or(&call.raw)).unwrap_or_default();
    let named = ["path", "file", "filename", "url", "name", "table", "query"];
    let value = named.iter().find_map(|key| args.get(key)?.as_str());
    value.map_or_else(|| call.tool.clone(), |text| one_line(text, 120))
}
