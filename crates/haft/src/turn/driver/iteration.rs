//! Opening and closing the turn, its dispatch and its iterations.

use std::sync::atomic::{AtomicBool, Ordering};

use haft_core::call::ToolCall;
use haft_core::context::{Signal, SignalError};
use haft_core::event::{ErrorReport, EventKind, LogLevel};
use haft_core::step::StepContext;
use haft_core::usage::Usage;
use tracing::Span;

use super::super::journal::JournalEntry;
use super::super::log::{Position, TurnTotals};
use super::super::report::{Conclusion, FailurePoint, LogTopic};
use super::super::spans::record_turn_end;
use super::{IterationScope, StartTime, TurnDriver};

impl TurnDriver {
    pub(super) fn announce_turn(&mut self) {
        self.started_at = self.agent.clock.now();
        self.ctx.turn().emit_with(|| EventKind::TurnStart {});
    }

    pub(super) fn announce_dispatch(&mut self) {
        self.dispatch = self.record_start();
        self.ctx.emit_with(|| EventKind::DispatchStart {});
    }

    /// Removes the tools that live for one dispatch when it is acknowledged.
    pub(super) fn bind_tools(&self) {
        // The subscription lasts until the dispatch is signalled, whether or not it is held.
        let _ = self.ctx.turn().tools().bind_context(&self.ctx);
    }

    /// Opens the iteration at which the turn stands, unless the turn is cancelled or a limit forbids it: adds the tools
    /// that query new kinds of artifacts, and tells observers that the iteration starts. The step of an iteration that was
    /// stored before the turn was resumed is completed as if the turn had not been interrupted.
    pub(super) fn open_iteration(&mut self) -> Result<(), Conclusion> {
        self.check_cancelled()?;
        let usage = self.log.totals().usage;
        let iteration = match *self.log.position() {
            Position::Calls { iteration, .. } => iteration,
            Position::Iteration(iteration) => {
                let limits = &self.agent.limits;
                let is_late = self.shared.watch.has_reached(limits.wall_time);
                if let Some(limit) = limits.before_iteration(iteration, usage, is_late) {
                    return Err(limit.into());
                }
                iteration
            }
            _ => return Err(self.report_broken("there is no iteration to open".to_owned())),
        };
        if let Err(error) = self.query_tools.update(&self.agent.formats, &self.ctx) {
            let error = ErrorReport::of(&error).at(FailurePoint::Forge.as_str());
            return Err(Conclusion::failed(error));
        }
        let ctx = self.ctx.at_iteration(iteration);
        let start = self.record_start();
        ctx.emit_with(|| EventKind::IterationStart {});
        let is_checked = AtomicBool::new(self.agent.dispatch_output.is_empty());
        self.iteration = IterationScope { ctx, start, usage, is_checked, is_open: true };
        Ok(())
    }

    /// Shows output middleware how the step wants the dispatch to end. What a handler of the step has asked for stands,
    /// unless the step itself failed.
    pub(super) fn set_pending(&self, signal: Option<Signal>) {
        let ctx = &self.iteration.ctx;
        if ctx.pending().is_none() || matches!(signal, Some(Signal::Nack { .. })) {
            ctx.set_pending(signal);
        }
    }

    /// Gives the dispatch a signal, unless it has one. Returns the signal that it has.
    pub(super) fn signal_dispatch(&self, signal: Signal) -> Signal {
        let ctx = StepContext::new(self.ctx.clone());
        let given = match &signal {
            Signal::Nack { error } => ctx.nack(ErrorReport::clone(error)),
            _ => ctx.ack(),
        };
        match given {
            Err(SignalError::AlreadySignalled { signal }) => signal,
            _ => signal,
        }
    }

    /// Acknowledges the dispatch of a turn whose end is stored, whatever signal the dispatch has.
    pub(super) fn acknowledge(&self) {
        let _ = StepContext::new(self.iteration.ctx.clone()).ack();
    }

    /// Journals the end of the iteration, with the next commit. An iteration whose turn can be resumed goes on then, and has
    /// no end; with the end of a turn, that of its last iteration is stored already.
    pub(super) fn journal_iteration(
        &mut self,
        conclusion: Option<&Conclusion>,
    ) -> Result<(), Conclusion> {
        if self.log.end().is_some() || conclusion.is_some_and(|it| !it.is_final) {
            return Ok(());
        }
        let iteration = self.iteration.ctx.iteration();
        let done = conclusion.is_some_and(Conclusion::is_completed);
        let unchecked = self.has_unchecked_calls();
        let storing = self.shared.recorder.take_storing();
        let entry = JournalEntry::Iterated { iteration, done, unchecked, storing };
        self.shared.recorder.defer_changes(self.iteration.ctx.turn());
        self.shared.recorder.defer(entry.to_write());
        self.advance(&entry)
    }

    /// Takes an entry of the journal. One that cannot come here is a mistake in this program: it is reported, and the attempt
    /// ends without touching what is stored.
    pub(super) fn advance(&mut self, entry: &JournalEntry) -> Result<(), Conclusion> {
        let advanced = self.log.advance(entry);
        advanced.map_err(|illegal| self.report_broken(illegal.to_string()))
    }

    fn report_broken(&self, text: String) -> Conclusion {
        self.ctx.log(LogLevel::Error, LogTopic::BrokenInvariant.as_str(), &text, None);
        let error = ErrorReport::reason(text).at(FailurePoint::Turn.as_str());
        Conclusion::failed(error).resumable()
    }

    /// Whether the iteration has calls whose results output middleware did not look at.
    fn has_unchecked_calls(&self) -> bool {
        let IterationScope { ctx, is_checked, .. } = &self.iteration;
        let is_of_iteration = |call: &ToolCall| call.iteration == ctx.iteration();
        !is_checked.load(Ordering::Acquire) && ctx.turn().tool_calls().any_of_turn(is_of_iteration)
    }

    pub(super) fn close_iteration(&mut self) {
        self.iteration.is_open = false;
        let IterationScope { ctx, start, usage, .. } = &self.iteration;
        let total = self.log.totals().usage;
        let spent = Usage::new(
            total.prompt.saturating_sub(usage.prompt),
            total.completion.saturating_sub(usage.completion),
        );
        ctx.emit_with(|| EventKind::IterationEnd {
            usage: Some(spent),
            started_at: start.started_at,
            duration: self.since(*start),
        });
    }

    pub(super) fn close_dispatch(&self, conclusion: &Conclusion) {
        let TurnTotals { iterations, usage } = *self.log.totals();
        let status = conclusion.dispatch_status();
        self.ctx.notify_settled(status);
        self.ctx.emit_with(|| EventKind::DispatchEnd {
            status,
            error: conclusion.error.as_deref().cloned(),
            iterations,
            usage: Some(usage),
            started_at: self.dispatch.started_at,
            duration: self.since(self.dispatch),
        });
        if let Some(error) = &conclusion.error {
            self.ctx.turn().emit_with(|| EventKind::Error(ErrorReport::clone(error)));
        }
    }

    /// Leaves a turn that waits. What was open is closed for observers only.
    pub(super) fn leave_waiting(&mut self, conclusion: Conclusion) -> Conclusion {
        if self.iteration.is_open {
            self.close_iteration();
            self.close_dispatch(&conclusion);
        }
        conclusion
    }

    /// Tells observers why the turn stopped outside of its dispatch.
    pub(super) fn report_error(&self, conclusion: Conclusion) -> Conclusion {
        if let Some(error) = &conclusion.error {
            self.ctx.turn().emit_with(|| EventKind::Error(ErrorReport::clone(error)));
        }
        conclusion
    }

    pub(super) fn announce_end(&mut self, conclusion: &Conclusion) {
        self.duration = self.shared.watch.elapsed();
        let TurnTotals { iterations, usage } = *self.log.totals();
        record_turn_end(&self.span, usage, conclusion.error.as_deref());
        // The span ends here, and not with the driver.
        self.span = Span::none();
        let (started_at, duration) = (self.started_at, self.duration);
        self.ctx.turn().emit_with(|| EventKind::TurnEnd {
            status: conclusion.outcome.status(),
            error: conclusion.error.as_deref().cloned(),
            resumable: !conclusion.is_final,
            iterations,
            usage: Some(usage),
            started_at,
            duration,
        });
    }

    /// The time that it is now, for something that starts.
    fn record_start(&self) -> StartTime {
        StartTime { started_at: self.agent.clock.now(), begun: self.shared.watch.elapsed() }
    }

    /// How long ago something started.
    fn since(&self, start: StartTime) -> std::time::Duration {
        self.shared.watch.elapsed().saturating_sub(start.begun)
    }
}
