//! Watching turns.
//!
//! An [`EventHub`] is an observer that many turns share and that many can listen to. Each listener has a
//! queue of its own with a size and a policy, so a slow one loses events (and is told how many) or gets
//! text in larger pieces, and never stalls a turn.
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
//! [`TracingObserver`] turns events into spans of the `tracing` crate, named as OpenTelemetry's
//! conventions for generative AI have it.

mod filter;
mod hub;
#[cfg(feature = "otlp")]
pub mod otlp;
mod queue;
mod spans;
mod subscription;
mod trace;

#[doc(inline)]
pub use haft_core::event::{
    BoundedArgs, BoundedText, BoundedValue, DispatchStatus, ErrorReport, Event, EventClass,
    EventKind, EventName, GateResult, GenerationStats, LogLevel, Observer, ResultKind,
    ResultSummary, ScopeGuard, StreamDelta, StreamState, ToolCallReport, WorkScope,
};
#[doc(inline)]
pub use haft_core::usage::Usage;

pub use self::filter::EventFilter;
pub use self::hub::EventHub;
pub use self::queue::{Backlog, Overflow};
#[cfg(feature = "otlp")]
pub(crate) use self::spans::{
    Field, SpanBackend, SpanEvent, SpanOperation, SpanStart, SpanTracker,
};
pub use self::subscription::{ReceivedEvent, Subscription};
pub use self::trace::{TracedContent, TracingObserver};
