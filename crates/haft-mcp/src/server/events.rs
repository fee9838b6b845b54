//! Events of calls as notifications.
#![expect(deprecated, reason = "clients of the revisions before 2026-07-28 still use logging")]

use haft_core::event::{Event, EventKind, LogLevel};
use rmcp::RoleServer;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};

/// The topic of log messages that report progress.
const PROGRESS: &str = "progress";

/// The level of a client that has set none: `info`.
pub(super) const DEFAULT_LOG_LEVEL: u8 = rank(LoggingLevel::Info);

/// The client that is notified about a call while it runs.
#[derive(Debug)]
pub(super) struct CallObserver {
    peer: Peer<RoleServer>,
    progress: Option<ProgressToken>,
    /// The lowest level of messages that the client wants, or `None` if it wants none.
    log_level: Option<u8>,
    /// The progress that was reported last. It must grow.
    reported: f64,
}

impl CallObserver {
    /// Of a request. Without sessions, a client says with every request which messages it wants.
    pub(super) fn new(context: &RequestContext<RoleServer>, session_level: u8) -> Self {
        let log_level = match context.meta.protocol_version() {
            Some(_) => context.meta.log_level().map(rank),
            None => Some(session_level),
        };
        let progress = context.meta.get_progress_token();
        Self { peer: context.peer.clone(), progress, log_level, reported: f64::NEG_INFINITY }
    }

    /// Notifies the client of an event, if it subscribed to such events. Does nothing if the client has disconnected.
    pub(super) async fn notify(&mut self, event: &Event) {
        let EventKind::Log { level, topic, message, payload } = &event.kind else { return };
        let topic = topic.to_string();
        let message = message.to_string();
        let payload = payload.as_ref().and_then(|it| serde_json::to_value(it).ok());
        if topic == PROGRESS
            && let Some(progress) = self.progress_of(&message, payload.as_ref())
        {
            let _ = self.peer.notify_progress(progress).await;
            return;
        }
        let level = logging_level(*level);
        if self.log_level.is_some_and(|wanted| rank(level) >= wanted) {
            let data = match payload {
                None => Value::String(message),
                Some(payload) => json!({"message": message, "payload": payload}),
            };
            let param = LoggingMessageNotificationParam::new(level, data).with_logger(topic);
            let _ = self.peer.notify_logging_message(param).await;
        }
    }

    /// The progress that a message reports, if the client asked for it and it has grown.
    fn progress_of(
        &mut self,
        message: &str,
        payload: Option<&Value>,
    ) -> Option<ProgressNotificationParam> {
        let token = self.progress.clone()?;
        let number = |key: &str| payload.and_then(|it| it.get(key)).and_then(Value::as_f64);
        let progress = number("progress").filter(|it| *it > self.reported)?;
        self.reported = progress;
        let mut param = ProgressNotificationParam::new(token, progress);
        param.total = number("total");
        param.message = (!message.is_empty()).then(|| message.to_owned());
        Some(param)
    }
}

fn logging_level(level: LogLevel) -> LoggingLevel {
    match level {
        LogLevel::Trace | LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Warn => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
        _ => LoggingLevel::Info,
    }
}

/// How much a level matters.
pub(super) const fn rank(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
