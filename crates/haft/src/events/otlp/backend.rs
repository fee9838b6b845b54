//! Spans of the OpenTelemetry SDK.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_core::clock::Timestamp;
use haft_core::event::{ScopeGuard, WorkScope};
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer,
};
use opentelemetry::{Array, Context, KeyValue, Value};

use crate::events::{Field, SpanBackend, SpanEvent, SpanOperation, SpanStart};

/// Draws spans with a tracer.
pub(super) struct OtlpBackend<T>(pub(super) T);

/// Work runs in a context whose span is that of its turn, step or call.
struct ContextScope(SpanContext);

impl WorkScope for ContextScope {
    fn enter(&self) -> Box<dyn ScopeGuard + '_> {
        Box::new(Context::current().with_remote_span_context(self.0.clone()).attach())
    }
}

impl<T> SpanBackend for OtlpBackend<T>
where
    T: Tracer<Span: Send + Sync + 'static> + Send + Sync,
{
    type Span = T::Span;

    fn scope(&self, span: &T::Span) -> Arc<dyn WorkScope> {
        Arc::new(ContextScope(span.span_context().clone()))
    }

    fn begin(&self, parent: Option<&T::Span>, begin: &SpanStart<'_>) -> T::Span {
        let (operation, event) = (begin.operation, begin.event);
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", operation.as_str()),
            KeyValue::new("haft.turn.id", event.turn.to_string()),
        ];
        let name = begin.name.map(ToOwned::to_owned);
        match operation {
            SpanOperation::InvokeAgent => {
                attributes.extend(name.map(|it| KeyValue::new("gen_ai.agent.name", it)));
            }
            SpanOperation::Chat => {}
            SpanOperation::ExecuteTool => {
                attributes.extend(name.map(|it| KeyValue::new("gen_ai.tool.name", it)));
                attributes.push(KeyValue::new("gen_ai.tool.type", "function"));
            }
        }
        if operation != SpanOperation::InvokeAgent {
            attributes.push(KeyValue::new("haft.iteration", i64::from(event.iteration)));
        }
        let call_id = begin.call_id.map(|it| KeyValue::new("gen_ai.tool.call.id", it.to_string()));
        attributes.extend(call_id);
        let args = begin.args.map(ToString::to_string);
        attributes.extend(args.map(|it| KeyValue::new("gen_ai.tool.call.arguments", it)));

        let kind =
            if operation == SpanOperation::Chat { SpanKind::Client } else { SpanKind::Internal };
        let builder = SpanBuilder::from_name(begin.title())
            .with_kind(kind)
            .with_start_time(system_time(begin.at))
            .with_attributes(attributes);
        // The program's own span, if there is one, is the parent of a turn.
        let context = match parent {
            Some(parent) => Context::new().with_remote_span_context(parent.span_context().clone()),
            None => Context::current(),
        };
        self.0.build_with_context(builder, &context)
    }

    fn set(&self, span: &mut T::Span, key: &'static str, value: Field<'_>) {
        let value = match value {
            // The integers of OTLP are signed. A larger count is the largest one.
            Field::Count(count) => Value::I64(count.min(i64::MAX as u64) as i64),
            Field::Text(text) => text.to_owned().into(),
            Field::Listed(text) => Value::Array(Array::String(vec![text.to_owned().into()])),
        };
        span.set_attribute(KeyValue::new(key, value));
    }

    fn fail(&self, span: &mut T::Span, kind: &str, message: &str) {
        span.set_attribute(KeyValue::new("error.type", kind.to_owned()));
        span.set_status(Status::error(message.to_owned()));
    }

    fn note(&self, span: Option<&mut T::Span>, note: &SpanEvent<'_>) {
        let Some(span) = span else { return };
        let attributes = vec![
            KeyValue::new("haft.kind", note.kind.to_owned()),
            KeyValue::new("message", note.message.to_owned()),
        ];
        span.add_event_with_timestamp(note.name, system_time(note.event.at), attributes);
    }

    fn end(&self, mut span: T::Span, at: Timestamp) {
        span.end_with_timestamp(system_time(at));
    }
}

/// The time of the system; the epoch for a time before it, because there was no telemetry before 1970.
fn system_time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(at.as_micros().max(0).unsigned_abs())
}
