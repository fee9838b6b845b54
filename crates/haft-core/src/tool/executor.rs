//! The only caller of handlers.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::failure::bounded;
use super::handler::{HandlerFuture, RunningHandler};
use super::{Tool, ToolError, ToolFailure, ToolOutput};
use crate::args::{Args, RawArgs};
use crate::call::CallId;
use crate::clock::{Reading, Timestamp};
use crate::context::{CallScope, DispatchContext};
use crate::event::EventKind;
use crate::json::Document;
use crate::schema::{Accepted, Change, Problems};

/// A tool bound to a dispatch. Bind it once, call it as often as needed; it keeps nothing between
/// calls.
#[derive(Clone, Debug)]
pub struct ToolExecutor {
    tool: Tool,
    ctx: DispatchContext,
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
    /// The arguments as they came.
    pub raw: RawArgs,
    /// The arguments the handler got; nothing if they were refused.
    pub accepted: Option<Args>,
    /// What coercion changed.
    pub changes: Vec<Change>,
    /// What came of it.
    pub outcome: Result<ToolOutput, ToolError>,
    /// When the call began.
    pub started_at: Timestamp,
    /// How long it took, by a clock that never goes back.
    pub duration: Duration,
}

impl ToolExecutor {
    pub(super) fn new(tool: Tool, ctx: DispatchContext) -> Self {
        Self { tool, ctx }
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

    async fn call_raw(&self, raw: RawArgs) -> Invocation {
        let Self { tool, ctx } = self;
        let Reading { wall: started_at, monotonic: began } = ctx.clock().read();
        let (call_id, duplicates) = raw.call_id_and_duplicates(tool.name().as_str());
        let ordinal = ctx.next_ordinal();
        let mut accepted = self.accept(&raw, duplicates);
        if let Ok(Accepted { args, .. }) = &accepted
            && let Err(problems) = tool.validators_accept(args).await
        {
            accepted = Err(problems);
        }
        let (accepted, changes, outcome) = match accepted {
            Ok(Accepted { args, changes }) => {
                ctx.emit_with(|| EventKind::ToolExecutionStart {
                    tool_name: tool.name().clone(),
                    call_id,
                    args: args.clone(),
                    changes: changes.clone(),
                    started_at,
                });
                let scope = Scope { ctx, tool, call_id, ordinal };
                let outcome = run(scope, &args).await;
                (Some(args), changes, outcome)
            }
            Err(problems) => {
                let tool = tool.name().to_string();
                (None, Vec::new(), Err(ToolError::InvalidArgs { tool, problems }))
            }
        };
        let duration = ctx.clock().monotonic().saturating_sub(began);
        ctx.emit_with(|| match &outcome {
            Err(ToolError::InvalidArgs { problems, .. }) => EventKind::ToolExecutionRejected {
                tool_name: tool.name().clone(),
                call_id,
                problems: problems.clone(),
            },
            outcome => EventKind::ToolExecutionEnd {
                tool_name: tool.name().clone(),
                call_id,
                started_at,
                duration,
                is_error: outcome.is_err(),
            },
        });
        let tool = tool.clone();
        Invocation { tool, call_id, ordinal, raw, accepted, changes, outcome, started_at, duration }
    }

    fn accept(&self, raw: &RawArgs, duplicates: bool) -> Result<Accepted, Problems> {
        let duplicate =
            if duplicates { raw.document().and_then(Document::duplicate_key) } else { None };
        let (tool, name) = (&self.tool, self.tool.name().as_str());
        tool.input_schema().accept_checked(name, raw, tool.strictness(), duplicate)
    }
}

/// The call that a handler works on, borrowed: a handler that takes no context costs none.
#[derive(Clone, Copy)]
pub(super) struct Scope<'c> {
    ctx: &'c DispatchContext,
    tool: &'c Tool,
    call_id: CallId,
    ordinal: u32,
}

impl Scope<'_> {
    /// The context that the handler receives.
    pub(super) fn context(self) -> DispatchContext {
        let Self { ctx, tool, call_id, ordinal } = self;
        ctx.for_call(CallScope { call_id, ordinal, tool: tool.clone() })
    }
}

async fn run(scope: Scope<'_>, args: &Args) -> Result<ToolOutput, ToolError> {
    let tool = scope.tool;
    if let Some(reason) = scope.ctx.cancellation().reason() {
        return Err(ToolError::Cancelled { tool: tool.name().to_string(), reason });
    }
    // Making the future runs the body of a handler that is not async, so it is guarded too.
    let made = catch_unwind(AssertUnwindSafe(|| tool.0.handler.run(args, scope)));
    let result = match made {
        Ok(HandlerFuture::Ready(result)) => Ok(result),
        Ok(HandlerFuture::Running(future)) => Guarded(future).await,
        Err(panic) => Err(panic),
    };
    let failed = |tool: &Tool| tool.name().to_string();
    match result {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(failure)) => Err(ToolError::Downstream { tool: failed(tool), failure }),
        Err(panic) => {
            let panic = bounded(panic_text(panic.as_ref()));
            Err(ToolError::Panicked { tool: failed(tool), panic })
        }
    }
}

type Caught = Result<Result<ToolOutput, ToolFailure>, Box<dyn Any + Send>>;

/// A handler's future whose panics are values. After a panic it is not polled again.
struct Guarded(RunningHandler);

impl Future for Guarded {
    type Output = Caught;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Caught> {
        let future = self.0.as_mut();
        match catch_unwind(AssertUnwindSafe(|| future.poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => Poll::Ready(Ok(result)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&'static str>().map(|it| (*it).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
