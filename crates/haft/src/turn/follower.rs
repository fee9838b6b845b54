//! Following a turn that another process runs.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haft_core::call::RecordId;
use haft_core::clock::Timestamp;
use haft_core::event::{Event, EventKind, GateResult, ToolCallReport};
use haft_core::store::{ChangeListener, GateId, GateRow, StoreError, TurnId, TurnStatus};
use haft_core::stream::{StreamPart, StreamTracker};

use super::gates::{gate_open_event, read_gate, read_settlement};
use super::history::StepHistory;
use super::log::TurnTotals;
use super::rendering::OpenedTurn;
use super::report::Conclusion;
use super::{StoredTurns, TurnError, TurnReport};
use crate::sync::{Instant, sleep};

/// Reports the events of a turn that any process runs, as far as they are stored: steps with their thoughts and
/// messages, calls, gates, and the end. See [`StoredTurns::follow_turn`].
pub struct TurnFollower {
    turns: StoredTurns,
    turn: TurnId,
    listener: Box<dyn ChangeListener>,
    /// The status and the time of the last write when the turn was last checked.
    looked_at: Option<(TurnStatus, Option<Timestamp>)>,
    told: ToldEvents,
    waiting: VecDeque<Event>,
    report: Option<TurnReport>,
}

/// What was reported already.
#[derive(Default)]
struct ToldEvents {
    has_begun: bool,
    steps: usize,
    calls: HashSet<RecordId>,
    opened: HashSet<GateId>,
    closed: HashSet<GateId>,
    sequence: u64,
}

impl StoredTurns {
    /// Follows a turn that this or another process runs, from its beginning, until it has ended or waits at a gate.
    /// Events are reported when they are stored: whole messages instead of pieces, and calls when they have ended.
    ///
    /// ```
    /// use haft::events::EventKind;
    /// use haft::executors::ScriptExecutor;
    /// use haft::Agent;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// let turn = agent.turn([]).system("Be polite.").report().await?.turn;
    /// let mut follower = agent.stored_turns().follow_turn(&turn);
    /// let mut said = String::new();
    /// while let Some(event) = follower.next_event().await? {
    ///     if let EventKind::Message(piece) = event.kind {
    ///         said.push_str(&piece.delta);
    ///     }
    /// }
    /// assert_eq!(said, "Hello!");
    /// assert_eq!(follower.report().map(|it| it.text()), Some("Hello!"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn follow_turn(&self, turn: &TurnId) -> TurnFollower {
        TurnFollower {
            turns: self.clone(),
            turn: turn.clone(),
            listener: self.listen(),
            looked_at: None,
            told: ToldEvents::default(),
            waiting: VecDeque::new(),
            report: None,
        }
    }
}

impl TurnFollower {
    /// Waits for the next event. There is none after the turn has ended or waits at a gate. Dropping the future loses no event.
    ///
    /// # Errors
    ///
    /// There is no such turn, the store failed, or a stored record cannot be read.
    pub async fn next_event(&mut self) -> Result<Option<Event>, TurnError> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            if self.report.is_some() {
                return Ok(None);
            }
            let looked = Instant::now();
            if !self.look().await? {
                self.await_change(looked).await;
            }
        }
    }

    /// The state of the turn when there are no more events.
    #[must_use]
    pub fn report(&self) -> Option<&TurnReport> {
        self.report.as_ref()
    }

    /// The status of the turn when it was last checked.
    #[must_use]
    pub fn status(&self) -> Option<TurnStatus> {
        self.looked_at.map(|(status, _)| status)
    }

    /// Waits until something may have changed. A turn that takes long to load is checked less often.
    async fn await_change(&mut self, looked: Instant) {
        let rest = (looked.elapsed() * LOAD_BACKOFF).max(MIN_PAUSE);
        sleep(rest).await;
        tokio::select! {
            _ = self.listener.next_change() => {}
            // New entries of a journal are not told.
            () = sleep(POLL_INTERVAL) => {}
        }
    }

    /// Checks the turn, and returns whether there is something to report.
    async fn look(&mut self) -> Result<bool, TurnError> {
        let summary = self.turns.load_summary(&self.turn).await?;
        let summary = summary.ok_or_else(|| StoreError::unknown_turn(&self.turn))?;
        let mark = (summary.status, summary.updated_at);
        if self.looked_at == Some(mark) {
            return Ok(false);
        }
        let opened = self.turns.open_turn(&self.turn).await?;
        // All events of this look are told, or none if the future is dropped before.
        self.looked_at = Some(mark);
        self.tell_changes(&opened)?;
        self.tell_end(&opened);
        Ok(!self.waiting.is_empty() || self.report.is_some())
    }

    fn tell_changes(&mut self, opened: &OpenedTurn) -> Result<(), TurnError> {
        let at = opened.stored.summary.updated_at.unwrap_or(opened.stored.summary.created_at);
        if !std::mem::replace(&mut self.told.has_begun, true) {
            self.push(None, at, EventKind::TurnStart {});
        }
        for (number, step) in opened.history.steps.iter().enumerate() {
            if number >= self.told.steps {
                self.tell_step(opened, step, at);
                self.told.steps = number + 1;
            }
            for id in &step.calls {
                let call = opened.ctx.turn().tool_calls().get(id);
                let Some(call) = call.filter(|it| it.state().is_final()) else { continue };
                if self.told.calls.insert(*id) {
                    let handle = opened.ctx.artifacts().handle(*id);
                    let report = ToolCallReport::of(&call, Some(&handle));
                    self.push(Some(step.iteration), at, EventKind::ToolCall(report));
                }
            }
        }
        opened.stored.gates.iter().try_for_each(|gate| self.tell_gate(gate, at))
    }

    fn tell_step(&mut self, opened: &OpenedTurn, step: &StepHistory, at: Timestamp) {
        let (iteration, ctx) = (Some(step.iteration), opened.ctx.turn());
        self.push(iteration, at, EventKind::IterationStart {});
        let mut streams = StreamTracker::default();
        for name in &step.thoughts {
            let Some(thought) = ctx.thoughts().get(name) else { continue };
            let text = thought.content().as_str();
            if let Ok(report) = streams.report_thought(name.as_str(), text, StreamPart::Last, at) {
                self.push(iteration, at, report.into());
            }
        }
        for name in &step.messages {
            let Some(message) = ctx.messages().get(name) else { continue };
            let text = message.content().map_or("", |it| it.as_str());
            if let Ok(report) = streams.report_message(name.as_str(), text, StreamPart::Last, at) {
                self.push(iteration, at, report.into());
            }
        }
        for id in &step.calls {
            if let Some(call) = ctx.tool_calls().get(id) {
                let mut report = ToolCallReport::of(&call, None);
                // It is announced first, also if it has ended since.
                (report.is_complete, report.results, report.completed_at) = (false, None, None);
                self.push(iteration, at, EventKind::ToolCall(report));
            }
        }
    }

    fn tell_gate(&mut self, row: &GateRow, at: Timestamp) -> Result<(), TurnError> {
        if self.told.opened.insert(row.id.clone()) {
            self.push(None, at, gate_open_event(&read_gate(row)?));
        }
        let Some(settlement) = &row.settlement else { return Ok(()) };
        if self.told.closed.insert(row.id.clone()) {
            let settlement = read_settlement(&row.id, settlement)?;
            let result = GateResult::from(&settlement.decision);
            let gate_id = row.id.as_str().into();
            let grant = settlement.grant;
            self.push(None, at, EventKind::TurnGateClosed { gate_id, result, grant });
        }
        Ok(())
    }

    /// Reports the end of the turn, or that it waits at gates.
    fn tell_end(&mut self, opened: &OpenedTurn) {
        let summary = &opened.stored.summary;
        let open = opened.stored.gates.iter().filter(|gate| gate.settlement.is_none());
        let open: Vec<GateId> = open.map(|gate| gate.id.clone()).collect();
        let conclusion = match (opened.log.end(), summary.status) {
            (Some(end), _) => end.clone(),
            (None, TurnStatus::Waiting) if !open.is_empty() => Conclusion::waiting(open),
            _ => return,
        };
        let resumable = !conclusion.is_final;
        let at = summary.updated_at.unwrap_or(summary.created_at);
        let (started_at, duration) = (summary.created_at, at.duration_since(summary.created_at));
        let TurnTotals { iterations, usage } = *opened.log.totals();
        let calls = opened.ctx.turn().tool_calls().all();
        let names = opened.log.messages().iter();
        let messages = names.filter_map(|it| opened.ctx.turn().messages().get(it)).collect();
        let Conclusion { outcome, error, .. } = conclusion;
        let error = error.map(|it| *it);
        if let Some(error) = error.clone() {
            self.push(None, at, EventKind::Error(error));
        }
        let status = outcome.status();
        let end = EventKind::TurnEnd {
            status,
            error: error.clone(),
            resumable,
            iterations,
            usage: Some(usage),
            started_at,
            duration,
        };
        self.push(None, at, end);
        let turn = self.turn.clone();
        let is_resumable = resumable;
        self.report = Some(TurnReport {
            turn,
            outcome,
            messages,
            usage,
            iterations,
            calls,
            error,
            is_resumable,
            duration,
        });
    }

    fn push(&mut self, iteration: Option<u32>, at: Timestamp, kind: EventKind) {
        let turn: Arc<str> = self.turn.as_str().into();
        let event = Event::new(Arc::clone(&turn), self.told.sequence, at, kind);
        self.told.sequence += 1;
        self.waiting.push_back(match iteration {
            Some(iteration) => event.within(turn, iteration),
            None => event,
        });
    }
}

impl fmt::Debug for TurnFollower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnFollower").field("turn", &self.turn).finish_non_exhaustive()
    }
}

/// How often a turn is checked although no change was reported.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The shortest time between two checks.
const MIN_PAUSE: Duration = Duration::from_millis(10);

/// After a check, the store is not read for this many times the duration of the check.
const LOAD_BACKOFF: u32 = 5;
