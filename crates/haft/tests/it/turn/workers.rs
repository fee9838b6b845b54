//! Workers: turns of several agents, limits, settled gates, drains, and stores that fail.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft::executors::{ScriptExecutor, Step, StepContext, StepError};
use haft::stores::{
    MemoryStore, SqliteStore, TurnId, TurnStatus, TurnStore, TurnStoreExt as _, TurnSummary,
};
use haft::turn::{Cancellation, Deadlines, GatePolicy, TurnError};
use haft::worker::{AgentSource, Worker, WorkerBuilder, WorkerStats};
use haft::{Agent, BoxFuture, Tool};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

type Shared = Arc<dyn TurnStore>;

fn memory() -> Shared {
    Arc::new(MemoryStore::new())
}

/// An agent that says something, for this store.
fn saying(store: &Shared, text: &'static str) -> Agent {
    let executor =
        async move |ctx: StepContext| Ok::<_, StepError>(Step::done().say(ctx.message(text)?));
    Agent::builder(executor).store(Arc::clone(store)).secret([7; 32]).build().unwrap()
}

/// An agent whose steps wait for a permit, and the number of steps that wait or have waited.
fn held(store: &Shared, permits: &Arc<Semaphore>) -> (Agent, Arc<AtomicUsize>) {
    let begun = Arc::new(AtomicUsize::new(0));
    let (count, permits) = (Arc::clone(&begun), Arc::clone(permits));
    let executor = move |_: StepContext| {
        count.fetch_add(1, Ordering::SeqCst);
        let permits = Arc::clone(&permits);
        async move {
            permits.acquire().await.map_err(|error| StepError::new(error.to_string()))?.forget();
            Ok::<_, StepError>(Step::done())
        }
    };
    let builder = Agent::builder(executor).store(Arc::clone(store)).secret([7; 32]);
    (builder.build().unwrap(), begun)
}

/// A worker that runs until it is told to stop.
struct Work {
    worker: Worker,
    stop: Cancellation,
    task: JoinSet<Result<WorkerStats, TurnError>>,
}

impl Work {
    fn begin(builder: WorkerBuilder) -> Self {
        let (worker, stop) = (builder.build(), Cancellation::new());
        let mut task = JoinSet::new();
        let (runs, until) = (worker.clone(), stop.clone());
        task.spawn(async move { runs.run_until(until.cancelled()).await });
        Self { worker, stop, task }
    }

    async fn stop(mut self) -> WorkerStats {
        self.stop.cancel("the test ends");
        self.task.join_next().await.unwrap().unwrap().unwrap()
    }
}

async fn wait_until(mut is_so: impl AsyncFnMut() -> bool) {
    while !is_so().await {
        tokio::task::yield_now().await;
    }
}

async fn status(store: &Shared, turn: &TurnId) -> TurnStatus {
    store.summary(turn.clone()).await.unwrap().unwrap().status
}

async fn await_status(store: &Shared, turn: &TurnId, wanted: TurnStatus) {
    wait_until(async || status(store, turn).await == wanted).await;
}

async fn run_turns_of_two_agents(store: Shared) {
    let agents = ["a", "b"].map(|name| (name.to_owned(), saying(&store, "Done.")));
    let mut turns = Vec::new();
    for n in 0..20 {
        let agent = if n % 2 == 0 { "a" } else { "b" };
        let turn = agents[0].1.turn([]).agent(agent).conversation(format!("c{}", n % 5));
        turns.push(turn.submit().await.unwrap());
    }
    let other = agents[0].1.turn([]).system("Work.").agent("c").submit().await.unwrap();
    let work = Work::begin(Worker::builder(Arc::clone(&store), BTreeMap::from(agents)));
    for turn in &turns {
        await_status(&store, turn, TurnStatus::Completed).await;
    }
    let stats = work.stop().await;
    assert_eq!((stats.claimed, stats.completed, stats.ended()), (20, 20, 20), "{stats:?}");
    assert_eq!((stats.running, stats.failed, stats.errors), (0, 0, 0), "{stats:?}");
    assert!(stats.is_draining && (1..=20).contains(&stats.claim_latency.total), "{stats:?}");
    assert_eq!(status(&store, &other).await, TurnStatus::Queued, "no agent is for its agent");
}

#[tokio::test]
async fn turns_of_several_agents_are_run_from_memory() {
    run_turns_of_two_agents(memory()).await;
}

#[tokio::test]
async fn turns_of_several_agents_are_run_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    run_turns_of_two_agents(Arc::new(SqliteStore::open(dir.path()).unwrap())).await;
}

#[tokio::test]
async fn no_more_turns_run_than_there_is_room_for() {
    let (store, permits) = (memory(), Arc::new(Semaphore::new(0)));
    let (agent, begun) = held(&store, &permits);
    let mut turns = Vec::new();
    for _ in 0..5 {
        turns.push(agent.turn([]).system("Work.").submit().await.unwrap());
    }
    let work = Work::begin(Worker::builder(Arc::clone(&store), agent).concurrency(2));
    wait_until(async || begun.load(Ordering::SeqCst) == 2).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let stats = work.worker.stats();
    assert_eq!((stats.running, stats.claimed), (2, 2), "the others wait in the store: {stats:?}");
    permits.add_permits(5);
    for turn in &turns {
        await_status(&store, turn, TurnStatus::Completed).await;
    }
    assert_eq!(work.stop().await.completed, 5);
}

#[tokio::test]
async fn turns_of_a_higher_priority_run_first_and_those_of_a_conversation_in_order() {
    let store = memory();
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = Arc::clone(&order);
    let executor = move |ctx: StepContext| {
        noted.lock().unwrap().push(ctx.dispatch().turn_id().to_owned());
        async { Ok::<_, StepError>(Step::done()) }
    };
    let builder = Agent::builder(executor).store(Arc::clone(&store)).secret([7; 32]);
    let agent = builder.build().unwrap();
    let inputs = [("first", 0), ("second", 9), ("urgent", 5)];
    for (name, priority) in inputs {
        let turn = agent.turn([]).id(name).priority(priority);
        let turn = if name == "urgent" { turn } else { turn.conversation("c") };
        turn.submit().await.unwrap();
    }
    let work = Work::begin(Worker::builder(Arc::clone(&store), agent).concurrency(1));
    await_status(&store, &"second".parse().unwrap(), TurnStatus::Completed).await;
    work.stop().await;
    assert_eq!(*order.lock().unwrap(), ["urgent", "first", "second"]);
}

#[tokio::test]
async fn a_gate_that_is_settled_elsewhere_wakes_the_worker() {
    let store = memory();
    let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    let deploy = deploy.handler(|| "done").build().unwrap();
    let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;
    let agent = || {
        Agent::builder(ScriptExecutor::parse(script).unwrap())
            .store(Arc::clone(&store))
            .secret([7; 32])
            .gate_policy(GatePolicy::Suspend)
            .tool(deploy.clone())
            .build()
            .unwrap()
    };
    let turn = agent().turn([]).system("You deploy.").submit().await.unwrap();
    // It is never asked by itself: only what the store tells wakes it.
    let builder = Worker::builder(Arc::clone(&store), agent()).concurrency(1);
    let work = Work::begin(builder.poll_interval(Duration::from_secs(3600)));
    await_status(&store, &turn, TurnStatus::Waiting).await;
    wait_until(async || work.worker.stats().waiting == 1).await;
    assert_eq!(work.worker.stats().running, 0, "it takes no room while it waits");
    let elsewhere = agent();
    let gate = elsewhere.gates().open_gates(None).await.unwrap().pop().unwrap();
    elsewhere.gates().resolve(&gate.id, true.into(), "Ada").await.unwrap();
    await_status(&store, &turn, TurnStatus::Completed).await;
    let stats = work.stop().await;
    assert_eq!((stats.claimed, stats.waiting, stats.completed), (2, 1, 1), "{stats:?}");
}

#[tokio::test]
async fn a_drain_lets_turns_end_within_the_deadline() {
    let (store, permits) = (memory(), Arc::new(Semaphore::new(0)));
    let (agent, begun) = held(&store, &permits);
    let runs = agent.turn([]).system("Work.").submit().await.unwrap();
    let builder = Worker::builder(Arc::clone(&store), agent.clone()).concurrency(1);
    let mut work = Work::begin(builder.drain_deadline(Duration::from_secs(3600)));
    wait_until(async || begun.load(Ordering::SeqCst) == 1).await;
    let waits = agent.turn([]).system("Work.").submit().await.unwrap();
    work.stop.cancel("the service ends");
    wait_until(async || work.worker.stats().is_draining).await;
    permits.add_permits(1);
    let stats = work.task.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!((stats.claimed, stats.completed, stats.interrupted), (1, 1, 0), "{stats:?}");
    assert_eq!(status(&store, &runs).await, TurnStatus::Completed);
    assert_eq!(status(&store, &waits).await, TurnStatus::Queued);
}

async fn stop_at_the_deadline(store: Shared) {
    let (agent, begun) = held(&store, &Arc::new(Semaphore::new(0)));
    let turn = agent.turn([]).system("Work.").submit().await.unwrap();
    let builder = Worker::builder(Arc::clone(&store), agent);
    let work = Work::begin(builder.drain_deadline(Duration::ZERO));
    wait_until(async || begun.load(Ordering::SeqCst) == 1).await;
    let stats = work.stop().await;
    assert_eq!((stats.running, stats.completed, stats.interrupted), (0, 0, 1), "{stats:?}");
    let summary = store.summary(turn.clone()).await.unwrap().unwrap();
    assert_eq!((summary.status, summary.held_until), (TurnStatus::Running, None), "{summary:?}");
    // Another worker continues at once, and that is no take-over from a dead process.
    let work = Work::begin(Worker::builder(Arc::clone(&store), other_runner(&store)));
    await_status(&store, &turn, TurnStatus::Completed).await;
    work.stop().await;
    assert_eq!(store.summary(turn).await.unwrap().unwrap().take_overs, 0);
}

/// An agent with the executor of [`held`], which does not wait any more.
fn other_runner(store: &Shared) -> Agent {
    held(store, &Arc::new(Semaphore::new(100))).0
}

#[tokio::test]
async fn a_drain_stops_turns_at_the_deadline_and_leaves_them_claimable() {
    stop_at_the_deadline(memory()).await;
    let dir = tempfile::tempdir().unwrap();
    stop_at_the_deadline(Arc::new(SqliteStore::open(dir.path()).unwrap())).await;
}

/// Knows an agent only after a while.
struct LearningSource {
    agent: Agent,
    asked: Arc<AtomicUsize>,
}

impl AgentSource for LearningSource {
    fn agents(&self) -> Vec<String> {
        Vec::new()
    }

    fn find_agent(&self, turn: TurnSummary) -> BoxFuture<'_, Result<Agent, TurnError>> {
        let times = self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            match times {
                0 => Err(TurnError::no_agent(&turn.id, "its agent is not installed yet")),
                _ => Ok(self.agent.clone()),
            }
        })
    }
}

#[tokio::test]
async fn a_turn_without_a_runner_is_left_alone_for_a_while() {
    let store = memory();
    let (agent, asked) = (saying(&store, "Done."), Arc::default());
    let turn = agent.turn([]).system("Work.").agent("new").submit().await.unwrap();
    let source = LearningSource { agent, asked: Arc::clone(&asked) };
    let builder = Worker::builder(Arc::clone(&store), source);
    let builder = builder.retry_delay(Duration::from_millis(50));
    let work = Work::begin(builder.poll_interval(Duration::from_millis(5)));
    await_status(&store, &turn, TurnStatus::Completed).await;
    let stats = work.stop().await;
    assert_eq!((stats.claimed, stats.errors, stats.completed), (2, 1, 1), "{stats:?}");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_turn_that_another_executor_began_does_not_keep_the_worker_busy() {
    let store = memory();
    let script = |text| {
        let script = format!(r#"{{"steps": [{{"say": "{text}"}}]}}"#);
        let builder = Agent::builder(ScriptExecutor::parse(&script).unwrap());
        builder.store(Arc::clone(&store)).secret([7; 32]).build().unwrap()
    };
    let turn = script("one").turn([]).system("Work.").submit().await.unwrap();
    let work = Work::begin(Worker::builder(Arc::clone(&store), script("two")));
    await_status(&store, &turn, TurnStatus::Interrupted).await;
    let runs = script("two").turn([]).system("Work.").submit().await.unwrap();
    await_status(&store, &runs, TurnStatus::Completed).await;
    let stats = work.stop().await;
    assert_eq!((stats.errors, stats.completed), (1, 1), "{stats:?}");
    let left = store.summary(turn).await.unwrap().unwrap();
    let reason = left.stop.unwrap();
    assert!(reason.message.contains("was begun by a script"), "{reason:?}");
    let due = left.runnable_at.unwrap();
    let now = store.summary(runs).await.unwrap().unwrap().ended_at.unwrap();
    assert!(due > now.saturating_sub(Deadlines::new().outage), "it is left alone");
}
