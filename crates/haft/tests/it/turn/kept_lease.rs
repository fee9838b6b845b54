//! A turn that runs longer than its lease, in a process that is well.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft::executors::Step;
use haft::stores::{LeaseRequest, MemoryStore, StoreError, TurnStoreExt as _};
use haft::turn::{Clock, Deadlines, Timestamp, TurnOutcome};
use haft::{Args, Tool, schema};
use tokio::time::Instant;

use super::gates::done;
use super::{agent, call, input, pass, steps};

const LEASE: Duration = Duration::from_secs(3);

/// The time of the runtime, which passes at once when everything waits.
#[derive(Debug)]
struct RuntimeClock(Instant);

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH.saturating_add(self.monotonic())
    }

    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The lease is renewed long before it ends: at no time can another process take the turn over.
#[tokio::test(start_paused = true)]
async fn a_turn_keeps_its_lease_for_as_long_as_it_runs() {
    let clock = Arc::new(RuntimeClock(Instant::now()));
    let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
    let (refused, others) = (Arc::new(AtomicU32::new(0)), Arc::clone(&store));
    let count = Arc::clone(&refused);
    let work = Tool::builder("work").description("Works for ten leases.").input(schema::object());
    let work = work.handler(move |_: Args| {
        let (store, refused) = (Arc::clone(&others), Arc::clone(&count));
        async move {
            for part in 1..=40 {
                pass(LEASE / 4).await;
                let claim = LeaseRequest::new("another process", LEASE);
                match store.claim("t".parse().unwrap(), claim).await {
                    Err(StoreError::Held { .. }) => refused.fetch_add(1, Ordering::SeqCst),
                    other => panic!("after {part} quarters of a lease: {other:?}"),
                };
            }
            "done"
        }
    });
    let built = agent(steps([|_| Ok(Step::new().call(call("work", "{}"))), done]));
    let built = built.tool(work.build().unwrap()).store(Arc::clone(&store) as _);
    let built = built.clock(clock as _).deadlines(Deadlines::new().lease(LEASE)).build().unwrap();
    let report = input(&built).id("t").report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert_eq!(refused.load(Ordering::SeqCst), 40);
}
