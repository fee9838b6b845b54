//! Builds the timeline of a turn from what is stored of it.

use std::collections::HashMap;

use haft::executors::ExecutorDescription;
use haft::stores::{GateRow, RowKind, StoreError, StoredTurn, TurnStatus};
use haft::turn::{Gate, GateDecision, GateSettlement, StepHistory, Timestamp, TurnHistory};

use crate::stored::{
    CallHandles, StoredCall, StoredRecord, StoredResults, coercion_labels, coercion_row,
    count_earlier_turns, one_line, read_end, read_system_prompt, shorten, tier_of, token_usage,
};
use crate::wire::{
    ArtifactRow, CallRow, CallView, ErrorView, GateMark, GateView, ItemContent, MediaRow,
    ResultRow, SentSummary, StepRow, TimelineItem, TurnActions, TurnDetail, TurnRow, TurnState,
};

/// How much of a message stands in a timeline, in bytes.
const MAX_TEXT: usize = 8 * 1024;
/// How much of the arguments of a call stands in a timeline, in bytes.
const MAX_ARGUMENTS: usize = 240;
/// How much of a result stands in a timeline, in bytes.
const MAX_RESULT_LINE: usize = 160;
/// How much of a result stands in the view of its call, in bytes.
const MAX_RESULT: usize = 128 * 1024;

/// A stored turn that was read.
pub(crate) struct ReadTurn<'t> {
    stored: &'t StoredTurn,
    history: TurnHistory,
    records: Vec<(RowKind, String, StoredRecord)>,
    handles: CallHandles,
    gates: Vec<(Gate, Option<GateSettlement>)>,
    started_at: Timestamp,
    now: Timestamp,
}

impl<'t> ReadTurn<'t> {
    pub(crate) fn new(stored: &'t StoredTurn, now: Timestamp) -> Result<Self, StoreError> {
        let history = TurnHistory::read(stored)?;
        let records = StoredRecord::read_all(stored);
        let calls: Vec<&StoredCall> = records.iter().filter_map(|(_, _, it)| as_call(it)).collect();
        let handles = CallHandles::of(&calls);
        let gates = stored.gates.iter().filter_map(read_gate).collect();
        let started_at = stored.summary.created_at;
        Ok(Self { stored, history, records, handles, gates, started_at, now })
    }

    /// Everything about the turn.
    pub(crate) fn to_detail(&self, agent: Option<String>, actions: TurnActions) -> TurnDetail {
        let turn = self.to_row(agent);
        let (steps, items) = self.steps_and_items();
        TurnDetail {
            gates: self.gate_views(&turn.title),
            turn,
            steps,
            items,
            artifacts: self.artifacts(),
            error: read_end(self.stored).and_then(|(_, error)| error),
            earlier_turns: count_earlier_turns(self.stored),
            actions,
            system_prompt: read_system_prompt(self.stored),
        }
    }

    /// The turn as it stands in lists.
    pub(crate) fn to_row(&self, agent: Option<String>) -> TurnRow {
        let end = read_end(self.stored);
        let state = self.state();
        let last = self.records.iter().map(|(_, _, it)| changed_at(it)).max();
        let until = match (&end, state) {
            (Some((at, _)), _) => *at,
            (None, TurnState::Running | TurnState::Waiting) => self.now,
            (None, _) => last.unwrap_or(self.started_at),
        };
        let calls: Vec<&StoredCall> = self.calls().collect();
        let usage = self.history.steps.iter().map(|step| step.usage).sum();
        let open = self.gates.iter().filter(|(_, settlement)| settlement.is_none());
        let question = open.clone().next().map(|(gate, _)| one_line(&gate.reason, 200));
        let count =
            |test: &dyn Fn(&StoredCall) -> bool| calls.iter().filter(|it| test(it)).count() as u32;
        TurnRow {
            id: self.stored.summary.id.to_string(),
            title: self.title(),
            agent,
            model: self.history.executor.as_ref().map(model_name),
            state,
            conversation: self.stored.summary.conversation.clone(),
            created_at: self.started_at.to_string(),
            duration_ms: milliseconds(self.started_at, until),
            steps: self.history.steps.len() as u32,
            calls: calls.len() as u32,
            failed_calls: count(&|call| call.error.is_some()),
            coerced_calls: count(&|call| !call.changes.is_empty()),
            artifact_bytes: self.artifacts().iter().map(|it| it.bytes).sum(),
            usage: token_usage(usage),
            open_gates: open.count() as u32,
            question,
            error: end.and_then(|(_, error)| error).map(|error| one_line(&error.message, 200)),
        }
    }

    fn state(&self) -> TurnState {
        let summary = &self.stored.summary;
        let is_held =
            summary.held_until.is_some_and(|until| until > self.now) && summary.holder.is_some();
        match summary.status {
            TurnStatus::Waiting => TurnState::Waiting,
            TurnStatus::Completed => TurnState::Completed,
            TurnStatus::Failed => TurnState::Failed,
            TurnStatus::Cancelled => TurnState::Cancelled,
            TurnStatus::LimitReached => TurnState::LimitReached,
            _ if self.gates.iter().any(|(_, settlement)| settlement.is_none()) => {
                TurnState::Waiting
            }
            _ if is_held => TurnState::Running,
            _ => TurnState::Interrupted,
        }
    }

    /// The last words of the user that no step added.
    fn title(&self) -> String {
        let mut words = self.records.iter().filter_map(|(_, _, record)| match record {
            StoredRecord::Message(text) if text.role.as_deref() == Some("user") => {
                text.content.as_deref()
            }
            _ => None,
        });
        words.next_back().map_or_else(|| "(no message)".to_owned(), |text| one_line(text, 240))
    }

    fn calls(&self) -> impl Iterator<Item = &StoredCall> {
        self.records.iter().filter_map(|(_, _, record)| as_call(record))
    }

    /// What stands in the index of a search: words of the turn beyond its row.
    pub(crate) fn search_text(&self) -> String {
        let mut words: Vec<&str> = self.calls().map(|call| call.tool.as_str()).collect();
        words.sort_unstable();
        words.dedup();
        words.join(" ")
    }

    fn steps_and_items(&self) -> (Vec<StepRow>, Vec<TimelineItem>) {
        let mut steps = Vec::new();
        let mut step_of = HashMap::new();
        let mut begin = self.started_at;
        let mut last_request: Option<u64> = None;
        let by_key: HashMap<(RowKind, &str), &StoredRecord> =
            self.records.iter().map(|(kind, id, record)| ((*kind, id.as_str()), record)).collect();
        for history in &self.history.steps {
            let (mut taken, mut end) = (None, None);
            for (kind, id) in history.records() {
                let Some(record) = by_key.get(&(kind, id.as_str())).copied() else { continue };
                step_of.insert((kind, id), history.iteration + 1);
                taken = taken.max(Some(created_at(record)));
                end = end.max(ended_at(record));
            }
            let taken = taken.unwrap_or(begin).max(begin);
            let is_open = history.records().any(|(kind, id)| {
                by_key.get(&(kind, id.as_str())).is_some_and(|record| ended_at(record).is_none())
            });
            let end = end.unwrap_or(taken).max(taken);
            steps.push(self.step_row(
                history,
                (begin, taken),
                (!is_open).then_some(end),
                last_request,
            ));
            last_request = history.request.as_ref().map(|it| it.bytes).or(last_request);
            begin = end;
        }
        let mut last = 0;
        let items = self.records.iter().map(|(kind, id, record)| {
            let step = step_of.get(&(*kind, id.clone())).copied();
            let begin =
                step.and_then(|step| steps.iter().rev().find(|it: &&StepRow| it.number == step));
            // A record that no step added stands before the step that follows it.
            let number = step.or_else(|| as_call(record).map(|call| call.iteration + 1));
            let number = number.unwrap_or(if last == 0 { 0 } else { last + 1 });
            last = step.unwrap_or(last);
            self.item((*kind, id), record, number, begin)
        });
        let mut items: Vec<TimelineItem> = items.collect();
        items.sort_by_key(|item| item.step);
        (steps, items)
    }

    fn step_row(
        &self,
        history: &StepHistory,
        (begin, taken): (Timestamp, Timestamp),
        end: Option<Timestamp>,
        last_request: Option<u64>,
    ) -> StepRow {
        let request = history.request.as_ref().map(|it| SentSummary {
            bytes: it.bytes,
            kept: it.prefix,
            lost: match (it.prefix, last_request) {
                // The end of a request is never the beginning of the next one, and blocks are counted whole.
                (Some(kept), Some(last)) if kept + REQUEST_END < last => last - kept,
                _ => 0,
            },
            sha256: it.sha256.clone(),
        });
        StepRow {
            number: history.iteration + 1,
            start_ms: milliseconds(self.started_at, begin),
            model_ms: milliseconds(begin, taken),
            duration_ms: end.map(|end| milliseconds(begin, end)),
            usage: token_usage(history.usage),
            model: history.model.clone(),
            request,
        }
    }

    fn item(
        &self,
        (kind, id): (RowKind, &str),
        record: &StoredRecord,
        step: u32,
        begin: Option<&StepRow>,
    ) -> TimelineItem {
        let at_ms = milliseconds(self.started_at, created_at(record));
        let key = format!("{}/{id}", kind.as_str());
        match record {
            StoredRecord::Message(text) => {
                let (shown, omitted_bytes) =
                    shorten(text.content.as_deref().unwrap_or_default(), MAX_TEXT);
                let media =
                    text.attachments.iter().map(crate::stored::StoredMedia::to_row).collect();
                let role = text.role.clone().unwrap_or_else(|| "user".to_owned());
                let (at_ms, duration_ms) = model_time(begin, at_ms);
                let content = ItemContent::Message { role, text: shown, omitted_bytes, media };
                TimelineItem { key, step, at_ms, duration_ms, content }
            }
            StoredRecord::Thought(text) => {
                let (text, omitted_bytes) =
                    shorten(text.content.as_deref().unwrap_or_default(), MAX_TEXT);
                let (at_ms, duration_ms) = model_time(begin, at_ms);
                TimelineItem {
                    key,
                    step,
                    at_ms,
                    duration_ms,
                    content: ItemContent::Thought { text, omitted_bytes },
                }
            }
            StoredRecord::Call(call) => {
                let duration_ms = call.completed_at.map(|end| milliseconds(call.created_at, end));
                TimelineItem {
                    key,
                    step,
                    at_ms,
                    duration_ms,
                    content: ItemContent::Call(Box::new(self.call_row(call))),
                }
            }
        }
    }

    fn call_row(&self, call: &StoredCall) -> CallRow {
        let gate = self.gates.iter().rev().find(|(gate, _)| {
            gate.call.as_ref().is_some_and(|bound| bound.record.to_string() == call.id)
        });
        let gate = gate.map(|(gate, settlement)| GateMark {
            id: gate.id.to_string(),
            decision: settlement.as_ref().map(|it| it.decision.as_str().to_owned()),
        });
        CallRow {
            record: call.id.clone(),
            call_key: call.id.split('#').next().unwrap_or_default().to_owned(),
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
            gate,
            edited: call.edited.is_some(),
        }
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
                });
            }
        }
        rows
    }

    /// One call with everything that is stored of it.
    pub(crate) fn call_view(&self, record: &str) -> Option<CallView> {
        let call = self.calls().find(|call| call.id == record)?;
        let (result, omitted_bytes) = match (&call.results, &call.error) {
            (Some(StoredResults::Text(text)), _) => {
                let (text, left) = shorten(text, MAX_RESULT);
                (Some(text), left)
            }
            (None, Some(error)) => (Some(error.message.clone()), 0),
            _ => (None, 0),
        };
        let accepted = call.accepted.as_deref().or(call.edited.as_deref()).unwrap_or(&call.raw);
        let queried = serde_json::from_str::<serde_json::Value>(accepted).ok();
        let queried = queried.as_ref().and_then(|it| it.get("callId")).and_then(|it| it.as_str());
        Some(CallView {
            call: self.call_row(call),
            step: call.iteration + 1,
            ordinal: call.ordinal + 1,
            created_at: call.created_at.to_string(),
            raw: call.raw.clone(),
            edited: call.edited.clone(),
            accepted: call.accepted.clone(),
            coercions: call.changes.iter().map(coercion_row).collect(),
            result,
            omitted_bytes,
            tier: match &call.error {
                Some(_) => crate::wire::SourceTier::ThirdPartyPublic,
                None => tier_of(&call.label),
            },
            is_query: call.from_artifact_tool,
            queried_handle: queried.filter(|_| call.from_artifact_tool).map(str::to_owned),
        })
    }

    /// The trust of the result of a call that a provider knows by this id.
    pub(crate) fn tier_of_provider_id(&self, id: &str) -> Option<crate::wire::SourceTier> {
        let call = self.calls().find(|call| call.provider_id.as_deref() == Some(id))?;
        call.error.is_none().then(|| tier_of(&call.label))
    }

    /// The gates of the turn.
    pub(crate) fn gate_views(&self, title: &str) -> Vec<GateView> {
        self.gates
            .iter()
            .map(|(gate, settlement)| gate_view(gate, settlement.as_ref(), Some(title)))
            .collect()
    }

    /// The items and the history of a step.
    pub(crate) fn response(&self, step: u32) -> Option<(&StepHistory, StepRow, Vec<TimelineItem>)> {
        let history = self.history.steps.iter().find(|it| it.iteration + 1 == step)?;
        let (steps, items) = self.steps_and_items();
        let row = steps.into_iter().find(|it| it.number == step)?;
        Some((history, row, items.into_iter().filter(|item| item.step == step).collect()))
    }

    /// How many steps the turn has.
    pub(crate) fn step_count(&self) -> u32 {
        self.history.steps.len() as u32
    }

    /// The history of the turn.
    pub(crate) const fn history(&self) -> &TurnHistory {
        &self.history
    }
}

/// How many bytes at the end of a request are never shared with the next one: closing brackets, options behind the messages,
/// and the rest of a block.
const REQUEST_END: u64 = 320;

fn as_call(record: &StoredRecord) -> Option<&StoredCall> {
    match record {
        StoredRecord::Call(call) => Some(call),
        _ => None,
    }
}

fn created_at(record: &StoredRecord) -> Timestamp {
    match record {
        StoredRecord::Message(text) | StoredRecord::Thought(text) => text.created_at,
        StoredRecord::Call(call) => call.created_at,
    }
}

fn changed_at(record: &StoredRecord) -> Timestamp {
    as_call(record).map_or_else(|| created_at(record), |call| call.updated_at)
}

/// When a record ended; nothing for a call that has not.
fn ended_at(record: &StoredRecord) -> Option<Timestamp> {
    match record {
        StoredRecord::Message(text) | StoredRecord::Thought(text) => Some(text.created_at),
        StoredRecord::Call(call) => call.completed_at,
    }
}

/// What the model wrote took the time of its step.
fn model_time(step: Option<&StepRow>, at_ms: f64) -> (f64, Option<f64>) {
    step.map_or((at_ms, None), |step| (step.start_ms, Some(step.model_ms)))
}

fn milliseconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() * 1000.0
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

/// The name of what takes the steps of a turn.
pub(crate) fn model_name(executor: &ExecutorDescription) -> String {
    match executor {
        ExecutorDescription::Model { provider, model, .. } => format!("{provider}:{model}"),
        ExecutorDescription::Script { .. } => "script".to_owned(),
        ExecutorDescription::Custom { name: Some(name) } => name.clone(),
        _ => "custom".to_owned(),
    }
}

fn read_gate(row: &GateRow) -> Option<(Gate, Option<GateSettlement>)> {
    let gate = serde_json::from_str(&row.json).ok()?;
    let settlement = row.settlement.as_deref().map(|text| {
        serde_json::from_str(text)
            .unwrap_or_else(|_| GateSettlement::closed(GateDecision::Aborted, Timestamp::EPOCH))
    });
    Some((gate, settlement))
}

/// A gate on the wire.
pub(crate) fn gate_view(
    gate: &Gate,
    settlement: Option<&GateSettlement>,
    title: Option<&str>,
) -> GateView {
    let guidance = match settlement.map(|it| &it.decision) {
        Some(GateDecision::Rejected { reason }) => Some(reason.clone()),
        _ => None,
    };
    GateView {
        id: gate.id.to_string(),
        turn: gate.turn.to_string(),
        title: title.map(str::to_owned),
        question: gate.reason.clone(),
        payload: gate.payload.clone(),
        approval: gate.approval,
        schema: gate.schema.clone(),
        argument_schema: gate.argument_schema.clone(),
        record: gate.call.as_ref().map(|call| call.record.to_string()),
        tool: gate.call.as_ref().map(|call| call.tool.clone()),
        arguments: gate.call.as_ref().and_then(|call| serde_json::from_str(&call.accepted).ok()),
        opened_at: gate.opened_at.to_string(),
        expires_at: gate.expires_at.map(|it| it.to_string()),
        decision: settlement.map(|it| it.decision.as_str().to_owned()),
        decided_by: settlement.map(|it| it.by.clone()),
        guidance,
    }
}
