//! The trace that a turn belongs to, as other services know it: the header `traceparent` of W3C Trace Context.

#[cfg(feature = "opentelemetry")]
mod opentelemetry_spans {
    use opentelemetry::trace::{
        SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    };
    use opentelemetry::{Array, Context, Value};
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    /// The `traceparent` of the span that is current, if OpenTelemetry knows the span.
    pub(crate) fn current_traceparent() -> Option<String> {
        let context = Span::current().context();
        let span = context.span().span_context().clone();
        span.is_valid().then(|| {
            let flags = span.trace_flags().to_u8();
            format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id())
        })
    }

    /// Makes a span, which must not have been entered, the child of a span of another process by its `traceparent`. A
    /// text that is no `traceparent` changes nothing, nor does anything without the feature `opentelemetry`.
    pub fn continue_trace(span: &Span, traceparent: &str) {
        if let Some(parent) = parse_traceparent(traceparent) {
            // Without a layer of OpenTelemetry there is no trace to continue.
            let _ = span.set_parent(Context::new().with_remote_span_context(parent));
        }
    }

    /// Sets an attribute to a list of one text, which `tracing` has no form for. Returns whether OpenTelemetry knows the
    /// span.
    pub(crate) fn set_list(span: &Span, key: &'static str, text: &str) -> bool {
        let is_known = span.context().span().span_context().is_valid();
        if is_known {
            span.set_attribute(key, Value::Array(Array::String(vec![text.to_owned().into()])));
        }
        is_known
    }

    /// Reads a `traceparent` of version 00, and what later versions have in common with it.
    fn parse_traceparent(text: &str) -> Option<SpanContext> {
        let mut parts = text.split('-');
        let version = parts.next()?;
        let (trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?);
        let lengths = [version.len(), trace.len(), span.len(), flags.len()];
        let is_known_form = version != "00" || parts.next().is_none();
        if lengths != [2, 32, 16, 2] || version == "ff" || !is_known_form {
            return None;
        }
        let trace = TraceId::from_hex(trace).ok()?;
        let span = SpanId::from_hex(span).ok()?;
        let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
        let context = SpanContext::new(trace, span, flags, true, TraceState::NONE);
        context.is_valid().then_some(context)
    }

    #[cfg(test)]
    mod tests {
        use super::parse_traceparent;

        #[test]
        fn a_traceparent_is_read_strictly() {
            const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
            let check = |text: String, expect: bool| {
                assert_eq!(parse_traceparent(&text).is_some(), expect, "{text}");
            };
            check(format!("00-{TRACE}-00f067aa0ba902b7-01"), true);
            check(format!("01-{TRACE}-00f067aa0ba902b7-01-later"), true);
            check(format!("00-{TRACE}-00f067aa0ba902b7-01-more"), false);
            check(format!("ff-{TRACE}-00f067aa0ba902b7-01"), false);
            check(format!("00-{TRACE}-0000000000000000-01"), false);
            check(format!("00-{TRACE}-00f067aa0ba902b7"), false);
            check(format!("00-{TRACE}-short-01"), false);
            check(String::new(), false);
            let flags = parse_traceparent(&format!("00-{TRACE}-00f067aa0ba902b7-00"));
            assert!(!flags.unwrap().is_sampled());
        }
    }
}

#[cfg(not(feature = "opentelemetry"))]
mod no_spans {
    use tracing::Span;

    pub(crate) fn current_traceparent() -> Option<String> {
        None
    }

    /// Without the feature `opentelemetry` there is no trace to continue: this changes nothing.
    pub fn continue_trace(_span: &Span, _traceparent: &str) {}

    pub(crate) fn set_list(_span: &Span, _key: &'static str, _text: &str) -> bool {
        false
    }
}

#[cfg(not(feature = "opentelemetry"))]
pub use self::no_spans::continue_trace;
#[cfg(not(feature = "opentelemetry"))]
pub(crate) use self::no_spans::{current_traceparent, set_list};
#[cfg(feature = "opentelemetry")]
pub use self::opentelemetry_spans::continue_trace;
#[cfg(feature = "opentelemetry")]
pub(crate) use self::opentelemetry_spans::{current_traceparent, set_list};
