//! Turns as OpenTelemetry spans, sent to a collector over OTLP (protobuf over HTTP).
//!
//! [`otlp`] makes an [`Otlp`]: a pipeline that is a value. Nothing global is set unless
//! [`Otlp::install_global`] is called. Spans wait in a bounded queue and are sent from a thread of their
//! own, so a turn never waits for the collector; what does not fit is dropped. The pipeline sends what
//! waits when it is shut down, and at the latest when it is dropped.
//!
//! ```no_run
//! let telemetry = haft::events::otlp::otlp("http://localhost:4318").service("billing-bot").build()?;
//! let ctx = haft::DispatchContext::builder("turn-1").observer(telemetry.observer()).build();
//! // … run turns …
//! telemetry.shutdown()?;
//! # Ok::<(), haft::events::otlp::TelemetryError>(())
//! ```
//!
//! A program that has a tracer provider already gives it to a [`TracerObserver`] instead:
//!
//! ```
//! use haft::events::otlp::TracerObserver;
//! use opentelemetry_sdk::trace::SdkTracerProvider;
//!
//! let provider = SdkTracerProvider::builder().build(); // the one that the program exports with
//! let observer = TracerObserver::new(&provider).agent("billing-bot");
//! let ctx = haft::DispatchContext::builder("turn-1").observer(observer).build();
//! # assert!(ctx.is_observed());
//! ```
//!
//! The spans are those of [`TracingObserver`](crate::events::TracingObserver), with the times of the
//! events. Plain HTTP only, which a collector on the same machine accepts; a program that turns on
//! TLS in `reqwest` gets `https` too.

mod backend;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haft_core::event::{Event, Observer, WorkScope};
use opentelemetry::trace::{Tracer, TracerProvider};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

use self::backend::OtlpBackend;
use crate::events::{SpanTracker, TracedContent};

/// Starts a pipeline to the collector at `endpoint`, such as `http://localhost:4318`. The path
/// `/v1/traces` is added if it is not there.
pub fn otlp(endpoint: impl Into<String>) -> OtlpBuilder {
    OtlpBuilder {
        endpoint: endpoint.into(),
        service: "haft".to_owned(),
        agent: None,
        headers: HashMap::new(),
        timeout: Duration::from_secs(10),
        content: TracedContent::Hidden,
    }
}

/// A pipeline in the making.
#[must_use = "a builder does nothing until `build` is called"]
pub struct OtlpBuilder {
    endpoint: String,
    service: String,
    agent: Option<Box<str>>,
    headers: HashMap<String, String>,
    timeout: Duration,
    content: TracedContent,
}

/// Telemetry could not be set up or sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The pipeline could not be made.
    #[error("telemetry cannot be sent to `{endpoint}`")]
    Setup {
        /// Where to.
        endpoint: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What waited could not be sent.
    #[error("telemetry was not sent")]
    Export {
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl OtlpBuilder {
    /// Names the service that spans come from; the default is `haft`.
    pub fn service(mut self, name: impl Into<String>) -> Self {
        self.service = name.into();
        self
    }

    /// Names the agent.
    pub fn agent(mut self, name: impl Into<Box<str>>) -> Self {
        self.agent = Some(name.into());
        self
    }

    /// Sends a header with every request, such as a key of the collector.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// How long one request may take; the default is ten seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets whether spans have content; the default is that they do not.
    pub fn content(mut self, content: TracedContent) -> Self {
        self.content = content;
        self
    }

    /// Starts the pipeline.
    ///
    /// # Errors
    ///
    /// The endpoint is not a valid address, or the HTTP client could not be built. A missing collector is noticed only
    /// when something is sent.
    pub fn build(self) -> Result<Otlp, TelemetryError> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(traces_url(&self.endpoint))
            .with_timeout(self.timeout)
            .with_headers(self.headers)
            .build();
        let exporter = exporter.map_err(|source| TelemetryError::Setup {
            endpoint: self.endpoint,
            source: Box::new(source),
        })?;
        let resource = Resource::builder_empty().with_service_name(self.service).build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        let mut tracker = SpanTracker::new(OtlpBackend(provider.tracer("haft")));
        tracker.agent = self.agent;
        tracker.content = self.content == TracedContent::Shown;
        Ok(Otlp { provider, tracker: Arc::new(tracker) })
    }
}

/// Shows neither headers, which can hold keys, nor the endpoint, which can too.
impl fmt::Debug for OtlpBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpBuilder").field("service", &self.service).finish_non_exhaustive()
    }
}

/// A running pipeline.
pub struct Otlp {
    provider: SdkTracerProvider,
    tracker: Arc<SpanTracker<OtlpBackend<SdkTracer>>>,
}

impl Otlp {
    /// An observer that draws spans of the turns it sees. One can serve many turns; all of them are the
    /// same.
    #[must_use]
    pub fn observer(&self) -> OtlpObserver {
        OtlpObserver { tracker: Arc::clone(&self.tracker) }
    }

    /// Installs the pipeline globally, for other instrumented code of this process.
    pub fn install_global(&self) {
        opentelemetry::global::set_tracer_provider(self.provider.clone());
    }

    /// Sends what waits. Blocks until it is sent or given up.
    ///
    /// # Errors
    ///
    /// The collector did not take it.
    pub fn flush(&self) -> Result<(), TelemetryError> {
        self.provider.force_flush().map_err(not_sent)
    }

    /// Sends what waits and ends the pipeline. Blocks until it is sent or given up. Spans that are open
    /// are lost, and observers see nothing more.
    ///
    /// # Errors
    ///
    /// The collector did not take it.
    pub fn shutdown(self) -> Result<(), TelemetryError> {
        self.provider.shutdown().map_err(not_sent)
    }
}

impl Drop for Otlp {
    fn drop(&mut self) {
        // After `shutdown` this reports that the provider has ended; before, no caller is left to tell.
        let _ = self.provider.shutdown();
    }
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Otlp").finish_non_exhaustive()
    }
}

/// Draws spans of the turns it sees. Clones are the same observer.
#[derive(Clone)]
pub struct OtlpObserver {
    tracker: Arc<SpanTracker<OtlpBackend<SdkTracer>>>,
}

impl Observer for OtlpObserver {
    fn observe(&self, event: &Event) {
        self.tracker.observe(event);
    }

    fn scope(&self, event: &Event) -> Option<Arc<dyn WorkScope>> {
        self.tracker.scope(event)
    }
}

impl fmt::Debug for OtlpObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpObserver").finish_non_exhaustive()
    }
}

/// Draws spans of the turns it sees with a tracer of the program, which exports and flushes them.
pub struct TracerObserver<T: Tracer<Span: Send + Sync + 'static> + Send + Sync> {
    tracker: SpanTracker<OtlpBackend<T>>,
}

impl<T: Tracer<Span: Send + Sync + 'static> + Send + Sync> TracerObserver<T> {
    /// An observer that draws spans with a tracer of this provider: the program's own, or that of
    /// `opentelemetry::global::tracer_provider`.
    #[must_use]
    pub fn new(provider: &impl TracerProvider<Tracer = T>) -> Self {
        Self { tracker: SpanTracker::new(OtlpBackend(provider.tracer("haft"))) }
    }

    /// Names the agent.
    #[must_use]
    pub fn agent(mut self, name: impl Into<Box<str>>) -> Self {
        self.tracker.agent = Some(name.into());
        self
    }

    /// Says whether spans have content; they do not by default.
    #[must_use]
    pub fn content(mut self, content: TracedContent) -> Self {
        self.tracker.content = content == TracedContent::Shown;
        self
    }
}

impl<T: Tracer<Span: Send + Sync + 'static> + Send + Sync> Observer for TracerObserver<T> {
    fn observe(&self, event: &Event) {
        self.tracker.observe(event);
    }

    fn scope(&self, event: &Event) -> Option<Arc<dyn WorkScope>> {
        self.tracker.scope(event)
    }
}

impl<T: Tracer<Span: Send + Sync + 'static> + Send + Sync> fmt::Debug for TracerObserver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracerObserver").field("agent", &self.tracker.agent).finish_non_exhaustive()
    }
}

fn traces_url(endpoint: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    if endpoint.ends_with("/v1/traces") {
        endpoint.to_owned()
    } else {
        format!("{endpoint}/v1/traces")
    }
}

fn not_sent(source: opentelemetry_sdk::error::OTelSdkError) -> TelemetryError {
    TelemetryError::Export { source: Box::new(source) }
}
