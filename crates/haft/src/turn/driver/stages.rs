//! Storing the input, and running pipelines.

use std::error::Error;
use std::sync::atomic::Ordering;

use haft_core::context::{HistoryError, RecordError};
use haft_core::error::codes;
use haft_core::event::ErrorReport;
use haft_core::pipeline::{Pipeline, PipelineContext, PipelineError, Stage};
use haft_core::spool::SpoolError;
use haft_core::store::StoreError;

use super::super::deadline::{WaitError, with_deadline};
use super::super::gates::GateScope;
use super::super::limits::Deadlines;
use super::super::machine::{Interruption, TurnEntry};
use super::super::recorder::MaybeStoreFailure as _;
use super::super::report::FailurePoint;
use super::{EffectReply, TurnDriver};

/// Why a pipeline did not complete.
struct StageFailure {
    error: ErrorReport,
    /// Whether a store failed, according to the error.
    is_of_store: bool,
}

/// Whether an error or one of its causes says that a store failed.
fn is_caused_by_store(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |&error| error.source());
    causes.any(|cause| {
        cause.downcast_ref::<StoreError>().is_some_and(StoreError::is_store_failure)
            || cause.downcast_ref::<SpoolError>().is_some_and(SpoolError::is_store_failure)
            || cause.downcast_ref::<RecordError>().is_some_and(RecordError::is_store_failure)
            || cause.downcast_ref::<HistoryError>().is_some_and(HistoryError::is_store_failure)
    })
}

impl TurnDriver {
    /// Stores long texts that the turn began with, unless an earlier process did.
    pub(super) async fn spool_input(&self) -> EffectReply {
        match self.spool_retrievables().await {
            Ok(()) => TurnEntry::InputSpooled.into(),
            Err(interruption) => interruption.into(),
        }
    }

    async fn spool_retrievables(&self) -> Result<(), Interruption> {
        let turn = self.ctx.turn();
        let Deadlines { store: limit, grace, .. } = self.runner.deadlines;
        for record in turn.retrievables().all() {
            if record.to_spool().is_none() {
                continue;
            }
            let stored = Box::pin(turn.store_retrievable(record));
            match with_deadline(stored, self.wait_bounds(limit, grace)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(Interruption::not_stored(&error)),
                Err(WaitError::Cancelled(reason)) => return Err(Interruption::cancelled(reason)),
                Err(_) => {
                    let message = format!("the input could not be stored within {limit:?}");
                    let error = ErrorReport::coded(codes::DEADLINE_EXCEEDED, message);
                    let error = error.at(FailurePoint::Store.as_str());
                    return Err(Interruption::Failed { error: Box::new(error), resumable: true });
                }
            }
        }
        Ok(())
    }

    /// Whether no member of a pipeline runs: there is none, or the turn is cancelled.
    pub(super) fn skips_stage(&self, stage: Stage) -> bool {
        let runner = &self.runner;
        let is_empty = match stage {
            Stage::TurnInput => runner.turn_input.is_empty(),
            Stage::DispatchInput => runner.dispatch_input.is_empty(),
            Stage::DispatchOutput => runner.dispatch_output.is_empty(),
            Stage::TurnOutput => runner.turn_output.is_empty(),
        };
        is_empty || self.ctx.cancellation().is_cancelled()
    }

    /// Passes a stage without running a member.
    pub(super) fn skip_stage(&self, stage: Stage) -> TurnEntry {
        self.shared.enter(GateScope::Stage(stage));
        self.pass_stage()
    }

    /// Runs the pipeline of a stage.
    pub(super) async fn run_stage(&self, stage: Stage) -> EffectReply {
        let Self { runner, ctx, iteration, .. } = self;
        self.shared.enter(GateScope::Stage(stage));
        match stage {
            Stage::TurnInput => self.run_pipeline(&runner.turn_input, ctx.turn()).await,
            Stage::DispatchInput => self.run_pipeline(&runner.dispatch_input, &iteration.ctx).await,
            Stage::DispatchOutput => {
                self.run_pipeline(&runner.dispatch_output, &iteration.ctx).await
            }
            Stage::TurnOutput => self.run_pipeline(&runner.turn_output, ctx.turn()).await,
        }
    }

    async fn run_pipeline<C: PipelineContext>(
        &self,
        pipeline: &Pipeline<C>,
        ctx: &C,
    ) -> EffectReply {
        let failures = self.shared.recorder.failures();
        match self.run_members(pipeline, ctx).await {
            Err(failure) if !self.ctx.cancellation().is_cancelled() => {
                // If the store failed, it was not the fault of the middleware.
                let has_store_failed = self.shared.recorder.failures() > failures;
                let resumable = failure.is_of_store || has_store_failed;
                return Interruption::Failed { error: Box::new(failure.error), resumable }.into();
            }
            Ok(true) if pipeline.stage() == Stage::DispatchOutput => {
                self.iteration.is_checked.store(true, Ordering::Release);
            }
            _ => {}
        }
        self.pass_stage().into()
    }

    /// Runs the members of a pipeline. Returns whether all of them ran, or what went wrong.
    async fn run_members<C: PipelineContext>(
        &self,
        pipeline: &Pipeline<C>,
        ctx: &C,
    ) -> Result<bool, StageFailure> {
        let stage = pipeline.stage();
        let Deadlines { pipeline: limit, grace, .. } = self.runner.deadlines;
        let run = Box::pin(pipeline.run_members(ctx));
        let mut is_of_store = false;
        let error = match with_deadline(run, self.wait_bounds(limit, grace)).await {
            Ok(Ok(is_complete)) => return Ok(is_complete),
            Err(WaitError::Cancelled(_)) => return Ok(false),
            Ok(Err(error)) => {
                is_of_store = is_caused_by_store(&error);
                ErrorReport::of(&error)
            }
            Err(WaitError::Deadline) => {
                let message = format!("the {stage} pipeline did not end in time");
                ErrorReport::coded(codes::DEADLINE_EXCEEDED, message)
            }
            Err(WaitError::Panicked(panic)) => {
                let source = format!("a middleware panicked: {panic}").into();
                ErrorReport::of(&PipelineError::Failed { stage, source })
            }
        };
        Err(StageFailure { error: error.at(FailurePoint::Stage(stage).as_str()), is_of_store })
    }

    /// A pipeline has passed, unless the turn is cancelled.
    fn pass_stage(&self) -> TurnEntry {
        match self.ctx.cancellation().reason() {
            Some(reason) => TurnEntry::Interrupted(Interruption::cancelled(reason)),
            None => {
                let ctx = &self.iteration.ctx;
                TurnEntry::StagePassed { signal: ctx.signal(), pending: ctx.pending() }
            }
        }
    }
}
