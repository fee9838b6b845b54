//! What can go wrong around a turn: a clear error each time, and nothing is lost.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::error::Coded as _;
use haft::events::Event;
use haft::executors::Step;
use haft::middleware::Next;
use haft::records::CallState;
use haft::stores::{
    LeaseRequest, NewTurn, StoreWrite, TurnId, TurnStatus, TurnStore, TurnStoreExt as _,
};
use haft::stores::{MemorySpoolStore, MemoryStore};
use haft::tools::ToolEffect;
use haft::turn::{Agent, TurnError, TurnOutcome, TurnReport};
use haft::turn::{Cancellation, GateRequest, TurnContext};
use haft::turn::{Clock, ManualClock, Timestamp};
use haft::{Args, BoxFuture, CallContext, Tool, ToolFailure};
use serde_json::{Value, json};

use super::errand::{self, Errand, Ledger};
use super::points::{Fate, Guarded, GuardedLedger, Judge, Moment, Side};
use super::{agent, call, input, pass, steps};

struct World {
    store: Arc<MemoryStore>,
    spools: Arc<MemorySpoolStore>,
    clock: Arc<ManualClock>,
    errand: Errand,
    /// The approvals that were spent.
    spent: Arc<Mutex<BTreeSet<String>>>,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
        let mut errand = Errand::new(Ledger::memory());
        errand.once = false;
        let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
        let (spools, spent) = (Arc::default(), Arc::default());
        Self { store, spools, clock, errand, spent }
    }

    async fn run(&self, judge: Judge) -> Result<TurnReport, TurnError> {
        let (doors, observer) = errand::doors();
        let store = Guarded::new(Arc::clone(&self.store), Arc::clone(&judge));
        let spent = Arc::clone(&self.spent);
        let ledger = GuardedLedger { spent, judge: Arc::clone(&judge) };
        let spools = Guarded::new(Arc::clone(&self.spools), judge);
        let agent = self.errand.agent(store, spools, Arc::clone(&self.clock) as _);
        let agent = agent.approvals(Arc::new(ledger));
        errand::run(&agent.observer(observer).build().unwrap(), doors).await
    }

    /// The turn goes on once the store is well again, and comes to what it would have come to.
    async fn goes_on(&self) -> TurnReport {
        self.clock.advance(Duration::from_secs(3600));
        let report = self.run(Arc::new(|_| Fate::Pass)).await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
        let agent = self.errand.agent(
            Arc::clone(&self.store) as _,
            Arc::clone(&self.spools),
            Arc::clone(&self.clock) as _,
        );
        let agent = agent.build().unwrap();
        errand::check_over(&self.errand, &agent, &*self.store, &*self.spools).await;
        report
    }
}

/// Lets one thing that is asked of the stores go wrong, and all after it if it is to last.
pub(super) fn at(
    number: usize,
    side: Side,
    lasts: bool,
    fate: Fate,
) -> (Judge, Arc<Mutex<Option<Moment>>>) {
    let (met, hit) = (AtomicUsize::new(0), Arc::new(Mutex::new(None)));
    let noted = Arc::clone(&hit);
    let judge = move |moment: Moment| {
        // What is spooled is told to the model; it has a test of its own.
        if moment.side != side || ["piece", "spool"].contains(&moment.what) {
            return Fate::Pass;
        }
        let count = met.fetch_add(1, Ordering::SeqCst);
        if count == number || (lasts && count > number) {
            noted.lock().unwrap().get_or_insert(moment);
            return fate;
        }
        Fate::Pass
    };
    (Arc::new(judge), hit)
}

/// Runs with something that goes wrong. A turn whose question nobody can answer is given up after a while.
async fn run_into(world: &World, judge: Judge) -> Option<Result<TurnReport, TurnError>> {
    tokio::time::timeout(Duration::from_secs(3000), world.run(judge)).await.ok()
}

/// Checks how a turn ended whose store failed or hung.
#[track_caller]
fn check_told(ended: Option<Result<TurnReport, TurnError>>, hit: Moment, what: &str) {
    match ended {
        None => assert!(["settle", "gate", "open_gates"].contains(&hit.what), "{what} hangs"),
        Some(Err(error)) => assert_eq!(error.code(), "E_STORE", "{what}"),
        Some(Ok(report)) if report.outcome == TurnOutcome::Completed => {
            let spared = ["release", "settle", "gate", "open_gates", "renew"];
            assert!(spared.contains(&hit.what), "{what} does not matter");
        }
        Some(Ok(report)) => {
            let code = report.error.unwrap().code.unwrap();
            let codes = ["E_STORE", "E_OUTPUT_PIPELINE_ERROR"];
            assert!(codes.contains(&code.as_str()), "{what}: {code}");
            assert!(matches!(report.outcome, TurnOutcome::Failed { .. }), "{what}");
        }
    }
}

/// A store fails once, or from then on, at every single thing that is asked of it.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_told_and_nothing_is_lost() {
    fail_everywhere(true, false).await;
}

/// The same where the answer and the end of the turn are written at once.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_at_an_answer_is_told_and_nothing_is_lost() {
    fail_everywhere(false, false).await;
}

/// The same with calls that must not be repeated, one of which needs an approval.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_loses_and_repeats_no_call_that_must_not_be_repeated() {
    fail_everywhere(false, true).await;
}

async fn fail_everywhere(outputs: bool, once: bool) {
    for (side, lasts) in [(Side::Before, false), (Side::After, false), (Side::After, true)] {
        for number in 0.. {
            let mut world = World::new();
            (world.errand.outputs, world.errand.once) = (outputs, once);
            let (judge, hit) = at(number, side, lasts, Fate::Fail);
            let ended = run_into(&world, judge).await;
            let Some(hit) = *hit.lock().unwrap() else {
                assert_eq!(ended.unwrap().unwrap().outcome, TurnOutcome::Completed);
                assert!(number > 15, "{number}");
                break;
            };
            check_told(ended, hit, &format!("{side:?} {number} {lasts} {hit:?}"));
            world.goes_on().await;
        }
    }
}

/// The same for a turn that is resumed.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_while_a_turn_is_resumed_is_told_and_nothing_is_lost() {
    for side in [Side::Before, Side::After] {
        for number in 0.. {
            let world = World::new();
            let (judge, _) = at(9, Side::Before, true, Fate::Fail);
            run_into(&world, judge).await.unwrap().unwrap();
            world.clock.advance(Duration::from_secs(3600));
            let (judge, hit) = at(number, side, false, Fate::Fail);
            let ended = run_into(&world, judge).await;
            let Some(hit) = *hit.lock().unwrap() else {
                assert_eq!(ended.unwrap().unwrap().outcome, TurnOutcome::Completed);
                assert!(number > 10, "{number}");
                break;
            };
            check_told(ended, hit, &format!("{side:?} {number} {hit:?}"));
            world.goes_on().await;
        }
    }
}

/// A store that never answers is an error in time, wherever it stops.
#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_an_error_in_time() {
    for number in 0.. {
        let world = World::new();
        let (judge, hit) = at(number, Side::Before, true, Fate::Hang);
        let ended = run_into(&world, judge).await;
        let Some(hit) = *hit.lock().unwrap() else {
            assert_eq!(ended.unwrap().unwrap().outcome, TurnOutcome::Completed);
            break;
        };
        check_told(ended, hit, &format!("{number} {hit:?}"));
        world.goes_on().await;
    }
}

/// A store that takes its time costs time and nothing else.
#[tokio::test(start_paused = true)]
async fn a_slow_store_is_only_slow() {
    let world = World::new();
    let slow = Arc::new(Slow(Arc::clone(&world.store)));
    let (doors, observer) = errand::doors();
    let agent = world.errand.agent(slow, Arc::clone(&world.spools), Arc::clone(&world.clock) as _);
    let agent = agent.observer(observer).build().unwrap();
    let report = errand::run(&agent, doors).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert!(report.duration > Duration::from_secs(100));
    errand::check_over(&world.errand, &agent, &*world.store, &*world.spools).await;
}

/// Twenty seconds for everything, which is within the deadline.
#[derive(Debug)]
struct Slow(Arc<MemoryStore>);

macro_rules! slow {
    ($($method:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        impl TurnStore for Slow {
            $(
                fn $method(&self, $($arg: $type),*) -> BoxFuture<'_, Result<$result, haft::stores::StoreError>> {
                    Box::pin(async move {
                        pass(Duration::from_secs(20)).await;
                        self.0.$method($($arg),*).await
                    })
                }
            )*

            fn listen(&self) -> Box<dyn haft::stores::ChangeListener> {
                self.0.listen()
            }
        }
    };
}

slow! {
    insert(turn: NewTurn) -> Option<haft::stores::Lease>;
    gates(query: haft::stores::GateQuery) -> Vec<haft::stores::GateRow>;
    claim_turns(filter: haft::stores::ClaimFilter, holder: LeaseRequest, count: usize) -> Vec<haft::stores::Lease>;
    renew(lease: haft::stores::Lease) -> haft::stores::Lease;
    release(lease: haft::stores::Lease) -> ();
    commit(lease: haft::stores::Lease, writes: Vec<StoreWrite>) -> ();
    request_cancel(turn: TurnId, request: haft::stores::CancelRequest) -> haft::stores::CancelOutcome;
    load(turn: TurnId) -> Option<haft::stores::StoredTurn>;
    read_journal(turn: TurnId, after: u64, limit: usize) -> Vec<haft::stores::JournalRow>;
    turns(query: haft::stores::TurnQuery) -> Vec<haft::stores::TurnSummary>;
    remove_turns(query: haft::stores::TurnQuery) -> Vec<TurnId>;
    unreferenced_keys(keys: Vec<haft::stores::SpoolKey>) -> Vec<haft::stores::SpoolKey>;
    settle(gate: haft::stores::GateId, settlement: String) -> haft::stores::SettleOutcome;
    load_memories(scope: haft::stores::MemoryScope) -> Vec<haft::stores::MemoryRow>;
    set_title(tenant: String, conversation: String, title: Option<String>) -> ();
    titles(tenant: String, conversations: Vec<String>) -> std::collections::BTreeMap<String, String>;
}

/// The spool fails or hangs: nothing of the turn is lost, and it goes on when the spool works.
#[tokio::test(start_paused = true)]
async fn a_spool_that_fails_or_hangs_loses_nothing() {
    for fate in [Fate::Fail, Fate::Hang] {
        let spool_only = move |from: usize| -> Judge {
            let met = AtomicUsize::new(0);
            Arc::new(move |moment: Moment| {
                let counts = moment.what == "spool" && moment.side == Side::Before;
                if counts && met.fetch_add(1, Ordering::SeqCst) >= from { fate } else { Fate::Pass }
            })
        };
        // The long text of the input cannot be stored: nobody is asked yet.
        let world = World::new();
        let report = world.run(spool_only(0)).await.unwrap();
        assert!(matches!(report.outcome, TurnOutcome::Failed { .. }));
        assert_eq!(world.errand.ledger.count("ask 0"), 0);
        world.goes_on().await;
        // The result of a call cannot be stored: a spool that hangs uses up the time of the call, and with one that fails
        // the call has not ended.
        let world = World::new();
        let report = world.run(spool_only(1)).await.unwrap();
        let large = report.calls.iter().find(|call| call.tool() == "large").unwrap();
        match fate {
            Fate::Hang => assert_eq!(large.state(), CallState::Failed),
            _ => {
                assert!(report.is_resumable && !large.state().is_final(), "{:?}", report.error);
                world.goes_on().await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn clocks_that_jump_break_neither_leases_nor_order() {
    let world = World::new();
    let judge = {
        let (clock, met) = (Arc::clone(&world.clock), AtomicUsize::new(0));
        // Back and forth by hours, at everything that is asked of the store.
        Arc::new(move |_: Moment| {
            let n = met.fetch_add(1, Ordering::SeqCst);
            let hours = if n.is_multiple_of(2) { 7 } else { 1 };
            clock.set(Timestamp::EPOCH.saturating_add(Duration::from_secs(3600 * hours)));
            Fate::Pass
        })
    };
    let report = world.run(judge).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    world.clock.set(Timestamp::EPOCH);
    // Somebody whose clock is behind does not get a turn that is held, and gets it when it is free.
    let stored = world.store.load(Errand::id()).await.unwrap().unwrap();
    assert_eq!(stored.summary.holder, None);
    let before = errand::transcript(&stored);
    let steady = World::new();
    steady.run(Arc::new(|_| Fate::Pass)).await.unwrap();
    let stored = steady.store.load(Errand::id()).await.unwrap().unwrap();
    assert_eq!(before, errand::transcript(&stored), "order does not come from the clock");
}

/// The lease of a turn runs out by a jump of the clock, and the same agent goes on with the turn.
#[tokio::test(start_paused = true)]
async fn a_runner_that_takes_a_turn_from_itself_keeps_the_two_apart() {
    let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
    let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
    let began = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&began);
    let waits = Tool::builder("waits")
        .description("Waits.")
        .effect(ToolEffect::Idempotent)
        .input(haft::schema::object())
        .handler(move |_: Args, ctx: CallContext| {
            let n = count.fetch_add(1, Ordering::SeqCst);
            async move {
                let asked = ctx.ask(GateRequest::new("go on?")).await?;
                pass(Duration::from_secs(5)).await;
                Ok::<_, ToolFailure>(format!("{n} {asked}"))
            }
        })
        .build()
        .unwrap();
    let built = agent(steps([
        |_| Ok(Step::new().call(call("waits", "{}"))),
        |ctx| Ok(Step::done().say(ctx.message("done")?)),
    ]));
    let built = built.tool(waits).store(Arc::clone(&store) as _).clock(Arc::clone(&clock) as _);
    let agent = built.build().unwrap();
    let turn: TurnId = "t".parse().unwrap();
    let (first, second, ()) = tokio::join!(
        input(&agent).id("t").report(),
        async {
            pass(Duration::from_secs(1)).await;
            clock.advance(Duration::from_secs(3600));
            agent.resume(&turn).report().await
        },
        async {
            // The first one has noticed that it lost the turn, and hung up.
            pass(Duration::from_secs(60)).await;
            let gate = agent.gates().open_gates(None).await.unwrap().pop().unwrap();
            agent.gates().resolve(&gate.id, json!(true), "ada").await.unwrap();
        }
    );
    let first = first.unwrap();
    assert_ne!(first.outcome, TurnOutcome::Completed);
    assert!(first.error.is_some(), "{first:?}");
    let second = second.unwrap();
    assert_eq!(second.outcome, TurnOutcome::Completed, "{:?}", second.error);
    assert_eq!(began.load(Ordering::SeqCst), 2);
    let stored = store.load(turn).await.unwrap().unwrap();
    assert_eq!(stored.summary.status, TurnStatus::Completed);
    assert_eq!(errand::steps(&stored), [0, 1]);
}

/// An agent outlives the runtime it first ran on, and still renews leases and hears answers.
#[test]
fn a_runner_can_move_to_another_runtime() {
    let renewals = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&renewals);
    let judge: Judge = Arc::new(move |moment: Moment| {
        count.fetch_add(usize::from(moment.what == "renew"), Ordering::SeqCst);
        Fate::Pass
    });
    let store = Guarded::new(Arc::new(MemoryStore::new()), judge);
    let ask = Tool::builder("ask")
        .description("Asks.")
        .input(haft::schema::object())
        .handler(async |_: Args, ctx: CallContext| {
            let answer = ctx.ask(GateRequest::new("well?")).await?;
            Ok::<_, ToolFailure>(answer.to_string())
        })
        .build()
        .unwrap();
    let built = agent(steps([
        |_| Ok(Step::new().call(call("ask", "{}"))),
        |ctx| Ok(Step::done().say(ctx.message("done")?)),
    ]));
    let agent = built.tool(ask).store(Arc::clone(&store) as _).secret([3; 32]).build().unwrap();
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap()
    };
    let first = runtime();
    first.block_on(async {
        let run = input(&agent).id("dropped").report();
        assert!(tokio::time::timeout(Duration::from_secs(1), run).await.is_err());
    });
    drop(first);
    runtime().block_on(async {
        let clock: Arc<dyn Clock> = Arc::new(haft::turn::SystemClock::new());
        let key = haft::turn::GateKey::from_bytes([3; 32]);
        // Elsewhere, so that only asking the store finds the answer.
        let keeper = haft::turn::Gatekeeper::new(store, key, clock);
        let (report, ()) = tokio::join!(input(&agent).id("kept").report(), async {
            pass(Duration::from_secs(300)).await;
            let turn = Some("kept".parse().unwrap());
            let gate = keeper.open_gates(turn).await.unwrap().pop().unwrap();
            keeper.resolve(&gate.id, json!(1), "ada").await.unwrap();
        });
        assert_eq!(report.unwrap().outcome, TurnOutcome::Completed);
    });
    assert!(renewals.load(Ordering::SeqCst) > 10);
}

#[tokio::test(start_paused = true)]
async fn observers_that_panic_break_nothing() {
    let world = World::new();
    let (doors, observer) = errand::doors();
    let store = Arc::clone(&world.store);
    let agent = world.errand.agent(store, Arc::clone(&world.spools), Arc::clone(&world.clock) as _);
    let panics = |event: &Event| panic!("at {}", event.kind.name());
    let agent = agent.observer(panics).observer(observer).observer(panics).build().unwrap();
    let report = errand::run(&agent, doors).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    errand::check_over(&world.errand, &agent, &*world.store, &*world.spools).await;
}

fn edit_last(journal: &mut [String], edit: impl FnOnce(&mut String)) {
    edit(journal.last_mut().unwrap());
}

/// A journal that cannot be read is an error that says so, and is left as it is.
#[tokio::test]
async fn a_damaged_journal_is_refused_and_not_touched() {
    let whole = World::new();
    whole.run(Arc::new(|_| Fate::Pass)).await.unwrap();
    let stored = whole.store.load(Errand::id()).await.unwrap().unwrap();
    let mut journal: Vec<_> = stored.journal.iter().map(ToString::to_string).collect();
    journal.pop();
    type Damage = fn(&mut [String]);
    let damages: [(&str, Damage, &str); 5] = [
        ("torn", |it| edit_last(it, |text| text.truncate(text.len() / 2)), "damaged"),
        ("empty", |it| edit_last(it, String::clear), "damaged"),
        ("bytes", |it| edit_last(it, |text| text.replace_range(1..4, "???")), "damaged"),
        (
            "kind",
            |it| edit_last(it, |text| *text = json!({"entry": "dreamed"}).to_string()),
            "damaged",
        ),
        (
            "newer",
            |it| it[0] = json!({"entry": "started", "version": 9, "more": 1}).to_string(),
            "version 9",
        ),
    ];
    for (name, damage, says) in damages {
        let world = World::new();
        let mut entries = journal.clone();
        damage(&mut entries);
        let writes: Vec<StoreWrite> =
            entries.iter().map(|it| StoreWrite::Journal(it.as_str().into())).collect();
        let holder = LeaseRequest::new("test", Duration::ZERO);
        world.store.create(NewTurn::new(Errand::id()).writes(writes), holder).await.unwrap();
        let error = world.run(Arc::new(|_| Fate::Pass)).await.unwrap_err();
        assert_eq!(error.code(), "E_STORE", "{name}");
        assert!(error.to_string().contains(says), "{name}: {error}");
        let stored = world.store.load(Errand::id()).await.unwrap().unwrap();
        assert_eq!(stored.journal, entries, "{name}");
        assert_eq!(stored.rows.len(), 0, "{name}");
        assert_eq!(world.errand.ledger.lines(), Vec::<String>::new(), "{name}: nobody was asked");
    }
}

/// A turn that is resumed only to be stopped, or whose input fails then, leaves no call open.
#[tokio::test(start_paused = true)]
async fn a_turn_that_ends_on_the_way_back_ends_its_calls() {
    for effect in [ToolEffect::Idempotent, ToolEffect::Once] {
        for cancels in [true, false] {
            let clock = Arc::new(ManualClock::new(Timestamp::EPOCH));
            let store = Arc::new(MemoryStore::with_clock(Arc::clone(&clock) as _));
            let hangs = Tool::builder("hangs").description("Hangs.").effect(effect);
            let hangs = hangs.handler(async || std::future::pending::<String>().await).build();
            let built = agent(steps([|_| Ok(Step::new().call(call("hangs", "{}")))]));
            let built = built.tool(hangs.unwrap()).clock(Arc::clone(&clock) as _);
            let fails = move |ctx: TurnContext, next: Next<TurnContext>| async move {
                if ctx.is_resumed() && !cancels {
                    return Err("the database is gone".into());
                }
                next.run().await
            };
            let built = built.store(Arc::clone(&store) as _).turn_input("fails", fails);
            let agent: Agent = built.build().unwrap();
            let run = input(&agent).id("t").report();
            assert!(tokio::time::timeout(Duration::from_secs(1), run).await.is_err());
            clock.advance(Duration::from_secs(3600));
            let token = Cancellation::new();
            if cancels {
                token.cancel("enough");
            }
            let turn: TurnId = "t".parse().unwrap();
            let report = agent.resume(&turn).cancellation(&token).report().await.unwrap();
            assert_ne!(report.outcome, TurnOutcome::Completed);
            let expected = match effect {
                ToolEffect::Once => CallState::Unknown,
                _ => CallState::Cancelled,
            };
            assert_eq!(report.calls[0].state(), expected, "{cancels}");
            let stored = store.load(turn).await.unwrap().unwrap();
            let row: Value = serde_json::from_str(&stored.rows.last().unwrap().json).unwrap();
            assert_eq!(row["state"], format!("{expected:?}").to_lowercase());
        }
    }
}

/// A full disk under the turns: the turn can go on when there is room.
#[cfg(feature = "sqlite")]
#[test]
fn a_full_disk_is_an_error_and_the_turn_goes_on_when_there_is_room() {
    use haft::stores::{SqliteOptions, SqliteStore};
    let folder = tempfile::tempdir().unwrap();
    let open = |room: Option<u64>| {
        let options = SqliteOptions::default();
        let options = room.map_or(options, |room| options.max_bytes(room));
        SqliteStore::open_with(folder.path(), options)
    };
    super::block_on(async {
        let size = {
            let store = open(None).unwrap();
            let size = std::fs::metadata(store.file()).unwrap().len();
            store.close().await;
            size
        };
        let world = World::new();
        let run = async |store: SqliteStore| {
            let (doors, observer) = errand::doors();
            let (spools, clock) = (Arc::clone(&world.spools), Arc::clone(&world.clock));
            let agent = world.errand.agent(Arc::new(store), spools, clock as _);
            errand::run(&agent.observer(observer).build().unwrap(), doors).await
        };
        let mut failed = 0;
        // Room for a page more each time, until it is enough.
        for more in 0..200 {
            world.clock.advance(Duration::from_secs(3600));
            match run(open(Some(size + more * 4096)).unwrap()).await {
                Ok(report) if report.outcome == TurnOutcome::Completed => break,
                Ok(report) => assert_eq!(report.error.unwrap().code.unwrap().as_str(), "E_STORE"),
                Err(error) => assert_eq!(error.code(), "E_STORE"),
            }
            failed += 1;
        }
        assert!(failed > 3, "{failed}");
        let store = open(None).unwrap();
        let (spools, clock) = (Arc::clone(&world.spools), Arc::clone(&world.clock));
        let agent = world.errand.agent(Arc::new(open(None).unwrap()), spools, clock as _);
        let agent = agent.build().unwrap();
        errand::check_over(&world.errand, &agent, &store, &*world.spools).await;
    });
}
