//! Gates while nobody runs their turn, and while the store that keeps them fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft::executors::Step;
use haft::records::CallState;
use haft::stores::MemoryStore;
use haft::stores::{
    LeaseRequest, NewTurn, StoreWrite, StoredTurn, TurnId, TurnStore, TurnStoreExt as _,
};
use haft::turn::GateKey;
use haft::turn::SystemClock;
use haft::turn::{Agent, Deadlines, Gatekeeper, TurnOutcome, TurnReport};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::gates::{SECRET, delete, done};
use super::points::{Fate, Guarded, Judge, Side};
use super::{agent, call, input, pass, steps};

const POLL: Duration = Duration::from_secs(7);

/// An agent whose turns ask for leave, and how often they got it.
fn asking(store: Arc<dyn TurnStore>) -> (Agent, Arc<std::sync::atomic::AtomicU32>) {
    let (tool, ran) = delete();
    let built = agent(steps([|_| Ok(Step::new().call(call("delete", "{\"id\":7}"))), done]));
    let built = built.tool(tool).store(store).secret(SECRET);
    (built.deadlines(Deadlines::new().gate_poll(POLL)).build().unwrap(), ran)
}

/// Somebody in another process, who cannot ring here.
fn elsewhere(store: &Arc<MemoryStore>) -> Gatekeeper {
    let (store, clock) = (Arc::clone(store), Arc::new(SystemClock::new()));
    Gatekeeper::new(store, GateKey::from_bytes(SECRET), clock)
}

async fn allow(keeper: &Gatekeeper) {
    let gate = keeper.open_gates(None).await.unwrap().remove(0);
    keeper.resolve(&gate.id, json!(true), "ada").await.unwrap();
}

/// How long after its settlement a turn notices, if so many looks at the store fail before one succeeds.
async fn noticed_after(failing: usize) -> Duration {
    let store = Arc::new(MemoryStore::new());
    let looks = AtomicUsize::new(0);
    let judge: Judge = Arc::new(move |moment| {
        let look = moment.what == "open_gates" && moment.side == Side::Before;
        let fails = look && looks.fetch_add(1, Ordering::SeqCst) < failing;
        if fails { Fate::Fail } else { Fate::Pass }
    });
    let (agent, ran) = asking(Guarded::new(Arc::clone(&store), judge));
    let (report, settled) =
        tokio::join!(async { (input(&agent).report().await.unwrap(), Instant::now()) }, async {
            pass(POLL / 2).await;
            allow(&elsewhere(&store)).await;
            Instant::now()
        });
    let (report, ended) = report;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    ended - settled
}

/// A store that fails is asked again after the usual pause: neither at once, nor later and later.
#[tokio::test(start_paused = true)]
async fn a_look_at_the_gates_that_fails_is_repeated_after_the_usual_pause() {
    for failing in [0, 1, 2, 5] {
        let expected = POLL / 2 + POLL * u32::try_from(failing).unwrap();
        let late = noticed_after(failing).await.saturating_sub(expected);
        assert!(late < Duration::from_millis(10), "{failing} failed, and it came {late:?} late");
    }
}

/// The store does not tell of changes here, so that only the process itself can know before the next look.
#[tokio::test(start_paused = true)]
async fn a_decision_of_the_process_that_runs_the_turn_does_not_wait_for_the_next_look() {
    let store = Guarded::new(Arc::new(MemoryStore::new()), Arc::new(|_| Fate::Pass));
    let (agent, ran) = asking(store);
    let (ended, settled) = tokio::join!(
        async {
            let report = input(&agent).report().await.unwrap();
            assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
            Instant::now()
        },
        async {
            pass(POLL / 2).await;
            allow(&agent.gates()).await;
            Instant::now()
        }
    );
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    assert!(ended - settled < Duration::from_millis(10), "it came {:?} late", ended - settled);
}

/// A store that keeps what another one does, but for the text of the gate.
async fn with_gate(stored: &StoredTurn, change: impl FnOnce(&str) -> String) -> Arc<MemoryStore> {
    let gate = &stored.gates[0];
    let mut writes: Vec<_> = stored.journal.iter().cloned().map(StoreWrite::Journal).collect();
    writes.extend(stored.rows.iter().cloned().map(StoreWrite::Put));
    writes.push(StoreWrite::open_gate(gate.id.clone(), change(&gate.json)));
    writes.push(StoreWrite::Status(stored.summary.status));
    let nobody = LeaseRequest::new("nobody", Duration::ZERO);
    let store = Arc::new(MemoryStore::new());
    store.create(NewTurn::new(stored.summary.id.clone()).writes(writes), nobody).await.unwrap();
    store
}

/// What becomes of a turn whose process died at a gate, if the text of the gate was changed since.
async fn resumed(change: impl FnOnce(&str) -> String) -> (TurnReport, u32) {
    let turn: TurnId = "t".parse().unwrap();
    let store = Arc::new(MemoryStore::new());
    let (first, _) = asking(Arc::clone(&store) as _);
    tokio::select! {
        _ = input(&first).id(turn.as_str()).report() => unreachable!("nobody answers"),
        () = pass(POLL) => {}
    }
    let stored = store.load(turn.clone()).await.unwrap().unwrap();
    let store = with_gate(&stored, change).await;
    let (second, ran) = asking(Arc::clone(&store) as _);
    let (report, ()) = tokio::join!(second.resume(&turn).report(), async {
        pass(POLL).await;
        let keeper = elsewhere(&store);
        // A gate that is refused is not waited at, and is never answered.
        if !second.stored_turns().load_turn(&turn).await.unwrap().unwrap().summary.status.is_final()
        {
            allow(&keeper).await;
        }
    });
    (report.unwrap(), ran.load(Ordering::SeqCst))
}

fn edited(text: &str, edit: impl FnOnce(&mut Value)) -> String {
    let mut gate = serde_json::from_str(text).unwrap();
    edit(&mut gate);
    serde_json::to_string_pretty(&gate).unwrap()
}

/// Another version may have written the same question in other words.
#[tokio::test(start_paused = true)]
async fn a_gate_goes_on_with_the_text_that_is_stored() {
    for change in [str::to_owned as fn(&str) -> String, |text| edited(text, |_| {})] {
        let (report, ran) = resumed(change).await;
        assert_eq!(report.calls[0].state(), CallState::Succeeded, "{:?}", report.calls[0].error);
        assert_eq!((report.outcome, ran), (TurnOutcome::Completed, 1));
    }
}

/// A question that is not the one that was asked: whoever answers it answers something else.
#[tokio::test(start_paused = true)]
async fn a_gate_that_was_changed_while_nobody_looked_is_refused() {
    let changes: [fn(&mut Value); 4] = [
        |gate| gate["reason"] = json!("May I look at this?"),
        |gate| gate["payload"]["arguments"]["id"] = json!(8),
        |gate| gate["schema"] = json!({}),
        |gate| gate["call"]["accepted"] = json!("{\"id\":8}"),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (report, ran) = resumed(|text| edited(text, change)).await;
        let error = report.calls[0].error.as_ref().unwrap();
        assert_eq!((error.code.as_str(), ran), ("E_TURN_GATE_FORGED", 0), "change {number}");
    }
}
