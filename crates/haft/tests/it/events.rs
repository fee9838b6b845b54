//! Watching turns.

mod hub;
mod slow;
mod spans;
#[cfg(feature = "opentelemetry")]
mod traces;

use std::sync::Arc;
use std::time::Duration;

use haft::events::Usage;
use haft::events::{Event, EventKind, LogLevel, Observer};
use haft::executors::{StreamPart, StreamTracker};
use haft::stores::TurnStatus;
use haft::turn::Timestamp;

/// The moment so many seconds after the epoch.
fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000).unwrap()
}

/// Events of one turn, with the envelope an agent gives them: one second apart.
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
}
