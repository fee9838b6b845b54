//! The spans of turns in `tracing`.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use haft::error::codes;
use haft::events::{GenerationStats, LogLevel, TracedContent, Usage};
use haft::executors::{
    DispatchExecutor, ExecutorDescription, ProposedCall, Step, StepContext, StepError,
};
use haft::turn::{AgentBuilder, TurnReport};
use haft::{Agent, Args, BoxFuture, CallContext, Tool, ToolFailure};
use tracing::field::{Field, Visit};
use tracing::instrument::{Instrument as _, WithSubscriber as _};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

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

/// A model that searches, and then answers.
#[derive(Clone)]
pub(super) struct Librarian;

impl DispatchExecutor for Librarian {
    fn step(&self, ctx: StepContext) -> BoxFuture<'_, Result<Step, StepError>> {
        Box::pin(async move {
            let iteration = ctx.dispatch().iteration();
            let usage = Usage::new(20, 10).with_cached(5).with_cache_creation(4).with_reasoning(3);
            let stats = GenerationStats::new(usage).model("small-1-2026").provider("a dialect");
            let stats = stats.finish_reason("tool_calls").response_id(format!("r-{iteration}"));
            ctx.report_generation(stats);
            Ok(match iteration {
                0 => Step::new().call(ProposedCall::new("search", r#"{"q": "haft"}"#)).usage(usage),
                _ => Step::done().say(ctx.message("done")?),
            })
        })
    }

    fn description(&self) -> ExecutorDescription {
        ExecutorDescription::model("gemini", "small-1", "http://localhost:8080/v1")
    }
}

/// A tool that logs, and fails.
pub(super) fn search() -> Tool {
    let search = Tool::builder("search").description("Searches.");
    let search = search.handler(|_: Args, ctx: &CallContext| {
        ctx.log(LogLevel::Info, "step", "half way", None);
        let source = std::io::Error::other("the index is locked");
        Err::<String, _>(ToolFailure::new("try later").with_source(source))
    });
    search
        .input(haft::schema::object().field("q", haft::schema::string().required()))
        .build()
        .unwrap()
}

async fn run(built: AgentBuilder, collect: &Collect) -> TurnReport {
    let subscriber = tracing_subscriber::registry().with(collect.clone());
    let agent = built.tool(search()).build().unwrap();
    let work = async {
        let input = agent.turn([]).system("Be brief.").id("t").conversation("c").agent("librarian");
        input.report().instrument(tracing::info_span!("program")).await.unwrap()
    };
    work.with_subscriber(subscriber).await
}

/// What a collector sees of a turn.
async fn collected(built: AgentBuilder) -> Vec<String> {
    let collect = Collect::default();
    run(built, &collect).await;
    let mut seen = collect.0.lock().unwrap().clone();
    seen.retain(|it| !it.starts_with("TRACE"));
    assert_eq!(seen.pop().as_deref(), Some("program in None"));
    seen
}

#[tokio::test]
async fn a_turn_is_a_tree_of_spans_by_the_convention() {
    let seen = collected(Agent::builder(Librarian)).await;
    insta::assert_snapshot!(seen.join("\n"), @r#"
    chat in Some("invoke_agent")
      gen_ai.conversation.id = c
      gen_ai.operation.name = chat
      gen_ai.provider.name = gcp.gemini
      gen_ai.request.model = small-1
      gen_ai.response.finish_reasons = tool_calls
      gen_ai.response.id = r-0
      gen_ai.response.model = small-1-2026
      gen_ai.usage.cache_creation.input_tokens = 4
      gen_ai.usage.cache_read.input_tokens = 5
      gen_ai.usage.input_tokens = 20
      gen_ai.usage.output_tokens = 10
      gen_ai.usage.reasoning.output_tokens = 3
      haft.iteration = 0
      haft.turn.id = t
      otel.kind = client
      otel.name = chat small-1
      server.address = localhost
      server.port = 8080
    INFO in Some("execute_tool")
      haft.event = log
      haft.kind = step
      haft.sequence = 6
      haft.turn.id = t
      message = half way
    execute_tool in Some("invoke_agent")
      error.message = try later: the index is locked
      error.type = E_TOOL_DOWNSTREAM_ERROR
      gen_ai.conversation.id = c
      gen_ai.operation.name = execute_tool
      gen_ai.tool.call.id = c9e3c5f1fdd1b322543414d9a54ce54c1ea33184259597e813b79f2d3c02a1f9
      gen_ai.tool.name = search
      gen_ai.tool.type = function
      haft.iteration = 0
      haft.turn.id = t
      otel.kind = internal
      otel.name = execute_tool search
      otel.status_code = ERROR
    chat in Some("invoke_agent")
      gen_ai.conversation.id = c
      gen_ai.operation.name = chat
      gen_ai.provider.name = gcp.gemini
      gen_ai.request.model = small-1
      gen_ai.response.finish_reasons = tool_calls
      gen_ai.response.id = r-1
      gen_ai.response.model = small-1-2026
      gen_ai.usage.cache_creation.input_tokens = 4
      gen_ai.usage.cache_read.input_tokens = 5
      gen_ai.usage.input_tokens = 20
      gen_ai.usage.output_tokens = 10
      gen_ai.usage.reasoning.output_tokens = 3
      haft.iteration = 1
      haft.turn.id = t
      otel.kind = client
      otel.name = chat small-1
      server.address = localhost
      server.port = 8080
    invoke_agent in Some("program")
      gen_ai.agent.name = librarian
      gen_ai.conversation.id = c
      gen_ai.operation.name = invoke_agent
      gen_ai.usage.cache_creation.input_tokens = 4
      gen_ai.usage.cache_read.input_tokens = 5
      gen_ai.usage.input_tokens = 20
      gen_ai.usage.output_tokens = 10
      gen_ai.usage.reasoning.output_tokens = 3
      haft.turn.id = t
      otel.kind = internal
      otel.name = invoke_agent librarian
    "#);
}

#[tokio::test]
async fn arguments_are_shown_only_when_asked_for() {
    let run = async |content| {
        collected(Agent::builder(Librarian).traced_content(content)).await.join("\n")
    };
    assert!(!run(TracedContent::Hidden).await.contains("arguments"));
    let shown = run(TracedContent::Shown).await;
    assert!(shown.contains(r#"gen_ai.tool.call.arguments = {"q":"haft"}"#), "{shown}");
}

#[tokio::test]
async fn a_failed_turn_says_why_and_a_refused_call_is_a_span_too() {
    let executor = async |ctx: StepContext| match ctx.dispatch().iteration() {
        0 => Ok(Step::new().call(ProposedCall::new("search", "{}"))),
        _ => {
            let source = std::io::Error::other("disk full");
            Err(StepError::coded(codes::LLM_RESPONSE_REFUSED, "no").with_source(source))
        }
    };
    let seen = collected(Agent::builder(executor)).await;
    let names: Vec<_> = seen.iter().map(|it| it.lines().next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "chat in Some(\"invoke_agent\")",
            "execute_tool in Some(\"invoke_agent\")",
            "chat in Some(\"invoke_agent\")",
            "ERROR in Some(\"invoke_agent\")",
            "invoke_agent in Some(\"program\")",
        ]
    );
    assert!(seen[1].contains("error.type = E_INVALID_TOOL_ARGS"), "{}", seen[1]);
    for failed in [&seen[2], &seen[4]] {
        assert!(failed.contains("error.type = E_LLM_RESPONSE_REFUSED"), "{failed}");
        assert!(failed.contains("error.message = the executor failed: no: disk full"), "{failed}");
        assert!(failed.contains("otel.status_code = ERROR"), "{failed}");
    }
}

/// Collects the names of all fields of spans, and of events with metrics.
#[derive(Clone, Default)]
struct FieldNames(Arc<Mutex<Vec<&'static str>>>);

impl FieldNames {
    fn add(&self, metadata: &'static Metadata<'static>) {
        let is_of_haft = metadata.target().starts_with("haft");
        if is_of_haft && (metadata.is_span() || metadata.target() == "haft::metrics") {
            self.0.lock().unwrap().extend(metadata.fields().iter().map(|it| it.name()));
        }
    }
}

impl<S: Subscriber> Layer<S> for FieldNames {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.add(attributes.metadata());
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.add(event.metadata());
    }
}

/// The conventions moved to a repository that publishes no crate, so that their last crate calls all of them deprecated.
#[tokio::test]
#[expect(deprecated, reason = "the names that the conventions have are those that moved")]
async fn all_names_are_those_of_the_conventions() {
    use opentelemetry_semantic_conventions::{attribute as semantic, metric};

    let conventions = [
        semantic::ERROR_MESSAGE,
        semantic::ERROR_TYPE,
        semantic::GEN_AI_AGENT_NAME,
        semantic::GEN_AI_CONVERSATION_ID,
        semantic::GEN_AI_OPERATION_NAME,
        semantic::GEN_AI_PROVIDER_NAME,
        semantic::GEN_AI_REQUEST_MODEL,
        semantic::GEN_AI_RESPONSE_FINISH_REASONS,
        semantic::GEN_AI_RESPONSE_ID,
        semantic::GEN_AI_RESPONSE_MODEL,
        semantic::GEN_AI_TOKEN_TYPE,
        semantic::GEN_AI_TOOL_CALL_ARGUMENTS,
        semantic::GEN_AI_TOOL_CALL_ID,
        semantic::GEN_AI_TOOL_NAME,
        semantic::GEN_AI_TOOL_TYPE,
        semantic::GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
        semantic::GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
        semantic::GEN_AI_USAGE_INPUT_TOKENS,
        semantic::GEN_AI_USAGE_OUTPUT_TOKENS,
        semantic::GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
        semantic::SERVER_ADDRESS,
        semantic::SERVER_PORT,
        metric::GEN_AI_CLIENT_OPERATION_DURATION,
        metric::GEN_AI_CLIENT_TOKEN_USAGE,
    ];
    let names = FieldNames::default();
    let subscriber = tracing_subscriber::registry().with(names.clone());
    let agent = Agent::builder(Librarian).tool(search()).build().unwrap();
    agent.turn([]).system("Be brief.").report().with_subscriber(subscriber).await.unwrap();
    let mut names = names.0.lock().unwrap().clone();
    names.sort_unstable();
    names.dedup();
    names.retain(|it| !it.starts_with("haft.") && !it.starts_with("otel.") && *it != "message");
    let mut names: Vec<_> =
        names.into_iter().map(|it| it.trim_start_matches("histogram.")).collect();
    names.sort_unstable();
    let mut expected = conventions.to_vec();
    expected.sort_unstable();
    assert_eq!(names, expected);
}
