use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft::error::Coded as _;
use haft::executors::{DispatchExecutor, ScriptExecutor, Step, StepContext, StepError};
use haft::records::{CallState, Record as _};
use haft::stores::{
    LeaseRequest, StoreError, StoreWrite, TurnId, TurnQuery, TurnStatus, TurnStore,
    TurnStoreExt as _,
};
use haft::stores::{MemorySpoolStore, MemoryStore};
use haft::stores::{SpoolKey, SpoolStore as _};
use haft::tools::ToolEffect;
use haft::turn::{Agent, AgentBuilder, TurnError, TurnHistory, TurnOutcome};
use haft::turn::{GarbageOptions, ManualClock, Timestamp};
use haft::{Args, CallContext, Tool};

use super::{agent, call, input, pass, steps};

struct World {
    store: Arc<MemoryStore>,
    spools: Arc<MemorySpoolStore>,
    clock: Arc<ManualClock>,
    asked: Arc<AtomicU32>,
    ran: Arc<AtomicU32>,
    /// Whether the tool hangs, as it does when its process is about to die.
    hang: Arc<AtomicU32>,
    effect: ToolEffect,
}

impl World {
    fn new(effect: ToolEffect) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
        Self {
            store: Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _)),
            spools: Arc::default(),
            clock,
            asked: Arc::default(),
            ran: Arc::default(),
            hang: Arc::new(AtomicU32::new(1)),
            effect,
        }
    }

    fn agent(&self) -> Agent {
        let asked = Arc::clone(&self.asked);
        let executor = move |cx: StepContext| {
            asked.fetch_add(1, Ordering::SeqCst);
            async move {
                if cx.dispatch().iteration() == 0 {
                    cx.dispatch().stash().set("begun", true)?;
                    return Ok::<_, StepError>(
                        Step::new()
                            .say(cx.message("Let me look.")?)
                            .call(call("work", "{\"n\":1}")),
                    );
                }
                Ok(Step::done().say(cx.message("Done.")?))
            }
        };
        let (ran, hang) = (Arc::clone(&self.ran), Arc::clone(&self.hang));
        let schema = haft::schema::object().field("n", haft::schema::integer());
        let tool = Tool::builder("work")
            .description("Works.")
            .effect(self.effect)
            .input(schema)
            .handler(move |_: Args, ctx: CallContext| {
                let (ran, hang) = (Arc::clone(&ran), Arc::clone(&hang));
                async move {
                    ran.fetch_add(1, Ordering::SeqCst);
                    if hang.load(Ordering::SeqCst) > 0 {
                        std::future::pending::<()>().await;
                    }
                    ctx.idempotency_key().to_string()
                }
            })
            .build()
            .unwrap();
        agent(executor)
            .tool(tool)
            .store(Arc::clone(&self.store) as _)
            .spools(Arc::clone(&self.spools) as _)
            .clock(Arc::clone(&self.clock) as _)
            .build()
            .unwrap()
    }

    /// Runs until the tool hangs, and then no more, as when the process is killed.
    async fn die(&self) -> TurnId {
        let agent = self.agent();
        let turn = input(&agent).id("t").report();
        let died = tokio::time::timeout(Duration::from_secs(1), turn).await;
        assert!(died.is_err(), "{died:?}");
        self.hang.store(0, Ordering::SeqCst);
        "t".parse().unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_goes_on_where_it_stopped() {
    for effect in [ToolEffect::ReadOnly, ToolEffect::Idempotent] {
        let world = World::new(effect);
        let turn = world.die().await;
        assert_eq!(world.asked.load(Ordering::SeqCst), 1);
        let again = world.agent();
        let other = LeaseRequest::new("another process", Duration::from_secs(30));
        world.store.claim(turn.clone(), other).await.unwrap();
        let held = again.resume(&turn).report().await.unwrap_err();
        assert!(
            held.to_string().contains("is run by `another process`, whose lease ends at "),
            "{held}"
        );
        // A program whose `main` returns the error prints this.
        assert_eq!(format!("{held:?}"), held.to_string());
        world.clock.advance(Duration::from_secs(60));
        let report = again.resume(&turn).report().await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
        // The step that was journaled was not taken again.
        assert_eq!(world.asked.load(Ordering::SeqCst), 2);
        assert_eq!(world.ran.load(Ordering::SeqCst), 2);
        assert_eq!(report.calls.len(), 1);
        assert_eq!(report.calls[0].state(), CallState::Succeeded);
        let texts: Vec<_> =
            report.messages.iter().map(|it| it.content().unwrap().as_str().to_owned()).collect();
        assert_eq!(texts, ["Let me look.", "Done."]);
        // Asked once more, it answers the same without doing anything.
        let same = again.resume(&turn).report().await.unwrap();
        assert_eq!(
            (same.outcome, same.messages.len(), same.iterations),
            (TurnOutcome::Completed, 2, 2)
        );
        assert_eq!(world.asked.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_must_not_be_repeated_is_reported() {
    let world = World::new(ToolEffect::Once);
    let turn = world.die().await;
    world.clock.advance(Duration::from_secs(60));
    let report = world.agent().resume(&turn).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert_eq!(world.ran.load(Ordering::SeqCst), 1);
    assert_eq!(report.calls[0].state(), CallState::Unknown);
    assert_eq!(report.unknown_calls().count(), 1);
    assert!(report.calls[0].error.as_ref().unwrap().message.contains("not known"));
}

#[tokio::test(start_paused = true)]
async fn whoever_lost_the_turn_writes_nothing_more() {
    let world = World::new(ToolEffect::ReadOnly);
    let first = world.agent();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move { input(&first).id("t").report().await });
    pass(Duration::from_secs(1)).await;
    world.hang.store(0, Ordering::SeqCst);
    // The clock jumps: the lease has run out, and another process takes the turn.
    world.clock.advance(Duration::from_secs(3600));
    let turn: TurnId = "t".parse().unwrap();
    let report = world.agent().resume(&turn).report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let lost = tasks.join_next().await.unwrap().unwrap().unwrap();
    assert_ne!(lost.outcome, TurnOutcome::Completed);
    let stored = world.store.load(turn).await.unwrap().unwrap();
    assert_eq!(stored.summary.status, TurnStatus::Completed);
}

#[tokio::test]
async fn what_cannot_be_resumed_says_why() {
    let world = World::new(ToolEffect::ReadOnly);
    let agent = world.agent();
    let unknown = agent.resume("nobody").report().await.unwrap_err();
    assert!(unknown.to_string().contains("nobody"));
    let holder = || LeaseRequest::new("test", Duration::from_secs(1));
    for (id, entry, says) in [
        ("newer", r#"{"entry":"started","version":99,"what":"ever"}"#, "version 99"),
        ("torn", r#"{"entry":"started","ver"#, "damaged"),
        ("empty", "", "damaged"),
    ] {
        let id: TurnId = id.parse().unwrap();
        let mut new = haft::stores::NewTurn::new(id.clone());
        if !entry.is_empty() {
            new.writes.push(StoreWrite::Journal(entry.into()));
        }
        let lease = world.store.create(new, holder()).await.unwrap();
        world.store.release(lease).await.unwrap();
        let error = agent.resume(&id).report().await.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(error.code(), "E_STORE");
    }
}

#[tokio::test(start_paused = true)]
async fn content_without_a_record_is_collected() {
    let world = World::new(ToolEffect::ReadOnly);
    world.hang.store(0, Ordering::SeqCst);
    let large = || Tool::builder("large").description("L.").handler(|| "x".repeat(9000)).build();
    let executor = steps([
        |_| Ok(Step::new().call(call("large", "{}"))),
        |cx| Ok(Step::done().say(cx.message("done")?)),
    ]);
    let built = agent(executor).tool(large().unwrap()).store(Arc::clone(&world.store) as _);
    let built = built.spools(Arc::clone(&world.spools) as _).build().unwrap();
    // A name with everything that keys are put together with.
    let odd = "org/1%2F/x";
    input(&built).id(odd).report().await.unwrap();
    let mut kept = world.spools.list().await.unwrap();
    assert_eq!(kept.len(), 1);
    let write = async |key: SpoolKey| world.spools.write(key, "x".into()).await.unwrap();
    write(SpoolKey::of_turn(odd, "left-behind")).await;
    write(SpoolKey::of_turn("gone", "0")).await;
    write("not-ours".into()).await;
    write("media/7".into()).await;
    // A turn that is not over may be about to keep its record.
    world.hang.store(1, Ordering::SeqCst);
    world.die().await;
    write(SpoolKey::of_turn("t", "soon")).await;
    // The database may be a wrong one, so that what it does not know stays unless the caller says otherwise.
    let report = built.stored_turns().collect_garbage_with(GarbageOptions::new()).await.unwrap();
    assert_eq!((report.turns, report.content, report.unknown), (0, 1, 1));
    kept.extend(["media/7".into(), "not-ours".into(), SpoolKey::of_turn("t", "soon")]);
    let mut with_unknown = kept.clone();
    with_unknown.push(SpoolKey::of_turn("gone", "0"));
    with_unknown.sort();
    assert_eq!(world.spools.list().await.unwrap(), with_unknown);
    let options = GarbageOptions::new().unknown_turns();
    let report = built.stored_turns().collect_garbage_with(options).await.unwrap();
    assert_eq!((report.turns, report.content, report.unknown), (0, 1, 0));
    kept.sort();
    assert_eq!(world.spools.list().await.unwrap(), kept);
    assert!(built.resume(odd).report().await.is_ok(), "its content is still there");
}

/// What runs after the answer keeps something and dies: the model is not asked again.
#[tokio::test(start_paused = true)]
async fn a_turn_that_dies_after_its_answer_does_not_ask_again() {
    use haft::middleware::Next;
    use haft::records::Memory;
    use haft::turn::TurnContext;
    let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let executor = move |cx: StepContext| {
        count.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, StepError>(Step::done().say(cx.message("Here it is.")?)) }
    };
    let output = async |ctx: TurnContext, next: Next<TurnContext>| {
        let memory = Memory::new("m", "They were glad.", ctx.clock().now());
        ctx.store_memory(memory.with_confidence(1.0).with_importance(1.0).checked()?).await?;
        if !ctx.is_resumed() {
            std::future::pending::<()>().await;
        }
        next.run().await
    };
    let built = agent(executor).turn_output("learn", output).store(Arc::clone(&store) as _);
    let agent = built.clock(Arc::clone(&clock) as _).build().unwrap();
    let died = tokio::time::timeout(Duration::from_secs(1), input(&agent).id("t").report()).await;
    assert!(died.is_err());
    clock.advance(Duration::from_secs(60));
    let report = agent.resume("t").report().await.unwrap();
    assert_eq!((report.outcome.clone(), report.text()), (TurnOutcome::Completed, "Here it is."));
    assert_eq!((report.messages.len(), report.iterations), (1, 1));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// Stops a turn at its second step, which the first executor never takes.
async fn interrupted_turn(store: &Arc<MemoryStore>, clock: &Arc<ManualClock>) -> TurnId {
    let script = ScriptExecutor::parse(SCRIPT).unwrap();
    let turn = input(&scripted(script, store, clock).build().unwrap()).id("t").report();
    assert!(tokio::time::timeout(Duration::from_secs(1), turn).await.is_err());
    clock.advance(Duration::from_secs(60));
    "t".parse().unwrap()
}

const SCRIPT: &str =
    r#"{"name": "talk", "steps": [{"say": "One moment."}, {"stall": "forever", "say": "Done."}]}"#;

fn scripted(
    executor: impl DispatchExecutor + 'static,
    store: &Arc<MemoryStore>,
    clock: &Arc<ManualClock>,
) -> AgentBuilder {
    let builder = Agent::builder(executor).store(Arc::clone(store) as _);
    builder.clock(Arc::clone(clock) as _)
}

#[tokio::test(start_paused = true)]
async fn another_executor_does_not_continue_a_turn() {
    let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
    let turn = interrupted_turn(&store, &clock).await;
    let says = |cx: StepContext| async move {
        Ok::<_, StepError>(Step::done().say(cx.message("Another one.")?))
    };
    let before = store.load(turn.clone()).await.unwrap().unwrap();
    let refused =
        scripted(says, &store, &clock).build().unwrap().resume(&turn).report().await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "turn `t` was begun by script `talk`: it was script `talk` and is a custom executor"
    );
    assert!(matches!(refused, TurnError::OtherExecutor { .. }));
    let edited = ScriptExecutor::parse(&SCRIPT.replace("Done.", "Over.")).unwrap();
    let refused =
        scripted(edited, &store, &clock).build().unwrap().resume(&turn).report().await.unwrap_err();
    assert!(refused.to_string().ends_with("the script has changed"), "{refused}");
    assert_eq!(store.load(turn.clone()).await.unwrap().unwrap(), before, "nothing was written");

    let allowed = scripted(says, &store, &clock).allow_executor_change().build().unwrap();
    let report = allowed.resume(&turn).report().await.unwrap();
    assert_eq!(report.text(), "Another one.", "{:?}", report.error);
    let history = TurnHistory::read(&store.load(turn).await.unwrap().unwrap()).unwrap();
    let took: Vec<String> = history.steps.iter().map(|step| step.executor.to_string()).collect();
    assert_eq!(took, ["script `talk`", "a custom executor"]);
}

#[tokio::test(start_paused = true)]
async fn the_same_executor_continues_a_turn() {
    let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
    let turn = interrupted_turn(&store, &clock).await;
    let same = ScriptExecutor::parse(SCRIPT).unwrap();
    let agent = scripted(same, &store, &clock).build().unwrap();
    let waits = tokio::time::timeout(Duration::from_secs(1), agent.resume(&turn).report()).await;
    assert!(waits.is_err(), "it is at the step that never ends: {waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_removed_with_its_content_unless_a_process_runs_it() {
    let world = World::new(ToolEffect::ReadOnly);
    let large = || {
        let tool = Tool::builder("large").description("Returns much.");
        tool.handler(|| "x".repeat(100_000)).build()
    };
    let executor = steps([
        |_| Ok(Step::new().call(call("large", "{}"))),
        |cx| Ok(Step::done().say(cx.message("done")?)),
    ]);
    let built = agent(executor).tool(large().unwrap()).store(Arc::clone(&world.store) as _);
    let built = built.clock(Arc::clone(&world.clock) as _);
    let built = built.spools(Arc::clone(&world.spools) as _).build().unwrap();
    input(&built).id("ended").report().await.unwrap();
    assert_eq!(world.spools.list().await.unwrap().len(), 1);
    // Another process holds the lease until the lease ends.
    world.die().await;
    let (live, ended): (TurnId, TurnId) = ("t".parse().unwrap(), "ended".parse().unwrap());
    let other = LeaseRequest::new("another process", Duration::from_secs(30));
    world.store.claim(live.clone(), other).await.unwrap();
    for refused in [
        built.stored_turns().remove_turn(&live).await.map(drop),
        built.stored_turns().cancel_turn(&live, "stop").await.map(drop),
    ] {
        let held = matches!(refused, Err(TurnError::Store(StoreError::Held { .. })));
        assert!(held, "{refused:?}");
    }
    let options = GarbageOptions::new().created_before(Timestamp::MAX);
    let report = built.stored_turns().collect_garbage_with(options).await.unwrap();
    assert_eq!((report.turns, report.content), (1, 1), "the turn that has ended");
    assert!(built.stored_turns().load_turn(&live).await.unwrap().is_some());
    assert!(!built.stored_turns().remove_turn(&ended).await.unwrap());
    assert_eq!(world.spools.list().await.unwrap().len(), 0);
    world.clock.advance(Duration::from_secs(3600));
    let report = built.stored_turns().cancel_turn(&live, "stop").await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Cancelled { .. }), "{:?}", report.outcome);
    assert!(built.stored_turns().remove_turn(&live).await.unwrap());
    assert!(built.stored_turns().list_turns(TurnQuery::default()).await.unwrap().is_empty());
}
