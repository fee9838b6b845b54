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
//! [`TracingObserver`] turns events into spans of the `tracing` crate, named by OpenTelemetry's conventions for
//! generative AI.

mod filter;
mod hub;
#[cfg(feature = "otlp")]
pub mod otlp;
mod spans;
mod subscription;
mod trace;

#[doc(inline)]
pub use haft_core::event::{
    BoundedText, BoundedValue, DispatchStatus, ErrorReport, Event, EventKind, EventName,
    GateResult, GenerationStats, LogLevel, Observer, ResultKind, ResultSummary, ScopeGuard,
    StreamDelta, StreamState, ToolCallReport, WorkScope,
};
#[doc(inline)]
pub use haft_core::usage::Usage;

pub use self::filter::EventFilter;
pub use self::hub::EventHub;
#[cfg(feature = "otlp")]
pub(crate) use self::spans::{
    Field, SpanBackend, SpanEvent, SpanOperation, SpanStart, SpanTracker,
};
pub use self::subscription::{ReceivedEvent, Subscription};
pub use self::trace::{TracedContent, TracingObserver};
