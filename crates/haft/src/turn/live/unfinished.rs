//! Calls that did not come to their end where they began.

use haft_core::error::codes;
use std::sync::Arc;

use haft_core::call::{CallError, CallState, ToolCall};
use haft_core::context::{DispatchContext, RecordError};
use haft_core::event::Level;
use haft_core::store::{TurnStatus, Write};
use haft_core::tool::Effect;
use haft_core::usage::Usage;

use super::super::journal::Entry;
use super::super::report::Ended;
use super::Live;

impl Live {
    /// Brings calls to their end that a process before this one did not.
    pub(super) async fn unfinished(&self, ctx: &DispatchContext) -> Option<Ended> {
        let mut again = Vec::new();
        for call in ctx.turn_tool_calls() {
            if call.iteration != ctx.iteration() || call.state().is_final() {
                continue;
            }
            if self.is_lost(&call) {
                if let Err(error) = ctx.store_tool_call(self.lost(&call)).await {
                    return Some(Ended::unkept(&error));
                }
            } else {
                again.push(call);
            }
        }
        self.run_calls(ctx, again).await.err()
    }

    /// Writes down that the turn is over, and with it every call that did not come to its end.
    pub(super) async fn keep_end(&self, ended: &Ended) -> Result<(), RecordError> {
        if self.progress().over {
            self.keep_last_words().await;
            return Ok(());
        }
        let (iterations, usage) = self.spent();
        let last = self.end(ended, iterations, usage).into();
        let open = self.ctx.turn_tool_calls().into_iter().filter(|it| !it.state().is_final());
        let calls = open.map(|call| Arc::new(self.given_up(&call))).collect();
        self.ctx.store_step(Vec::new(), Vec::new(), calls, last).await
    }

    /// The writes that say that the turn is over.
    pub(super) fn end(&self, ended: &Ended, iterations: u32, usage: Usage) -> [Write; 2] {
        let (outcome, error) = (ended.outcome.clone(), ended.error.clone());
        let at = self.runner.clock.now();
        let entry = Entry::Ended { outcome, error, iterations, usage, at };
        [entry.write(), Write::Status(ended.outcome.status())]
    }

    /// Writes down what those noted who waited for the end. If that fails, the turn is over all the same.
    async fn keep_last_words(&self) {
        self.recorder.defer_stash(self.ctx.stash());
        if !self.recorder.has_deferred() {
            return;
        }
        // Who was answered at a gate meanwhile says that the turn runs; the last word is that it is over.
        let last = vec![Write::Status(TurnStatus::Completed)];
        if let Err(error) = self.ctx.commit(last).await {
            let text = format!("what was noted at the end of the turn was not kept: {error}");
            self.ctx.log(Level::Warn, "turn-end", &text, None);
        }
    }

    /// A call that does not go on.
    fn given_up(&self, call: &ToolCall) -> ToolCall {
        if self.is_lost(call) {
            return self.lost(call);
        }
        let message = format!("the turn ended before the call of `{}` did", call.tool());
        let error = CallError::new(codes::TOOL_CANCELLED, message, false);
        call.clone().ended(CallState::Cancelled, error, self.runner.clock.now())
    }

    /// Whether nobody can know what a call did that a process before this one began.
    fn is_lost(&self, call: &ToolCall) -> bool {
        let tool = self.ctx.turn().tools().find(call.tool());
        let effect = tool.map_or(Effect::Once, |tool| tool.effect());
        call.state() == CallState::Running && effect == Effect::Once
    }

    fn lost(&self, call: &ToolCall) -> ToolCall {
        let message = format!(
            "the process died while `{}` ran; what it did is not known, do not repeat it blindly",
            call.tool()
        );
        let error = CallError::new(codes::TOOL_OUTCOME_UNKNOWN, message, false);
        call.clone().ended(CallState::Unknown, error, self.runner.clock.now())
    }
}
