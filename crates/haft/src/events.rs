//! Observing turns.
//!
//! An [`EventHub`] is an observer that any number of turns and subscribers share. A slow subscriber loses events and
//! learns how many, but never stalls a turn.
//!
//! ```
//! use haft::DispatchContext;
//! use haft::events::{EventName, LogLevel};
//! use haft::events::{EventHub, EventFilter, ReceivedEvent};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let hub = EventHub::new();
//! let mut logs = hub.subscribe(EventFilter::turn("turn-1").only([EventName::Log]));
//!
//! let ctx = DispatchContext::builder("turn-1").observer(hub.clone()).build();
//! ctx.log(LogLevel::Info, "progress", "half way", None);
//!
//! let Some(ReceivedEvent::Event(event)) = logs.next().await else { unreachable!() };
//! assert_eq!((&*event.turn, event.sequence), ("turn-1", 0));
//! # }
//! ```
//!
//! # Traces
//!
//! Every agent draws spans of the `tracing` crate, named by OpenTelemetry's conventions for generative AI: `invoke_agent`
//! for an attempt to run a turn, `chat` for the step of the executor, and `execute_tool` for the handler of a call. They
//! have the target `haft` and the level INFO. User code runs in them, and they begin in the span that is current when the
//! turn is run. Logs, warnings, errors and gates are events in the span that is current; `haft.kind` has the topic or
//! the code. Spans contain arguments only if the agent is built with
//! [`TracedContent::Shown`](TracedContent); causes of failures are always in `error.message`.
//!
//! To export them, install the layer of `tracing-opentelemetry`. Its `MetricsLayer` takes `gen_ai.client.token.usage` and
//! `gen_ai.client.operation.duration` from events with the target `haft::metrics` and the level TRACE. With the feature
//! `opentelemetry`, the span that is current is sent along as `traceparent` to models and MCP servers
//! ([`TurnContext::traceparent`](haft_core::context::TurnContext::traceparent)), and it is stored with each turn, so that a
//! worker which runs the turn continues the trace.

mod filter;
mod hub;
mod subscription;
mod trace;
mod trace_context;

#[doc(inline)]
pub use haft_core::event::{
    BoundedText, BoundedValue, DispatchStatus, ErrorReport, Event, EventKind, EventName,
    GateResult, GenerationStats, LogLevel, Observer, ResultKind, ResultSummary, StreamDelta,
    StreamState, ToolCallReport,
};
#[doc(inline)]
pub use haft_core::usage::Usage;

pub use self::filter::EventFilter;
pub use self::hub::EventHub;
pub use self::subscription::{ReceivedEvent, Subscription};
pub use self::trace::TracedContent;
pub(crate) use self::trace::{TraceObserver, error_with_cause};
pub use self::trace_context::continue_trace;
pub(crate) use self::trace_context::{current_traceparent, set_list};
