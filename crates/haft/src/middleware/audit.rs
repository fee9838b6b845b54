//! An audit log with one line for every call.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::BoxFuture;
use haft_core::call::{RecordId, ToolCall};
use haft_core::clock::Timestamp;
use haft_core::context::{DispatchContext, TurnContext};
use haft_core::event::{BoundedText, BoundedValue, LogLevel, ResultSummary};
use haft_core::pipeline::{BoxError, Middleware, Next};
use serde::{Deserialize, Serialize};

type LineSink = dyn Fn(&str) -> Result<(), BoxError> + Send + Sync;

/// See [`audit_log`].
#[derive(Clone)]
pub struct AuditLog {
    sink: Arc<LineSink>,
    written: Arc<Mutex<WrittenCalls>>,
}

/// The calls that were already written, by turn.
type WrittenCalls = HashMap<Arc<str>, TurnLog>;

#[derive(Default)]
struct TurnLog {
    ids: HashSet<RecordId>,
    /// The process that ran the earlier iterations has written them.
    from: u32,
}

/// The logs that write the remaining calls when the dispatch ends; kept in the scratchpad of a running turn.
#[derive(Default)]
struct WatchingLogs(Mutex<HashSet<usize>>);

/// One line of the log.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AuditLine<'c> {
    turn: &'c str,
    id: RecordId,
    iteration: u32,
    ordinal: u32,
    tool: BoundedText,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<BoundedValue>,
    #[serde(skip_serializing_if = "is_zero")]
    changes: usize,
    result: ResultSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<BoundedText>,
    requested_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
}

/// For the output of a dispatch: writes one line of JSON for every ended call, with its turn, its record id, tool,
/// arguments and a summary of its outcome. A line has no content of results and a bounded length. A sink that fails
/// ends the turn, so that no call goes unrecorded.
///
/// Each call is written once. A turn that is resumed by the same process, or next to a log that
/// [`AuditLog::after`] has read, does not write a line again; without it, lines of the iteration in which
/// a process died can come twice, under the same turn and record id.
///
/// Output middleware does not run in an iteration that is cancelled. To have its calls too, register a
/// clone for the input of the dispatch as well: it writes what is left when the dispatch ends.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use haft::executors::ScriptExecutor;
/// use haft::middleware::audit_log;
/// use haft::{Agent, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let lines = Arc::new(Mutex::new(Vec::new()));
/// let sink = Arc::clone(&lines);
/// let log = audit_log(move |line| Ok(sink.lock().map_err(|_| "poisoned")?.push(line.to_owned())));
/// let roll = Tool::builder("roll").description("Rolls.").handler(|| "4").build()?;
/// let script = ScriptExecutor::parse(r#"{"steps": [{"call": {"roll": {}}}, {"say": "4!"}]}"#)?;
/// let agent = Agent::builder(script).tool(roll).dispatch_output("audit", log).build()?;
/// agent.turn([]).system("You play.").report().await?;
/// assert!(lines.lock().is_ok_and(|lines| lines.len() == 1 && lines[0].contains("roll")));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn audit_log<F>(sink: F) -> AuditLog
where
    F: Fn(&str) -> Result<(), BoxError> + Send + Sync + 'static,
{
    AuditLog { sink: Arc::new(sink), written: Arc::default() }
}

impl AuditLog {
    /// Reads the lines of a log that exists, so that none of them is written again. Lines that do not belong to this
    /// log are skipped.
    #[must_use]
    pub fn after<'l>(self, lines: impl IntoIterator<Item = &'l str>) -> Self {
        #[derive(Deserialize)]
        struct Known {
            turn: Arc<str>,
            id: RecordId,
        }
        let known = lines.into_iter().filter_map(|line| serde_json::from_str::<Known>(line).ok());
        for Known { turn, id } in known {
            self.lock_written().entry(turn).or_default().ids.insert(id);
        }
        self
    }

    /// Writes the calls that were not yet written.
    fn write_new_lines(&self, ctx: &TurnContext) -> Result<(), BoxError> {
        for call in ctx.tool_calls().of_turn() {
            if call.state().is_final() && self.is_new(ctx.turn_id(), &call) {
                (self.sink)(&audit_line(ctx, &call)?)?;
                self.lock_written().entry(ctx.turn_id().into()).or_default().ids.insert(call.id());
            }
        }
        Ok(())
    }

    fn is_new(&self, turn: &str, call: &ToolCall) -> bool {
        let written = self.lock_written();
        let log = written.get(turn);
        log.is_none_or(|log| call.iteration >= log.from && !log.ids.contains(&call.id()))
    }

    /// Tracks the turn until its dispatch ends, and then writes the remaining calls.
    fn watch_dispatch(&self, ctx: &DispatchContext) {
        self.lock_written().entry(ctx.turn_id().into()).or_insert_with(|| TurnLog {
            ids: HashSet::new(),
            from: if ctx.turn().is_resumed() { ctx.iteration() } else { 0 },
        });
        let stash = ctx.stash();
        let watching = stash.typed::<WatchingLogs>().unwrap_or_else(|| {
            stash.insert_typed(WatchingLogs::default());
            stash.typed().unwrap_or_default()
        });
        let this = Arc::as_ptr(&self.written).addr();
        if !watching.0.lock().unwrap_or_else(PoisonError::into_inner).insert(this) {
            return;
        }
        // The turn and not the dispatch, which holds what waits for its end.
        let log = self.clone();
        let turn = ctx.turn().clone();
        ctx.on_settled(move |_| {
            if let Err(error) = log.write_new_lines(&turn) {
                turn.log(LogLevel::Error, "audit-log", &error.to_string(), None);
            }
            log.lock_written().remove(turn.turn_id());
        });
    }

    fn lock_written(&self) -> MutexGuard<'_, WrittenCalls> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Middleware<DispatchContext> for AuditLog {
    fn handle(
        &self,
        ctx: DispatchContext,
        next: Next<DispatchContext>,
    ) -> BoxFuture<'static, Result<(), BoxError>> {
        let log = self.clone();
        Box::pin(async move {
            log.watch_dispatch(&ctx);
            log.write_new_lines(ctx.turn())?;
            next.run().await
        })
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuditLog({} turns)", self.lock_written().len())
    }
}

fn audit_line(ctx: &TurnContext, call: &ToolCall) -> Result<String, serde_json::Error> {
    let handle = ctx.artifacts().handle(call.id());
    serde_json::to_string(&AuditLine {
        turn: ctx.turn_id(),
        id: call.id(),
        iteration: call.iteration,
        ordinal: call.ordinal,
        tool: call.tool().into(),
        args: call.raw().parsed().ok().map(Into::into),
        changes: call.changes.len(),
        result: ResultSummary::of(call, Some(&handle)),
        error: call.error.as_ref().map(|error| error.message.as_str().into()),
        requested_at: call.created_at,
        completed_at: call.completed_at,
    })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
