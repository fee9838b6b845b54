//! Turns as `tracing` spans.

use haft::error::codes;
use haft::events::{ErrorReport, EventKind};
use haft::events::{TracedContent, TracingObserver};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use super::{Turn, plain};

/// Keeps every span when it closes, and every event.
#[derive(Clone, Default)]
struct Collect(Arc<Mutex<Vec<String>>>);

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(key, value)| write!(f, "\n  {key} = {value}"))
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Collect {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        ctx.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        let span = ctx.span(id).unwrap();
        values.record(span.extensions_mut().get_mut::<Fields>().unwrap());
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let parent = ctx.event_span(event).map(|it| it.name());
        let level = event.metadata().level();
        self.0.lock().unwrap().push(format!("{level} in {parent:?}{fields}"));
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        let span = ctx.span(&id).unwrap();
        let parent = span.parent().map(|it| it.name());
        let mut text = format!("{} in {parent:?}", span.name());
        write!(text, "{}", span.extensions().get::<Fields>().unwrap()).unwrap();
        self.0.lock().unwrap().push(text);
    }
}

/// What a collector sees of what `run` does.
fn collected(observer: &TracingObserver, run: impl Fn(&mut Turn<'_>)) -> Vec<String> {
    let collect = Collect::default();
    let subscriber = tracing_subscriber::registry().with(collect.clone());
    tracing::subscriber::with_default(subscriber, || {
        let program = tracing::info_span!("program");
        program.in_scope(|| run(&mut Turn::new("t", observer)));
    });
    let mut seen = collect.0.lock().unwrap().clone();
    assert_eq!(seen.pop().as_deref(), Some("program in None"));
    seen
}

#[test]
fn a_turn_is_a_tree_of_spans_by_the_convention() {
    let observer = TracingObserver::new().agent("librarian");
    let seen = collected(&observer, plain);
    insta::assert_snapshot!(seen.join("\n"), @r#"
    chat in Some("invoke_agent")
      gen_ai.operation.name = chat
      gen_ai.provider.name = scripted
      gen_ai.response.finish_reasons = tool_calls
      gen_ai.response.model = small-1
      gen_ai.usage.cache_read.input_tokens = 5
      gen_ai.usage.input_tokens = 20
      gen_ai.usage.output_tokens = 10
      gen_ai.usage.reasoning.output_tokens = 3
      haft.iteration = 0
      haft.turn.id = t
      otel.kind = client
      otel.name = chat
    INFO in Some("invoke_agent")
      haft.event = log
      haft.kind = step
      haft.sequence = 5
      haft.turn.id = t
      message = half way
    execute_tool in Some("invoke_agent")
      error.type = E_TOOL_DOWNSTREAM_ERROR
      gen_ai.operation.name = execute_tool
      gen_ai.tool.call.id = c9e3c5f1fdd1b322543414d9a54ce54c1ea33184259597e813b79f2d3c02a1f9
      gen_ai.tool.name = search
      gen_ai.tool.type = function
      haft.iteration = 0
      haft.turn.id = t
      otel.kind = internal
      otel.name = execute_tool search
      otel.status_code = ERROR
    invoke_agent in Some("program")
      gen_ai.agent.name = librarian
      gen_ai.operation.name = invoke_agent
      gen_ai.usage.input_tokens = 20
      gen_ai.usage.output_tokens = 10
      haft.turn.id = t
      otel.kind = internal
      otel.name = invoke_agent librarian
    "#);
}

#[test]
fn arguments_are_shown_only_when_asked_for() {
    let run = |content| {
        let observer = TracingObserver::new().content(content);
        collected(&observer, plain).join("\n")
    };
    assert!(!run(TracedContent::Hidden).contains("arguments"));
    let shown = run(TracedContent::Shown);
    assert!(shown.contains(r#"gen_ai.tool.call.arguments = {"q":"haft"}"#), "{shown}");
}

#[test]
fn a_failed_turn_says_why_and_a_refused_call_is_a_span_too() {
    let seen = collected(&TracingObserver::new(), |turn| {
        turn.start();
        turn.emit(EventKind::ToolExecutionRejected {
            tool_name: "search".parse().unwrap(),
            call_id: haft::records::CallId::of_text("search", "x"),
            problems: haft::schema::Problem::new("/q", "a string").into(),
        });
        turn.emit(EventKind::Error(ErrorReport::coded(codes::STORE, "disk full")));
        turn.fail(ErrorReport::coded(codes::STORE, "disk full"));
    });
    assert_eq!(seen.len(), 3, "{seen:#?}");
    assert!(seen[0].starts_with("execute_tool in Some(\"invoke_agent\")"), "{}", seen[0]);
    assert!(seen[0].contains("error.type = E_INVALID_TOOL_ARGS"), "{}", seen[0]);
    assert!(seen[1].starts_with("ERROR in Some(\"invoke_agent\")"), "{}", seen[1]);
    assert!(seen[2].contains("error.type = E_STORE"), "{}", seen[2]);
    assert!(seen[2].contains("otel.status_code = ERROR"), "{}", seen[2]);
}

#[test]
fn a_dispatch_without_a_turn_and_a_call_without_either_have_spans() {
    let seen = collected(&TracingObserver::new(), |turn| {
        let first = turn.tool_start("search", "{}");
        let second = turn.tool_start("search", "{}");
        turn.tool_end("search", first, None);
        turn.tool_end("search", second, None);
        turn.tool_end("search", second, None);
        turn.emit(EventKind::DispatchStart {});
        turn.emit(EventKind::IterationStart {});
        turn.end();
        turn.emit(EventKind::DispatchEnd {
            status: haft::events::DispatchStatus::Nack,
            error: Some(ErrorReport::reason("no answer")),
            iterations: 0,
            usage: None,
            started_at: super::at(0),
            duration: std::time::Duration::ZERO,
        });
    });
    let names: Vec<_> = seen.iter().map(|it| it.lines().next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "execute_tool in Some(\"program\")",
            "execute_tool in Some(\"program\")",
            "chat in Some(\"invoke_agent\")",
            "invoke_agent in Some(\"program\")",
        ]
    );
    assert!(seen[3].contains("error.type = _OTHER"), "{}", seen[3]);
}

/// A call that was aborted does not say that it ended: its span ends with its turn.
#[test]
fn the_span_of_an_aborted_call_ends_with_its_turn() {
    let seen = collected(&TracingObserver::new(), |turn| {
        turn.start();
        let ended = turn.tool_start("search", "{}");
        turn.tool_start("search", "{}");
        turn.tool_start("write", "{}");
        turn.tool_end("search", ended, None);
        turn.end();
        turn.log("the turn is over");
    });
    let names: Vec<_> = seen.iter().map(|it| it.lines().next().unwrap()).collect();
    let call = "execute_tool in Some(\"invoke_agent\")";
    assert_eq!(
        names,
        [call, call, call, "invoke_agent in Some(\"program\")", "INFO in Some(\"program\")"]
    );
    let aborted = seen.iter().filter(|it| it.contains("error.type = aborted")).count();
    assert_eq!(aborted, 2, "{seen:#?}");
}
