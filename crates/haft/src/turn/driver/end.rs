//! Storing the end of a turn, and of calls that did not end by themselves.

use std::sync::Arc;

use haft_core::call::{CallError, CallState, ToolCall};
use haft_core::error::codes;
use haft_core::event::{ErrorReport, LogLevel};
use haft_core::store::{StoreWrite, TurnStatus};

use super::super::journal::JournalEntry;
use super::super::machine::{TurnEntry, TurnTotals};
use super::super::report::{Conclusion, FailurePoint, LogTopic};
use super::{EffectReply, TurnDriver};

impl TurnDriver {
    /// Stores the end of the turn, together with the end of every unfinished call and open gate.
    pub(super) async fn store_end(
        &self,
        conclusion: &Conclusion,
        totals: TurnTotals,
    ) -> EffectReply {
        let entry = Arc::new(self.make_end_entry(conclusion, totals));
        let mut writes = self.shared.close_open_gates();
        JournalEntry::push_end_writes(&entry, &mut writes);
        let open = self.ctx.turn().tool_calls().matching(|it| !it.state().is_final());
        let open = open.into_iter();
        let calls = open.map(|call| Arc::new(self.end_abandoned_call(&call))).collect();
        match self.ctx.turn().store_step(Vec::new(), Vec::new(), calls, writes).await {
            Ok(()) => TurnEntry::Journal(entry).into(),
            Err(error) => {
                let error = ErrorReport::of(&error).at(FailurePoint::Store.as_str());
                TurnEntry::EndNotStored(Box::new(error)).into()
            }
        }
    }

    /// Makes the journal entry that ends the turn.
    pub(super) fn make_end_entry(
        &self,
        conclusion: &Conclusion,
        totals: TurnTotals,
    ) -> JournalEntry {
        let TurnTotals { iterations, usage } = totals;
        let (outcome, error) = (conclusion.outcome.clone(), conclusion.error.as_deref().cloned());
        JournalEntry::Ended { outcome, error, iterations, usage, at: self.runner.clock.now() }
    }

    /// Stores what was noted after the end of the turn was stored. If that fails, the turn has ended all the same.
    pub(super) async fn flush_deferred(&self) {
        // A gate that closed meanwhile has deferred that the turn runs; the last status is that it has ended.
        let last = vec![StoreWrite::Status(TurnStatus::Completed)];
        if let Err(error) = self.ctx.turn().commit(last).await {
            let text = format!("what was noted at the end of the turn was not kept: {error}");
            self.ctx.log(LogLevel::Warn, LogTopic::TurnEnd.as_str(), &text, None);
        }
    }

    /// Releases the lease. One that cannot be released expires by itself.
    pub(super) async fn release_lease(&self) {
        let _ = self.shared.recorder.release().await;
    }

    /// Ends a call that its turn ends with.
    fn end_abandoned_call(&self, call: &ToolCall) -> ToolCall {
        if Self::is_lost(call) {
            return self.end_lost_call(call);
        }
        let message = format!("the turn ended before the call of `{}` did", call.tool());
        let error = CallError::new(codes::TOOL_CANCELLED, message, false);
        call.clone().ended(CallState::Cancelled, error, self.runner.clock.now())
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
        call.clone().ended(CallState::Unknown, error, self.runner.clock.now())
    }
}
