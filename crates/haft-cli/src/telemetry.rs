//! Exports spans and metrics to a collector of OpenTelemetry, by OTLP (protobuf over HTTP), if the environment names one.
//!
//! The variables are those of OpenTelemetry: `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`,
//! `OTEL_SERVICE_NAME` and the like. Spans wait in a bounded queue and are sent from a thread of their own, so that a turn
//! never waits for the collector; what does not fit is dropped.

use anyhow::{Context as _, Result};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{Aggregation, Instrument, SdkMeterProvider, Stream};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::{MetricsLayer, OpenTelemetryLayer};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use crate::environment::read_text;

/// What names the collector.
const ENDPOINTS: [&str; 3] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
];

/// The boundaries that the conventions advise for durations, in seconds.
const DURATION_BOUNDARIES: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The boundaries that the conventions advise for counts of tokens.
const TOKEN_BOUNDARIES: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// A running export.
#[derive(Debug)]
pub(crate) struct Telemetry {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl Telemetry {
    /// Starts the export, if the environment names a collector.
    pub(crate) fn start() -> Result<Option<Self>> {
        if ENDPOINTS.iter().all(|name| read_text(name).is_none()) {
            return Ok(None);
        }
        let resource = match read_text("OTEL_SERVICE_NAME") {
            Some(_) => Resource::builder().build(),
            None => Resource::builder().with_service_name("haft").build(),
        };
        let what = "telemetry cannot be exported";
        let spans = SpanExporter::builder().with_http().build().context(what)?;
        let metrics = MetricExporter::builder().with_http().build().context(what)?;
        Ok(Some(Self {
            traces: SdkTracerProvider::builder()
                .with_batch_exporter(spans)
                .with_resource(resource.clone())
                .build(),
            metrics: SdkMeterProvider::builder()
                .with_periodic_exporter(metrics)
                .with_view(view_of)
                .with_resource(resource)
                .build(),
        }))
    }

    /// The layer that takes spans and metrics from `tracing`.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        let tracer = self.traces.tracer("haft");
        let spans = OpenTelemetryLayer::new(tracer)
            .with_location(false)
            .with_threads(false)
            .with_filter(Targets::new().with_target("haft", LevelFilter::INFO));
        let metrics = MetricsLayer::new(self.metrics.clone())
            .with_filter(Targets::new().with_target("haft::metrics", LevelFilter::TRACE));
        spans.and_then(metrics)
    }

    /// Sends what waits, and ends the export. What the collector does not take within seconds is lost.
    pub(crate) fn shut_down(self) {
        for error in [self.traces.shutdown().err(), self.metrics.shutdown().err()].iter().flatten()
        {
            tracing::warn!(%error, "telemetry was not exported");
        }
    }
}

/// The units and the boundaries of the conventions, which `tracing` cannot give to an instrument.
fn view_of(instrument: &Instrument) -> Option<Stream> {
    let (unit, boundaries) = match instrument.name() {
        "gen_ai.client.operation.duration" => ("s", DURATION_BOUNDARIES),
        "gen_ai.client.token.usage" => ("{token}", TOKEN_BOUNDARIES),
        _ => return None,
    };
    let boundaries = boundaries.to_vec();
    let aggregation = Aggregation::ExplicitBucketHistogram { boundaries, record_min_max: true };
    Stream::builder().with_unit(unit).with_aggregation(aggregation).build().ok()
}
