//! Reads a stored turn, and builds views of it.

mod calls;
mod facts;
mod gates;
mod row_search;
mod rows;

use std::collections::HashMap;
use std::time::Duration;

use haft::executors::ExecutorDescription;
use haft::records::{CallId, MessageRole, RecordId, ToolCall};
use haft::stores::{StoredTurn, TurnStatus, TurnSummary};
use haft::turn::{
    Gate, GateSettlement, StepHistory, StoredTurns, Timestamp, TurnHistory, TurnRecord,
};

use crate::prices::PriceList;
use crate::stored::{CallHandles, ShownRecord, add_unreadable, one_line, stop_error, stop_view};
use crate::wire::{
    ErrorView, RowPage, StepRow, TimelineItem, TimelineRow, TurnActions, TurnDetail, TurnFacts,
    TurnRow, TurnState,
};

pub(crate) use self::gates::gate_view;
use self::rows::RowPlace;

/// A stored turn that was read: what its views need, without the stored texts.
pub(crate) struct ReadTurn {
    pub(crate) summary: TurnSummary,
    /// The agent that began it, by its name on the server.
    pub(crate) agent: Option<String>,
    history: TurnHistory,
    records: Vec<ShownRecord>,
    handles: CallHandles,
    /// For each record, which call with its key it is.
    attempts: Vec<u32>,
    gates: Vec<(Gate, Option<GateSettlement>)>,
    /// The records and gates that cannot be read, each with the reason.
    unreadable: Vec<String>,
    /// The newest gate of each call, by the record of the call.
    gate_of_call: HashMap<RecordId, usize>,
    /// The steps, by their numbers from 1 on.
    steps: Vec<StepRow>,
    rows: Vec<RowPlace>,
    facts: TurnFacts,
    /// The size of the stored texts, in bytes.
    pub(crate) bytes: usize,
}

/// How many rows a window has at most, and by default.
pub(crate) const MAX_ROWS: usize = 500;
const DEFAULT_ROWS: usize = 200;

impl ReadTurn {
    /// Reads the records and the gates of a turn.
    pub(crate) async fn load(
        turns: &StoredTurns,
        stored: &StoredTurn,
        history: TurnHistory,
        agent: Option<String>,
    ) -> Self {
        let mut unreadable = Vec::new();
        let records = ShownRecord::read_all(turns, stored, &mut unreadable).await;
        let calls: Vec<&ToolCall> = records.iter().filter_map(ShownRecord::as_call).collect();
        let handles = CallHandles::of(&calls);
        let gates = gates::read_gates(&stored.gates, &mut unreadable);
        let gate_of_call = gates
            .iter()
            .enumerate()
            .filter_map(|(at, (gate, _))| gate.call.as_ref().map(|bound| (bound.record, at)));
        Self {
            summary: stored.summary.clone(),
            agent,
            attempts: count_attempts(&records),
            handles,
            gate_of_call: gate_of_call.collect(),
            gates,
            steps: Vec::new(),
            rows: Vec::new(),
            facts: TurnFacts::default(),
            bytes: stored.rows.iter().map(|row| row.json.len()).sum::<usize>()
                + stored.journal.iter().map(String::len).sum::<usize>(),
            history,
            records,
            unreadable,
        }
    }

    /// Finds out which rows there are, and what the turn did.
    pub(crate) fn with_prices(mut self, prices: &PriceList) -> Self {
        self.place_rows(prices);
        self.facts = self.count_facts();
        self
    }

    /// Everything about the turn, with a window of its rows.
    pub(crate) fn to_detail(
        &self,
        rows: RowPage,
        actions: TurnActions,
        now: Timestamp,
    ) -> TurnDetail {
        let turn = self.to_row(now);
        TurnDetail {
            gates: self.gate_views(&turn.title),
            turn,
            kinds: self.kinds(),
            rows,
            end_ms: self.end_ms(),
            artifacts: self.artifacts(),
            error: self.error().or_else(|| self.summary.stop_at(now).map(stop_view)),
            earlier_turns: self.history.earlier_turns.as_ref().map_or(0, |it| it.count as u64),
            actions,
            system_prompt: self.history.system_prompt.to_string(),
        }
    }

    /// The row of the turn in lists, with its facts.
    pub(crate) fn to_row(&self, now: Timestamp) -> TurnRow {
        let row = summary_row(&self.summary, now);
        let open = self.gates.iter().find(|(_, settlement)| settlement.is_none());
        TurnRow {
            title: self.title().unwrap_or(row.title),
            agent: self.summary.agent.clone().or_else(|| self.agent.clone()),
            model: row.model.or_else(|| model_of(&self.history.executor)),
            question: open.map(|(gate, _)| one_line(&gate.reason, 200)),
            duration_ms: self.facts.duration_ms.unwrap_or(row.duration_ms),
            facts: Some(self.facts.clone()),
            ..row
        }
    }

    pub(crate) fn facts(&self) -> &TurnFacts {
        &self.facts
    }

    /// What went wrong.
    pub(crate) fn error(&self) -> Option<ErrorView> {
        add_unreadable(stop_error(&self.history), &self.unreadable)
    }

    /// The last words of the user that no step added.
    fn title(&self) -> Option<String> {
        self.last_words_of(MessageRole::User).next().map(|text| one_line(text, 240))
    }

    /// What was said in a role, the last message first.
    fn last_words_of(&self, role: MessageRole) -> impl Iterator<Item = &str> {
        self.records.iter().rev().filter_map(move |record| match &record.record {
            TurnRecord::Message(message) if message.role() == role => record.text(),
            _ => None,
        })
    }

    fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.records.iter().filter_map(ShownRecord::as_call)
    }

    /// The items and the history of a step.
    pub(crate) fn response(&self, step: u32) -> Option<(&StepHistory, StepRow, Vec<TimelineItem>)> {
        let history = self.history.steps.iter().find(|it| it.iteration + 1 == step)?;
        let row = self.step(step)?.clone();
        let head =
            self.rows.iter().position(|it| matches!(it, RowPlace::Step(it) if *it == step))?;
        let items = self.rows.iter().skip(head + 1).map_while(|place| match place {
            RowPlace::Item { .. } => match self.row(place) {
                Some(TimelineRow::Item(item)) => Some(item),
                _ => None,
            },
            RowPlace::Step(_) => None,
        });
        Some((history, row, items.collect()))
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

/// What the store says in its lists, as a row.
pub(crate) fn summary_row(summary: &TurnSummary, now: Timestamp) -> TurnRow {
    let state = state_of(summary, now);
    let until = match state {
        TurnState::Running | TurnState::Waiting => Some(now),
        _ => summary.ended_at.or(summary.updated_at),
    };
    let until = until.unwrap_or(summary.created_at);
    TurnRow {
        id: summary.id.to_string(),
        title: match state {
            TurnState::Damaged => "(damaged)".to_owned(),
            _ => summary.first_words.clone().unwrap_or_else(|| "(no message)".to_owned()),
        },
        agent: summary.agent.clone(),
        model: summary.model.clone(),
        state,
        conversation: summary.conversation.clone(),
        created_at: summary.created_at.to_string(),
        duration_ms: milliseconds(summary.created_at, until),
        tokens: summary.tokens.filter(|it| *it > 0),
        tools: summary.tools.clone(),
        question: None,
        stop: summary.stop_at(now).map(stop_view),
        facts: None,
    }
}

/// The status of a turn on the wire.
pub(crate) fn state_of(summary: &TurnSummary, now: Timestamp) -> TurnState {
    match summary.status_at(now) {
        TurnStatus::Queued => TurnState::Queued,
        TurnStatus::Running => TurnState::Running,
        TurnStatus::Waiting => TurnState::Waiting,
        TurnStatus::CancelRequested => TurnState::CancelRequested,
        TurnStatus::Completed => TurnState::Completed,
        TurnStatus::Failed => TurnState::Failed,
        TurnStatus::Cancelled => TurnState::Cancelled,
        TurnStatus::LimitReached => TurnState::LimitReached,
        TurnStatus::Damaged => TurnState::Damaged,
        _ => TurnState::Interrupted,
    }
}

/// Whether a process holds the turn.
pub(crate) fn is_held(summary: &TurnSummary, now: Timestamp) -> bool {
    summary.holder.is_some() && summary.held_until.is_some_and(|until| until > now)
}

/// For each record, which call with its key it is, counted from 1; 0 for other records.
fn count_attempts(records: &[ShownRecord]) -> Vec<u32> {
    let mut seen: HashMap<CallId, u32> = HashMap::new();
    let count = records.iter().map(|record| match record.as_call() {
        Some(call) => {
            let count = seen.entry(call.call_id()).or_default();
            *count += 1;
            *count
        }
        None => 0,
    });
    count.collect()
}

fn milliseconds(from: Timestamp, to: Timestamp) -> f64 {
    as_milliseconds(to.duration_since(from))
}

pub(super) fn as_milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// The model that takes the steps of a turn, if one does.
fn model_of(executor: &ExecutorDescription) -> Option<String> {
    match executor {
        ExecutorDescription::Model { model, .. } => Some(model.clone()),
        _ => None,
    }
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
