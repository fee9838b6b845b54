//! Storing the end of a turn, and of calls that did not end by themselves.

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::call::{CallError, CallState, ToolCall};
use haft_core::context::RecordError;
use haft_core::error::codes;
use haft_core::event::{ErrorReport, EventKind, LogLevel};
use haft_core::record::{Message, MessageRole, RecordName};
use haft_core::store::{StoreWrite, TurnStatus};
use tracing::Instrument as _;

use super::super::TurnReport;
use super::super::journal::JournalEntry;
use super::super::log::TurnTotals;
use super::super::report::{Conclusion, FailurePoint, LogTopic, TurnOutcome};
use super::TurnDriver;

impl TurnDriver {
    /// Ends the turn, or only this attempt to run it if another one may get further. Returns how it ended.
    pub(super) async fn end(&mut self, conclusion: Conclusion) -> Conclusion {
        let span = self.span.clone();
        // Boxed, so that turns which wait need no room for it.
        let conclusion = Box::pin(self.end_in_store(conclusion)).instrument(span).await;
        self.announce_end(&conclusion);
        conclusion
    }

    async fn end_in_store(&mut self, conclusion: Conclusion) -> Conclusion {
        let conclusion = if self.log.end().is_some() {
            // The last step has stored it.
            self.flush_deferred().await;
            conclusion
        } else if conclusion.is_final {
            match self.store_end(&conclusion).await {
                Ok(()) => conclusion,
                Err(error) => {
                    let error = ErrorReport::of(&error).at(FailurePoint::Store.as_str());
                    self.ctx.turn().emit_with(|| EventKind::Error(error.clone()));
                    conclusion.not_ended(error)
                }
            }
        } else {
            if matches!(conclusion.outcome, TurnOutcome::Failed { .. })
                && let Some(error) = conclusion.error.as_deref()
            {
                let delay = self.agent.deadlines.outage;
                self.shared.recorder.interrupt_for(delay, error.clone());
            }
            conclusion
        };
        // A lease that cannot be released expires by itself.
        let _ = self.shared.recorder.release().await;
        conclusion
    }

    /// Stores the end of the turn, together with the end of every unfinished call and open gate.
    async fn store_end(&mut self, conclusion: &Conclusion) -> Result<(), RecordError> {
        let entry = self.make_end_entry(conclusion, *self.log.totals());
        let mut writes = self.shared.close_open_gates();
        entry.push_end_writes(&mut writes);
        let open = self.ctx.turn().tool_calls().matching(|it| !it.state().is_final());
        let open = open.into_iter();
        let calls = open.map(|call| Arc::new(self.end_abandoned_call(&call))).collect();
        self.ctx.turn().store_step(Vec::new(), Vec::new(), calls, writes).await?;
        // Whatever the log says, the end is stored.
        let _ = self.advance(&entry);
        Ok(())
    }

    /// Makes the journal entry that ends the turn.
    pub(super) fn make_end_entry(
        &self,
        conclusion: &Conclusion,
        totals: TurnTotals,
    ) -> JournalEntry {
        let TurnTotals { iterations, usage } = totals;
        let (outcome, error) = (conclusion.outcome.clone(), conclusion.error.as_deref().cloned());
        let at = self.agent.clock.now();
        let storing = self.shared.recorder.take_storing();
        JournalEntry::Ended { outcome, error, iterations, usage, at, storing }
    }

    /// Stores what was noted after the end of the turn was stored. If that fails, the turn has ended all the same.
    async fn flush_deferred(&self) {
        self.shared.recorder.defer_changes(self.ctx.turn());
        if !self.shared.recorder.has_deferred() {
            return;
        }
        // A gate that closed meanwhile has deferred that the turn runs; the last status is that it has ended.
        let last = vec![StoreWrite::Status(TurnStatus::Completed)];
        if let Err(error) = self.ctx.turn().commit(last).await {
            let text = format!("what was noted at the end of the turn was not kept: {error}");
            self.ctx.log(LogLevel::Warn, LogTopic::TurnEnd.as_str(), &text, None);
        }
    }

    pub(super) fn report(self: Box<Self>, conclusion: Conclusion) -> TurnReport {
        let turn = self.ctx.turn();
        let said: HashSet<&RecordName> = self.log.messages().iter().collect();
        let is_said = |it: &Message| it.role() == MessageRole::Assistant && said.contains(it.id());
        let messages = turn.messages().matching(is_said);
        let TurnTotals { iterations, usage } = *self.log.totals();
        let calls = turn.tool_calls().of_turn();
        let Conclusion { outcome, error, is_final } = conclusion;
        TurnReport {
            messages,
            usage,
            iterations,
            calls,
            outcome,
            error: error.map(|it| *it),
            is_resumable: !is_final,
            duration: self.duration,
            turn: self.id.clone(),
        }
    }

    /// Ends a call that its turn ends with.
    fn end_abandoned_call(&self, call: &ToolCall) -> ToolCall {
        if Self::is_lost(call) {
            return self.end_lost_call(call);
        }
        let message = format!("the turn ended before the call of `{}` did", call.tool());
        let error = CallError::new(codes::TOOL_CANCELLED, message, false);
        call.clone().ended(CallState::Cancelled, error, self.agent.clock.now())
    }

    /// Whether a call was started by an earlier process and its outcome cannot be known.
    ///
    /// Only calls that must not be repeated are stored as running, so the record decides. The tool may have another
    /// effect now than when the call started.
    pub(super) fn is_lost(call: &ToolCall) -> bool {
        call.state() == CallState::Running
    }

    /// Ends a call whose outcome cannot be known.
    pub(super) fn end_lost_call(&self, call: &ToolCall) -> ToolCall {
        let message = format!(
            "the process died while `{}` ran; what it did is not known, do not repeat it blindly",
            call.tool()
        );
        let error = CallError::new(codes::TOOL_OUTCOME_UNKNOWN, message, false);
        call.clone().ended(CallState::Unknown, error, self.agent.clock.now())
    }
}
