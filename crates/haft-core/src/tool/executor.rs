//! The only caller of handlers.

mod streamed;

use std::future::Future;
use std::time::Duration;

use self::streamed::RunningTool;
pub(super) use self::streamed::StreamEnd;
use super::{Tool, ToolError, ToolOutput};
use crate::call::{CallId, RecordId};
use crate::clock::Timestamp;
use crate::error::Coded;
use crate::event::{EventKind, LogLevel, listed_changes, listed_problems};
use crate::failure::PanicError;
use crate::json::Document;
use crate::schema::args::{Args, RawArgs};
use crate::schema::{AcceptedArgs, Change, Problem, Problems};
use crate::tool::context::{CallContext, CallScope, DispatchContext};

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
    /// How long it took, by a clock that never goes back. A streamed result takes longer; see
    /// [`duration`](Self::duration).
    pub(super) duration: Duration,
    /// When a streamed result ended.
    pub(super) stream_end: Option<StreamEnd>,
}

impl Invocation {
    /// How long the tool worked, by a clock that never goes back. The work of a tool that streams its result ends with the
    /// stream: until somebody has read that to its end, or dropped it, this is the time until its first byte.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.stream_end.as_ref().and_then(StreamEnd::get).unwrap_or(self.duration)
    }
}

/// A call whose arguments were accepted and whose handler has not begun.
#[derive(Debug)]
#[must_use = "the handler has not run"]
pub struct AcceptedCall {
    executor: ToolExecutor,
    raw: RawArgs,
    call_id: CallId,
    ordinal: u32,
    accepted: AcceptedArgs,
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
    /// [`accept`](Self::accept) makes the first two steps, and [`AcceptedCall::run`] the others. To run a call on a task
    /// of its own, move a clone of the executor there.
    pub fn call<A: Into<RawArgs>>(
        &self,
        args: A,
    ) -> impl Future<Output = Invocation> + Send + use<'_, A> {
        let raw = args.into();
        async move {
            match self.accept(raw).await {
                Ok(accepted) => accepted.run().await,
                Err(refused) => *refused,
            }
        }
    }

    /// The first half of a call: validates the arguments and stops before the handler, so that
    /// exactly what will run can be approved. A refusal ends the call.
    ///
    /// # Errors
    ///
    /// The call that ended because its arguments were refused.
    pub async fn accept(&self, args: impl Into<RawArgs>) -> Result<AcceptedCall, Box<Invocation>> {
        let Self { tool, ctx, place } = self;
        let raw = args.into();
        let began = ctx.clock().read();
        let (call_id, duplicates) = match place {
            // The id was computed when the call was requested, from the arguments that the model proposed.
            Some((record, _)) => (record.call_id(), raw.has_duplicates()),
            None => raw.call_id_and_duplicates(tool.name().as_str()),
        };
        let ordinal = place.map_or_else(|| ctx.next_ordinal(), |(_, ordinal)| ordinal);
        let problems = match self.check_args(&raw, duplicates).await {
            Ok(accepted) => {
                let executor = self.clone();
                return Ok(AcceptedCall { executor, raw, call_id, ordinal, accepted });
            }
            Err(problems) => problems,
        };
        ctx.emit_with(|| EventKind::ToolExecutionRejected {
            tool_name: tool.name().clone(),
            call_id,
            problems: listed_problems(&problems),
        });
        Err(Box::new(Invocation {
            tool: tool.clone(),
            call_id,
            ordinal,
            raw,
            accepted: None,
            changes: Vec::new(),
            outcome: Err(ToolError::InvalidArgs { tool: tool.name().to_string(), problems }),
            started_at: began.wall,
            duration: ctx.clock().monotonic().saturating_sub(began.monotonic),
            stream_end: None,
        }))
    }

    /// Validates the arguments by the schema, and then by the validators of the tool.
    async fn check_args(&self, raw: &RawArgs, duplicates: bool) -> Result<AcceptedArgs, Problems> {
        let duplicate =
            if duplicates { raw.document().and_then(Document::duplicate_key) } else { None };
        let (tool, name) = (&self.tool, self.tool.name().as_str());
        let schema = tool.input_schema();
        let accepted = schema.accept_checked(name, raw, tool.strictness(), duplicate)?;
        if !tool.0.validators.is_empty() {
            let checked = PanicError::catch(tool.validators_accept(&accepted.args)).await;
            checked.unwrap_or_else(|panic| self.refuse_unchecked(&panic))?;
        }
        Ok(accepted)
    }

    /// Refuses arguments whose validator panicked: they were not checked.
    fn refuse_unchecked(&self, panic: &PanicError) -> Result<(), Problems> {
        self.ctx.log(LogLevel::Error, "validator-panicked", &panic.message, None);
        Err(Problem::new("", "arguments that the tool can check; its own check failed").into())
    }
}

impl AcceptedCall {
    /// The arguments that the handler will get.
    #[must_use]
    pub fn args(&self) -> &Args {
        &self.accepted.args
    }

    /// Runs the handler with these very arguments, and tells observers; the call begins now. If the result is streamed, the
    /// call ends with the stream.
    pub async fn run(self) -> Invocation {
        let ToolExecutor { tool, ctx, .. } = &self.executor;
        let call_id = self.call_id;
        let began = ctx.clock().read();
        ctx.emit_with(|| {
            let (changes, changes_left_out) = listed_changes(&self.accepted.changes);
            EventKind::ToolExecutionStart {
                tool_name: tool.name().clone(),
                call_id,
                args: self.args().into(),
                changes,
                changes_left_out,
                started_at: began.wall,
            }
        });
        let mut outcome = self.run_handler().await;
        let running = RunningTool { ctx: ctx.clone(), tool: tool.clone(), call_id, began };
        let duration = running.elapsed();
        let stream_end = outcome.as_mut().ok().and_then(|it| it.stream()).map(|stream| {
            let end = StreamEnd::default();
            running.clone().end_with(stream, end.clone());
            end
        });
        if stream_end.is_none() {
            let error = outcome.as_ref().err();
            let cause = error.and_then(ToolError::operator_cause);
            running.announce_end(duration, error.map(Coded::code), cause);
        }
        let Self { executor, raw, ordinal, accepted, .. } = self;
        Invocation {
            tool: executor.tool,
            call_id,
            ordinal,
            raw,
            accepted: Some(accepted.args),
            changes: accepted.changes,
            outcome,
            started_at: began.wall,
            duration,
            stream_end,
        }
    }

    async fn run_handler(&self) -> Result<ToolOutput, ToolError> {
        let tool = &self.executor.tool;
        let name = || tool.name().to_string();
        if let Some(reason) = self.executor.ctx.cancellation().reason() {
            return Err(ToolError::Cancelled { tool: name(), reason });
        }
        // The handler is called inside of the guard: one that is not async does its work then.
        match PanicError::catch(async { tool.0.handler.run(self).await }).await {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(failure)) => Err(ToolError::Downstream { tool: name(), failure }),
            Err(panic) => Err(ToolError::Panicked { tool: name(), panic }),
        }
    }

    /// The context that the handler receives.
    pub(super) fn context(&self) -> CallContext {
        let ToolExecutor { tool, ctx, place } = &self.executor;
        let record = place.map(|(record, _)| record);
        let Self { call_id, ordinal, .. } = *self;
        CallContext::new(ctx, CallScope { call_id, record, ordinal, tool: tool.clone() })
    }
}
