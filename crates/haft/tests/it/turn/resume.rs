use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft::call::CallState;
use haft::clock::{Clock, ManualClock, Timestamp};
use haft::error::Coded as _;
use haft::step::{Step, StepContext, StepError};
use haft::store::{Holder, Store, TurnId, TurnStatus, Write};
use haft::stores::{MemorySpoolStore, MemoryStore};
use haft::tool::Effect;
use haft::turn::{Outcome, TurnRunner};
use haft::{Args, DispatchContext, Tool};

use super::{call, input, pass, runner};

struct World {
    store: Arc<MemoryStore>,
    spools: Arc<MemorySpoolStore>,
    clock: Arc<ManualClock>,
    asked: Arc<AtomicU32>,
    ran: Arc<AtomicU32>,
    /// Whether the tool hangs, as it does when its process is about to die.
    hang: Arc<AtomicU32>,
    effect: Effect,
}

impl World {
    fn new(effect: Effect) -> Self {
        Self {
            store: Arc::default(),
            spools: Arc::default(),
            clock: Arc::new(ManualClock::new(Timestamp::EPOCH)),
            asked: Arc::default(),
            ran: Arc::default(),
            hang: Arc::new(AtomicU32::new(1)),
            effect,
        }
    }

    fn runner(&self) -> TurnRunner {
        let asked = Arc::clone(&self.asked);
        let executor = move |cx: StepContext| {
            asked.fetch_add(1, Ordering::SeqCst);
            async move {
                if cx.iteration() == 0 {
                    cx.stash().set("begun", true)?;
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
            .handler(move |_: Args, ctx: DispatchContext| {
                let (ran, hang) = (Arc::clone(&ran), Arc::clone(&hang));
                async move {
                    ran.fetch_add(1, Ordering::SeqCst);
                    if hang.load(Ordering::SeqCst) > 0 {
                        std::future::pending::<()>().await;
                    }
                    ctx.idempotency_key().map(|it| it.to_string()).unwrap_or_default()
                }
            })
            .build()
            .unwrap();
        runner(executor)
            .tool(tool)
            .store(Arc::clone(&self.store) as _)
            .spools(Arc::clone(&self.spools))
            .clock(Arc::clone(&self.clock) as _)
            .build()
            .unwrap()
    }

    /// Runs until the tool hangs, and then no more, as when the process is killed.
    async fn die(&self) -> TurnId {
        let runner = self.runner();
        let turn = runner.run(input().id("t"));
        let died = tokio::time::timeout(Duration::from_secs(1), turn).await;
        assert!(died.is_err(), "{died:?}");
        self.hang.store(0, Ordering::SeqCst);
        "t".parse().unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_goes_on_where_it_stopped() {
    for effect in [Effect::ReadOnly, Effect::Idempotent] {
        let world = World::new(effect);
        let turn = world.die().await;
        assert_eq!(world.asked.load(Ordering::SeqCst), 1);
        let again = world.runner();
        let held = again.resume(&turn).await.unwrap_err();
        assert!(held.to_string().contains("is run by"), "{held}");
        world.clock.advance(Duration::from_secs(60));
        let report = again.resume(&turn).await.unwrap();
        assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.error);
        // The step that was journaled was not taken again.
        assert_eq!(world.asked.load(Ordering::SeqCst), 2);
        assert_eq!(world.ran.load(Ordering::SeqCst), 2);
        assert_eq!(report.calls.len(), 1);
        assert_eq!(report.calls[0].state(), CallState::Succeeded);
        let texts: Vec<_> =
            report.messages.iter().map(|it| it.content().unwrap().as_str().to_owned()).collect();
        assert_eq!(texts, ["Let me look.", "Done."]);
        // Asked once more, it answers the same without doing anything.
        let same = again.resume(&turn).await.unwrap();
        assert_eq!(
            (same.outcome, same.messages.len(), same.iterations),
            (Outcome::Completed, 2, 2)
        );
        assert_eq!(world.asked.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_must_not_be_repeated_is_reported() {
    let world = World::new(Effect::Once);
    let turn = world.die().await;
    world.clock.advance(Duration::from_secs(60));
    let report = world.runner().resume(&turn).await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{:?}", report.error);
    assert_eq!(world.ran.load(Ordering::SeqCst), 1);
    assert_eq!(report.calls[0].state(), CallState::Unknown);
    assert_eq!(report.unknown_calls().count(), 1);
    assert!(report.calls[0].error.as_ref().unwrap().message.contains("not known"));
}

#[tokio::test(start_paused = true)]
async fn whoever_lost_the_turn_writes_nothing_more() {
    let world = World::new(Effect::ReadOnly);
    let first = world.runner();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move { first.run(input().id("t")).await });
    pass(Duration::from_secs(1)).await;
    world.hang.store(0, Ordering::SeqCst);
    // The clock jumps: the lease has run out, and another process takes the turn.
    world.clock.advance(Duration::from_secs(3600));
    let turn: TurnId = "t".parse().unwrap();
    let report = world.runner().resume(&turn).await.unwrap();
    assert_eq!(report.outcome, Outcome::Completed);
    let lost = tasks.join_next().await.unwrap().unwrap().unwrap();
    assert_ne!(lost.outcome, Outcome::Completed);
    let stored = world.store.load(turn).await.unwrap().unwrap();
    assert_eq!(stored.summary.status, TurnStatus::Completed);
}

#[tokio::test]
async fn what_cannot_be_resumed_says_why() {
    let world = World::new(Effect::ReadOnly);
    let runner = world.runner();
    let unknown = runner.resume(&"nobody".parse().unwrap()).await.unwrap_err();
    assert!(unknown.to_string().contains("nobody"));
    let holder = |now| Holder::new("test", now, Duration::from_secs(1));
    for (id, entry, says) in [
        ("newer", r#"{"entry":"started","version":99,"what":"ever"}"#, "version 99"),
        ("torn", r#"{"entry":"started","ver"#, "damaged"),
        ("empty", "", "damaged"),
    ] {
        let id: TurnId = id.parse().unwrap();
        let mut new = haft::store::NewTurn::new(id.clone(), holder(world.clock.now()));
        if !entry.is_empty() {
            new.writes.push(Write::Journal(entry.to_owned()));
        }
        let lease = world.store.create(new).await.unwrap();
        world.store.release(lease).await.unwrap();
        let error = runner.resume(&id).await.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(error.code(), "E_STORE");
    }
}

#[tokio::test(start_paused = true)]
async fn content_without_a_record_is_collected() {
    use haft::spool::{SpoolKey, SpoolStore as _};
    let world = World::new(Effect::ReadOnly);
    world.hang.store(0, Ordering::SeqCst);
    let built = world.runner();
    built.run(input().id("t")).await.unwrap();
    world.spools.write("t/left-behind".into(), "x".into()).await.unwrap();
    world.spools.write("gone/0".into(), "x".into()).await.unwrap();
    world.spools.write("not-ours".into(), "x".into()).await.unwrap();
    assert_eq!(built.collect_garbage(&*world.spools).await.unwrap(), 2);
    let left = world.spools.list().await.unwrap();
    assert_eq!(left.iter().map(SpoolKey::as_str).collect::<Vec<_>>(), ["not-ours"]);
}
