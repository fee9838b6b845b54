//! Builds workers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haft_core::store::{ClaimFilter, LeaseRequest, TurnStore};

use super::stats::WorkerCounters;
use super::{AgentSource, Worker, WorkerShared};
use crate::turn::{Deadlines, TimedStore};

/// Builds a [`Worker`].
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use haft::Agent;
/// use haft::executors::ScriptExecutor;
/// use haft::stores::MemoryStore;
/// use haft::worker::Worker;
///
/// let store = Arc::new(MemoryStore::new());
/// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
/// let agent = Agent::builder(script).store(Arc::clone(&store) as _).build()?;
/// let worker = Worker::builder(store, agent)
///     .name("worker-1")
///     .concurrency(16)
///     .lease(Duration::from_secs(10))
///     .drain_deadline(Duration::from_secs(60))
///     .build();
/// assert_eq!(worker.stats().running, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct WorkerBuilder {
    store: Arc<dyn TurnStore>,
    source: Arc<dyn AgentSource>,
    tenant: Option<String>,
    name: Option<String>,
    concurrency: usize,
    lease: Duration,
    poll_interval: Duration,
    retry_delay: Duration,
    drain_deadline: Duration,
}

impl WorkerBuilder {
    pub(super) fn new(store: Arc<dyn TurnStore>, source: Arc<dyn AgentSource>) -> Self {
        let deadlines = Deadlines::new();
        Self {
            store,
            source,
            tenant: None,
            name: None,
            concurrency: 8,
            lease: deadlines.lease,
            poll_interval: Duration::from_secs(1),
            retry_delay: deadlines.outage,
            drain_deadline: Duration::from_secs(30),
        }
    }

    /// Claims only turns of a namespace (default: of all).
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// The name of the worker in leases (default: the number of the process).
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How many turns run at a time (default: 8). At least one.
    pub fn concurrency(mut self, turns: usize) -> Self {
        self.concurrency = turns.max(1);
        self
    }

    /// How long a claimed turn is reserved before its agent takes over (default: thirty seconds). The agent then uses its
    /// own [`Deadlines::lease`].
    pub fn lease(mut self, time: Duration) -> Self {
        self.lease = time;
        self
    }

    /// How often the store is polled although it has reported no change (default: every second).
    pub fn poll_interval(mut self, time: Duration) -> Self {
        self.poll_interval = time;
        self
    }

    /// How long a turn is left alone that could not be run here, because its agent was not found or a stored record
    /// cannot be read (default: ten seconds).
    pub fn retry_delay(mut self, time: Duration) -> Self {
        self.retry_delay = time;
        self
    }

    /// How long turns may run after the worker was told to stop (default: thirty seconds).
    pub fn drain_deadline(mut self, time: Duration) -> Self {
        self.drain_deadline = time;
        self
    }

    /// Builds the worker.
    #[must_use]
    pub fn build(self) -> Worker {
        let mut filter = ClaimFilter::default();
        filter.agents = self.source.agents();
        filter.tenant = self.tenant;
        let name = self.name.unwrap_or_else(|| format!("worker {}", std::process::id()));
        let store = Arc::new(TimedStore::new(self.store, Deadlines::new().store));
        Worker {
            shared: Arc::new(WorkerShared {
                store,
                source: self.source,
                filter,
                holder: LeaseRequest::new(name, self.lease),
                concurrency: self.concurrency,
                poll_interval: self.poll_interval,
                retry_delay: self.retry_delay,
                drain_deadline: self.drain_deadline,
                counters: WorkerCounters::default(),
            }),
        }
    }
}

impl fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerBuilder")
            .field("name", &self.name)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
