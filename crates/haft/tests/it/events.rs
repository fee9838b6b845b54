//! Watching turns.

mod hub;
#[cfg(feature = "otlp")]
mod otlp;
mod slow;
mod spans;

use haft::error::codes;
use std::sync::Arc;
use std::time::Duration;

use haft::Args;
use haft::error::ErrorCode;
use haft::events::Usage;
use haft::events::{
    DispatchStatus, ErrorReport, Event, EventKind, GenerationStats, LogLevel, Observer,
};
use haft::executors::{StreamPart, StreamTracker};
use haft::records::CallId;
use haft::schema::RawArgs;
use haft::stores::TurnStatus;
use haft::turn::Timestamp;

/// The moment so many seconds after the epoch.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000).unwrap()
}

/// Events of one turn, with the envelope a runner gives them: one second apart.
struct Turn<'o> {
    id: Arc<str>,
    sequence: u64,
    streams: StreamTracker,
    observer: &'o dyn Observer,
}

impl<'o> Turn<'o> {
    fn new(id: &str, observer: &'o dyn Observer) -> Self {
        Self { id: id.into(), sequence: 0, streams: StreamTracker::default(), observer }
    }

    fn emit(&mut self, kind: EventKind) {
        let sequence = self.sequence;
        self.sequence += 1;
        let time = at(i64::try_from(sequence).unwrap());
        let event = Event::new(Arc::clone(&self.id), sequence, time, kind).within("d", 0);
        self.observer.observe(&event);
    }

    fn start(&mut self) {
        self.emit(EventKind::TurnStart {});
    }

    fn end(&mut self) {
        self.emit(EventKind::TurnEnd {
            status: TurnStatus::Completed,
            error: None,
            resumable: false,
            iterations: 1,
            usage: Some(Usage::new(20, 10)),
            started_at: at(0),
            duration: Duration::from_secs(1),
        });
    }

    fn fail(&mut self, error: ErrorReport) {
        self.emit(EventKind::TurnEnd {
            status: TurnStatus::Failed,
            error: Some(error),
            resumable: false,
            iterations: 0,
            usage: None,
            started_at: at(0),
            duration: Duration::from_secs(1),
        });
    }

    fn log(&mut self, message: &str) {
        self.emit(EventKind::Log {
            level: LogLevel::Info,
            topic: "step".into(),
            message: message.into(),
            payload: None,
        });
    }

    fn message(&mut self, id: &str, delta: &str, part: StreamPart) {
        let event = self.streams.report_message(id, delta, part, at(0)).unwrap().into();
        self.emit(event);
    }

    fn thought(&mut self, id: &str, delta: &str) {
        let event = self.streams.report_thought(id, delta, StreamPart::More, at(0)).unwrap().into();
        self.emit(event);
    }

    fn tool_start(&mut self, tool: &str, args: &str) -> CallId {
        let call_id = RawArgs::text(args).call_id(tool);
        self.emit(EventKind::ToolExecutionStart {
            tool_name: tool.parse().unwrap(),
            call_id,
            args: (&Args::parse(args).unwrap()).into(),
            changes: Vec::new(),
            changes_left_out: 0,
            started_at: at(i64::try_from(self.sequence).unwrap()),
        });
        call_id
    }

    fn tool_end(&mut self, tool: &str, call_id: CallId, error: Option<ErrorCode>) {
        self.emit(EventKind::ToolExecutionEnd {
            cause: None,
            tool_name: tool.parse().unwrap(),
            call_id,
            started_at: at(0),
            duration: Duration::from_secs(1),
            is_error: error.is_some(),
            error,
        });
    }

    fn stats(&mut self) {
        let stats = GenerationStats::new(Usage::new(20, 10).with_cached(5).with_reasoning(3));
        let stats = stats.model("small-1").provider("scripted").finish_reason("tool_calls");
        self.emit(EventKind::GenerationStats(stats));
    }
}

/// A turn of one iteration with a generation, a log line and a call that fails.
fn plain(turn: &mut Turn<'_>) {
    turn.start();
    turn.emit(EventKind::DispatchStart {});
    turn.emit(EventKind::IterationStart {});
    turn.stats();
    let call = turn.tool_start("search", r#"{"q": "haft"}"#);
    turn.log("half way");
    turn.tool_end("search", call, Some(codes::TOOL_DOWNSTREAM_ERROR));
    turn.emit(EventKind::IterationEnd {
        usage: Some(Usage::new(20, 10)),
        started_at: at(0),
        duration: Duration::from_secs(1),
    });
    turn.emit(EventKind::DispatchEnd {
        status: DispatchStatus::Ack,
        error: None,
        iterations: 1,
        usage: None,
        started_at: at(0),
        duration: Duration::from_secs(1),
    });
    turn.end();
}
