//! Stores that fail while middleware reads them, and between an approval and its call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use haft::Tool;
use haft::executors::Step;
use haft::middleware::{Next, hydrate_conversation};
use haft::records::CallState;
use haft::stores::{MemoryStore, TurnStatus, TurnStore as _};
use haft::tools::ToolEffect;
use haft::turn::{Deadlines, Gate, GateRequest, TurnContext, TurnOutcome};
use serde_json::json;

use super::faults::at;
use super::points::{Fate, Guarded, GuardedLedger, Judge, Side};
use super::{agent, call, input, pass, steps};

/// Middleware that reads the store is not to blame if the store fails or hangs: the turn can be resumed.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_while_middleware_reads_leaves_the_turn_resumable() {
    for fate in [Fate::Fail, Fate::Hang] {
        for what in ["turns", "load", "load_memories", "gate"] {
            let is_away = Arc::new(AtomicBool::new(false));
            let away = Arc::clone(&is_away);
            let judge: Judge = Arc::new(move |moment| {
                let fails = moment.what == what && away.load(Ordering::SeqCst);
                if fails { fate } else { Fate::Pass }
            });
            let asks = async |ctx: TurnContext, next: Next<TurnContext>| {
                if ctx.turn_id() == "second" {
                    ctx.ask(GateRequest::new("May it begin?")).await?;
                }
                next.run().await
            };
            let deadlines = Deadlines::new().pipeline(Duration::from_secs(5));
            let built = agent(steps([|ctx| Ok(Step::done().say(ctx.message("done")?))]));
            let built = built.store(Guarded::new(Arc::new(MemoryStore::new()), judge));
            let built = built.turn_input("history", hydrate_conversation()).turn_input("ask", asks);
            let built = built.deadlines(deadlines).build().unwrap();
            input(&built).id("first").conversation("c").report().await.unwrap();
            is_away.store(true, Ordering::SeqCst);
            let report = input(&built).id("second").conversation("c").report().await.unwrap();
            assert!(matches!(report.outcome, TurnOutcome::Failed { .. }), "{what} {fate:?}");
            assert!(report.is_resumable, "{what} {fate:?}: {:?}", report.error);
            is_away.store(false, Ordering::SeqCst);
            let (report, ()) = tokio::join!(built.resume(&report.turn).report(), async {
                pass(Duration::from_secs(60)).await;
                let gate = built.gates().open_gates(None).await.unwrap().remove(0);
                built.gates().resolve(&gate.id, json!(true), "ada").await.unwrap();
            });
            assert_eq!(report.unwrap().outcome, TurnOutcome::Completed, "{what} {fate:?}");
        }
    }
}

/// A failure of the middleware itself ends the turn, as before.
#[tokio::test]
async fn a_failure_of_middleware_ends_the_turn() {
    let breaks = async |_: TurnContext, _: Next<TurnContext>| Err("broken".into());
    let built = agent(steps([])).turn_input("breaks", breaks).build().unwrap();
    let report = input(&built).report().await.unwrap();
    assert_eq!((report.status(), report.is_resumable), (TurnStatus::Failed, false));
}

/// Wherever the store or the ledger fails once, before it has done its work, the approval of a call whose handler has not
/// started is not lost, and no handler runs twice.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_does_not_use_up_an_approval() {
    for number in 0.. {
        let store = Arc::new(MemoryStore::new());
        let (judge, hit) = at(number, Side::Before, false, Fate::Fail);
        let ran = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ran);
        let tool = Tool::builder("deploy").description("Deploys.").effect(ToolEffect::Once);
        let tool = tool.requires_approval("May I?").handler(move || {
            count.fetch_add(1, Ordering::SeqCst);
            "deployed"
        });
        let ledger = GuardedLedger { spent: Arc::default(), judge: Arc::clone(&judge) };
        let built = agent(steps([
            |_| Ok(Step::new().call(call("deploy", "{}"))),
            |ctx| Ok(Step::done().say(ctx.message("done")?)),
        ]));
        let built = built.tool(tool.build().unwrap()).approvals(Arc::new(ledger));
        let built = built.store(Guarded::new(Arc::clone(&store), judge));
        let built = built.approver(async |_: Gate| true).build().unwrap();
        let run = match input(&built).id("t").report().await {
            Ok(report) if report.is_resumable => built.resume(&report.turn).report().await,
            Err(_) if store.load("t".parse().unwrap()).await.unwrap().is_none() => {
                input(&built).id("t").report().await
            }
            other => other,
        };
        let report = run.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "{number} {:?}", report.error);
        let (state, hit, ran) =
            (report.calls[0].state(), *hit.lock().unwrap(), ran.load(Ordering::SeqCst));
        match state {
            CallState::Succeeded => assert_eq!(ran, 1, "{number} {hit:?}"),
            // The handler ran, and its result could not be stored.
            CallState::Unknown => assert_eq!(ran, 1, "{number} {hit:?}"),
            other => panic!("{number} {hit:?}: {other:?}"),
        }
        if hit.is_none() {
            assert!(number > 8, "{number}");
            break;
        }
    }
}
