//! A turn that is dropped, or cancelled, between any two polls.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use haft::stores::{MemorySpoolStore, MemoryStore};
use haft::stores::{TurnStatus, TurnStore as _};
use haft::turn::Cancellation;
use haft::turn::{Agent, TurnOutcome};
use haft::turn::{ManualClock, Timestamp};

use super::errand::{self, Doors, Errand, Ledger};
use super::pass;

struct World {
    store: Arc<MemoryStore>,
    spools: Arc<MemorySpoolStore>,
    clock: Arc<ManualClock>,
    errand: Errand,
}

impl World {
    fn new(outputs: bool) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
        let mut errand = Errand::new(Ledger::memory());
        errand.outputs = outputs;
        let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
        Self { store, spools: Arc::default(), clock, errand }
    }

    fn agent(&self) -> (Agent, Doors) {
        let (doors, observer) = errand::doors();
        let store = Arc::clone(&self.store);
        let clock = Arc::clone(&self.clock);
        let agent = self.errand.agent(store, Arc::clone(&self.spools), clock);
        (agent.observer(observer).build().unwrap(), doors)
    }

    async fn goes_on(&self) {
        self.clock.advance(Duration::from_secs(3600));
        let (agent, doors) = self.agent();
        let report = errand::run(&agent, doors).await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
        errand::check_over(&self.errand, &agent, &*self.store, &*self.spools).await;
    }
}

/// A future, until it was polled so many times.
struct Polls<F> {
    future: Pin<Box<F>>,
    left: usize,
    /// What is done then; without it, it is over.
    then: Option<Box<dyn FnOnce() + Send>>,
}

impl<F: Future> Future for Polls<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.left == 0 {
            match self.then.take() {
                Some(then) => then(),
                None => return Poll::Ready(None),
            }
            self.left = usize::MAX;
        }
        let counting = self.left < usize::MAX / 2;
        self.left -= 1;
        let polled = self.future.as_mut().poll(cx).map(Some);
        if counting {
            // Polled whenever something else was: between any two steps of its tasks.
            cx.waker().wake_by_ref();
        }
        polled
    }
}

/// Runs it as a task among its own tasks, which get their turn between any two polls.
async fn beside<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(future);
    tasks.join_next().await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_dropped_between_any_two_polls_goes_on() {
    drop_everywhere(true).await;
}

/// Its answer and its end are written at once.
#[tokio::test(start_paused = true)]
async fn a_turn_without_outputs_that_is_dropped_between_any_two_polls_goes_on() {
    drop_everywhere(false).await;
}

async fn drop_everywhere(outputs: bool) {
    for polls in 1.. {
        let world = World::new(outputs);
        let (agent, doors) = world.agent();
        let run = Box::pin(async move { errand::run(&agent, doors).await });
        let done = beside(Polls { future: run, left: polls, then: None }).await;
        world.goes_on().await;
        if let Some(report) = done {
            assert_eq!(report.unwrap().outcome, TurnOutcome::Completed);
            assert!(polls > 20, "it was polled {polls} times");
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_cancelled_between_any_two_polls_ends_well() {
    cancel_everywhere(true).await;
}

/// Its answer and its end are written at once.
#[tokio::test(start_paused = true)]
async fn a_turn_without_outputs_that_is_cancelled_between_any_two_polls_ends_well() {
    cancel_everywhere(false).await;
}

async fn cancel_everywhere(outputs: bool) {
    let mut completed = 0;
    for polls in 0.. {
        let world = World::new(outputs);
        let (agent, doors) = world.agent();
        let token = Cancellation::new();
        let cancel = token.clone();
        let runs = agent.clone();
        let until = token.clone();
        let run = Box::pin(async move { errand::run_until(&runs, doors, until).await });
        let then = Box::new(move || cancel.cancel("stop"));
        let run = beside(Polls { future: run, left: polls, then: Some(then) });
        let report = run.await.unwrap().unwrap();
        let cancelled = TurnOutcome::Cancelled { reason: "stop".to_owned() };
        assert!(
            [cancelled, TurnOutcome::Completed].contains(&report.outcome),
            "{:?}",
            report.error
        );
        // Every call that the model asked for has ended, on the shelf and in the store.
        let stored = world.store.load(Errand::id()).await.unwrap().unwrap();
        let agreed = match report.outcome {
            TurnOutcome::Completed => TurnStatus::Completed,
            _ => TurnStatus::Cancelled,
        };
        assert_eq!(stored.summary.status, agreed, "{polls}");
        let calls = errand::calls(&stored);
        for (place, tool, state) in &calls {
            let ends = ["succeeded", "failed", "cancelled", "unknown"];
            assert!(ends.contains(&state.as_str()), "{polls}: {tool} at {place} is {state}");
        }
        assert_eq!(report.calls.len(), calls.len());
        assert!(report.calls.iter().all(|call| call.state().is_final()));
        assert!(agent.gates().open_gates(None).await.unwrap().is_empty());
        // What renews leases and watches gates ends when nobody needs it; nothing else is left.
        pass(Duration::from_secs(60)).await;
        let alive = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        assert_eq!(alive, 0, "after {polls} polls");
        completed += usize::from(report.outcome == TurnOutcome::Completed);
        if !token.is_cancelled() {
            assert!(completed > 0 && polls > 20);
            break;
        }
    }
}
