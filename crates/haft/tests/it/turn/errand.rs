//! A turn with everything in it, for those who interrupt it: calls side by side that may be repeated, that
//! may with a key, and that must not; one that fails, one that streams, one that waits for leave; a long text
//! in the input, a scratchpad, and middleware that keeps something at the end.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use haft::events::{Event, EventKind};
use haft::executors::{Step, StepContext, StepError};
use haft::middleware::Next;
use haft::records::{Memory, Record as _, Retrievable};
use haft::stores::SpoolStore;
use haft::stores::{Row, RowKind, StoreError, StoredTurn, TurnId, TurnStatus, TurnStore};
use haft::tools::{ByteStream, ToolEffect};
use haft::trust::TrustTier;
use haft::turn::Cancellation;
use haft::turn::TurnContext;
use haft::turn::{Agent, AgentBuilder, Limits, SettleError, Turn, TurnError, TurnReport};
use haft::turn::{Clock, Timestamp};
use haft::{Args, CallContext, DispatchContext, Tool, ToolFailure};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{agent, call, input, pass};

/// What the outside has seen: written by the tools and by the model, never by the turn.
#[derive(Clone)]
pub(crate) enum Ledger {
    Memory(Arc<Mutex<Vec<String>>>),
    #[cfg_attr(
        not(feature = "sqlite"),
        expect(dead_code, reason = "only the tests of crashes use it")
    )]
    File(PathBuf),
}

impl Ledger {
    pub(crate) fn memory() -> Self {
        Self::Memory(Arc::default())
    }

    pub(crate) fn note(&self, line: impl Into<String>) {
        let line = line.into();
        match self {
            Self::Memory(lines) => lines.lock().unwrap().push(line),
            Self::File(path) => {
                let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
                file.write_all(format!("{line}\n").as_bytes()).unwrap();
                file.sync_data().unwrap();
            }
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Self::Memory(lines) => lines.lock().unwrap().clone(),
            Self::File(path) => {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                text.lines().map(str::to_owned).collect()
            }
        }
    }

    pub(crate) fn count(&self, wanted: &str) -> usize {
        self.lines().iter().filter(|line| *line == wanted).count()
    }

    fn starting_with(&self, start: &str) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.starts_with(start)).collect()
    }
}

/// What to run, and who sees it.
#[derive(Clone)]
pub(crate) struct Errand {
    pub(crate) ledger: Ledger,
    /// How often it asks, pays and sends before it is done.
    pub(crate) rounds: u32,
    /// Whether there are calls that must not be repeated.
    pub(crate) once: bool,
    /// Whether middleware has a say at the end; without it the answer and the end are written at once.
    pub(crate) outputs: bool,
}

pub(crate) const TURN: &str = "errand";
const SECRET: [u8; 32] = [7; 32];
/// More than what is shown in full.
const LINES: usize = 900;

impl Errand {
    pub(crate) fn new(ledger: Ledger) -> Self {
        Self { ledger, rounds: 1, once: true, outputs: true }
    }

    pub(crate) fn id() -> TurnId {
        TURN.parse().unwrap()
    }

    pub(crate) fn input(agent: &Agent) -> Turn {
        let text = "what was found\n".repeat(600);
        let tier = TrustTier::ThirdPartyPublic;
        let record = Retrievable::new("found", text, tier, Timestamp::EPOCH);
        let record = record.shown_as_handle().checked().unwrap();
        input(agent).id(TURN).retrieved(record)
    }

    /// How many times the model is to be asked.
    pub(crate) fn iterations(&self) -> u32 {
        2 * self.rounds + 1
    }

    pub(crate) fn agent<S: SpoolStore + 'static>(
        &self,
        store: Arc<dyn TurnStore>,
        spools: Arc<S>,
        clock: Arc<dyn Clock>,
    ) -> AgentBuilder {
        let output = async |ctx: TurnContext, next: Next<TurnContext>| {
            let memory = Memory::new("learned", "It went well.", ctx.clock().now());
            ctx.store_memory(memory.with_confidence(1.0).with_importance(0.5).checked()?).await?;
            next.run().await
        };
        let count = async |ctx: DispatchContext, next: Next<DispatchContext>| {
            ctx.stash().set("iterated", ctx.iteration() + 1)?;
            next.run().await
        };
        let begin = async |ctx: DispatchContext, next: Next<DispatchContext>| {
            ctx.stash().set("iterated", ctx.iteration())?;
            next.run().await
        };
        let agent = agent(self.executor())
            .tools(self.tools())
            .store(store)
            .spools(spools)
            .clock(clock)
            .secret(SECRET)
            .name("errand")
            .limits(Limits::new().identical_calls(100));
        match self.outputs {
            true => agent.dispatch_output("count", count).turn_output("learn", output),
            false => agent.dispatch_input("count", begin),
        }
    }

    fn executor(&self) -> impl haft::executors::DispatchExecutor + 'static {
        let Self { ledger, rounds, once, .. } = self.clone();
        move |cx: StepContext| {
            let ledger = ledger.clone();
            async move {
                let n = cx.dispatch().iteration();
                ledger.note(format!("ask {n}"));
                for call in cx.dispatch().turn().tool_calls().all() {
                    let state = format!("{:?}", call.state()).to_lowercase();
                    ledger.note(format!(
                        "saw {}.{} {} {state}",
                        call.iteration,
                        call.ordinal,
                        call.tool()
                    ));
                }
                tokio::task::yield_now().await;
                step(&cx, n, rounds, once)
            }
        }
    }

    fn tools(&self) -> Vec<Tool> {
        let schema = || haft::schema::object().field("n", haft::schema::integer().required());
        let tool = |name: &str, effect: ToolEffect| {
            Tool::builder(name).description("Works.").effect(effect).input(schema())
        };
        let noted = |what: &'static str| {
            let ledger = self.ledger.clone();
            move |_: Args, ctx: CallContext| {
                let ledger = ledger.clone();
                async move { handle(what, &ledger, &ctx).await }
            }
        };
        vec![
            tool("read", ToolEffect::ReadOnly).handler(noted("read")).build().unwrap(),
            tool("pay", ToolEffect::Idempotent).handler(noted("pay")).build().unwrap(),
            tool("send", ToolEffect::Once).handler(noted("send")).build().unwrap(),
            tool("delete", ToolEffect::Once)
                .requires_approval("May I delete this?")
                .handler(noted("delete"))
                .build()
                .unwrap(),
            tool("update", ToolEffect::Idempotent)
                .requires_approval("May I change this?")
                .handler(noted("update"))
                .build()
                .unwrap(),
            tool("broken", ToolEffect::ReadOnly)
                .handler(|_: Args| async { Err::<String, _>(ToolFailure::new("out of paper")) })
                .build()
                .unwrap(),
            tool("large", ToolEffect::ReadOnly)
                .handler(|_: Args| async { ByteStream::new(Lines(0)) })
                .build()
                .unwrap(),
        ]
    }
}

async fn handle(what: &str, ledger: &Ledger, ctx: &CallContext) -> Result<String, ToolFailure> {
    let key = ctx.idempotency_key();
    ledger.note(format!("try {what} {key}"));
    tokio::task::yield_now().await;
    let effect = format!("effect {what} {key}");
    // What may be repeated with its key is the outside's business to notice.
    if !matches!(what, "pay" | "update") || ledger.count(&effect) == 0 {
        ledger.note(effect);
    }
    tokio::task::yield_now().await;
    let record = ctx.record_id();
    ctx.stash().set(["did", what, &record.to_string()], true)?;
    Ok(format!("{what} is done"))
}

fn step(cx: &StepContext, n: u32, rounds: u32, once: bool) -> Result<Step, StepError> {
    let args = |n: u32| json!({ "n": n }).to_string();
    let round = n / 2;
    if round == rounds {
        let stash = cx.dispatch().stash().all();
        let paid = stash["did"]["pay"].as_object().map_or(0, serde_json::Map::len);
        let text = format!("Done: {} {paid} {}", stash["begun"], stash["iterated"]);
        return Ok(Step::done().say(cx.message(text)?));
    }
    if n.is_multiple_of(2) {
        cx.dispatch().stash().set("begun", true)?;
        let step = Step::new().think(cx.thought("I have to look.")?).say(cx.message("I look.")?);
        let step = step.call(call("read", &args(round))).call(call("pay", &args(0)));
        let step = if once { step.call(call("send", &args(round))) } else { step };
        return Ok(step.call(call("broken", &args(round))).call(call("large", &args(round))));
    }
    let (handle, _) = cx
        .dispatch()
        .artifacts()
        .all()
        .into_iter()
        .next()
        .ok_or_else(|| StepError::new("there is nothing to query"))?;
    let query = json!({ "callId": handle, "pattern": "line 899" }).to_string();
    let step = Step::new().say(cx.message("Now the rest.")?);
    let step = step.call(call(if once { "delete" } else { "update" }, &args(round)));
    Ok(step.call(call("pay", &args(0))).call(call("artifact_grep", &query)))
}

struct Lines(usize);

impl Stream for Lines {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.0 == LINES {
            return Poll::Ready(None);
        }
        let next = self.0 + 300;
        let text: String = (self.0..next).map(|n| format!("line {n}\n")).collect();
        self.0 = next;
        Poll::Ready(Some(Ok(text.into())))
    }
}

/// Tells of gates that were opened.
pub(crate) struct Doors(mpsc::UnboundedReceiver<String>);

pub(crate) fn doors() -> (Doors, impl Fn(&Event) + Send + Sync + 'static) {
    let (opened, doors) = mpsc::unbounded_channel();
    let observer = move |event: &Event| {
        if let EventKind::TurnGateOpen { gate_id, .. } = &event.kind {
            let _ = opened.send(gate_id.to_string());
        }
    };
    (Doors(doors), observer)
}

/// Begins the turn, or goes on with it, and says yes whenever it asks.
pub(crate) async fn run(agent: &Agent, doors: Doors) -> Result<TurnReport, TurnError> {
    run_until(agent, doors, Cancellation::new()).await
}

pub(crate) async fn run_until(
    agent: &Agent,
    mut doors: Doors,
    token: Cancellation,
) -> Result<TurnReport, TurnError> {
    let turn = async {
        match Errand::input(agent).cancellation(&token).report().await {
            Err(TurnError::Store(StoreError::Exists { .. })) => {
                agent.resume(Errand::id()).cancellation(&token).report().await
            }
            other => other,
        }
    };
    let answers = async {
        while let Some(gate) = doors.0.recv().await {
            let gate = gate.parse().unwrap();
            // It may have been answered before; a store that fails is asked again.
            while let Err(SettleError::Store(_)) =
                agent.gates().resolve(&gate, json!(true), "ada").await
            {
                pass(Duration::from_secs(1)).await;
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        report = turn => report,
        () = answers => unreachable!("answers are given for ever"),
    }
}

/// The records of a turn without their times, which differ from run to run.
pub(crate) fn transcript(stored: &StoredTurn) -> Vec<String> {
    let bare = |row: &Row| {
        let mut json: Value = serde_json::from_str(&row.json).unwrap();
        strip(&mut json);
        format!("{} {} {json}", row.kind.as_str(), row.id)
    };
    stored.rows.iter().map(bare).collect()
}

fn strip(json: &mut Value) {
    match json {
        Value::Object(members) => {
            members.retain(|name, _| {
                !name.ends_with("At") && !["locator", "time"].contains(&name.as_str())
            });
            members.values_mut().for_each(strip);
        }
        Value::Array(elements) => elements.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The iterations for which the model has spoken, by the journal.
pub(crate) fn steps(stored: &StoredTurn) -> Vec<u64> {
    let entries = stored.journal.iter().map(|it| serde_json::from_str::<Value>(it).unwrap());
    entries.filter(|it| it["entry"] == "step").map(|it| it["iteration"].as_u64().unwrap()).collect()
}

/// The calls of a turn: place, tool and state, in order.
pub(crate) fn calls(stored: &StoredTurn) -> Vec<(String, String, String)> {
    let rows = stored.rows.iter().filter(|row| row.kind == RowKind::ToolCall);
    rows.map(|row| {
        let json: Value = serde_json::from_str(&row.json).unwrap();
        let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
        let place = format!("{}.{}", json["iteration"], json["ordinal"]);
        (place, text("tool"), text("state"))
    })
    .collect()
}

/// Checks a turn that is over against what the outside has seen.
pub(crate) async fn check_over<S: SpoolStore + ?Sized>(
    errand: &Errand,
    agent: &Agent,
    store: &dyn TurnStore,
    spools: &S,
) {
    let stored = store.load(Errand::id()).await.unwrap().unwrap();
    assert_eq!(stored.summary.status, TurnStatus::Completed, "{:#?}", stored.journal);
    let expected: Vec<u64> = (0..u64::from(errand.iterations())).collect();
    assert_eq!(steps(&stored), expected, "every step is journaled once");
    check_messages(errand, &stored);
    check_calls(errand, &stored);
    agent.stored_turns().collect_garbage().await.unwrap();
    let mut named: BTreeMap<String, ()> = BTreeMap::new();
    for row in &stored.rows {
        let json: Value = serde_json::from_str(&row.json).unwrap();
        keys(&json, &mut named);
    }
    let kept: Vec<String> =
        spools.list().await.unwrap().iter().map(|it| it.as_str().to_owned()).collect();
    assert_eq!(kept, named.into_keys().collect::<Vec<_>>(), "no orphan and no dead spool");
    for key in spools.list().await.unwrap() {
        assert!(spools.read(key).await.unwrap().unwrap().byte_length() > 4096);
    }
}

fn keys(json: &Value, found: &mut BTreeMap<String, ()>) {
    match json {
        Value::Object(members) => {
            if let Some(key) = members.get("locator").and_then(|it| it["key"].as_str()) {
                found.insert(key.to_owned(), ());
            }
            members.values().for_each(|it| keys(it, found));
        }
        Value::Array(elements) => elements.iter().for_each(|it| keys(it, found)),
        _ => {}
    }
}

fn check_messages(errand: &Errand, stored: &StoredTurn) {
    let rows = stored.rows.iter().filter(|row| row.kind == RowKind::Message);
    let said: Vec<String> = rows
        .map(|row| {
            let json: Value = serde_json::from_str(&row.json).unwrap();
            json["content"].as_str().unwrap_or_default().to_owned()
        })
        .collect();
    let mut expected = vec!["hello".to_owned()];
    for _ in 0..errand.rounds {
        expected.extend(["I look.".to_owned(), "Now the rest.".to_owned()]);
    }
    let rounds = 2 * errand.rounds;
    expected.push(format!("Done: true {rounds} {rounds}"));
    assert_eq!(said, expected, "no message is lost or doubled, and the scratchpad is whole");
    let count = |kind| stored.rows.iter().filter(|row| row.kind == kind).count();
    assert_eq!(count(RowKind::Thought), errand.rounds as usize);
    let learned = usize::from(errand.outputs);
    assert_eq!((count(RowKind::Memory), count(RowKind::Retrievable)), (learned, 1));
}

fn check_calls(errand: &Errand, stored: &StoredTurn) {
    let (mut expected, asked) = (Vec::new(), calls(stored));
    for round in 0..errand.rounds {
        let first: &[&str] = if errand.once {
            &["read", "pay", "send", "broken", "large"]
        } else {
            &["read", "pay", "broken", "large"]
        };
        let second = if errand.once { "delete" } else { "update" };
        for (iteration, tools) in
            [(2 * round, first), (2 * round + 1, &[second, "pay", "artifact_grep"])]
        {
            let places = (0..).zip(tools).map(|(n, tool)| (format!("{iteration}.{n}"), *tool));
            expected.extend(places.map(|(place, tool)| (place, tool.to_owned())));
        }
    }
    let pairs: Vec<_> =
        asked.iter().map(|(place, tool, _)| (place.clone(), tool.clone())).collect();
    assert_eq!(pairs, expected, "every call has one record, in its place");
    let ledger = &errand.ledger;
    for (place, tool, state) in &asked {
        let at = place.replace('.', ":");
        let start = format!("effect {tool} {TURN}:{at}:");
        let effects = ledger.starting_with(&start).len();
        match (tool.as_str(), state.as_str()) {
            ("read" | "artifact_grep" | "large", "succeeded") | ("broken", "failed") => {}
            ("pay" | "update" | "send" | "delete", "succeeded") => {
                assert_eq!(effects, 1, "{start}: {:#?}", ledger.lines());
            }
            ("send" | "delete", "unknown") => {
                assert!(effects <= 1, "{start}: {effects}");
                let told = format!("saw {place} {tool} unknown");
                assert!(ledger.count(&told) > 0, "the model is told: {told}");
            }
            _ => panic!("`{tool}` at {place} is {state}"),
        }
    }
}
