//! What crosses from one turn of a conversation to the next.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::executors::{Step, StepContext, StepError};
use haft::middleware::{HydrateConversation, hydrate_conversation};
use haft::records::{CallState, Memory, Message, Record as _, ToolResults};
use haft::stores::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateQuery, GateRow,
    JournalRow, Lease, LeaseRequest, MemoryRow, MemoryScope, MemorySpoolStore, MemoryStore,
    NewTurn, SettleOutcome, SpoolKey, SpoolStore as _, StoreError, StoreWrite, StoredTurn, TurnId,
    TurnQuery, TurnStore, TurnSummary,
};
use haft::tools::ToolEffect;
use haft::turn::{Agent, AgentBuilder, Limits, Turn, TurnOutcome};
use haft::turn::{GarbageOptions, ManualClock, Timestamp, TurnContext};
use haft::{BoxFuture, Tool, ToolCall};

use super::{Seen, call, say};

/// A conversation in stores that several agents share, as processes do.
#[derive(Default)]
struct World {
    store: Arc<CountingStore>,
    spools: Arc<MemorySpoolStore>,
    clock: Arc<ManualClock>,
    /// What the executor saw in each step.
    seen: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn builder(
        &self,
        executor: impl haft::DispatchExecutor + 'static,
        hydrate: HydrateConversation,
    ) -> AgentBuilder {
        Agent::builder(executor)
            .store(Arc::clone(&self.store) as _)
            .spools(Arc::clone(&self.spools) as _)
            .clock(Arc::clone(&self.clock) as _)
            .turn_input("history", hydrate)
    }

    /// An executor that notes the transcript, and says this.
    fn noting(&self, text: &'static str) -> impl haft::DispatchExecutor + use<> {
        let seen = Arc::clone(&self.seen);
        move |ctx: StepContext| {
            seen.lock().unwrap().push(transcript(ctx.dispatch().turn()));
            async move { Ok::<_, StepError>(Step::done().say(ctx.message(text)?)) }
        }
    }

    fn last_seen(&self) -> String {
        self.seen.lock().unwrap().last().cloned().unwrap()
    }

    async fn run(&self, agent: &Agent, id: &str, text: &str) {
        let report = message(agent, id, text).report().await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    }
}

fn message(agent: &Agent, turn: &str, text: &str) -> Turn {
    let message = Message::user_at(format!("{turn}-prompt"), text, Timestamp::EPOCH).unwrap();
    agent.turn(message).system("You help.").id(turn).conversation("c")
}

/// The records of the timeline, in order.
fn transcript(ctx: &TurnContext) -> String {
    let text = |it: &Message| it.content().map_or_else(String::new, |it| it.as_str().to_owned());
    let messages = ctx.messages().numbered().into_iter().map(|(n, it)| (n, text(&it)));
    let calls = ctx.tool_calls().numbered().into_iter();
    let calls =
        calls.map(|(n, it)| (n, format!("<{} {}>", it.tool(), ctx.artifacts().handle(it.id()))));
    let mut all: Vec<_> = messages.chain(calls).collect();
    all.sort();
    all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" | ")
}

/// A tool whose result is too long to be shown.
fn log_tool(ran: &Arc<AtomicU32>) -> Tool {
    let ran = Arc::clone(ran);
    Tool::builder("get_log")
        .description("Gives the log.")
        .trusted()
        .handler(move || {
            ran.fetch_add(1, Ordering::SeqCst);
            "a line of the log\n".repeat(1_000)
        })
        .build()
        .unwrap()
}

/// Calls the tool in the first iteration, and says something in the second.
async fn call_once(
    ctx: StepContext,
    tool: &'static str,
    text: &'static str,
) -> Result<Step, StepError> {
    Ok(match ctx.dispatch().iteration() {
        0 => Step::new().call(call(tool, "{}")),
        _ => Step::done().say(ctx.message(text)?),
    })
}

fn result_text(call: &ToolCall) -> &str {
    match &call.results {
        Some(ToolResults::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_handle_of_turn_one_answers_in_turn_two_and_keeps_its_tier() {
    let (world, ran) = (World::default(), Arc::default());
    let first = world.builder(
        |ctx: StepContext| call_once(ctx, "get_log", "The log is long."),
        hydrate_conversation(),
    );
    let first = first.tool(log_tool(&ran)).build().unwrap();
    let report = message(&first, "one", "Get the log.").report().await.unwrap();
    let original = Arc::clone(&report.calls[0]);
    // Another process, another agent: the handle is the one that the first turn had.
    let executor = |ctx: StepContext| async move {
        let turn = ctx.dispatch().turn();
        if ctx.dispatch().iteration() == 0 {
            let handles = turn.artifacts().all();
            let [(handle, artifact)] = handles.as_slice() else { panic!("{handles:?}") };
            let call_of = turn.tool_calls().all().remove(0);
            assert_eq!(*handle, turn.artifacts().handle(call_of.id()).to_string());
            assert!(artifact.label().is_trusted(), "{:?}", artifact.label());
            let args = serde_json::json!({ "callId": handle }).to_string();
            return Ok::<_, StepError>(Step::new().call(call("artifact_info", &args)));
        }
        Ok(Step::done().say(ctx.message("Counted.")?))
    };
    let second = world.builder(executor, hydrate_conversation()).build().unwrap();
    let report = message(&second, "two", "How long is it?").report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    assert_eq!(report.calls.len(), 1, "calls of earlier turns are not reported again");
    assert!(result_text(&report.calls[0]).contains("1001"), "{:?}", report.calls);
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    // A third turn shows the calls of both, with the labels that they had.
    let third = world.builder(world.noting("Fine."), hydrate_conversation()).build().unwrap();
    world.run(&third, "three", "And?").await;
    let seen = world.last_seen();
    assert!(seen.starts_with("Get the log. | <get_log "), "{seen}");
    assert!(seen.contains("| How long is it? | <artifact_info "), "{seen}");
    assert!(seen.ends_with("Counted. | And?"), "{seen}");
    assert!(original.label().is_trusted());
}

#[tokio::test]
async fn nothing_of_earlier_turns_is_stored_again() {
    let world = World::default();
    let agent = world.builder(world.noting("Yes."), hydrate_conversation()).build().unwrap();
    for n in 0..30 {
        world.run(&agent, &format!("t{n}"), &format!("question {n}")).await;
    }
    assert_eq!(world.last_seen().matches("question").count(), 30);
    for n in 0..30 {
        let stored = world.store.load(format!("t{n}").parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(stored.rows.len(), 2, "a question and a reply");
    }
}

/// The window of a long conversation has a bound, and with it what a turn reads and writes.
#[tokio::test]
async fn what_a_turn_reads_and_writes_does_not_grow_with_the_conversation() {
    let world = World::default();
    let hydrate = hydrate_conversation().last_messages(20);
    let agent = world.builder(world.noting("Yes."), hydrate).build().unwrap();
    let mut most = (0, 0);
    for n in 0..120 {
        world.store.reset();
        world.run(&agent, &format!("t{n}"), &format!("question {n}")).await;
        let (reads, bytes) = world.store.counts();
        if n < 40 {
            most = (most.0.max(reads), most.1.max(bytes));
        } else {
            assert!(reads <= most.0, "turn {n}: {reads} reads, and {} before", most.0);
            // Numbers get longer.
            assert!(bytes <= most.1 + 200, "turn {n}: {bytes} bytes, and {} before", most.1);
        }
    }
}

/// Between two cuts of the window each turn begins with the whole transcript of the turn before.
#[tokio::test]
async fn the_window_moves_in_steps() {
    let world = World::default();
    let hydrate = hydrate_conversation().last_messages(20);
    let agent = world.builder(world.noting("Yes."), hydrate).build().unwrap();
    for n in 0..60 {
        world.run(&agent, &format!("t{n}"), &format!("question {n}")).await;
    }
    let seen = world.seen.lock().unwrap().clone();
    let cuts = seen.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count();
    assert!((1..=10).contains(&cuts), "{cuts} cuts in 60 turns");
    for text in &seen {
        assert!(text.matches("question").count() <= 11, "{text}");
    }
    assert!(seen.last().unwrap().matches("question").count() >= 5);
}

#[tokio::test]
async fn tokens_bound_the_window_and_the_newest_turn_is_always_there() {
    let world = World::default();
    let hydrate = hydrate_conversation().max_tokens(1_000);
    let agent = world.builder(world.noting("Yes."), hydrate).build().unwrap();
    world.run(&agent, "one", &"long ".repeat(2_000)).await;
    world.run(&agent, "two", "short").await;
    // The newest turn is shown although it alone is too large.
    assert_eq!(world.last_seen().matches("long").count(), 2_000);
    world.run(&agent, "three", "shorter").await;
    assert_eq!(world.last_seen(), "short | Yes. | shorter");
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_turn_is_not_shown_and_resumed_with_the_same_history() {
    let (world, hang, ran) =
        (World::default(), Arc::new(AtomicBool::new(true)), Arc::new(AtomicU32::new(0)));
    let pay = |hang: &Arc<AtomicBool>, ran: &Arc<AtomicU32>| {
        let (hang, ran) = (Arc::clone(hang), Arc::clone(ran));
        let handler = move || {
            let (hang, ran) = (Arc::clone(&hang), Arc::clone(&ran));
            async move {
                ran.fetch_add(1, Ordering::SeqCst);
                if hang.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                "paid"
            }
        };
        Tool::builder("pay")
            .description("Pays.")
            .effect(ToolEffect::Once)
            .handler(handler)
            .build()
            .unwrap()
    };
    let seen = Arc::clone(&world.seen);
    let executor = move |ctx: StepContext| {
        seen.lock().unwrap().push(transcript(ctx.dispatch().turn()));
        call_once(ctx, "pay", "Done.")
    };
    let agent = || {
        let executor = executor.clone();
        world.builder(executor, hydrate_conversation()).tool(pay(&hang, &ran)).build().unwrap()
    };
    hang.store(false, Ordering::SeqCst);
    world.run(&agent(), "one", "Pay one.").await;
    hang.store(true, Ordering::SeqCst);
    let cut = agent();
    let died =
        tokio::time::timeout(Duration::from_secs(1), message(&cut, "two", "Pay two.").report())
            .await;
    assert!(died.is_err());
    let before = world.last_seen();
    assert!(before.starts_with("Pay one. | <pay ") && before.ends_with("| Pay two."), "{before}");
    assert_eq!(ran.load(Ordering::SeqCst), 2);
    // A turn that begins meanwhile does not show the interrupted one.
    hang.store(false, Ordering::SeqCst);
    let observed = Seen::default();
    let other = world.builder(world.noting("Yes."), hydrate_conversation());
    let other = other.observer(observed.observer()).build().unwrap();
    world.run(&other, "three", "Anything open?").await;
    assert!(!world.last_seen().contains("Pay two."), "{}", world.last_seen());
    let warned =
        observed.events().iter().any(|it| format!("{it:?}").contains("`two` has not ended"));
    assert!(warned);
    // The interrupted turn has the history that it had, although there is more now; its call is not repeated.
    world.clock.advance(Duration::from_secs(60));
    let report = agent().resume("two").report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    let after = world.last_seen();
    assert!(after.starts_with(&before), "{after}\n{before}");
    assert_eq!(ran.load(Ordering::SeqCst), 2);
    assert_eq!(report.calls.iter().map(|it| it.state()).collect::<Vec<_>>(), [CallState::Unknown]);
    let next = world.builder(world.noting("Yes."), hydrate_conversation()).build().unwrap();
    world.run(&next, "four", "And now?").await;
    let seen = world.last_seen();
    assert!(seen.contains("Pay two. | <pay ") && seen.contains("Anything open?"), "{seen}");
}

/// Records with ids that are taken are other records, unless they are the same.
#[tokio::test]
async fn ids_that_are_used_again_lose_nothing() {
    let (world, ran) = (World::default(), Arc::default());
    let executor = |ctx: StepContext| call_once(ctx, "get_log", "Here.");
    let agent = world.builder(executor, hydrate_conversation()).tool(log_tool(&ran));
    let agent = agent.limits(Limits::new().identical_calls(1)).build().unwrap();
    for turn in ["one", "two", "three"] {
        // Every turn has a message `m` and the same call.
        let message = Message::user_at("m", format!("question {turn}"), Timestamp::EPOCH).unwrap();
        let input = agent.turn(message).system("You help.").id(turn).conversation("c");
        let report = input.report().await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    }
    let again = world.builder(world.noting("Yes."), hydrate_conversation()).build().unwrap();
    world.run(&again, "four", "last").await;
    let seen = world.last_seen();
    for turn in ["question one", "question two", "question three"] {
        assert_eq!(seen.matches(turn).count(), 1, "{seen}");
    }
    let handles: std::collections::HashSet<_> =
        seen.split("<get_log ").skip(1).map(|it| it.split('>').next().unwrap()).collect();
    assert_eq!(handles.len(), 3, "{seen}");
}

/// Middleware that changes an earlier call or message changes what later turns see of it.
#[tokio::test]
async fn a_record_that_a_later_turn_changed_is_shown_as_changed_where_it_was() {
    let world = World::default();
    let first = world.builder(say("Yes."), hydrate_conversation()).build().unwrap();
    world.run(&first, "one", "a secret").await;
    let change = |ctx: StepContext| async move {
        let turn = ctx.dispatch().turn();
        let secret = turn.messages().all().remove(0);
        let changed = secret.revised(Timestamp::EPOCH).with_content("(redacted)");
        turn.store_message(changed).await?;
        let reply = turn.messages().all().remove(1);
        assert!(turn.delete_message(reply.id()).await?);
        Ok::<_, StepError>(Step::done().say(ctx.message("Done.")?))
    };
    let second = world.builder(change, hydrate_conversation()).build().unwrap();
    world.run(&second, "two", "Redact it.").await;
    let third = world.builder(world.noting("Fine."), hydrate_conversation()).build().unwrap();
    world.run(&third, "three", "And?").await;
    assert_eq!(world.last_seen(), "(redacted) | Yes. | Redact it. | Done. | And?");
}

#[tokio::test]
async fn memories_of_turns_at_once_are_all_there() {
    let world = Arc::new(World::default());
    let agent = |world: &World| {
        let store = |ctx: StepContext| async move {
            let turn = ctx.dispatch().turn();
            for n in 0..100 {
                let id = format!("{}-{n}", turn.turn_id());
                let memory = Memory::new(id, "a fact", Timestamp::EPOCH);
                turn.store_memory(memory.with_confidence(0.5).with_importance(0.5).checked()?)
                    .await?;
                tokio::task::yield_now().await;
            }
            Ok::<_, StepError>(Step::done())
        };
        world.builder(store, hydrate_conversation()).build().unwrap()
    };
    let scope = MemoryScope::user("ada");
    let mut turns = tokio::task::JoinSet::new();
    for n in 0..8 {
        let (agent, scope) = (agent(&world), scope.clone());
        let input = agent.turn([]).system("You help.").id(format!("t{n}")).memories(scope);
        turns.spawn(async move { input.report().await.unwrap() });
    }
    for report in turns.join_all().await {
        assert_eq!(report.outcome, TurnOutcome::Completed);
    }
    assert_eq!(world.store.load_memories(scope.clone()).await.unwrap().len(), 800);
    // Turns that belong to others come in between, and the memories are found all the same.
    let other = world.builder(say("Hi."), hydrate_conversation()).build().unwrap();
    for _ in 0..205 {
        other.turn([]).system("You help.").report().await.unwrap();
    }
    let found = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&found);
    let executor = move |ctx: StepContext| {
        count.store(ctx.dispatch().turn().memories().len(), Ordering::SeqCst);
        async move { Ok::<_, StepError>(Step::done()) }
    };
    let last = world.builder(executor, hydrate_conversation()).build().unwrap();
    last.turn([]).system("You help.").memories(scope).report().await.unwrap();
    assert_eq!(found.load(Ordering::SeqCst), 800);
}

#[tokio::test]
async fn a_memory_that_was_deleted_stays_so_and_the_last_writer_wins() {
    let world = World::default();
    let act = |action: &'static str| {
        let executor = move |ctx: StepContext| async move {
            let turn = ctx.dispatch().turn();
            if action == "delete" {
                assert!(turn.delete_memory(&"tea".parse().unwrap()).await?);
            } else if !action.is_empty() {
                let memory = Memory::new("tea", action, Timestamp::EPOCH);
                turn.store_memory(memory.with_confidence(0.5).with_importance(0.5).checked()?)
                    .await?;
            }
            let all = turn.memories().all();
            let all: Vec<_> = all.iter().map(|it| it.content().as_str().to_owned()).collect();
            Ok::<_, StepError>(Step::done().say(ctx.message(format!("{all:?}"))?))
        };
        world.builder(executor, hydrate_conversation()).build().unwrap()
    };
    // Without a scope of its own, a turn has that of its conversation.
    for (turn, (action, expected)) in [
        ("likes it", r#"["likes it"]"#),
        ("", r#"["likes it"]"#),
        ("hates it", r#"["hates it"]"#),
        ("", r#"["hates it"]"#),
        ("delete", "[]"),
        ("", "[]"),
    ]
    .into_iter()
    .enumerate()
    {
        let report = message(&act(action), &format!("t{turn}"), "hello").report().await.unwrap();
        assert_eq!(report.text(), expected, "turn {turn}");
    }
}

#[tokio::test]
async fn content_that_a_later_turn_refers_to_is_not_collected() {
    let (world, ran) = (World::default(), Arc::default());
    let first = |ctx: StepContext| call_once(ctx, "get_log", "Here.");
    let first = world.builder(first, hydrate_conversation()).tool(log_tool(&ran)).build().unwrap();
    world.run(&first, "one", "Get the log.").await;
    // The second turn stores the call as its own, as middleware does that changes it.
    let keep = |ctx: StepContext| async move {
        let call = ctx.dispatch().turn().tool_calls().all().remove(0);
        ctx.dispatch().turn().store_tool_call(call).await?;
        Ok::<_, StepError>(Step::done())
    };
    let second = world.builder(keep, hydrate_conversation()).build().unwrap();
    world.run(&second, "two", "Keep it.").await;
    assert_eq!(second.stored_turns().collect_garbage().await.unwrap(), 0);
    assert!(second.stored_turns().remove_turn(&"one".parse().unwrap()).await.unwrap());
    assert_eq!(second.stored_turns().collect_garbage().await.unwrap(), 0);
    assert_eq!(world.spools.list().await.unwrap().len(), 1);
    assert!(second.stored_turns().remove_turn(&"two".parse().unwrap()).await.unwrap());
    // The content has the key of the first turn, which the store does not know any more.
    assert_eq!(second.stored_turns().collect_garbage().await.unwrap(), 0);
    let options = GarbageOptions::new().unknown_turns();
    assert_eq!(second.stored_turns().collect_garbage_with(options).await.unwrap().content, 1);
}

#[tokio::test]
async fn a_result_whose_content_is_gone_is_shown_as_that() {
    let (world, ran) = (World::default(), Arc::default());
    let first = |ctx: StepContext| call_once(ctx, "get_log", "Here.");
    let first = world.builder(first, hydrate_conversation()).tool(log_tool(&ran)).build().unwrap();
    world.run(&first, "one", "Get the log.").await;
    for key in world.spools.list().await.unwrap() {
        world.spools.delete(key).await.unwrap();
    }
    let executor = |ctx: StepContext| async move {
        let calls = ctx.dispatch().turn().tool_calls().all();
        Ok::<_, StepError>(Step::done().say(ctx.message(result_text(&calls[0]))?))
    };
    let second = world.builder(executor, hydrate_conversation()).build().unwrap();
    let report = message(&second, "two", "And?").report().await.unwrap();
    assert!(report.text().contains("not stored any more"), "{}", report.text());
}

/// Counts how often something is read, and the bytes that are written.
#[derive(Debug, Default)]
pub(crate) struct CountingStore {
    inner: MemoryStore,
    reads: AtomicUsize,
    bytes: AtomicUsize,
}

impl CountingStore {
    pub(crate) fn reset(&self) {
        self.reads.store(0, Ordering::SeqCst);
        self.bytes.store(0, Ordering::SeqCst);
    }

    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.reads.load(Ordering::SeqCst), self.bytes.load(Ordering::SeqCst))
    }

    fn count_writes(&self, writes: &[StoreWrite]) {
        for write in writes {
            let text = match write {
                StoreWrite::Put(row) => row.json.as_str(),
                StoreWrite::Journal(json) => json.as_str(),
                _ => "",
            };
            self.bytes.fetch_add(text.len(), Ordering::SeqCst);
        }
    }
}

macro_rules! counted {
    ($($method:ident($($arg:ident: $type:ty),*) -> $result:ty, $reads:literal;)*) => {$(
        fn $method(&self, $($arg: $type),*) -> BoxFuture<'_, Result<$result, StoreError>> {
            self.reads.fetch_add($reads, Ordering::SeqCst);
            self.inner.$method($($arg),*)
        }
    )*};
}

impl TurnStore for CountingStore {
    fn insert(&self, turn: NewTurn) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        self.count_writes(&turn.writes);
        self.inner.insert(turn)
    }

    fn commit(
        &self,
        lease: Lease,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.count_writes(&writes);
        self.inner.commit(lease, writes)
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        self.inner.listen()
    }

    counted! {
        gates(query: GateQuery) -> Vec<GateRow>, 1;
        claim_turns(filter: ClaimFilter, holder: LeaseRequest, count: usize) -> Vec<Lease>, 0;
        renew(lease: Lease) -> Lease, 0;
        release(lease: Lease) -> (), 0;
        request_cancel(turn: TurnId, request: CancelRequest) -> CancelOutcome, 0;
        load(turn: TurnId) -> Option<StoredTurn>, 1;
        read_journal(turn: TurnId, after: u64, limit: usize) -> Vec<JournalRow>, 1;
        turns(query: TurnQuery) -> Vec<TurnSummary>, 1;
        remove_turns(query: TurnQuery) -> Vec<TurnId>, 0;
        unreferenced_keys(keys: Vec<SpoolKey>) -> Vec<SpoolKey>, 1;
        settle(gate: GateId, settlement: String) -> SettleOutcome, 0;
        load_memories(scope: MemoryScope) -> Vec<MemoryRow>, 1;
        set_title(tenant: String, conversation: String, title: Option<String>) -> (), 0;
        titles(tenant: String, conversations: Vec<String>) -> BTreeMap<String, String>, 1;
    }
}
