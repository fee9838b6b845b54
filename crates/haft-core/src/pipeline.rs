//! Middleware: steps around the work of a turn or a dispatch.
//!
//! A [`Pipeline`] is a list of [`Middleware`]. Each gets the context and [`Next`], which stands for the rest of the
//! list. Code before `next.run()` runs on the way in; code after it runs on the way out, with the result of the rest:
//!
//! ```
//! use haft_core::pipeline::{Next, Pipeline, Stage};
//! # #[derive(Clone)] struct Ctx;
//! # impl haft_core::pipeline::PipelineContext for Ctx { fn is_cancelled(&self) -> bool { false } }
//!
//! let pipeline = Pipeline::new(Stage::TurnInput).with("timing", async |ctx: Ctx, next: Next<Ctx>| {
//!     // on the way in
//!     let passed = next.run().await;
//!     // on the way out, also when the rest failed
//!     passed
//! });
//! # let _ = pipeline;
//! ```
//!
//! Running `next` consumes it, so it cannot run twice. A middleware that returns without running it breaks the chain.
//! This is an error that names the stage, unless the work is over anyway.

#[cfg(test)]
mod tests;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use crate::failure::BoxError;

use crate::BoxFuture;
use crate::error::{Coded, ErrorCode, codes};

/// The context of a pipeline: a handle that is cheap to clone.
pub trait PipelineContext: Clone + Send + Sync + 'static {
    /// Whether the work is cancelled. Members that have not begun are then skipped.
    fn is_cancelled(&self) -> bool;

    /// Whether the work is over, because it was cancelled or signalled. A broken chain is then not an error.
    fn is_over(&self) -> bool {
        self.is_cancelled()
    }
}

/// One step of a pipeline.
///
/// An async closure that is `Clone` is a middleware. It is cloned for each run, so that it may consume its captured
/// values.
pub trait Middleware<C>: Send + Sync {
    /// Does its part and runs the rest.
    fn handle(&self, ctx: C, next: Next<C>) -> BoxFuture<'static, Result<(), BoxError>>;
}

impl<C, F, Fut> Middleware<C> for F
where
    F: FnOnce(C, Next<C>) -> Fut + Clone + Send + Sync,
    Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    fn handle(&self, ctx: C, next: Next<C>) -> BoxFuture<'static, Result<(), BoxError>> {
        Box::pin(self.clone()(ctx, next))
    }
}

/// The rest of a pipeline. Running it consumes it.
#[must_use = "a middleware that does not run the rest breaks the chain"]
pub struct Next<C> {
    members: Arc<[Member<C>]>,
    at: usize,
    ctx: C,
    /// The number of members and ends of the pipeline that were reached: the rest that begins with member `n` sets it to
    /// at least `n + 1` when it is run.
    progress: Arc<AtomicUsize>,
}

struct Member<C> {
    name: String,
    middleware: Arc<dyn Middleware<C>>,
}

impl<C> Clone for Member<C> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), middleware: Arc::clone(&self.middleware) }
    }
}

impl<C: PipelineContext> Next<C> {
    /// Runs the rest and returns its result.
    ///
    /// # Errors
    ///
    /// The error of the rest. Return it to pass it on; return `Ok` to recover from it.
    pub async fn run(self) -> Result<(), BoxError> {
        let Self { members, mut at, ctx, progress } = self;
        progress.fetch_max(at + 1, Ordering::AcqRel);
        while ctx.is_cancelled() && at < members.len() {
            at += 1;
        }
        let Some(member) = members.get(at) else { return Ok(()) };
        let next = Self {
            members: Arc::clone(&members),
            at: at + 1,
            ctx: ctx.clone(),
            progress: Arc::clone(&progress),
        };
        match member.middleware.handle(ctx.clone(), next).await {
            Ok(()) if progress.load(Ordering::Acquire) > at + 1 || ctx.is_over() => Ok(()),
            Ok(()) => Err(Box::new(NextNotRun { middleware: member.name.clone() })),
            // The innermost name is the one that failed.
            Err(error) if error.is::<MiddlewareError>() || error.is::<NextNotRun>() => Err(error),
            Err(source) => {
                Err(Box::new(MiddlewareError { middleware: member.name.clone(), source }))
            }
        }
    }
}

impl<C> Next<C> {
    pub(crate) fn ctx(&self) -> &C {
        &self.ctx
    }
}

impl<C> fmt::Debug for Next<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Next({} of {})", self.at, self.members.len())
    }
}

/// A middleware failed. Earlier members see this error.
#[derive(Debug, thiserror::Error)]
#[error("the middleware `{middleware}` failed: {source}")]
#[non_exhaustive]
pub struct MiddlewareError {
    /// Its name.
    pub middleware: String,
    /// What it failed with.
    pub source: BoxError,
}

/// A middleware returned without having run the rest.
#[derive(Debug, thiserror::Error)]
#[error("the middleware `{middleware}` returned without running `next`")]
#[non_exhaustive]
pub struct NextNotRun {
    /// Its name.
    pub middleware: String,
}

/// The point of a turn at which a pipeline runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a turn has these four pipelines")]
pub enum Stage {
    /// Once, before the dispatch.
    TurnInput,
    /// In every iteration, before the executor.
    DispatchInput,
    /// In every iteration, after the calls of the step.
    DispatchOutput,
    /// Once, after a dispatch that was acknowledged.
    TurnOutput,
}

impl Stage {
    /// The name of the stage in errors, events and the ids of gates.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TurnInput => "turn-input",
            Self::DispatchInput => "dispatch-input",
            Self::DispatchOutput => "dispatch-output",
            Self::TurnOutput => "turn-output",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Middleware in the order in which it runs.
pub struct Pipeline<C> {
    stage: Stage,
    members: Arc<[Member<C>]>,
}

impl<C: PipelineContext> Pipeline<C> {
    /// A pipeline without members. Errors name its stage.
    #[must_use]
    pub fn new(stage: Stage) -> Self {
        Self { stage, members: Arc::new([]) }
    }

    /// Adds a member after the others. The name appears in errors and logs.
    ///
    /// ```
    /// use haft_core::context::TurnContext;
    /// use haft_core::pipeline::{Next, Pipeline, Stage};
    ///
    /// let pipeline = Pipeline::new(Stage::TurnInput);
    /// assert!(pipeline.is_empty());
    /// let pipeline = pipeline.with("pass", async |_: TurnContext, next: Next<TurnContext>| next.run().await);
    /// assert!(!pipeline.is_empty());
    /// assert_eq!(pipeline.stage(), Stage::TurnInput);
    /// ```
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<String>,
        middleware: impl Middleware<C> + 'static,
    ) -> Self {
        let member = Member { name: name.into(), middleware: Arc::new(middleware) };
        self.members = self.members.iter().cloned().chain([member]).collect();
        self
    }

    /// The stage at which it runs.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether there is nothing to run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Runs every member. A fresh run begins at the first.
    ///
    /// # Errors
    ///
    /// A member failed and none before it recovered from it, or one returned without running the rest.
    pub async fn run(&self, ctx: &C) -> Result<(), PipelineError> {
        self.run_members(ctx).await.map(|_| ())
    }

    /// Runs the members, and returns whether every one of them ran. A member is left out if the context is cancelled, or
    /// if a member before it ends the dispatch or recovers from an error.
    ///
    /// ```
    /// use haft_core::DispatchContext;
    /// use haft_core::pipeline::{Next, Pipeline, Stage};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let ends = async |_: DispatchContext, next: Next<DispatchContext>| Ok(next.ack()?);
    /// let check = async |_: DispatchContext, next: Next<DispatchContext>| next.run().await;
    /// let pipeline = Pipeline::new(Stage::DispatchOutput).with("check", check);
    /// assert!(pipeline.run_members(&DispatchContext::builder("turn-1").build()).await?);
    /// let pipeline = Pipeline::new(Stage::DispatchOutput).with("ends", ends).with("check", check);
    /// assert!(!pipeline.run_members(&DispatchContext::builder("turn-1").build()).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A member failed and none before it recovered from it, or one returned without running the rest.
    pub async fn run_members(&self, ctx: &C) -> Result<bool, PipelineError> {
        let members = Arc::clone(&self.members);
        let progress = Arc::default();
        let next = Next { members, at: 0, ctx: ctx.clone(), progress: Arc::clone(&progress) };
        let run = next.run().await;
        run.map_err(|source| match source.downcast::<NextNotRun>() {
            Ok(broken) => {
                PipelineError::ShortCircuited { stage: self.stage, middleware: broken.middleware }
            }
            Err(source) => PipelineError::Failed { stage: self.stage, source },
        })?;
        Ok(progress.load(Ordering::Acquire) > self.members.len())
    }
}

impl<C> Clone for Pipeline<C> {
    fn clone(&self) -> Self {
        Self { stage: self.stage, members: Arc::clone(&self.members) }
    }
}

impl<C> fmt::Debug for Pipeline<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.members.iter().map(|member| &member.name);
        write!(f, "{}: ", self.stage)?;
        f.debug_list().entries(names).finish()
    }
}

/// Why a pipeline did not complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// A middleware failed.
    #[error("the {stage} pipeline failed: {source}")]
    Failed {
        /// The stage.
        stage: Stage,
        /// What it failed with.
        source: BoxError,
    },
    /// A middleware returned without having run the rest.
    #[error(
        "the middleware `{middleware}` of the {stage} pipeline returned without running `next`"
    )]
    ShortCircuited {
        /// The stage.
        stage: Stage,
        /// Which one.
        middleware: String,
    },
}

impl Coded for PipelineError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::ShortCircuited { .. } => codes::PIPELINE_SHORT_CIRCUITED,
            Self::Failed { stage: Stage::TurnInput, .. } => codes::INPUT_PIPELINE_ERROR,
            Self::Failed { stage: Stage::TurnOutput, .. } => codes::OUTPUT_PIPELINE_ERROR,
            Self::Failed { .. } => codes::DISPATCH_PIPELINE_ERROR,
        }
    }
}
