//! The only caller of handlers.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::handler::HandlerFuture;
use super::{Tool, ToolError, ToolFailure, ToolOutput};
use crate::BoxFuture;
use crate::call::{CallId, RecordId};
use crate::clock::{ClockReading, Timestamp};
use crate::error::Coded;
use crate::event::{
    EventKind, LogLevel, ScopedFuture, WorkScopes, listed_changes, listed_problems,
};
use crate::failure::{PanicError, bounded_message};
use crate::json::Document;
use crate::schema::args::{Args, RawArgs};
use crate::schema::{AcceptedArgs, Change, Problem, Problems};
use crate::tool::context::{CallScope, DispatchContext};

/// A tool bound to a dispatch. Bind it once, call it as often as needed; it keeps nothing between
/// calls.
///
/// ```
/// use haft_core::{DispatchContext, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let now = Tool::builder("now").description("Tells the time.").handler(|| "noon").build()?;
/// let executor = now.executor(&DispatchContext::builder("turn-1").build());
/// assert!(executor.call("{}").await.outcome.is_ok());
/// assert!(executor.call(r#"{"zone": 1}"#).await.outcome.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ToolExecutor {
    tool: Tool,
    ctx: DispatchContext,
    /// The record of the call and its place, if calls are recorded.
    place: Option<(RecordId, u32)>,
}

/// One call from beginning to end. A failed call is one too.
#[derive(Debug)]
#[non_exhaustive]
pub struct Invocation {
    /// The tool.
    pub tool: Tool,
    /// Content key of the call, over the raw arguments.
    pub call_id: CallId,
    /// Place of the call in its iteration, from zero.
    pub ordinal: u32,
    /// The arguments as they were received.
    pub raw: RawArgs,
    /// The arguments the handler got, or `None` if they were refused.
    pub accepted: Option<Args>,
    /// What coercion changed.
    pub changes: Vec<Change>,
    /// Its outcome.
    pub outcome: Result<ToolOutput, ToolError>,
    /// When the call began.
    pub started_at: Timestamp,
    /// How long it took, by a clock that never goes back.
    pub duration: Duration,
}

/// A call whose arguments were accepted and whose handler has not begun.
#[derive(Debug)]
#[must_use = "the handler has not run"]
pub struct AcceptedCall {
    executor: ToolExecutor,
    validated: ValidatedCall,
    accepted: AcceptedArgs,
}

/// A call before its handler.
#[derive(Debug)]
struct ValidatedCall {
    raw: RawArgs,
    call_id: CallId,
    ordinal: u32,
    began: ClockReading,
}

/// How a handler ended.
struct HandlerEnd {
    outcome: Result<ToolOutput, ToolError>,
    duration: Duration,
}

impl AcceptedCall {
    /// The arguments that the handler will get.
    #[must_use]
    pub fn args(&self) -> &Args {
        &self.accepted.args
    }

    /// Runs the handler with these very arguments; the call begins now.
    pub async fn run(mut self) -> Invocation {
        self.validated.began = self.executor.ctx.clock().read();
        let accepted = Ok(self.accepted);
        let end = self.executor.run_handler(&self.validated, &accepted).await;
        self.executor.invocation(self.validated, accepted, end)
    }
}

impl ToolExecutor {
    pub(super) fn new(tool: Tool, ctx: DispatchContext) -> Self {
        Self { tool, ctx, place: None }
    }

    /// The executor of one call that has a record: its place among the calls of its iteration was fixed
    /// when the model asked for it, so that it is the same when the call is made again after a crash. The call
    /// id is that of the record, also if a person has edited the arguments.
    #[must_use]
    pub fn at(mut self, record: RecordId, ordinal: u32) -> Self {
        self.place = Some((record, ordinal));
        self
    }

    /// Calls the tool. The steps, in this order:
    ///
    /// 1. key: the call id, over the raw arguments
    /// 2. validate and coerce; a refusal is observed as `toolExecutionRejected` and ends the call
    /// 3. observe `toolExecutionStart`
    /// 4. run the handler; errors and panics end the call as a failure
    /// 5. observe `toolExecutionEnd`, with the same call id
    ///
    /// To run a call on a task of its own, move a clone of the executor there.
    pub fn call<A: Into<RawArgs>>(
        &self,
        args: A,
    ) -> impl Future<Output = Invocation> + Send + use<'_, A> {
        let raw = args.into();
        self.call_raw(raw)
    }

    /// The first half of a call: validates the arguments and stops before the handler, so that
    /// exactly what will run can be approved. A refusal ends the call.
    ///
    /// # Errors
    ///
    /// The call that ended because its arguments were refused.
    pub async fn accept(&self, args: impl Into<RawArgs>) -> Result<AcceptedCall, Box<Invocation>> {
        let (validated, accepted) = self.check_args(args.into());
        match self.run_validators(accepted).await {
            Ok(accepted) => Ok(AcceptedCall { executor: self.clone(), validated, accepted }),
            Err(problems) => {
                let refused = Err(problems);
                let end = self.run_handler(&validated, &refused).await;
                Err(Box::new(self.invocation(validated, refused, end)))
            }
        }
    }

    async fn call_raw(&self, raw: RawArgs) -> Invocation {
        let (validated, mut accepted) = self.check_args(raw);
        if !self.tool.0.validators.is_empty() {
            accepted = Box::pin(self.run_validators(accepted)).await;
        }
        let end = self.run_handler(&validated, &accepted).await;
        self.invocation(validated, accepted, end)
    }

    /// Validates the arguments by the schema.
    fn check_args(&self, raw: RawArgs) -> (ValidatedCall, Result<AcceptedArgs, Problems>) {
        let Self { tool, ctx, .. } = self;
        let began = ctx.clock().read();
        let (call_id, duplicates) = match self.place {
            // The id was computed when the call was requested, from the arguments that the model proposed.
            Some((record, _)) => (record.call_id(), raw.has_duplicates()),
            None => raw.call_id_and_duplicates(tool.name().as_str()),
        };
        let ordinal = self.place.map_or_else(|| ctx.next_ordinal(), |(_, ordinal)| ordinal);
        let accepted = self.check(&raw, duplicates);
        (ValidatedCall { raw, call_id, ordinal, began }, accepted)
    }

    /// Lets the validators of the tool look at arguments that the schema accepts.
    async fn run_validators(
        &self,
        accepted: Result<AcceptedArgs, Problems>,
    ) -> Result<AcceptedArgs, Problems> {
        let Self { tool, ctx, .. } = self;
        if !tool.0.validators.is_empty()
            && let Ok(AcceptedArgs { args, .. }) = &accepted
        {
            let checked = Guarded(Box::pin(tool.validators_accept(args))).await;
            checked.unwrap_or_else(|panic| report_validator_panic(ctx, panic.as_ref()))?;
        }
        accepted
    }

    /// Runs the handler, unless the arguments were refused, and tells observers. What it works on is borrowed, so that
    /// nothing is copied into the future.
    async fn run_handler(
        &self,
        validated: &ValidatedCall,
        accepted: &Result<AcceptedArgs, Problems>,
    ) -> HandlerEnd {
        let ended = self.start_handler(validated, accepted).await;
        let outcome = ended.unwrap_or_else(|caught| self.execution(validated).outcome(caught));
        let ended = self.ctx.clock().monotonic();
        let duration = ended.saturating_sub(validated.began.monotonic);
        self.execution(validated).emit_ended(&outcome, validated.began.wall, duration);
        HandlerEnd { outcome, duration }
    }

    /// Tells observers that the handler starts, and runs it or the part of it before its first await. Nothing starts if
    /// the arguments were refused.
    fn start_handler(
        &self,
        validated: &ValidatedCall,
        accepted: &Result<AcceptedArgs, Problems>,
    ) -> StartedHandler {
        let execution = self.execution(validated);
        let accepted = match accepted {
            Ok(accepted) => accepted,
            Err(problems) => return StartedHandler::ended(Err(execution.rejection(problems))),
        };
        let scopes = execution.emit_started(accepted, validated.began.wall);
        match scopes.run(|| execution.run(&accepted.args)) {
            Ok(HandlerFuture::Ready(result)) => {
                StartedHandler::ended(execution.outcome(Ok(result)))
            }
            Ok(HandlerFuture::Running(future)) => {
                StartedHandler::Running(Guarded(scopes.wrap(future)))
            }
            Err(error) => StartedHandler::ended(Err(error)),
        }
    }

    fn execution<'c>(&'c self, validated: &'c ValidatedCall) -> CallExecution<'c> {
        CallExecution { executor: self, validated }
    }

    fn invocation(
        &self,
        validated: ValidatedCall,
        accepted: Result<AcceptedArgs, Problems>,
        end: HandlerEnd,
    ) -> Invocation {
        let ValidatedCall { raw, call_id, ordinal, began } = validated;
        let (accepted, changes) = match accepted {
            Ok(AcceptedArgs { args, changes }) => (Some(args), changes),
            Err(_) => (None, Vec::new()),
        };
        let (tool, started_at, HandlerEnd { outcome, duration }) =
            (self.tool.clone(), began.wall, end);
        Invocation { tool, call_id, ordinal, raw, accepted, changes, outcome, started_at, duration }
    }

    fn check(&self, raw: &RawArgs, duplicates: bool) -> Result<AcceptedArgs, Problems> {
        let duplicate =
            if duplicates { raw.document().and_then(Document::duplicate_key) } else { None };
        let (tool, name) = (&self.tool, self.tool.name().as_str());
        tool.input_schema().accept_checked(name, raw, tool.strictness(), duplicate)
    }
}

/// The call that a handler works on, borrowed: a handler that takes no context costs none.
#[derive(Clone, Copy)]
pub(super) struct CallExecution<'c> {
    executor: &'c ToolExecutor,
    validated: &'c ValidatedCall,
}

impl CallExecution<'_> {
    /// The context that the handler receives.
    pub(super) fn context(self) -> DispatchContext {
        let ToolExecutor { tool, ctx, place } = self.executor;
        let ValidatedCall { call_id, ordinal, .. } = *self.validated;
        let record = place.map(|(record, _)| record);
        ctx.for_call(CallScope { call_id, record, ordinal, tool: tool.clone() })
    }

    /// Runs the handler, or the part of it before its first await.
    fn run(self, args: &Args) -> Result<HandlerFuture, ToolError> {
        if let Some(reason) = self.executor.ctx.cancellation().reason() {
            return Err(ToolError::Cancelled { tool: self.name(), reason });
        }
        // Making the future runs the body of a handler that is not async, so it is guarded too.
        catch_unwind(AssertUnwindSafe(|| self.executor.tool.0.handler.run(args, self)))
            .map_err(|panic| self.panic_error(panic.as_ref()))
    }

    fn outcome(self, result: Caught) -> Result<ToolOutput, ToolError> {
        match result {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(failure)) => Err(ToolError::Downstream { tool: self.name(), failure }),
            Err(panic) => Err(self.panic_error(panic.as_ref())),
        }
    }

    fn panic_error(self, panic: &(dyn Any + Send)) -> ToolError {
        ToolError::Panicked { tool: self.name(), panic: PanicError::new(panic_text(panic)) }
    }

    fn rejection(self, problems: &Problems) -> ToolError {
        ToolError::InvalidArgs { tool: self.name(), problems: problems.clone() }
    }

    fn name(self) -> String {
        self.executor.tool.name().to_string()
    }

    fn emit_started(self, accepted: &AcceptedArgs, started_at: Timestamp) -> WorkScopes {
        let Self { executor: ToolExecutor { tool, ctx, .. }, validated } = self;
        ctx.emit_start(|| {
            let (changes, changes_left_out) = listed_changes(&accepted.changes);
            EventKind::ToolExecutionStart {
                tool_name: tool.name().clone(),
                call_id: validated.call_id,
                args: (&accepted.args).into(),
                changes,
                changes_left_out,
                started_at,
            }
        })
    }

    fn emit_ended(
        self,
        outcome: &Result<ToolOutput, ToolError>,
        started_at: Timestamp,
        duration: Duration,
    ) {
        let Self { executor: ToolExecutor { tool, ctx, .. }, validated } = self;
        let (tool_name, call_id) = (|| tool.name().clone(), validated.call_id);
        ctx.emit_with(|| match outcome {
            Err(ToolError::InvalidArgs { problems, .. }) => EventKind::ToolExecutionRejected {
                tool_name: tool_name(),
                call_id,
                problems: listed_problems(problems),
            },
            outcome => EventKind::ToolExecutionEnd {
                tool_name: tool_name(),
                call_id,
                started_at,
                duration,
                is_error: outcome.is_err(),
                error: outcome.as_ref().err().map(Coded::code),
                cause: outcome.as_ref().err().and_then(ToolError::operator_cause).map(Into::into),
            },
        });
    }
}

/// A handler that has started. Returns how the call ended if that is known, and else what the handler returned.
///
/// A future of its own, because an async function that looks at what it awaits holds that twice.
enum StartedHandler {
    /// The end of the call, until it is taken: a handler that is not async has run, and one that is refused never will.
    Ended(Option<Result<ToolOutput, ToolError>>),
    Running(Guarded<ScopedFuture<BoxFuture<'static, Result<ToolOutput, ToolFailure>>>>),
}

impl StartedHandler {
    fn ended(outcome: Result<ToolOutput, ToolError>) -> Self {
        Self::Ended(Some(outcome))
    }
}

impl Future for StartedHandler {
    type Output = Result<Result<ToolOutput, ToolError>, Caught>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Ended(outcome) => outcome.take().map_or(Poll::Pending, |it| Poll::Ready(Ok(it))),
            Self::Running(work) => Pin::new(work).poll(cx).map(Err),
        }
    }
}

type Panic = Box<dyn Any + Send>;
type Caught = Result<Result<ToolOutput, ToolFailure>, Panic>;

/// A future of the tool's author whose panics are values. After a panic it is not polled again.
struct Guarded<F>(F);

impl<F: Future + Unpin> Future for Guarded<F> {
    type Output = Result<F::Output, Panic>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let future = Pin::new(&mut self.0);
        match catch_unwind(AssertUnwindSafe(|| future.poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => Poll::Ready(Ok(result)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

/// Handles a validator that panicked: the arguments were not checked, so that they are refused.
fn report_validator_panic(ctx: &DispatchContext, panic: &(dyn Any + Send)) -> Result<(), Problems> {
    let panic = bounded_message(panic_text(panic));
    ctx.log(LogLevel::Error, "validator-panicked", &panic, None);
    Err(Problem::new("", "arguments that the tool can check; its own check failed").into())
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&'static str>().map(|it| (*it).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
