//! Opening and closing iterations and the dispatch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_core::call::ToolCall;
use haft_core::context::{Signal, SignalError};
use haft_core::event::{ErrorReport, EventKind};
use haft_core::step::StepContext;
use haft_core::usage::Usage;

use super::super::journal::JournalEntry;
use super::super::machine::{Interruption, TurnEntry, TurnTotals};
use super::super::report::{Conclusion, FailurePoint};
use super::{IterationScope, TurnDriver};

impl TurnDriver {
    /// Checks whether another iteration can begin.
    pub(super) fn check_iteration(&self) -> TurnEntry {
        match self.ctx.cancellation().reason() {
            Some(reason) => TurnEntry::Interrupted(Interruption::cancelled(reason)),
            None => {
                let wall_time_reached =
                    self.shared.watch.has_reached(self.runner.limits().wall_time);
                TurnEntry::IterationReady { wall_time_reached }
            }
        }
    }

    /// Adds the tools that query new kinds of artifacts, and tells observers that the iteration starts.
    pub(super) fn open_iteration(&mut self, iteration: u32, usage: Usage) -> TurnEntry {
        if let Err(error) = self.query_tools.update(&self.runner.formats, &self.ctx) {
            let error = ErrorReport::of(&error).at(FailurePoint::Forge.as_str());
            return TurnEntry::Interrupted(Interruption::failed(error));
        }
        let ctx = self.ctx.at_iteration(iteration);
        let start = self.record_start();
        let scopes = ctx.emit_start(|| EventKind::IterationStart {});
        let is_checked = AtomicBool::new(self.runner.dispatch_output.is_empty());
        self.iteration = IterationScope { ctx, start, usage, scopes, is_checked };
        TurnEntry::IterationOpened
    }

    /// Gives the dispatch a signal, unless it has one.
    pub(super) fn signal_dispatch(&self, signal: Signal) -> TurnEntry {
        let ctx = StepContext::new(self.ctx.clone());
        let given = match &signal {
            Signal::Nack { error } => ctx.nack(ErrorReport::clone(error)),
            _ => ctx.ack(),
        };
        TurnEntry::Signalled(match given {
            Err(SignalError::AlreadySignalled { signal }) => signal,
            _ => signal,
        })
    }

    /// Journals the end of the iteration, with the next commit.
    pub(super) fn journal_iteration(&self, iteration: u32, done: bool) -> TurnEntry {
        let unchecked = self.has_unchecked_calls();
        let entry = Arc::new(JournalEntry::Iterated { iteration, done, unchecked });
        self.shared.recorder.defer_changes(self.iteration.ctx.turn());
        self.shared.recorder.defer(JournalEntry::to_write(&entry));
        TurnEntry::Journal(entry)
    }

    /// Whether the iteration has calls whose results output middleware did not look at.
    fn has_unchecked_calls(&self) -> bool {
        let IterationScope { ctx, is_checked, .. } = &self.iteration;
        let is_of_iteration = |call: &ToolCall| call.iteration == ctx.iteration();
        !is_checked.load(Ordering::Acquire) && ctx.turn().tool_calls().any_of_turn(is_of_iteration)
    }

    pub(super) fn close_iteration(&self, totals: &TurnTotals) {
        let IterationScope { ctx, start, usage, .. } = &self.iteration;
        let spent = Usage::new(
            totals.usage.prompt.saturating_sub(usage.prompt),
            totals.usage.completion.saturating_sub(usage.completion),
        );
        ctx.emit_with(|| EventKind::IterationEnd {
            usage: Some(spent),
            started_at: start.started_at,
            duration: self.since(*start),
        });
    }

    pub(super) fn close_dispatch(&self, conclusion: &Conclusion, totals: &TurnTotals) {
        let status = conclusion.dispatch_status();
        self.ctx.notify_settled(status);
        self.ctx.emit_with(|| EventKind::DispatchEnd {
            status,
            error: conclusion.error.as_deref().cloned(),
            iterations: totals.iterations,
            usage: Some(totals.usage),
            started_at: self.dispatch.started_at,
            duration: self.since(self.dispatch),
        });
        if let Some(error) = &conclusion.error {
            self.ctx.turn().emit_with(|| EventKind::Error(ErrorReport::clone(error)));
        }
    }
}
