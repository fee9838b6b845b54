//! Leases, gates and subscribers on many threads at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft::events::{EventFilter, EventHub};
use haft::executors::{Step, StepContext};
use haft::stores::MemoryStore;
use haft::stores::{TurnQuery, TurnStatus, TurnStore};
use haft::tools::ToolEffect;
use haft::turn::{Agent, Deadlines, Limits, TurnOutcome};
use haft::{Args, Tool};
use serde_json::json;
use tokio::task::JoinSet;

use super::{agent, call, input};

const TURNS: usize = 48;

/// Many turns that wait at gates, several that answer each of them, and others that want to take the turns
/// over: every gate is answered once, every turn runs once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_turns_many_answers_many_takers() {
    let store: Arc<dyn TurnStore> = Arc::new(MemoryStore::new());
    let ran = Arc::new(AtomicUsize::new(0));
    let hub = EventHub::new();
    let deadlines = Deadlines::new().gate_poll(Duration::from_millis(2));
    let build = || -> Agent {
        let count = Arc::clone(&ran);
        let tool = Tool::builder("work")
            .description("Works.")
            .effect(ToolEffect::Once)
            .input(haft::schema::object().field("n", haft::schema::integer()))
            .requires_approval("May I?")
            .handler(move |_: Args| {
                let count = Arc::clone(&count);
                async move {
                    tokio::task::yield_now().await;
                    count.fetch_add(1, Ordering::SeqCst);
                    "worked"
                }
            })
            .build()
            .unwrap();
        let step = |cx: StepContext| async move {
            match cx.dispatch().iteration() {
                0 | 1 => {
                    let n = cx.dispatch().iteration();
                    let args = |m: u32| format!("{{\"n\":{}}}", 2 * n + m);
                    Ok(Step::new().call(call("work", &args(0))).call(call("work", &args(1))))
                }
                _ => Ok(Step::done().say(cx.message("done")?)),
            }
        };
        let built = agent(step).tool(tool).store(Arc::clone(&store)).secret([5; 32]);
        let built = built.deadlines(deadlines).limits(Limits::new()).observer(hub.clone());
        built.build().unwrap()
    };
    let agents = [build(), build()];
    let mut tasks = JoinSet::new();
    for n in 0..TURNS {
        let agent = agents[n % 2].clone();
        let mut events = hub.subscribe(EventFilter::turn(format!("t-{n}")));
        tasks.spawn(async move {
            let report = input(&agent).id(format!("t-{n}")).report().await.unwrap();
            assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
            assert_eq!(report.calls.len(), 4);
            // Every event arrives; calls side by side may overtake each other.
            let mut numbers = Vec::new();
            while let Some(received) = events.next().await {
                numbers.push(received.event().unwrap().sequence);
            }
            numbers.sort_unstable();
            assert!(numbers.iter().zip(0..).all(|(sequence, n)| *sequence == n), "{numbers:?}");
            1_usize
        });
    }
    for keeper in 0..4 {
        let keeper = agents[keeper % 2].gates();
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let mut answered = 0;
            loop {
                for gate in keeper.open_gates(None).await.unwrap() {
                    answered +=
                        usize::from(keeper.resolve(&gate.id, json!(true), "a").await.is_ok());
                }
                let open = store.turns(TurnQuery::default().unfinished()).await.unwrap();
                let all = store.turns(TurnQuery::default()).await.unwrap();
                if open.is_empty() && all.len() == TURNS {
                    return answered * 1000;
                }
                tokio::task::yield_now().await;
            }
        });
    }
    for taker in &agents {
        let agent = taker.clone();
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            loop {
                let open = store.turns(TurnQuery::default().unfinished()).await.unwrap();
                if open.is_empty()
                    && store.turns(TurnQuery::default()).await.unwrap().len() == TURNS
                {
                    return 0;
                }
                for turn in open {
                    // Somebody has it, or it is over by now.
                    if let Ok(report) = agent.resume(&turn.id).report().await {
                        assert_eq!(report.outcome, TurnOutcome::Completed);
                    }
                }
                tokio::task::yield_now().await;
            }
        });
    }
    let counted: usize = tasks.join_all().await.into_iter().sum();
    assert_eq!(counted, TURNS + 1000 * 4 * TURNS, "every gate was answered by one");
    assert_eq!(ran.load(Ordering::SeqCst), 4 * TURNS);
    let turns = store.turns(TurnQuery::default()).await.unwrap();
    assert!(turns.iter().all(|turn| turn.status == TurnStatus::Completed));
}
