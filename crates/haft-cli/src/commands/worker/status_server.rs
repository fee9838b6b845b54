//! The status of a worker over HTTP: `/healthz`, `/readyz` and `/metrics`.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use haft::worker::{LatencyCounts, Worker, WorkerStats};
use haft_server::serve_connections;
use tokio::task::JoinSet;

/// Serves the status until it is dropped. It shows numbers only, so that it needs no token.
pub(super) struct StatusServer {
    address: SocketAddr,
    _task: JoinSet<()>,
}

#[derive(Clone)]
struct ServedWorker {
    worker: Worker,
    concurrency: usize,
}

impl StatusServer {
    pub(super) async fn start(
        address: SocketAddr,
        worker: Worker,
        concurrency: NonZeroUsize,
    ) -> Result<Self> {
        let listener = std::net::TcpListener::bind(address);
        let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
        let address = listener.local_addr()?;
        let routes = Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(show_readiness))
            .route("/metrics", get(show_metrics))
            .with_state(ServedWorker { worker, concurrency: concurrency.get() });
        let mut task = JoinSet::new();
        task.spawn(async move {
            // Without the page the worker goes on.
            let _ = serve_connections(listener, routes, 1, std::future::pending()).await;
        });
        Ok(Self { address, _task: task })
    }

    /// The address with the port that was chosen.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Whether the worker claims turns.
async fn show_readiness(State(served): State<ServedWorker>) -> impl IntoResponse {
    let stats = served.worker.stats();
    match (stats.is_draining, stats.is_connected) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
        (false, false) => (StatusCode::SERVICE_UNAVAILABLE, "the store does not respond\n"),
        (false, true) => (StatusCode::OK, "ok\n"),
    }
}

async fn show_metrics(State(served): State<ServedWorker>) -> impl IntoResponse {
    let claimable = tokio::time::timeout(MAX_COUNT_TIME, served.worker.count_claimable()).await;
    let mut text = metrics_text(&served.worker.stats(), served.concurrency);
    // Without the store the other numbers are shown, which say that it does not respond.
    if let Ok(Ok(count)) = claimable {
        text.push_str(
            "# HELP haft_worker_claimable_turns Turns of the store that wait for a worker.\n",
        );
        text.push_str("# TYPE haft_worker_claimable_turns gauge\n");
        let _ = writeln!(text, "haft_worker_claimable_turns {count}");
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}

/// How long the store may take to count the turns that wait. Prometheus waits for ten seconds by default.
const MAX_COUNT_TIME: Duration = Duration::from_secs(5);

/// The counters in the text format of Prometheus.
fn metrics_text(stats: &WorkerStats, concurrency: usize) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, values: &[(&str, u64)]| {
        let _ = writeln!(text, "# HELP haft_worker_{name} {help}");
        let _ = writeln!(text, "# TYPE haft_worker_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "haft_worker_{name}{labels} {value}");
        }
    };
    metric("claimed_turns_total", "counter", "Turns claimed.", &[("", stats.claimed)]);
    let outcomes = [
        ("{outcome=\"completed\"}", stats.completed),
        ("{outcome=\"failed\"}", stats.failed),
        ("{outcome=\"waiting\"}", stats.waiting),
        ("{outcome=\"interrupted\"}", stats.interrupted),
        ("{outcome=\"error\"}", stats.errors),
    ];
    metric("attempts_total", "counter", "Attempts to run a turn, by their outcome.", &outcomes);
    metric("running_turns", "gauge", "Turns that run now.", &[("", stats.running)]);
    let limit = [("", concurrency as u64)];
    metric("max_running_turns", "gauge", "Turns that can run at a time.", &limit);
    let failures = [("", stats.store_failures)];
    metric("store_failures_total", "counter", "Claims that the store did not answer.", &failures);
    let connected = [("", u64::from(stats.is_connected))];
    metric("connected", "gauge", "Whether the store answered the last claim.", &connected);
    let draining = [("", u64::from(stats.is_draining))];
    metric("draining", "gauge", "Whether no more turns are claimed.", &draining);
    text.push_str(&histogram_text("claim_seconds", &stats.claim_latency));
    text
}

fn histogram_text(name: &str, latency: &LatencyCounts) -> String {
    let mut text = format!("# HELP haft_worker_{name} How long claims took.\n");
    let _ = writeln!(text, "# TYPE haft_worker_{name} histogram");
    let mut sum = 0;
    for (bound, count) in LatencyCounts::BOUNDS.iter().zip(latency.counts) {
        sum += count;
        let bound = bound.as_secs_f64();
        let _ = writeln!(text, "haft_worker_{name}_bucket{{le=\"{bound}\"}} {sum}");
    }
    let _ = writeln!(text, "haft_worker_{name}_bucket{{le=\"+Inf\"}} {}", latency.total);
    let _ = writeln!(text, "haft_worker_{name}_sum {}", latency.sum.as_secs_f64());
    let _ = writeln!(text, "haft_worker_{name}_count {}", latency.total);
    text
}
