//! Events as spans of the `tracing` crate.

use std::fmt;
use std::sync::Arc;

use ::tracing::field::Empty;
use ::tracing::{Span, debug, error, info, info_span, trace, warn};
use haft_core::clock::Timestamp;
use haft_core::event::{Event, LogLevel, Observer, ScopeGuard, WorkScope};

use super::spans::{Field, SpanBackend, SpanEvent, SpanOperation, SpanStart, SpanTracker};

/// Turns events into `tracing` spans, named by OpenTelemetry's conventions for generative AI.
///
/// | span | from | to |
/// |---|---|---|
/// | `invoke_agent` | `turnStart` | `turnEnd` |
/// | `chat` | `iterationStart` | `generationStats`, else the first tool or `iterationEnd` |
/// | `execute_tool` | `toolExecutionStart` | `toolExecutionEnd` |
///
/// The parent of `invoke_agent` is the span that is current when the turn begins; `invoke_agent` is the parent of the
/// others. Middleware runs in `invoke_agent`, the executor in `chat` and a handler in `execute_tool`, so that their
/// spans belong to the request of the caller. Logs, warnings, errors and gates are events in `invoke_agent`. The field
/// `otel.name` has the full name, such as `execute_tool get_weather`, `error.type` the code of an error, and
/// `error.message` why something failed: the chain of errors, or the message of a panic. Arguments are left out unless
/// asked for with [`TracedContent::Shown`].
///
/// ```
/// use haft::events::{TracedContent, TracingObserver};
/// use haft::executors::{Step, StepContext, StepError};
/// use haft::{TurnInput, TurnRunner};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let observer = TracingObserver::new().agent("weather").content(TracedContent::Shown);
/// let executor = async |_: StepContext| Ok::<_, StepError>(Step::done());
/// let runner = TurnRunner::builder(executor).observer(observer).build()?;
/// assert_eq!(runner.run(TurnInput::new("Be brief.")).await?.iterations, 1);
/// # Ok(())
/// # }
/// ```
pub struct TracingObserver {
    tracker: SpanTracker<TracingBackend>,
}

/// Whether telemetry contains the text of messages and calls, or only that they happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TracedContent {
    /// Names, counts and times, and why something failed.
    #[default]
    Hidden,
    /// The arguments of calls too, truncated to the size of events, and why they were refused.
    Shown,
}

impl TracingObserver {
    /// An observer for agents without a name.
    #[must_use]
    pub fn new() -> Self {
        Self { tracker: SpanTracker::new(TracingBackend) }
    }

    /// Names the agent.
    #[must_use]
    pub fn agent(mut self, name: impl Into<Box<str>>) -> Self {
        self.tracker.agent = Some(name.into());
        self
    }

    /// Says whether spans have content.
    #[must_use]
    pub fn content(mut self, content: TracedContent) -> Self {
        self.tracker.content = content == TracedContent::Shown;
        self
    }
}

impl Observer for TracingObserver {
    fn observe(&self, event: &Event) {
        self.tracker.observe(event);
    }

    fn scope(&self, event: &Event) -> Option<Arc<dyn WorkScope>> {
        self.tracker.scope(event)
    }
}

impl Default for TracingObserver {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TracingObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracingObserver")
            .field("agent", &self.tracker.agent)
            .finish_non_exhaustive()
    }
}

struct TracingBackend;

/// Fields that are not known when a span begins have to be named then.
macro_rules! operation_span {
    ($parent:expr, $name:literal, $kind:literal, $begin:expr, { $($fields:tt)* }) => {
        info_span!(
            parent: $parent,
            $name,
            otel.name = $begin.title(),
            otel.kind = $kind,
            otel.status_code = Empty,
            gen_ai.operation.name = $name,
            error.type = Empty,
            error.message = Empty,
            haft.turn.id = &*$begin.event.turn,
            $($fields)*
        )
    };
}

/// Work runs in the span of its turn, step or call.
struct SpanScope(Span);

impl WorkScope for SpanScope {
    fn enter(&self) -> Box<dyn ScopeGuard + '_> {
        Box::new(self.0.enter())
    }
}

impl SpanBackend for TracingBackend {
    type Span = Span;

    fn scope(&self, span: &Span) -> Arc<dyn WorkScope> {
        Arc::new(SpanScope(span.clone()))
    }

    fn begin(&self, parent: Option<&Span>, begin: &SpanStart<'_>) -> Span {
        let parent = parent.map_or_else(|| Span::current().id(), Span::id);
        let call_id = begin.call_id.map(|it| it.to_string());
        match begin.operation {
            SpanOperation::InvokeAgent => {
                operation_span!(parent, "invoke_agent", "internal", begin, {
                    gen_ai.agent.name = begin.name,
                    gen_ai.usage.input_tokens = Empty,
                    gen_ai.usage.output_tokens = Empty,
                    gen_ai.usage.cache_read.input_tokens = Empty,
                    gen_ai.usage.reasoning.output_tokens = Empty,
                })
            }
            SpanOperation::Chat => operation_span!(parent, "chat", "client", begin, {
                haft.iteration = begin.event.iteration,
                gen_ai.provider.name = Empty,
                gen_ai.response.model = Empty,
                gen_ai.response.finish_reasons = Empty,
                gen_ai.usage.input_tokens = Empty,
                gen_ai.usage.output_tokens = Empty,
                gen_ai.usage.cache_read.input_tokens = Empty,
                gen_ai.usage.reasoning.output_tokens = Empty,
            }),
            SpanOperation::ExecuteTool => {
                operation_span!(parent, "execute_tool", "internal", begin, {
                    haft.iteration = begin.event.iteration,
                    gen_ai.tool.name = begin.name,
                    gen_ai.tool.type = "function",
                    gen_ai.tool.call.id = call_id,
                    gen_ai.tool.call.arguments = begin.args.map(ToString::to_string),
                })
            }
        }
    }

    fn set(&self, span: &mut Span, key: &'static str, value: Field<'_>) {
        match value {
            Field::Count(count) => span.record(key, count),
            Field::Text(text) | Field::Listed(text) => span.record(key, text),
        };
    }

    fn fail(&self, span: &mut Span, kind: &str, message: &str) {
        span.record("otel.status_code", "ERROR");
        span.record("error.type", kind);
        if !message.is_empty() {
            span.record("error.message", message);
        }
    }

    fn note(&self, span: Option<&mut Span>, note: &SpanEvent<'_>) {
        let parent = span.map_or_else(|| Span::current().id(), |it| it.id());
        let SpanEvent { name, kind, message, event, .. } = note;
        let (turn, sequence) = (&*event.turn, event.sequence);
        macro_rules! emit {
            ($level:ident) => {
                $level!(
                    parent: parent,
                    haft.turn.id = turn,
                    haft.event = name,
                    haft.kind = kind,
                    haft.sequence = sequence,
                    "{message}"
                )
            };
        }
        match note.level {
            LogLevel::Trace => emit!(trace),
            LogLevel::Debug => emit!(debug),
            LogLevel::Info => emit!(info),
            LogLevel::Warn => emit!(warn),
            _ => emit!(error),
        }
    }

    /// `tracing` takes the time itself.
    fn end(&self, span: Span, _at: Timestamp) {
        drop(span);
    }
}
