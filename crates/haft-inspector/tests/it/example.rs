//! A server with example turns. Times, ids and nonces are fixed, so that pictures of the page are the same every time.

mod agents;
mod model;
mod tools;

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::events::{EventFilter, EventHub};
use haft::executors::{RecordingExecutor, Step, StepContext, StepError};
use haft::stores::{SqliteStore, TurnDir};
use haft::turn::{AgentBuilder, Deadlines, GatePolicy, Limits, ManualClock, Timestamp};
use haft::{Agent, Tool, Turn};
use haft_inspector::Inspector;
use haft_server::{Access, Api, Guard, TokenPrices};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::agents::ExampleAgents;

/// What the example turns share.
#[derive(Clone)]
pub(crate) struct Example {
    pub(crate) dir: TurnDir,
    /// The turns of the directory, with the clock of the example.
    store: Arc<SqliteStore>,
    pub(crate) hub: EventHub,
    pub(crate) clock: Arc<ManualClock>,
    /// Turns that run in the background.
    pub(crate) background: Arc<Mutex<JoinSet<()>>>,
    /// Each permit lets the model of the agent `live` write one more piece.
    pub(crate) pieces: Arc<Semaphore>,
    pub(crate) log_bytes: u64,
}

/// A running server.
pub(crate) struct ExampleServer {
    pub(crate) url: String,
    /// Ends with the server.
    _tasks: JoinSet<()>,
    _dir: tempfile::TempDir,
}

/// 2026-03-02, 10:52 in UTC.
const START_MICROS: i64 = 1_772_448_720_000_000;

impl Example {
    pub(crate) fn create(path: &std::path::Path, log_bytes: u64) -> Self {
        let start = Timestamp::from_micros(START_MICROS).unwrap();
        let clock = Arc::new(ManualClock::new(start));
        let dir = TurnDir::open(path).unwrap();
        let store = SqliteStore::open(path).unwrap().with_clock(Arc::clone(&clock) as _);
        Self {
            dir,
            store: Arc::new(store),
            hub: EventHub::new(),
            clock,
            background: Arc::default(),
            pieces: Arc::new(Semaphore::new(0)),
            log_bytes,
        }
    }

    pub(crate) fn pass_time(&self, milliseconds: u64) {
        self.clock.advance(Duration::from_millis(milliseconds));
    }

    /// Sets up an agent as the turns of the example need it.
    pub(crate) fn configure(&self, builder: AgentBuilder, tools: Vec<Tool>) -> AgentBuilder {
        builder
            .tools(tools)
            .dir(&self.dir)
            .store(Arc::clone(&self.store) as _)
            .observer(self.hub.clone())
            .clock(Arc::clone(&self.clock) as _)
            .secret([7; 32])
            .envelope_secret([9; 32])
            .limits(Limits::new().iterations(4000).tool_calls(20_000))
            .deadlines(Deadlines::new().lease(Duration::from_secs(600)))
    }

    /// Runs a turn of an agent to its end, or until it waits.
    pub(crate) async fn run_turn(&self, agent: &str, id: &str, words: &str) {
        let (executor, tools) = agents::parts(self, agent);
        let builder = Agent::builder(executor).gate_policy(GatePolicy::Suspend);
        let built = self.configure(builder, tools).build().unwrap();
        agents::turn(&built, agent, words).id(id).report().await.unwrap();
        self.pass_time(60_000);
    }

    /// Runs a turn of an agent elsewhere, and returns its recording.
    async fn record_turn(&self, agent: &str) -> String {
        let (executor, tools) = agents::parts(self, agent);
        let recorder = RecordingExecutor::new(executor);
        let built = Agent::builder(recorder.clone()).tools(tools).build().unwrap();
        let report = agents::turn(&built, agent, "Record this.").report().await.unwrap();
        recorder.finish(&report).await.unwrap().to_json()
    }

    /// The turns that the page shows.
    pub(crate) async fn create_turns(&self) {
        const CHECKOUT: &str =
            "Customers say that checkout failed this morning. What happened, when, and why?";
        self.run_turn(
            "data desk",
            "0199-data-desk",
            "Which large orders are still open, and what are they worth?",
        )
        .await;
        for (n, words) in GARDEN.into_iter().enumerate() {
            self.run_turn("gardener", &format!("0199-garden-{n}"), words).await;
        }
        self.run_turn("hostile", "0199-hostile", &hostile_words()).await;
        self.run_turn(
            "out of order",
            "0199-out-of-order",
            "The pump hums but no water comes. What do I do?",
        )
        .await;
        self.run_turn("approval flow", "0199-to-cancel", "We need coffee, and the milk is bought.")
            .await;
        let no_step =
            |_: StepContext| async { Err::<Step, _>(StepError::new("nothing runs here")) };
        let built = self.configure(Agent::builder(no_step), Vec::new()).build().unwrap();
        built
            .stored_turns()
            .cancel_turn(&"0199-to-cancel".parse().unwrap(), "not needed any more")
            .await
            .unwrap();
        self.run_turn("log detective", "0199-log-detective", CHECKOUT).await;
        self.run_turn(
            "approval flow",
            "0199-approval-flow",
            "We need coffee, and the milk is bought.",
        )
        .await;
    }
}

/// What the user of the agent `gardener` says, in one conversation.
const GARDEN: [&str; 3] =
    ["When do I plant garlic?", "And in which soil?", "Can it stand next to the strawberries?"];

/// A title with markup, escapes and marks of direction.
fn hostile_words() -> String {
    "<img src=x onerror=alert(1)> \u{1b}[31mred\u{1b}[0m \u{202e}desrever\u{202c} \u{200b}zero <script>alert(2)</script>".to_owned()
}

/// Starts a server with all example turns.
pub(crate) async fn start_server(access: Access, log_bytes: u64) -> ExampleServer {
    let dir = tempfile::tempdir().unwrap();
    let example = Example::create(&dir.path().join("store"), log_bytes);
    example.create_turns().await;
    start_server_on(example, access, dir).await
}

/// The API of the example turns.
pub(crate) fn api(example: &Example, access: Access) -> Api {
    let no_step = |_: StepContext| async { Err::<Step, _>(StepError::new("nothing runs here")) };
    let built = example.configure(Agent::builder(no_step), Vec::new()).build().unwrap();
    Api::builder(built.stored_turns().clone())
        .hub(example.hub.clone())
        .agents(Arc::new(ExampleAgents(example.clone())))
        .access(access)
        .clock(Arc::clone(&example.clock) as _)
        .store_name("example")
        .prices("openai:stand-in", TokenPrices::per_million(3.0, 15.0).cached(0.3))
        .actor("Ada")
        .build()
}

pub(crate) async fn start_server_on(
    example: Example,
    access: Access,
    dir: tempfile::TempDir,
) -> ExampleServer {
    let api = api(&example, access);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let guard = Guard::loopback(address.port()).unwrap();
    let url = format!("http://{address}/#token={}", guard.token().unwrap());
    let router = Inspector::new(&api, &guard).router().merge(controls(&example));
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, router).await.unwrap() });
    ExampleServer { url, _tasks: tasks, _dir: dir }
}

/// Routes by which a test lets things happen.
fn controls(example: &Example) -> axum::Router {
    let start = |agent: &'static str, id: &'static str, words: &'static str| {
        let example = example.clone();
        async move || {
            let (executor, tools) = agents::parts(&example, agent);
            let built = example.configure(Agent::builder(executor), tools).build().unwrap();
            let turn = agents::turn(&built, agent, words).id(id);
            let mut events = example.hub.subscribe(EventFilter::turn(id));
            example.background.lock().unwrap().spawn(async move {
                turn.report().await.unwrap();
            });
            events.next().await.unwrap();
            "started"
        }
    };
    let start_live = start("live", "0199-live", "Tell me what you see.");
    let start_parallel = start("parallel", "0199-parallel", "Is it warm everywhere?");
    let record = {
        let example = example.clone();
        async move || example.record_turn("data desk").await
    };
    let next = {
        let example = example.clone();
        async move || {
            example.pass_time(250);
            example.pieces.add_permits(1);
            "next"
        }
    };
    axum::Router::new()
        .route("/test/recording", axum::routing::get(record))
        .route("/test/start-live", axum::routing::get(start_live))
        .route("/test/start-parallel", axum::routing::get(start_parallel))
        .route("/test/next-piece", axum::routing::get(next))
}

/// Adds to a turn of an agent its name and its system prompt.
pub(crate) fn named_turn(turn: Turn, agent: &str, system: &str) -> Turn {
    turn.system(system).agent(agent).stash(json!({ "agent": agent }))
}
