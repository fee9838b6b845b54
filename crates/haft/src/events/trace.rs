//! What turns report, as events of the `tracing` crate.

use std::borrow::Cow;

use ::tracing::level_filters::LevelFilter;
use ::tracing::{debug, error, info, trace, warn};
use haft_core::error::ErrorCode;
use haft_core::event::{ErrorReport, Event, EventKind, LogLevel, Observer};

/// Whether the spans of turns contain the arguments of calls, or only that the calls happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TracedContent {
    /// Names, counts and times, and why something failed.
    #[default]
    Hidden,
    /// The arguments of calls too, truncated to the size of events, and why they were refused.
    Shown,
}

/// Passes logs, warnings, errors and gates on to `tracing`, in the span that is current. Every agent has it.
pub(crate) struct TraceObserver;

impl Observer for TraceObserver {
    fn observe(&self, event: &Event) {
        let text;
        let (level, kind, message): (_, &str, &str) = match &event.kind {
            EventKind::Log { level, topic, message, .. } => (*level, topic, message),
            EventKind::Warning { topic, message, .. } => (LogLevel::Warn, topic, message),
            EventKind::Error(error) => {
                text = error_with_cause(error);
                (LogLevel::Error, error.code.as_ref().map_or("_OTHER", ErrorCode::as_str), &text)
            }
            EventKind::TurnGateOpen { gate_id, reason, .. } => (LogLevel::Info, gate_id, reason),
            EventKind::TurnGateClosed { gate_id, .. } => (LogLevel::Info, gate_id, ""),
            _ => return,
        };
        macro_rules! emit {
            ($level:ident) => {
                $level!(
                    target: "haft",
                    {
                        haft.turn.id = &*event.turn,
                        haft.event = event.kind.name().as_str(),
                        haft.kind = kind,
                        haft.sequence = event.sequence,
                    },
                    "{message}"
                )
            };
        }
        match level {
            LogLevel::Trace => emit!(trace),
            LogLevel::Debug => emit!(debug),
            LogLevel::Info => emit!(info),
            LogLevel::Warn => emit!(warn),
            _ => emit!(error),
        }
    }

    fn is_idle(&self) -> bool {
        LevelFilter::current() == LevelFilter::OFF
    }
}

/// The message of an error with its causes, for the operator.
pub(crate) fn error_with_cause(error: &ErrorReport) -> Cow<'_, str> {
    match &error.cause {
        Some(cause) => format!("{}: {cause}", error.message).into(),
        None => error.message.as_str().into(),
    }
}
