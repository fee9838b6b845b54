//! The rows of a timeline: which there are, and each of them when it is asked for.

use std::collections::HashMap;

use haft::records::ToolCall;
use haft::stores::RowKind;
use haft::turn::{StepHistory, Timestamp, TurnRecord};

use super::{DEFAULT_ROWS, MAX_ROWS, ReadTurn, as_milliseconds, milliseconds};
use crate::prices::PriceList;
use crate::stored::{ShownRecord, media_row, shorten, token_usage};
use crate::wire::{
    DecisionTime, ItemContent, RowPage, RowRange, SentSummary, StepPage, StepRow, TimelineItem,
    TimelineRow, TokenUsage,
};

/// How much of a message stands in a timeline, in bytes.
const MAX_TEXT: usize = 8 * 1024;
/// How many bytes at the end of a request are never shared with the next one: closing brackets, options behind the
/// messages, and the rest of a block.
const REQUEST_END: u64 = 320;

/// Where a row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowPlace {
    /// The head of the step with this number.
    Step(u32),
    /// A record, by its place, and the number of its step.
    Item { record: usize, step: u32 },
}

impl ReadTurn {
    /// Finds out which rows there are, and builds the steps.
    pub(super) fn place_rows(&mut self, prices: &PriceList) {
        let step_of = self.build_steps(prices);
        let mut last = 0;
        let mut items: Vec<(u32, usize)> = Vec::with_capacity(self.records.len());
        for (at, record) in self.records.iter().enumerate() {
            let step = step_of.get(at).copied().flatten();
            // A record that no step added stands before the step that follows it.
            let number = step.or_else(|| record.as_call().map(|call| call.iteration + 1));
            let number = number.unwrap_or(if last == 0 { 0 } else { last + 1 });
            last = step.unwrap_or(last);
            items.push((number, at));
        }
        items.sort_by_key(|(step, _)| *step);
        let mut rows = Vec::with_capacity(items.len() + self.steps.len());
        let mut current = 0;
        for (step, record) in items {
            rows.extend((current + 1..=step).map(RowPlace::Step));
            current = step;
            rows.push(RowPlace::Item { record, step });
        }
        rows.extend((current + 1..=self.steps.len() as u32).map(RowPlace::Step));
        // A step that is running has a head and no history yet.
        for number in self.steps.len() as u32 + 1..=current {
            self.steps.push(empty_step(number));
        }
        self.rows = rows;
    }

    /// Builds the steps, and returns for each record the number of the step that added it.
    fn build_steps(&mut self, prices: &PriceList) -> Vec<Option<u32>> {
        let by_key = self.records.iter().enumerate();
        let by_key: HashMap<(RowKind, &str), usize> =
            by_key.map(|(at, it)| ((it.kind, it.id.as_str()), at)).collect();
        let mut steps = Vec::new();
        let mut step_of = vec![None; self.records.len()];
        let mut last_request: Option<u64> = None;
        for history in &self.history.steps {
            let mut end = history.started_at.saturating_add(history.duration());
            let mut is_open = false;
            for (kind, id) in history.records() {
                let Some(at) = by_key.get(&(kind, id.as_str())).copied() else { continue };
                let Some(record) = self.records.get(at) else { continue };
                if let Some(call) = record.as_call() {
                    is_open |= call.completed_at.is_none();
                    end = end.max(call.completed_at.unwrap_or(end));
                }
                if let Some(step) = step_of.get_mut(at) {
                    *step = Some(history.iteration + 1);
                }
            }
            let mut row = self.step_row(history, (!is_open).then_some(end));
            row.cost = prices.cost_of(&history.executor, history.usage);
            row.request = sent_summary(history, last_request);
            // Numbers follow each other; a gap would be a step whose entry is missing.
            for number in steps.len() as u32 + 1..row.number {
                steps.push(empty_step(number));
            }
            steps.push(row);
            last_request = history.request.as_ref().map(|it| it.bytes).or(last_request);
        }
        self.steps = steps;
        step_of
    }

    fn step_row(&self, history: &StepHistory, end: Option<Timestamp>) -> StepRow {
        StepRow {
            number: history.iteration + 1,
            start_ms: self.since_start(history.started_at),
            model_ms: as_milliseconds(history.duration()),
            wait_ms: as_milliseconds(history.wait),
            storing_ms: as_milliseconds(history.storing),
            duration_ms: end.map(|end| milliseconds(history.started_at, end)),
            usage: token_usage(history.usage),
            cost: None,
            model: history.model.clone(),
            request: None,
        }
    }

    /// A time, in milliseconds since the turn began.
    fn since_start(&self, at: Timestamp) -> f64 {
        milliseconds(self.history.started_at, at)
    }

    /// A step by its number.
    pub(super) fn step(&self, number: u32) -> Option<&StepRow> {
        self.steps.get((number as usize).checked_sub(1)?)
    }

    /// Steps of the turn, from a place on.
    pub(crate) fn step_page(&self, start: usize, count: usize) -> StepPage {
        let steps = self.steps.iter().skip(start).take(count.min(MAX_ROWS)).cloned();
        StepPage { steps: steps.collect(), total: self.steps.len() }
    }

    /// How many rows the timeline has.
    pub(crate) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// The kinds of all rows, one letter for each.
    pub(crate) fn kinds(&self) -> String {
        let kinds = self.rows.iter().map(|place| match place {
            RowPlace::Step(_) => 's',
            RowPlace::Item { record, .. } => {
                match self.records.get(*record).and_then(ShownRecord::as_call) {
                    Some(call) if call.error.is_some() => 'r',
                    Some(_) => 'c',
                    None => 't',
                }
            }
        });
        kinds.collect()
    }

    /// When the last step ended.
    pub(crate) fn end_ms(&self) -> f64 {
        let ends = self.steps.iter().map(|it| it.start_ms + it.duration_ms.unwrap_or(it.model_ms));
        ends.fold(0.0, f64::max)
    }

    /// A window of the rows.
    pub(crate) fn row_page(&self, range: &RowRange) -> RowPage {
        let count = range.count.unwrap_or(DEFAULT_ROWS).min(MAX_ROWS);
        let around = range.at.as_deref().and_then(|key| self.find_row(key));
        let start = around.map_or(range.start, |at| at.saturating_sub(count / 2));
        // A timeline that fits into one window is sent whole.
        let start = if self.rows.len() <= count { 0 } else { start };
        let rows = self.rows.iter().skip(start).take(count).filter_map(|place| self.row(place));
        RowPage { start, rows: rows.collect(), total: self.rows.len() }
    }

    /// The row at a place.
    pub(crate) fn row_at(&self, at: usize) -> Option<TimelineRow> {
        self.rows.get(at).and_then(|place| self.row(place))
    }

    /// The place of the row with a key.
    fn find_row(&self, key: &str) -> Option<usize> {
        let step = key.strip_prefix("step/").and_then(|number| number.parse::<u32>().ok());
        self.rows.iter().position(|place| match (place, step) {
            (RowPlace::Step(number), Some(step)) => *number == step,
            (RowPlace::Item { record, .. }, None) => {
                let record = self.records.get(*record);
                record.is_some_and(|record| {
                    let id = key.strip_prefix(record.kind.as_str());
                    id.and_then(|it| it.strip_prefix('/')) == Some(record.id.as_str())
                })
            }
            _ => false,
        })
    }

    pub(super) fn row(&self, place: &RowPlace) -> Option<TimelineRow> {
        match *place {
            RowPlace::Step(number) => self.step(number).cloned().map(TimelineRow::Step),
            RowPlace::Item { record, step } => self.item(record, step).map(TimelineRow::Item),
        }
    }

    /// The item of a call, by the place of its record.
    pub(super) fn item_of(&self, record: usize) -> Option<TimelineItem> {
        let step = self.records.get(record)?.as_call()?.iteration + 1;
        self.item(record, step)
    }

    fn item(&self, at: usize, step: u32) -> Option<TimelineItem> {
        let shown = self.records.get(at)?;
        let at_ms = self.since_start(created_at(shown));
        let (text, omitted_bytes) = shorten(shown.text().unwrap_or_default(), MAX_TEXT);
        let (content, (at_ms, duration_ms)) = match &shown.record {
            TurnRecord::Message(message) => {
                let media = message.attachments().iter().map(media_row).collect();
                let role = message.role().as_str().to_owned();
                let content = ItemContent::Message { role, text, omitted_bytes, media };
                (content, model_time(self.step(step), at_ms))
            }
            TurnRecord::Thought(_) => {
                let content = ItemContent::Thought { text, omitted_bytes };
                (content, model_time(self.step(step), at_ms))
            }
            TurnRecord::ToolCall(call) => {
                let has_run = call.started_at.is_some() && call.completed_at.is_some();
                let duration_ms = has_run.then_some(call.time.tool as f64);
                let attempt = self.attempts.get(at).copied().unwrap_or(1);
                let mut row = self.call_row(call, attempt);
                row.decision_time = self.decision_time(call);
                let at_ms = call.started_at.map_or(at_ms, |at| self.since_start(at));
                (ItemContent::Call(Box::new(row)), (at_ms, duration_ms))
            }
            _ => return None,
        };
        let key = format!("{}/{}", shown.kind.as_str(), shown.id);
        Some(TimelineItem { key, step, at_ms, duration_ms, content })
    }
}

impl ReadTurn {
    /// How long a call waited for people. That of a call that has ended is in its record.
    fn decision_time(&self, call: &ToolCall) -> Option<DecisionTime> {
        let Some((gate, settlement)) = self.gate_of(call) else {
            let at_ms = self.since_start(call.started_at?);
            let duration_ms = Some(call.time.person as f64);
            return (call.time.person > 0).then_some(DecisionTime { at_ms, duration_ms });
        };
        let settled = settlement.as_ref().filter(|it| it.grant.is_none());
        let settled = settled.map(|it| milliseconds(gate.opened_at, it.at));
        let ended = call.completed_at.map(|_| call.time.person as f64);
        let is_granted = settlement.is_some() && settled.is_none();
        (!is_granted).then(|| DecisionTime {
            at_ms: self.since_start(gate.opened_at),
            duration_ms: ended.or(settled),
        })
    }
}

/// What the journal says about the request of a step.
fn sent_summary(history: &StepHistory, last_request: Option<u64>) -> Option<SentSummary> {
    let request = history.request.as_ref()?;
    let lost = match (request.prefix, last_request) {
        // The end of a request is never the beginning of the next one, and blocks are counted whole.
        (Some(kept), Some(last)) if kept + REQUEST_END < last => last - kept,
        _ => 0,
    };
    let sha256 = request.sha256.clone();
    Some(SentSummary { bytes: request.bytes, kept: request.prefix, lost, sha256 })
}

/// A step of which nothing is stored yet.
fn empty_step(number: u32) -> StepRow {
    StepRow {
        number,
        start_ms: 0.0,
        model_ms: 0.0,
        wait_ms: 0.0,
        storing_ms: 0.0,
        duration_ms: None,
        usage: TokenUsage::default(),
        cost: None,
        model: None,
        request: None,
    }
}

fn created_at(record: &ShownRecord) -> Timestamp {
    match &record.record {
        TurnRecord::Message(message) => message.created_at(),
        TurnRecord::Thought(thought) => thought.created_at(),
        TurnRecord::ToolCall(call) => call.created_at,
        _ => Timestamp::EPOCH,
    }
}

/// What the model wrote took the time in which it wrote.
fn model_time(step: Option<&StepRow>, at_ms: f64) -> (f64, Option<f64>) {
    step.map_or((at_ms, None), |step| {
        (step.start_ms + step.wait_ms, Some(step.model_ms - step.wait_ms))
    })
}
