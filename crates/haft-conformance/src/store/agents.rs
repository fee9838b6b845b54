//! Runners whose clocks are wrong.

use std::sync::Arc;
use std::time::Duration;

use haft_core::clock::{Clock as _, ManualClock, SystemClock};
use haft_core::step::{Step, StepContext, StepError};
use haft_core::store::{CancelRequest, ClaimFilter, StoreError, TurnStore, TurnStoreExt as _};
use tokio::sync::Notify;

use super::{ContractViolation, expect_ok, turn_id};
use haft::turn::{Agent, Cancellation, Deadlines, TurnError, TurnOutcome};

/// While one agent runs a turn, others with clocks far ahead and far behind look for work, and find none.
pub(super) async fn check(store: &Arc<dyn TurnStore>) -> Result<(), ContractViolation> {
    for (mine, other) in [(SKEW, -SKEW), (-SKEW, SKEW), (0, SKEW), (SKEW, 0)] {
        check_pair(store, mine, other).await?;
    }
    Ok(())
}

async fn check_pair(
    store: &Arc<dyn TurnStore>,
    mine: i64,
    others: i64,
) -> Result<(), ContractViolation> {
    let began = Arc::new(Notify::new());
    let go_on = Arc::new(Notify::new());
    let holder = build_agent(store, mine, Some((Arc::clone(&began), Arc::clone(&go_on))))?;
    let other = build_agent(store, others, None)?;
    let id = turn_id("skewed")?;
    let running = holder.turn([]).system("Wait.").id("skewed").report();
    let look = async {
        began.notified().await;
        let next = other.run_next(ClaimFilter::default(), &Cancellation::new()).await;
        let next = next.map_err(|error| ContractViolation::new(NOT_TAKEN, error))?;
        ContractViolation::ensure_equal(NOT_TAKEN, &next.map(|it| it.turn), &None)?;
        match other.resume(&id).report().await {
            Err(TurnError::Store(StoreError::Held { .. })) => {}
            resumed => return Err(ContractViolation::new(NOT_TAKEN, format_args!("{resumed:?}"))),
        }
        go_on.notify_one();
        Ok(())
    };
    let (report, looked) = tokio::join!(running, look);
    looked?;
    let report = report.map_err(|error| ContractViolation::new("a turn runs", error))?;
    ContractViolation::ensure_equal(NOT_TAKEN, &report.outcome, &TurnOutcome::Completed)?;
    expect_ok("a turn can be removed", store.remove(id).await)?;

    // What is left behind is found at once, whatever the clock says.
    let promise = "a queued turn is run by a process with any clock";
    let queued = other.turn([]).system("Go.").id("queued").submit().await;
    let queued = queued.map_err(|error| ContractViolation::new(promise, error))?;
    let request = CancelRequest::new("ada", "not needed");
    expect_ok("a turn can be cancelled", store.request_cancel(queued.clone(), request).await)?;
    let next = other.run_next(ClaimFilter::default(), &Cancellation::new()).await;
    let next = next.map_err(|error| ContractViolation::new(promise, error))?;
    let is_cancelled = next.is_some_and(|it| matches!(it.outcome, TurnOutcome::Cancelled { .. }));
    ContractViolation::ensure_equal(promise, &is_cancelled, &true)?;
    expect_ok("a turn can be removed", store.remove(queued).await).map(drop)
}

fn build_agent(
    store: &Arc<dyn TurnStore>,
    skew: i64,
    pause: Option<(Arc<Notify>, Arc<Notify>)>,
) -> Result<Agent, ContractViolation> {
    let now = SystemClock::new().now();
    let by = Duration::from_secs(skew.unsigned_abs());
    let now = if skew < 0 { now.saturating_sub(by) } else { now.saturating_add(by) };
    let executor = move |ctx: StepContext| {
        let pause = pause.clone();
        async move {
            let _ = ctx;
            if let Some((began, go_on)) = pause {
                began.notify_one();
                go_on.notified().await;
            }
            Ok::<_, StepError>(Step::done())
        }
    };
    let builder = Agent::builder(executor).store(Arc::clone(store));
    let builder = builder.secret([7; 32]).clock(Arc::new(ManualClock::new(now)));
    let builder = builder.process(format!("clock {skew}"));
    let deadlines = Deadlines::new().lease(Duration::from_secs(60));
    let built = builder.deadlines(deadlines).build();
    built.map_err(|error| ContractViolation::new("an agent can be built", error))
}

const NOT_TAKEN: &str = "a process with another clock takes no turn from a process that runs it";
/// Five minutes, in seconds.
const SKEW: i64 = 300;
