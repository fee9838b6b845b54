//! The spans of a turn, independent of the backend that draws them.
//!
//! A turn is an `invoke_agent` span. In it stand, side by side, a `chat` span for each generation and an
//! `execute_tool` span for each call. Names and attributes are those of OpenTelemetry's semantic
//! conventions for generative AI.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::CallId;
use haft_core::clock::Timestamp;
use haft_core::error::ErrorCode;
use haft_core::event::{
    BoundedValue, ErrorReport, Event, EventKind, GenerationStats, LogLevel, WorkScope,
};
use haft_core::usage::Usage;

/// Most turns that are followed at the same time. Turns end, so that this is met only if something is
/// very wrong; further ones have no span then.
const MAX_TURNS: usize = 100_000;

/// What draws spans.
pub(crate) trait SpanBackend: Send + Sync {
    /// A span that has begun. Dropping it without `end` ends it too.
    type Span: Send;

    /// The scope of the work that a span covers.
    fn scope(&self, span: &Self::Span) -> Arc<dyn WorkScope>;

    fn begin(&self, parent: Option<&Self::Span>, begin: &SpanStart<'_>) -> Self::Span;
    fn set(&self, span: &mut Self::Span, key: &'static str, value: Field<'_>);
    /// Marks the span as failed, with one of a few words for the kind of failure.
    fn fail(&self, span: &mut Self::Span, kind: &str, message: &str);
    fn note(&self, span: Option<&mut Self::Span>, note: &SpanEvent<'_>);
    fn end(&self, span: Self::Span, at: Timestamp);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanOperation {
    InvokeAgent,
    Chat,
    ExecuteTool,
}

impl SpanOperation {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::InvokeAgent => "invoke_agent",
            Self::Chat => "chat",
            Self::ExecuteTool => "execute_tool",
        }
    }
}

/// What is known of a span when it begins.
pub(crate) struct SpanStart<'e> {
    pub(crate) operation: SpanOperation,
    /// The agent or the tool, if it has a name.
    pub(crate) name: Option<&'e str>,
    pub(crate) event: &'e Event,
    #[cfg_attr(
        not(feature = "otlp"),
        expect(dead_code, reason = "`tracing` tells the time itself")
    )]
    pub(crate) at: Timestamp,
    pub(crate) call_id: Option<CallId>,
    /// Only if content is wanted.
    pub(crate) args: Option<&'e BoundedValue>,
}

impl SpanStart<'_> {
    /// The operation, and what it is done to.
    pub(crate) fn title(&self) -> String {
        match self.name {
            Some(name) => format!("{} {name}", self.operation.as_str()),
            None => self.operation.as_str().to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Field<'v> {
    Count(u64),
    Text(&'v str),
    /// A list of one.
    Listed(&'v str),
}

/// Something that happened within a span and takes no time.
pub(crate) struct SpanEvent<'e> {
    pub(crate) level: LogLevel,
    pub(crate) name: &'static str,
    /// What sort of note it is.
    pub(crate) kind: &'e str,
    pub(crate) message: &'e str,
    pub(crate) event: &'e Event,
}

/// Follows turns by their events.
pub(crate) struct SpanTracker<B: SpanBackend> {
    pub(crate) backend: B,
    pub(crate) agent: Option<Box<str>>,
    pub(crate) content: bool,
    open: Mutex<OpenSpans<B::Span>>,
}

struct OpenSpans<S> {
    turns: HashMap<Arc<str>, Turn<S>>,
    /// The spans of calls that run, by their turn. Equal calls can run at the same time: any of their spans is as good as
    /// the other.
    calls: HashMap<Arc<str>, HashMap<CallId, Vec<S>>>,
}

struct Turn<S> {
    agent: S,
    chat: Option<S>,
    /// Whether it was a dispatch without a turn that began it, and will end it.
    dispatch_only: bool,
}

impl<B: SpanBackend> SpanTracker<B> {
    pub(crate) fn new(backend: B) -> Self {
        let open = OpenSpans { turns: HashMap::new(), calls: HashMap::new() };
        Self { backend, agent: None, content: false, open: Mutex::new(open) }
    }

    pub(crate) fn observe(&self, event: &Event) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let open = &mut *open;
        match &event.kind {
            EventKind::TurnStart {} => self.begin_turn(open, event, false),
            EventKind::DispatchStart {} => self.begin_turn(open, event, true),
            EventKind::TurnEnd { error, usage, .. } => {
                self.end_turn(open, event, false, (error.as_ref(), *usage));
            }
            EventKind::DispatchEnd { error, usage, .. } => {
                self.end_turn(open, event, true, (error.as_ref(), *usage));
            }
            EventKind::IterationStart {} => self.begin_chat(open, event),
            EventKind::IterationEnd { usage, .. } => self.end_chat(open, event, |it, span| {
                it.set_usage(span, usage.unwrap_or_default());
            }),
            EventKind::GenerationStats(stats) => {
                self.end_chat(open, event, |it, span| it.set_stats(span, stats));
            }
            EventKind::ToolExecutionStart { tool_name, call_id, args, started_at, .. } => {
                self.end_chat(open, event, |_, _| {});
                let args = self.content.then_some(args);
                let span =
                    self.call(open, event, (tool_name.as_ref(), *call_id), (*started_at, args));
                open.put_call(&event.turn, *call_id, span);
            }
            EventKind::ToolExecutionEnd { call_id, is_error, error, cause, .. } => {
                if let Some(mut span) = open.take_call(&event.turn, *call_id) {
                    if *is_error {
                        let kind = error.as_ref().map_or("_OTHER", ErrorCode::as_str);
                        self.backend.fail(&mut span, kind, cause.as_deref().unwrap_or_default());
                    }
                    self.backend.end(span, event.at);
                }
            }
            EventKind::ToolExecutionRejected { tool_name, call_id, problems } => {
                self.end_chat(open, event, |_, _| {});
                let call = (tool_name.as_ref(), *call_id);
                let mut span = self.call(open, event, call, (event.at, None));
                let said = if self.content { problems.to_string() } else { String::new() };
                self.backend.fail(&mut span, "E_INVALID_TOOL_ARGS", &said);
                self.backend.end(span, event.at);
            }
            _ => self.note(open, event),
        }
    }

    /// The scope of the work that an event begins.
    pub(crate) fn scope(&self, event: &Event) -> Option<Arc<dyn WorkScope>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let span = match &event.kind {
            EventKind::TurnStart {} => &open.turns.get(&event.turn)?.agent,
            EventKind::IterationStart {} => open.turns.get(&event.turn)?.chat.as_ref()?,
            EventKind::ToolExecutionStart { call_id, .. } => {
                open.calls.get(&event.turn)?.get(call_id)?.last()?
            }
            _ => return None,
        };
        Some(self.backend.scope(span))
    }

    fn begin_turn(&self, open: &mut OpenSpans<B::Span>, event: &Event, dispatch_only: bool) {
        if open.turns.len() >= MAX_TURNS || open.turns.contains_key(&event.turn) {
            return;
        }
        let name = self.agent.as_deref();
        let agent =
            self.backend.begin(None, &SpanStart::of(SpanOperation::InvokeAgent, name, event));
        open.turns.insert(Arc::clone(&event.turn), Turn { agent, chat: None, dispatch_only });
    }

    fn end_turn(
        &self,
        open: &mut OpenSpans<B::Span>,
        event: &Event,
        dispatch_only: bool,
        (error, usage): (Option<&ErrorReport>, Option<Usage>),
    ) {
        self.end_chat(open, event, |_, _| {});
        if open.turns.get(&event.turn).is_none_or(|it| it.dispatch_only != dispatch_only) {
            return;
        }
        // Calls that were aborted have not said that they ended.
        let aborted = open.calls.remove(&event.turn).unwrap_or_default();
        for mut span in aborted.into_values().flatten() {
            self.backend.fail(&mut span, "aborted", "the turn ended before the call did");
            self.backend.end(span, event.at);
        }
        if let Some(mut turn) = open.turns.remove(&event.turn) {
            self.set_usage(&mut turn.agent, usage.unwrap_or_default());
            if let Some(error) = error {
                let kind = error.code.as_ref().map_or("_OTHER", ErrorCode::as_str);
                self.backend.fail(&mut turn.agent, kind, &with_cause(error));
            }
            self.backend.end(turn.agent, event.at);
        }
    }

    fn begin_chat(&self, open: &mut OpenSpans<B::Span>, event: &Event) {
        if let Some(turn) = open.turns.get_mut(&event.turn) {
            let begin = SpanStart::of(SpanOperation::Chat, None, event);
            turn.chat = Some(self.backend.begin(Some(&turn.agent), &begin));
        }
    }

    /// A generation is over when its statistics come; without them, when the first tool runs or the
    /// iteration ends.
    fn end_chat(
        &self,
        open: &mut OpenSpans<B::Span>,
        event: &Event,
        last: impl FnOnce(&Self, &mut B::Span),
    ) {
        let chat = open.turns.get_mut(&event.turn).and_then(|it| it.chat.take());
        if let Some(mut chat) = chat {
            last(self, &mut chat);
            self.backend.end(chat, event.at);
        }
    }

    fn call(
        &self,
        open: &OpenSpans<B::Span>,
        event: &Event,
        (tool, call_id): (&str, CallId),
        (at, args): (Timestamp, Option<&BoundedValue>),
    ) -> B::Span {
        let begin = SpanStart::of(SpanOperation::ExecuteTool, Some(tool), event);
        let begin = SpanStart { at, args, call_id: Some(call_id), ..begin };
        self.backend.begin(open.turns.get(&event.turn).map(|it| &it.agent), &begin)
    }

    fn set_usage(&self, span: &mut B::Span, usage: Usage) {
        for (key, count) in [
            ("gen_ai.usage.input_tokens", usage.prompt),
            ("gen_ai.usage.output_tokens", usage.completion),
            ("gen_ai.usage.cache_read.input_tokens", usage.cached),
            ("gen_ai.usage.reasoning.output_tokens", usage.reasoning),
        ] {
            if count > 0 {
                self.backend.set(span, key, Field::Count(count));
            }
        }
    }

    fn set_stats(&self, span: &mut B::Span, stats: &GenerationStats) {
        self.set_usage(span, stats.usage);
        for (key, text) in
            [("gen_ai.provider.name", &stats.provider), ("gen_ai.response.model", &stats.model)]
        {
            if let Some(text) = text {
                self.backend.set(span, key, Field::Text(text));
            }
        }
        if let Some(reason) = &stats.finish_reason {
            self.backend.set(span, "gen_ai.response.finish_reasons", Field::Listed(reason));
        }
    }

    fn note(&self, open: &mut OpenSpans<B::Span>, event: &Event) {
        let text;
        let (level, kind, message): (_, &str, &str) = match &event.kind {
            EventKind::Log { level, topic, message, .. } => (*level, topic, message),
            EventKind::Warning { topic, message, .. } => (LogLevel::Warn, topic, message),
            EventKind::Error(error) => {
                text = with_cause(error);
                (LogLevel::Error, error.code.as_ref().map_or("_OTHER", ErrorCode::as_str), &text)
            }
            EventKind::TurnGateOpen { gate_id, reason, .. } => (LogLevel::Info, gate_id, reason),
            EventKind::TurnGateClosed { gate_id, .. } => (LogLevel::Info, gate_id, ""),
            _ => return,
        };
        let note = SpanEvent { level, name: event.kind.name().as_str(), kind, message, event };
        self.backend.note(open.turns.get_mut(&event.turn).map(|it| &mut it.agent), &note);
    }
}

/// The message of an error with its causes, for the operator.
fn with_cause(error: &ErrorReport) -> Cow<'_, str> {
    match &error.cause {
        Some(cause) => format!("{}: {cause}", error.message).into(),
        None => error.message.as_str().into(),
    }
}

impl<'e> SpanStart<'e> {
    fn of(operation: SpanOperation, name: Option<&'e str>, event: &'e Event) -> Self {
        Self { operation, name, event, at: event.at, call_id: None, args: None }
    }
}

impl<S> OpenSpans<S> {
    /// Stores the span of a call until the call ends. A span that is not stored ends at once.
    fn put_call(&mut self, turn: &Arc<str>, call_id: CallId, span: S) {
        if self.calls.len() < MAX_TURNS || self.calls.contains_key(turn) {
            let calls = self.calls.entry(Arc::clone(turn)).or_default();
            calls.entry(call_id).or_default().push(span);
        }
    }

    fn take_call(&mut self, turn: &Arc<str>, call_id: CallId) -> Option<S> {
        let calls = self.calls.get_mut(turn)?;
        let spans = calls.get_mut(&call_id)?;
        let span = spans.pop();
        if spans.is_empty() {
            calls.remove(&call_id);
        }
        if calls.is_empty() {
            self.calls.remove(turn);
        }
        span
    }
}
