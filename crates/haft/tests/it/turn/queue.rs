//! Turns that are enqueued, claimed, taken over, interrupted and cancelled from elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft::Agent;
use haft::executors::{Step, StepContext, StepError};
use haft::stores::{
    CancelOutcome, CancelRequest, ClaimFilter, Lease, LeaseRequest, MemoryStore, TurnId, TurnQuery,
    TurnStatus, TurnStore as _, TurnStoreExt as _,
};
use haft::turn::{
    Cancellation, Clock as _, Deadlines, Limits, ManualClock, Timestamp, TurnHistory, TurnOutcome,
    TurnReport,
};

struct World {
    clock: Arc<ManualClock>,
    store: Arc<MemoryStore>,
    asked: Arc<AtomicUsize>,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
        let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
        Self { clock, store, asked: Arc::default() }
    }

    /// An agent whose executor counts and gives this.
    fn agent(&self, gives: fn(&StepContext) -> Result<Step, StepError>) -> Agent {
        let asked = Arc::clone(&self.asked);
        let executor = move |ctx: StepContext| {
            asked.fetch_add(1, Ordering::SeqCst);
            let step = gives(&ctx);
            async move { step }
        };
        let builder = Agent::builder(executor).store(Arc::clone(&self.store) as _);
        let builder = builder.clock(Arc::clone(&self.clock) as _).secret([7; 32]);
        builder.limits(Limits::new().take_overs(2)).build().unwrap()
    }

    async fn run_next(&self, agent: &Agent) -> Option<TurnReport> {
        agent.run_next(ClaimFilter::default(), &Cancellation::new()).await.unwrap()
    }

    /// A process that claims the turn and dies.
    async fn die(&self) -> Lease {
        let holder = LeaseRequest::new("dying", Duration::ZERO);
        self.store.claim_next(ClaimFilter::default(), holder).await.unwrap().unwrap()
    }

    async fn status(&self, turn: &TurnId) -> TurnStatus {
        self.store.summary(turn.clone()).await.unwrap().unwrap().status
    }
}

fn done(ctx: &StepContext) -> Result<Step, StepError> {
    Ok(Step::done().say(ctx.message("Done.")?))
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_enqueued_is_run_by_another_runner() {
    let world = World::new();
    let asked = world.agent(done).turn("Deploy  the\nshop").agent("worker");
    let turn = asked.submit().await.unwrap();
    assert_eq!(world.status(&turn).await, TurnStatus::Queued);
    assert_eq!(world.asked.load(Ordering::SeqCst), 0);
    let report = world.run_next(&world.agent(done)).await.unwrap();
    assert_eq!((&report.turn, report.text()), (&turn, "Done."));
    let summary = world.store.summary(turn).await.unwrap().unwrap();
    assert_eq!(summary.status, TurnStatus::Completed);
    assert_eq!(summary.first_words.as_deref(), Some("Deploy the shop"));
    assert_eq!(summary.agent.as_deref(), Some("worker"));
    assert!(world.run_next(&world.agent(done)).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_kills_its_processes_is_given_up() {
    let world = World::new();
    let agent = world.agent(done);
    let turn = agent.turn([]).system("Work.").submit().await.unwrap();
    for take_overs in [0, 1, 2] {
        assert_eq!(world.die().await.take_overs, take_overs);
    }
    let report = world.run_next(&agent).await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Failed { .. }));
    let error = report.error.unwrap();
    assert!(error.message.contains("3 processes died"), "{error:?}");
    assert_eq!(world.asked.load(Ordering::SeqCst), 0, "nothing of it was run");
    assert_eq!(world.status(&turn).await, TurnStatus::Failed);
    // A turn that was taken over less often is run.
    let turn = agent.turn([]).system("Work.").submit().await.unwrap();
    for _ in 0..2 {
        world.die().await;
    }
    assert_eq!(world.run_next(&agent).await.unwrap().outcome, TurnOutcome::Completed);
    assert_eq!(world.store.summary(turn).await.unwrap().unwrap().take_overs, 0, "it made progress");
}

/// A process that got no processor for longer than its lease learns of it when it goes on.
#[tokio::test(start_paused = true)]
async fn a_turn_whose_processes_were_only_stopped_is_not_given_up() {
    let world = World::new();
    let turn = world.agent(done).turn([]).system("Work.").submit().await.unwrap();
    let mut stopped: tokio::task::JoinSet<_> = tokio::task::JoinSet::new();
    for number in 1..=5 {
        let asked = Arc::clone(&world.asked);
        let waits = Agent::builder(async move |ctx: StepContext| {
            asked.fetch_add(1, Ordering::SeqCst);
            let reason = ctx.dispatch().cancellation().cancelled().await;
            Err::<Step, _>(StepError::new(reason.to_string()))
        });
        let waits = waits.store(Arc::clone(&world.store) as _).secret([7; 32]);
        let waits = waits.limits(Limits::new().take_overs(2)).build().unwrap();
        stopped.spawn(async move {
            waits.run_next(ClaimFilter::default(), &Cancellation::new()).await.unwrap().unwrap()
        });
        while world.asked.load(Ordering::SeqCst) < number {
            assert!(!world.status(&turn).await.is_final(), "given up before process {number}");
            tokio::task::yield_now().await;
        }
        // The one before it goes on.
        if number > 1 {
            let report = stopped.join_next().await.unwrap().unwrap();
            assert!(report.is_resumable, "{report:?}");
        }
        world.clock.advance(Duration::from_secs(3600));
    }
    let report = world.run_next(&world.agent(done)).await.unwrap();
    assert_eq!((report.outcome, report.turn), (TurnOutcome::Completed, turn));
}

#[tokio::test(start_paused = true)]
async fn an_outage_interrupts_the_turn() {
    let world = World::new();
    let away = world.agent(|_| Err(StepError::new("the provider is away").retryable()));
    let turn = away.turn([]).system("Work.").submit().await.unwrap();
    let report = world.run_next(&away).await.unwrap();
    assert!(report.is_resumable);
    assert_eq!(world.status(&turn).await, TurnStatus::Interrupted);
    let stored = world.store.load(turn.clone()).await.unwrap().unwrap();
    let stop = stored.summary.stop.clone().unwrap();
    assert_eq!(
        (stop.message.as_str(), stop.stage.as_deref()),
        ("the executor failed: the provider is away", Some("executor"))
    );
    let history = TurnHistory::read(&stored).unwrap();
    assert_eq!(history.stop.map(|it| it.error.message.to_string()), Some(stop.message));
    assert!(world.run_next(&away).await.is_none(), "it is left alone for a while");
    world.clock.advance(Deadlines::new().outage);
    let report = world.run_next(&world.agent(done)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let stored = world.store.load(turn).await.unwrap().unwrap();
    assert_eq!(stored.summary.take_overs, 0);
    assert_eq!(stored.summary.stop_at(world.clock.now()), None);
    assert_eq!(TurnHistory::read(&stored).unwrap().error(), None);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_dropped_can_be_resumed_at_once() {
    let world = World::new();
    let hangs = Agent::builder(async |_: StepContext| std::future::pending().await);
    let hangs = hangs.store(Arc::clone(&world.store) as _).build().unwrap();
    let run = hangs.turn([]).system("Work.").id("dropped").report();
    tokio::time::timeout(Duration::from_secs(1), run).await.unwrap_err();
    let turn: TurnId = "dropped".parse().unwrap();
    assert_eq!(world.status(&turn).await, TurnStatus::Running);
    let report = world.run_next(&world.agent(done)).await.unwrap();
    assert_eq!((report.turn, report.outcome), (turn.clone(), TurnOutcome::Completed));
    assert_eq!(world.store.summary(turn).await.unwrap().unwrap().take_overs, 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_from_elsewhere_reaches_the_process_that_runs_the_turn() {
    let world = World::new();
    let hangs = async |ctx: StepContext| {
        let reason = ctx.dispatch().cancellation().cancelled().await;
        Err::<Step, _>(StepError::new(reason.to_string()))
    };
    let hangs = Agent::builder(hangs).store(Arc::clone(&world.store) as _).build().unwrap();
    let turn: TurnId = "asked".parse().unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(hangs.turn([]).system("Work.").id("asked").report());
    while world.store.turns(TurnQuery::default()).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let other = world.agent(done);
    let request = || CancelRequest::new("ada", "not needed");
    let outcome = other.stored_turns().request_cancel(&turn, request()).await.unwrap();
    assert_eq!(outcome, CancelOutcome::Requested);
    assert!(world.run_next(&other).await.is_none(), "its process lives");
    let report = tasks.join_next().await.unwrap().unwrap().unwrap();
    let TurnOutcome::Cancelled { reason } = report.outcome else { panic!("{report:?}") };
    assert_eq!(reason, "not needed (asked for by ada)");
    assert_eq!(
        other.stored_turns().request_cancel(&turn, request()).await.unwrap(),
        CancelOutcome::Ended
    );
    // A turn that no process runs is ended by the next one.
    let queued = other.turn([]).system("Work.").submit().await.unwrap();
    other.stored_turns().request_cancel(&queued, request()).await.unwrap();
    let report = world.run_next(&other).await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Cancelled { .. }), "{report:?}");
    assert_eq!(world.asked.load(Ordering::SeqCst), 0);
}
