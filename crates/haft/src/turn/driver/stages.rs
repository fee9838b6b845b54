//! Storing the input, and running pipelines.

use std::sync::atomic::Ordering;

use haft_core::error::codes;
use haft_core::event::ErrorReport;
use haft_core::pipeline::{Pipeline, PipelineContext, PipelineError, Stage};

use super::super::deadline::WaitError;
use super::super::gates::GateScope;
use super::super::recorder::is_store_failure;
use super::super::report::{Conclusion, FailurePoint};
use super::TurnDriver;

/// Why a pipeline did not complete.
struct StageFailure {
    error: ErrorReport,
    /// Whether a store failed, according to the error.
    is_of_store: bool,
}

impl TurnDriver {
    /// Stores long texts that the turn began with, unless an earlier process did.
    pub(super) async fn spool_input(&self) -> Result<(), Conclusion> {
        let turn = self.ctx.turn();
        let limit = self.agent.deadlines.store;
        for record in turn.retrievables().all() {
            if record.to_spool().is_none() {
                continue;
            }
            let stored = Box::pin(turn.store_retrievable(record));
            match self.within(limit, stored).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(Conclusion::not_stored(&error)),
                Err(WaitError::Cancelled(reason)) => {
                    return Err(Conclusion::cancelled(reason.to_string()));
                }
                Err(_) => {
                    let message = format!("the input could not be stored within {limit:?}");
                    let error = ErrorReport::coded(codes::DEADLINE_EXCEEDED, message);
                    let error = error.at(FailurePoint::Store.as_str());
                    return Err(Conclusion::failed(error).resumable());
                }
            }
        }
        Ok(())
    }

    /// Runs the pipeline of a stage. A turn that is cancelled does not pass it.
    pub(super) async fn run_stage(&self, stage: Stage) -> Result<(), Conclusion> {
        let Self { agent, ctx, iteration, .. } = self;
        self.shared.enter(GateScope::Stage(stage));
        match stage {
            Stage::TurnInput => self.run_pipeline(&agent.turn_input, ctx.turn()).await?,
            Stage::DispatchInput => {
                self.run_pipeline(&agent.dispatch_input, &iteration.ctx).await?;
            }
            Stage::DispatchOutput => {
                self.run_pipeline(&agent.dispatch_output, &iteration.ctx).await?;
            }
            Stage::TurnOutput => self.run_pipeline(&agent.turn_output, ctx.turn()).await?,
        }
        self.check_cancelled()
    }

    /// Fails if the turn is cancelled.
    pub(super) fn check_cancelled(&self) -> Result<(), Conclusion> {
        match self.ctx.cancellation().reason() {
            Some(reason) => Err(Conclusion::cancelled(reason.to_string())),
            None => Ok(()),
        }
    }

    async fn run_pipeline<C: PipelineContext>(
        &self,
        pipeline: &Pipeline<C>,
        ctx: &C,
    ) -> Result<(), Conclusion> {
        if pipeline.is_empty() || self.ctx.cancellation().is_cancelled() {
            return Ok(());
        }
        // What failed before is no concern of this stage.
        let _ = self.shared.recorder.take_failure();
        // Boxed, so that turns which wait elsewhere need no room for it.
        match Box::pin(self.run_members(pipeline, ctx)).await {
            Err(failure) if !self.ctx.cancellation().is_cancelled() => {
                let conclusion = Conclusion::failed(failure.error);
                // If the store failed, it was not the fault of the middleware.
                let has_store_failed = self.shared.recorder.take_failure();
                Err(match failure.is_of_store || has_store_failed {
                    true => conclusion.resumable(),
                    false => conclusion,
                })
            }
            Ok(true) if pipeline.stage() == Stage::DispatchOutput => {
                self.iteration.is_checked.store(true, Ordering::Release);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Runs the members of a pipeline. Returns whether all of them ran, or what went wrong.
    async fn run_members<C: PipelineContext>(
        &self,
        pipeline: &Pipeline<C>,
        ctx: &C,
    ) -> Result<bool, StageFailure> {
        let stage = pipeline.stage();
        let limit = self.agent.deadlines.pipeline;
        let run = Box::pin(pipeline.run_members(ctx));
        let mut is_of_store = false;
        let error = match self.within(limit, run).await {
            Ok(Ok(is_complete)) => return Ok(is_complete),
            Err(WaitError::Cancelled(_)) => return Ok(false),
            Ok(Err(error)) => {
                is_of_store = is_store_failure(&error);
                ErrorReport::of(&error)
            }
            Err(WaitError::Deadline) => {
                let message = format!("the {stage} pipeline did not end in time");
                ErrorReport::coded(codes::DEADLINE_EXCEEDED, message)
            }
            Err(WaitError::Panicked(panic)) => {
                let source = format!("a middleware {panic}").into();
                ErrorReport::of(&PipelineError::Failed { stage, source })
            }
        };
        Err(StageFailure { error: error.at(FailurePoint::Stage(stage).as_str()), is_of_store })
    }
}
