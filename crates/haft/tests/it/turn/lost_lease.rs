//! A process that is stopped for longer than its lease, in the middle of a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use haft::executors::Step;
use haft::records::CallState;
use haft::stores::{GateId, LeaseRequest, MemoryStore, StoreError, TurnId, TurnStoreExt as _};
use haft::tools::ToolEffect;
use haft::turn::{ApprovalStore, Deadlines, Gate, ManualClock, Spending, Timestamp};
use haft::{Args, BoxFuture, CallContext, Tool};

use super::gates::{SECRET, done};
use super::points::{Fate, Guarded, Judge, Side};
use super::{agent, call, input, steps};

const LEASE: Duration = Duration::from_millis(100);

fn turn() -> TurnId {
    "t".parse().unwrap()
}

/// While it marks an approval, its process is stopped for longer than a lease. Another one takes the turn over if it is to.
#[derive(Debug)]
struct StoppingLedger {
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    is_taken_over: bool,
}

impl ApprovalStore for StoppingLedger {
    fn spend(&self, _: GateId) -> BoxFuture<'_, Result<Spending, StoreError>> {
        Box::pin(async {
            self.clock.advance(LEASE * 2);
            if self.is_taken_over {
                let other = LeaseRequest::new("another process", LEASE);
                self.store.claim(turn(), other).await?;
            }
            // Nothing else of the process goes on meanwhile, such as the renewal of leases.
            std::thread::sleep(LEASE * 2);
            Ok(Spending::First)
        })
    }

    no_grants!();
}

/// Runs a turn with a call that must not be repeated. Returns how often its handler ran, and its stored state.
async fn run_stopped_call(is_taken_over: bool) -> (u32, CallState) {
    let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
    let ledger =
        StoppingLedger { store: Arc::clone(&store), clock: Arc::clone(&clock), is_taken_over };
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let pay = Tool::builder("pay")
        .description("Pays.")
        .effect(ToolEffect::Once)
        .input(haft::schema::object());
    let pay = pay.requires_approval("Pay?").handler(move |_: Args, _: CallContext| {
        let count = Arc::clone(&count);
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            "paid"
        }
    });
    let built = agent(steps([|_| Ok(Step::new().call(call("pay", "{}"))), done]));
    let built = built.tool(pay.build().unwrap()).store(Arc::clone(&store) as _).clock(clock as _);
    let built = built
        .secret(SECRET)
        .approver(async |_: Gate| true)
        .deadlines(Deadlines::new().lease(LEASE));
    let built = built.approvals(Arc::new(ledger)).build().unwrap();
    let report = input(&built).id("t").report().await.unwrap();
    assert_eq!(report.is_resumable, is_taken_over, "{:?}", report.error);
    let state = report.calls.first().map_or(CallState::Running, |call| call.state());
    (ran.load(Ordering::SeqCst), state)
}

/// A process is stopped for longer than its lease when it has just written something, and its store cannot renew leases
/// then. Returns whether it was stopped, how often the handler ran, and the state of the call when the turn is resumed.
async fn stop_after_commit(number: usize) -> (bool, u32, CallState) {
    let (commits, is_away) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let away = Arc::clone(&is_away);
    let judge: Judge = Arc::new(move |moment| {
        if moment.what == "commit" && moment.side == Side::After {
            if commits.fetch_add(1, Ordering::SeqCst) == number {
                std::thread::sleep(LEASE * 2);
                away.store(true, Ordering::SeqCst);
            }
        } else if moment.what == "renew" && away.load(Ordering::SeqCst) {
            return Fate::Fail;
        }
        Fate::Pass
    });
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let pay = Tool::builder("pay").description("Pays.").effect(ToolEffect::Once);
    let pay = pay.handler(move || {
        count.fetch_add(1, Ordering::SeqCst);
        "paid"
    });
    let built = agent(steps([|_| Ok(Step::new().call(call("pay", "{}"))), done]));
    let built = built.tool(pay.build().unwrap()).deadlines(Deadlines::new().lease(LEASE));
    let built = built.store(Guarded::new(Arc::new(MemoryStore::new()), judge)).build().unwrap();
    let mut report = input(&built).id("t").report().await.unwrap();
    let was_stopped = is_away.swap(false, Ordering::SeqCst);
    if report.is_resumable {
        report = built.resume(turn()).report().await.unwrap();
    }
    (was_stopped, ran.load(Ordering::SeqCst), report.calls.first().unwrap().state())
}

/// A call that has not begun is not taken for one that may have.
#[tokio::test]
async fn a_lease_that_cannot_be_renewed_leaves_no_call_in_doubt() {
    for number in 0.. {
        let (was_stopped, ran, state) = stop_after_commit(number).await;
        assert_eq!((ran, state), (1, CallState::Succeeded), "after commit {number}");
        if !was_stopped {
            assert!(number > 2, "{number}");
            break;
        }
    }
}

/// The other process has found the call as begun, and takes it for unknown.
#[tokio::test]
async fn a_process_that_lost_its_turn_begins_no_call() {
    let (ran, state) = run_stopped_call(true).await;
    assert_eq!((ran, state), (0, CallState::Running));
}

#[tokio::test]
async fn a_process_that_kept_its_turn_goes_on() {
    let (ran, state) = run_stopped_call(false).await;
    assert_eq!((ran, state), (1, CallState::Succeeded));
}
