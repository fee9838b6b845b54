//! Turns as the traces and metrics that OpenTelemetry exports.

use std::sync::{Arc, Mutex};

use haft::Agent;
use haft::executors::{Step, StepContext, StepError};
use haft::stores::{ClaimFilter, MemoryStore, TurnStore};
use haft::turn::Cancellation;
use opentelemetry::trace::{SpanContext, SpanId, TracerProvider as _};
use opentelemetry::{Array, Value};
use opentelemetry_sdk::metrics::data::{
    AggregatedMetrics, HistogramDataPoint, MetricData, ResourceMetrics, ScopeMetrics,
};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing::Subscriber;
use tracing::instrument::{Instrument as _, WithSubscriber as _};
use tracing_opentelemetry::{MetricsLayer, OpenTelemetryLayer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;

use super::spans::{Librarian, search};

/// A program that exports its spans.
struct Exported {
    spans: InMemorySpanExporter,
    traces: SdkTracerProvider,
}

impl Exported {
    fn new() -> Self {
        let spans = InMemorySpanExporter::default();
        let traces = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
        Self { spans, traces }
    }

    fn subscriber(&self) -> impl Subscriber + for<'s> LookupSpan<'s> + Send + Sync + use<> {
        let layer = OpenTelemetryLayer::new(self.traces.tracer("tests"));
        tracing_subscriber::registry().with(layer)
    }

    #[track_caller]
    fn span(&self, name: &str) -> SpanData {
        let spans = self.spans.get_finished_spans().unwrap();
        let found = spans.iter().find(|it| it.name == name);
        found.unwrap_or_else(|| panic!("no `{name}`: {spans:#?}")).clone()
    }
}

#[track_caller]
fn attribute(span: &SpanData, key: &str) -> Value {
    let found = span.attributes.iter().find(|it| it.key.as_str() == key);
    found.unwrap_or_else(|| panic!("no `{key}`: {span:#?}")).value.clone()
}

fn traceparent(of: &SpanContext) -> String {
    format!("00-{}-{}-01", of.trace_id(), of.span_id())
}

#[tokio::test]
async fn a_turn_is_exported_as_a_tree_with_typed_attributes_and_metrics() {
    let exported = Exported::new();
    let metrics = InMemoryMetricExporter::default();
    let meters = SdkMeterProvider::builder().with_periodic_exporter(metrics.clone()).build();
    let subscriber = exported.subscriber().with(MetricsLayer::new(meters.clone()));
    let runner = Agent::builder(Librarian).tool(search()).build().unwrap();
    runner.turn([]).system("Be brief.").report().with_subscriber(subscriber).await.unwrap();

    let (agent, chat) = (exported.span("invoke_agent"), exported.span("chat small-1"));
    let call = exported.span("execute_tool search");
    assert_eq!(agent.parent_span_id, SpanId::INVALID);
    for child in [&chat, &call] {
        assert_eq!(child.parent_span_id, agent.span_context.span_id());
    }
    let reasons = Array::String(vec!["tool_calls".into()]);
    assert_eq!(attribute(&chat, "gen_ai.response.finish_reasons"), Value::Array(reasons));
    assert_eq!(attribute(&chat, "gen_ai.usage.input_tokens"), Value::I64(20));
    assert_eq!(attribute(&chat, "server.port"), Value::I64(8080));

    meters.force_flush().unwrap();
    let exports = metrics.get_finished_metrics().unwrap();
    let scopes = exports.iter().flat_map(ResourceMetrics::scope_metrics);
    let counts = scopes.flat_map(ScopeMetrics::metrics).map(|metric| {
        let count = match metric.data() {
            AggregatedMetrics::U64(MetricData::Histogram(it)) => {
                it.data_points().map(HistogramDataPoint::count).sum::<u64>()
            }
            AggregatedMetrics::F64(MetricData::Histogram(it)) => {
                it.data_points().map(HistogramDataPoint::count).sum()
            }
            other => panic!("{other:?}"),
        };
        (metric.name().to_owned(), count)
    });
    let mut counts: Vec<_> = counts.collect();
    counts.sort();
    let expected = [("gen_ai.client.operation.duration", 2), ("gen_ai.client.token.usage", 4)];
    assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)));
}

/// The executor of a turn can send its span along, and a worker goes on with the trace in which the turn was created.
#[tokio::test]
async fn a_trace_continues_in_other_services_and_in_workers() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let executor = async move |ctx: StepContext| {
        noted.lock().unwrap().push(ctx.dispatch().turn().traceparent());
        Ok::<_, StepError>(Step::done())
    };
    let store: Arc<dyn TurnStore> = Arc::new(MemoryStore::new());
    let runner = || Agent::builder(executor.clone()).store(Arc::clone(&store)).build().unwrap();

    let program = Exported::new();
    let enqueue = async {
        let span = tracing::info_span!("request");
        runner().turn([]).system("Be brief.").submit().instrument(span).await.unwrap()
    };
    enqueue.with_subscriber(program.subscriber()).await;
    let request = program.span("request").span_context;

    let worker = Exported::new();
    let (runner, filter) = (runner(), ClaimFilter::default());
    let never = Cancellation::new();
    let claimed = runner.run_next(filter, &never);
    claimed.with_subscriber(worker.subscriber()).await.unwrap().unwrap();
    let (agent, chat) = (worker.span("invoke_agent"), worker.span("chat"));
    assert_eq!(agent.span_context.trace_id(), request.trace_id());
    assert_eq!(agent.parent_span_id, request.span_id());
    assert!(agent.parent_span_is_remote);
    assert_eq!(*seen.lock().unwrap(), [Some(traceparent(&chat.span_context))]);

    // Without OpenTelemetry there is nothing to send.
    runner.turn([]).system("Be brief.").report().await.unwrap();
    assert_eq!(seen.lock().unwrap().last(), Some(&None));
}

#[cfg(all(feature = "http", feature = "formats"))]
#[tokio::test]
async fn the_span_of_a_step_is_sent_to_the_model() {
    use crate::providers::Scripted;
    use crate::providers::provider::{provider, says};

    let (exported, transport) = (Exported::new(), Scripted::new([says("Hello!")]));
    let runner = Agent::builder(provider(&transport).build().unwrap()).build().unwrap();
    let turn = runner.turn([]).system("Be brief.").report();
    turn.with_subscriber(exported.subscriber()).await.unwrap();
    let chat = exported.span("chat test-model");
    let sent = transport.asked().remove(0);
    assert_eq!(sent.headers()["traceparent"], traceparent(&chat.span_context));
    assert_eq!(attribute(&chat, "gen_ai.response.id"), "c-1".into());
    assert_eq!(attribute(&chat, "gen_ai.response.model"), "real-model".into());
    assert_eq!(attribute(&chat, "server.address"), "localhost".into());
}
