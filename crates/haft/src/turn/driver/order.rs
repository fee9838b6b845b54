//! The order of a turn: its input, the iterations of its dispatch, its output, its end.
//!
//! What comes next is decided by the [log](super::super::log) of the turn, which a resumed turn has from its journal. So a
//! turn that was stopped anywhere goes on as if it had not been.

use std::pin::pin;

use haft_core::cancel::CancelReason;
use haft_core::context::Signal;
use haft_core::event::ErrorReport;
use haft_core::pipeline::Stage;
use haft_core::step::NextAction;
use tracing::Instrument as _;

use super::super::TurnReport;
use super::super::gates::GatePolicy;
use super::super::limits::Limit;
use super::super::log::Position;
use super::super::report::{Conclusion, TurnOutcome};
use super::TurnDriver;

impl TurnDriver {
    /// Runs the turn to its end. Whatever happens, there is a report.
    pub(super) async fn run(mut self: Box<Self>) -> TurnReport {
        self.announce_turn();
        let conclusion = self.work_in_bounds().await;
        let conclusion = self.end(conclusion).await;
        self.report(conclusion)
    }

    /// Ends the turn as failed. Nothing of it is run.
    pub(super) async fn refuse(mut self: Box<Self>, error: ErrorReport) -> TurnReport {
        self.announce_turn();
        let conclusion = self.span.in_scope(|| self.report_error(Conclusion::failed(error)));
        let conclusion = self.end(conclusion).await;
        self.report(conclusion)
    }

    /// Works until the turn can end, or until all that runs waits at gates and the agent does not wait with it. When the
    /// turn has worked for as long as it may, what runs is cancelled.
    async fn work_in_bounds(&mut self) -> Conclusion {
        let shared = std::sync::Arc::clone(&self.shared);
        let cancellation = self.ctx.turn().cancellation().clone();
        let suspends = shared.agent.gate_policy == GatePolicy::Suspend;
        let all_wait = async {
            match suspends {
                true => shared.waits.all_wait().await,
                false => std::future::pending().await,
            }
        };
        let span = self.span.clone();
        let worked = {
            let mut work = pin!(self.work().instrument(span));
            tokio::select! {
                biased;
                conclusion = &mut work => Ok(conclusion),
                gates = all_wait => Err(gates),
                () = shared.watch.reached(shared.agent.limits.wall_time) => {
                    cancellation.cancel(CancelReason::Deadline);
                    Ok(match work.await {
                        // What was cancelled because of the working time has reached a limit.
                        Conclusion { outcome: TurnOutcome::Cancelled { .. }, .. } => {
                            Limit::WallTime.into()
                        }
                        conclusion => conclusion,
                    })
                }
            }
        };
        match worked {
            Ok(conclusion) => conclusion,
            // What waited is dropped, as if the process had ended here.
            Err(gates) => {
                let span = self.span.clone();
                span.in_scope(|| self.leave_waiting(Conclusion::waiting(gates)))
            }
        }
    }

    /// Everything between the beginning of a turn and its end.
    async fn work(&mut self) -> Conclusion {
        if let Err(conclusion) = self.take_input().await {
            return self.report_error(conclusion);
        }
        let conclusion = self.run_dispatch().await;
        if !conclusion.is_completed() || self.log.end().is_some() {
            return conclusion;
        }
        match self.run_stage(Stage::TurnOutput).await {
            Ok(()) => conclusion,
            Err(conclusion) => self.report_error(conclusion),
        }
    }

    async fn take_input(&self) -> Result<(), Conclusion> {
        self.spool_input().await?;
        self.run_stage(Stage::TurnInput).await
    }

    async fn run_dispatch(&mut self) -> Conclusion {
        self.announce_dispatch();
        let conclusion = match self.log.position() {
            // The dispatch was acknowledged before the turn was resumed, and is acknowledged again.
            Position::Output => self.signal_dispatch(Signal::Ack).into(),
            _ => {
                self.bind_tools();
                self.run_iterations().await
            }
        };
        self.close_dispatch(&conclusion);
        conclusion
    }

    /// Runs iterations, up to the one with which the dispatch ends.
    async fn run_iterations(&mut self) -> Conclusion {
        loop {
            if let Err(conclusion) = self.open_iteration() {
                return conclusion;
            }
            let conclusion = match self.run_iteration().await {
                Ok(signal) => signal.map(Conclusion::from),
                Err(conclusion) => Some(conclusion),
            };
            let journaled = self.journal_iteration(conclusion.as_ref());
            self.close_iteration();
            if let Err(broken) = journaled {
                return broken;
            }
            if let Some(conclusion) = conclusion {
                return conclusion;
            }
        }
    }

    /// Runs an iteration. Returns the signal of the dispatch if it ends with the iteration.
    async fn run_iteration(&mut self) -> Result<Option<Signal>, Conclusion> {
        if let Position::Calls { iteration, .. } = *self.log.position() {
            // The step was stored before the turn was resumed. The calls that are left can still take back what an earlier
            // one asked for.
            let pending = self.log.take_pending(iteration).and_then(wanted_signal);
            pending.into_iter().for_each(|signal| self.set_pending(Some(signal)));
            Box::pin(self.finish_stored_calls()).await?;
        } else {
            self.run_stage(Stage::DispatchInput).await?;
            if let Some(signal) = self.iteration.ctx.signal() {
                return Ok(Some(signal));
            }
            let step = self.ask_executor().await?;
            let calls = self.store_step(step).await?;
            if self.log.end().is_some() {
                self.acknowledge();
                return Ok(Some(Signal::Ack));
            }
            self.run_calls(calls).await?;
        }
        self.follow_step().await
    }

    /// What follows a step whose calls have ended.
    async fn follow_step(&self) -> Result<Option<Signal>, Conclusion> {
        if let Position::Calls { step, .. } = self.log.position() {
            if let Some(limit) = &step.limit {
                return Err(limit.clone().into());
            }
            let wanted = wanted_signal(step.next.clone());
            self.set_pending(wanted);
        }
        self.run_stage(Stage::DispatchOutput).await?;
        let ctx = &self.iteration.ctx;
        Ok(match ctx.signal() {
            Some(signal) => Some(signal),
            None => ctx.pending().map(|pending| self.signal_dispatch(pending)),
        })
    }
}

/// The signal that a dispatch gets once output middleware has run, or `None` if another iteration follows.
fn wanted_signal(next: NextAction) -> Option<Signal> {
    match next {
        NextAction::Done => Some(Signal::Ack),
        NextAction::Fail(error) => Some(Signal::Nack { error }),
        _ => None,
    }
}
