//! Stop and reload after every write: what comes out is what comes out without.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft::DispatchContext;
use haft::events::Usage;
use haft::executors::{Step, StepContext, StepError};
use haft::middleware::Next;
use haft::stores::{MemorySpoolStore, MemoryStore};
use haft::stores::{TurnStore as _, TurnStoreExt as _};
use haft::tools::ToolEffect;
use haft::turn::GateRequest;
use haft::turn::{Agent, AgentBuilder, Limits, TurnReport};
use haft::turn::{ManualClock, Timestamp};
use haft::{Args, Tool};
use tokio::sync::Notify;

use super::errand::{self, Errand, Ledger};
use super::points::{Fate, Guarded, Judge, Moment, Side};
use super::{agent, call};

type Parts = (Arc<Guarded<MemoryStore>>, Arc<Guarded<MemorySpoolStore>>, Arc<ManualClock>);

/// A turn that can be run as often as needed.
struct Script<B> {
    build: B,
}

struct World {
    store: Arc<MemoryStore>,
    spools: Arc<MemorySpoolStore>,
    clock: Arc<ManualClock>,
    ledger: Ledger,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
        let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
        Self { store, spools: Arc::default(), clock, ledger: Ledger::memory() }
    }

    fn parts(&self, judge: &Judge) -> Parts {
        let store = Guarded::new(Arc::clone(&self.store), Arc::clone(judge));
        let spools = Guarded::new(Arc::clone(&self.spools), Arc::clone(judge));
        (store, spools, Arc::clone(&self.clock))
    }
}

impl<B: Fn(Ledger, Parts) -> AgentBuilder + Send + Sync> Script<B> {
    /// Runs until so many writes are done, if there are that many.
    async fn part(&self, world: &World, writes: usize) -> Option<TurnReport> {
        let stop = Arc::new(Notify::new());
        let (met, stopped) = (AtomicUsize::new(0), Arc::clone(&stop));
        let judge: Judge = Arc::new(move |moment: Moment| {
            if moment.writes
                && moment.side == Side::After
                && met.fetch_add(1, Ordering::SeqCst) >= writes
            {
                stopped.notify_one();
                return Fate::Hang;
            }
            Fate::Pass
        });
        // Leases of those before have run out.
        world.clock.advance(Duration::from_secs(3600));
        let (doors, observer) = errand::doors();
        let builder = (self.build)(world.ledger.clone(), world.parts(&judge));
        let agent: Agent = builder.observer(observer).build().unwrap();
        tokio::select! {
            biased;
            () = stop.notified() => None,
            report = errand::run(&agent, doors) => Some(report.unwrap()),
        }
    }

    async fn outcome(world: &World, report: &TurnReport) -> Vec<String> {
        let stored = world.store.load(Errand::id()).await.unwrap().unwrap();
        let mut lines = errand::transcript(&stored);
        lines.push(format!("{:?}", stored.summary.status));
        lines.push(format!("{:?} {:?}", report.iterations, report.usage));
        lines.push(format!("{:?}", report.error.as_ref().map(|it| &it.message)));
        lines.push(format!("{:?}", errand::steps(&stored)));
        let open = world.store.open_gates(None).await.unwrap();
        lines.push(format!("{} gates are open", open.len()));
        lines
    }

    async fn check(self) {
        let world = World::new();
        let report = self.part(&world, usize::MAX).await.unwrap();
        let whole = Self::outcome(&world, &report).await;
        let asked = world.ledger.lines().len();
        // Stopped once, after every write.
        for stop in 0.. {
            let world = World::new();
            let (report, interrupted) = match self.part(&world, stop).await {
                Some(report) => (report, false),
                None => (self.part(&world, usize::MAX).await.unwrap(), true),
            };
            assert_eq!(Self::outcome(&world, &report).await, whole, "stopped after {stop}");
            // A turn that is over says the same again, and does nothing.
            let lines = world.ledger.lines().len();
            let again = self.part(&world, usize::MAX).await.unwrap();
            assert_eq!(Self::outcome(&world, &again).await, whole, "asked again after {stop}");
            assert_eq!(world.ledger.lines().len(), lines);
            if !interrupted {
                assert_eq!(lines, asked);
                assert!(stop > 1);
                break;
            }
        }
        // Stopped again and again, after the first writes that get on.
        for stop in [2, 3] {
            let world = World::new();
            let mut parts = 0;
            let report = loop {
                if let Some(report) = self.part(&world, stop).await {
                    break report;
                }
                parts += 1;
                assert!(parts < 100, "it does not get on by {stop} writes at a time");
            };
            assert_eq!(Self::outcome(&world, &report).await, whole, "stopped after every {stop}");
        }
    }
}

fn script<B: Fn(Ledger, Parts) -> AgentBuilder + Send + Sync>(build: B) -> Script<B> {
    Script { build }
}

#[tokio::test(start_paused = true)]
async fn a_turn_with_everything_in_it() {
    for (rounds, outputs) in [(1, true), (2, true), (1, false)] {
        script(move |ledger, (store, spools, clock): Parts| {
            let mut errand = Errand::new(ledger);
            (errand.rounds, errand.once, errand.outputs) = (rounds, false, outputs);
            errand.agent(store, spools, clock)
        })
        .check()
        .await;
    }
}

/// An agent whose model works once and then says that it is done, unless something ends the turn.
fn works(
    (store, spools, clock): Parts,
    step: fn(&StepContext) -> Result<Step, StepError>,
) -> AgentBuilder {
    let tool = Tool::builder("work").description("Works.").effect(ToolEffect::Idempotent);
    let tool = tool.input(haft::schema::object().allow_unknown());
    let tool = tool.handler(async |_: Args| "worked").build().unwrap();
    let executor = move |ctx: StepContext| async move { step(&ctx) };
    agent(executor).tool(tool).store(store).spools(spools).clock(clock).secret([7; 32])
}

fn work_and_say(ctx: &StepContext) -> Result<Step, StepError> {
    let step = match ctx.dispatch().iteration() {
        0 | 1 => {
            Step::new().call(call("work", &format!("{{\"n\":{}}}", ctx.dispatch().iteration())))
        }
        _ => Step::done(),
    };
    Ok(step
        .say(ctx.message(format!("This is {}.", ctx.dispatch().iteration()))?)
        .usage(Usage::new(60, 40)))
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_answers() {
    script(move |_, parts| works(parts, work_and_say)).check().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_comes_to_a_limit() {
    let again = |_: &StepContext| Ok(Step::new().call(call("work", "{}")));
    let limits = Limits::new().identical_calls(2);
    script(move |_, parts| works(parts, again).limits(limits)).check().await;
    let limits = Limits::new().tool_calls(1);
    script(move |_, parts| works(parts, work_and_say).limits(limits)).check().await;
    let limits = Limits::new().tokens(Some(150));
    script(move |_, parts| works(parts, work_and_say).limits(limits)).check().await;
    let limits = Limits::new().iterations(2);
    script(move |_, parts| works(parts, work_and_say).limits(limits)).check().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_fails() {
    let fails = |ctx: &StepContext| {
        let step = if ctx.dispatch().iteration() == 0 {
            Step::new()
        } else {
            Step::failed("it is closed")
        };
        Ok(step.call(call("work", "{}")).say(ctx.message("I try.")?))
    };
    script(move |_, parts| works(parts, fails)).check().await;
}

/// Middleware that asks, before the model and after it.
#[tokio::test(start_paused = true)]
async fn a_turn_whose_middleware_asks() {
    let ask = |what: &'static str| {
        move |ctx: DispatchContext, next: Next<DispatchContext>| async move {
            let answer = ctx.ask(GateRequest::new(what)).await?;
            let mut asked = ctx.stash().get("asked").unwrap_or_else(|| serde_json::json!([]));
            asked.as_array_mut().unwrap().push(format!("{what} {answer}").into());
            ctx.stash().set("asked", asked)?;
            next.run().await
        }
    };
    let tells = |ctx: &StepContext| {
        let mut step = work_and_say(ctx)?;
        let asked = ctx.dispatch().stash().get("asked").unwrap_or_default();
        step.messages.push(ctx.message(format!("They said: {asked}"))?);
        Ok(step)
    };
    script(move |_, parts| {
        works(parts, tells).dispatch_input("in", ask("in?")).dispatch_output("out", ask("out?"))
    })
    .check()
    .await;
}
