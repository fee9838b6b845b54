//! Which earlier turns are shown.

use haft_core::call::{ToolCall, ToolResults};
use haft_core::context::{EarlierRecord, EarlierTurn};
use haft_core::record::RetrievableContent;
use haft_core::store::{RowKind, TurnId};

/// The most that is shown of earlier turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowLimits {
    pub(super) messages: usize,
    pub(super) tokens: u64,
}

impl Default for WindowLimits {
    fn default() -> Self {
        Self { messages: 200, tokens: 32_000 }
    }
}

impl WindowLimits {
    fn allow(self, cost: TurnCost) -> bool {
        cost.messages <= self.messages && cost.tokens <= self.tokens
    }

    fn halved(self) -> Self {
        Self { messages: self.messages / 2, tokens: self.tokens / 2 }
    }
}

/// What showing a turn costs.
#[derive(Clone, Copy, Debug, Default)]
struct TurnCost {
    messages: usize,
    tokens: u64,
}

impl std::ops::Add for TurnCost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let tokens = self.tokens.saturating_add(other.tokens);
        Self { messages: self.messages.saturating_add(other.messages), tokens }
    }
}

/// The newest turns of a conversation, as many as the limits allow.
///
/// The oldest turn that is shown stays the same from turn to turn, until the limits are reached. Then the window is
/// halved. It depends only on the stored turns, so that the same conversation always has the same window.
pub(super) struct HistoryWindow {
    limits: WindowLimits,
    kinds: Vec<RowKind>,
    /// Newest first.
    turns: Vec<(TurnCost, EarlierTurn)>,
    total: TurnCost,
    /// The oldest turn that the newest one showed.
    oldest: Option<TurnId>,
    is_full: bool,
}

impl HistoryWindow {
    pub(super) fn new(limits: WindowLimits, kinds: Vec<RowKind>) -> Self {
        let turns = Vec::new();
        let total = TurnCost::default();
        Self { limits, kinds, turns, total, oldest: None, is_full: false }
    }

    /// Adds the turn before those that it has. Returns whether there may be another one.
    pub(super) fn add_older(&mut self, mut turn: EarlierTurn) -> bool {
        turn.retain_kinds(&self.kinds);
        let mut cost = turn_cost(&turn);
        if self.turns.is_empty() {
            self.oldest = turn.shown.range.as_ref().map(|range| range.first.clone());
            if !self.limits.allow(cost) {
                turn.retain_kinds(&[RowKind::Message]);
                cost = turn_cost(&turn);
            }
        } else if !self.limits.allow(self.total + cost) {
            self.is_full = true;
            return false;
        }
        let is_oldest = self.oldest.as_ref() == Some(&turn.turn);
        self.total = self.total + cost;
        self.turns.push((cost, turn));
        !is_oldest
    }

    /// The turns to show, oldest first.
    pub(super) fn into_turns(mut self) -> Vec<EarlierTurn> {
        if self.is_full {
            let half = self.limits.halved();
            let mut total = TurnCost::default();
            let fitting = self.turns.iter().take_while(|(cost, _)| {
                total = total + *cost;
                half.allow(total)
            });
            let count = fitting.count().max(1);
            self.turns.truncate(count);
        }
        self.turns.into_iter().rev().map(|(_, turn)| turn).collect()
    }
}

fn turn_cost(turn: &EarlierTurn) -> TurnCost {
    let costs = turn.records.iter().map(|record| TurnCost {
        messages: usize::from(matches!(record, EarlierRecord::Message(_))),
        tokens: record_tokens(record),
    });
    costs.fold(TurnCost::default(), |sum, cost| sum + cost)
}

/// How many tokens a record is, by a rule of thumb that depends on nothing but the record.
fn record_tokens(record: &EarlierRecord) -> u64 {
    let (bytes, media) = match record {
        EarlierRecord::Message(it) => {
            (it.content().map_or(0, |text| text.as_str().len()), it.attachments().len())
        }
        EarlierRecord::Thought(it) => {
            let payload = it.payload().map_or(0, |payload| payload.to_string().len());
            (it.content().as_str().len() + payload, 0)
        }
        EarlierRecord::ToolCall(it) => call_size(it),
        EarlierRecord::Retrievable(it) => match it.content() {
            RetrievableContent::Text(text) => (text.as_str().len(), 0),
            _ => (HANDLE_BYTES, 0),
        },
        _ => (0, 0),
    };
    FRAME_TOKENS + bytes as u64 / BYTES_PER_TOKEN + media as u64 * MEDIA_TOKENS
}

/// The bytes of text and the number of media that a call is shown as.
fn call_size(call: &ToolCall) -> (usize, usize) {
    let args = call.tool().len() + call.raw().to_text().len();
    let error = call.error.as_ref().map_or(0, |error| error.message.len());
    let (results, media) = match &call.results {
        Some(ToolResults::Text(text)) => (text.len(), 0),
        Some(ToolResults::Artifacts(all)) if call.inline => {
            let bytes = all.iter().map(|it| it.reader().byte_length()).sum::<u64>();
            (bytes.min(usize::MAX as u64) as usize, 0)
        }
        Some(ToolResults::Artifacts(all)) => (all.len() * HANDLE_BYTES, 0),
        Some(ToolResults::Media(all)) => (0, all.len()),
        _ => (0, 0),
    };
    (args.saturating_add(error).saturating_add(results), media)
}

const BYTES_PER_TOKEN: u64 = 4;
/// What surrounds the text of a record.
const FRAME_TOKENS: u64 = 8;
const MEDIA_TOKENS: u64 = 1_000;
/// The estimated size of an artifact that is shown as a handle.
const HANDLE_BYTES: usize = 400;
