//! The turn that is measured: on bare Tokio, and as an application of Haft writes it.

use std::cell::Cell;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use haft::events::Event;
use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::records::Message;
use haft::stores::MemoryStore;
use haft::stores::TurnStore;
use haft::tools::ToolEffect;
use haft::turn::Timestamp;
use haft::turn::{Agent, AgentBuilder, Turn, TurnOutcome};
use haft::{Tool, ToolFailure};
use tokio::runtime::Runtime;
use tokio::task::{JoinSet, yield_now};

use crate::dispatch::{Call as _, Forecast};

/// Something that runs turns.
pub(crate) trait Turns: Send + Sync {
    /// Runs one to its end.
    fn run(self: Arc<Self>) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;
}

/// Runs turns side by side, all from one task, and fails if one of them does.
pub(crate) fn batch(runtime: &Runtime, turns: &Arc<dyn Turns>, count: usize) -> Result<(), String> {
    let turns = Arc::clone(turns);
    // On a worker: the thread that waits here would be a third one.
    let all = runtime.spawn(async move {
        let mut running = JoinSet::new();
        for _ in 0..count {
            running.spawn(Arc::clone(&turns).run());
        }
        while let Some(ended) = running.join_next().await {
            ended.map_err(|error| error.to_string())??;
        }
        Ok(())
    });
    runtime.block_on(all).map_err(|error| error.to_string())?
}

/// What the model wants in the first two iterations.
pub(crate) const CALLS: [&str; 2] =
    [Forecast::TEXT, r#"{"city":"Trondheim","days":7,"units":"imperial"}"#];
pub(crate) const ANSWER: &str = "It rains in both.";

/// The same turn without a journal, records, deadlines and cancellation: a model behind a trait, calls whose
/// arguments are parsed, a history, and as many events as ours has, with a place, a number and a time.
pub(crate) struct Floor;

/// Something happened in a turn of the floor.
#[derive(Debug)]
#[expect(dead_code, reason = "an observer could read it")]
pub(crate) struct Happened {
    pub(crate) turn: Arc<str>,
    pub(crate) iteration: usize,
    pub(crate) sequence: u64,
    pub(crate) at: SystemTime,
    pub(crate) what: What,
}

/// What happened.
#[derive(Debug)]
#[expect(dead_code, reason = "an observer could read it")]
pub(crate) enum What {
    Started,
    Ended,
    Called { tool: &'static str, args: &'static str },
    Answered { tool: &'static str, result: Arc<str> },
    Said { text: &'static str },
}

type Said = Pin<Box<dyn Future<Output = Option<&'static str>> + Send>>;

impl Turns for Floor {
    fn run(self: Arc<Self>) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> {
        Box::pin(async move {
            let model: &(dyn Fn(usize) -> Said + Send + Sync) = &|n| {
                Box::pin(async move {
                    yield_now().await;
                    CALLS.get(n).copied()
                })
            };
            floor(model, &|event| count(event)).await
        })
    }
}

/// One turn of the floor.
pub(crate) async fn floor(
    model: &(dyn Fn(usize) -> Said + Send + Sync),
    observer: &(dyn Fn(&Happened) + Send + Sync),
) -> Result<(), String> {
    let turn: Arc<str> = uuid().into();
    let mut sequence = 0;
    let mut emit = |iteration, what| {
        sequence += 1;
        let turn = Arc::clone(&turn);
        observer(&Happened { turn, iteration, sequence, at: wall(), what });
    };
    let mut history: Vec<Arc<str>> = vec!["You help.".into(), "What about the weather?".into()];
    emit(0, What::Started);
    emit(0, What::Started);
    for n in 0.. {
        emit(n, What::Started);
        let Some(args) = model(n).await else {
            history.push(ANSWER.into());
            emit(n, What::Said { text: ANSWER });
            emit(n, What::Ended);
            break;
        };
        let tool = Forecast::TOOL;
        emit(n, What::Called { tool, args });
        emit(n, What::Called { tool, args });
        let parsed: Forecast = serde_json::from_str(args).map_err(|error| error.to_string())?;
        let result: Arc<str> = parsed.handle().into();
        emit(n, What::Answered { tool, result: Arc::clone(&result) });
        emit(n, What::Answered { tool, result: Arc::clone(&result) });
        history.push(result);
        emit(n, What::Ended);
    }
    emit(0, What::Ended);
    emit(0, What::Ended);
    if history.len() == 5 && sequence == EVENTS { Ok(()) } else { Err("it ended early".to_owned()) }
}

/// How many events a turn has, the floor's and ours.
pub(crate) const EVENTS: u64 = 19;

/// Who sees the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listening {
    Nobody,
    Counting,
}

/// Our turns.
pub(crate) struct Ours(pub(crate) Agent);

impl Turns for Ours {
    fn run(self: Arc<Self>) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> {
        Box::pin(async move { one(&self.0).await })
    }
}

/// Runs one of our turns to its end.
pub(crate) async fn one(agent: &Agent) -> Result<(), String> {
    let report = input(&agent)?.report().await.map_err(|error| error.to_string())?;
    if report.outcome == TurnOutcome::Completed
        && report.text() == ANSWER
        && report.calls.len() == 2
    {
        return Ok(());
    }
    Err(format!("the turn ended otherwise: {report:?}"))
}

pub(crate) fn input(agent: &Agent) -> Result<Turn, String> {
    let said = Message::user_at("m-1", "What about the weather?", Timestamp::EPOCH);
    Ok(agent.turn(said.map_err(|error| error.to_string())?).system("You help."))
}

/// Turns with a new store in memory.
pub(crate) fn in_memory(listening: Listening) -> Result<Arc<dyn Turns>, String> {
    let agent = agent(Arc::new(MemoryStore::new()), forecast()?);
    let agent = match listening {
        Listening::Nobody => agent,
        Listening::Counting => agent.observer(|event: &Event| count(event)),
    };
    Ok(Arc::new(Ours(agent.build().map_err(|error| error.to_string())?)))
}

pub(crate) fn agent(store: Arc<dyn TurnStore>, tool: Tool) -> AgentBuilder {
    Agent::builder(async |cx: StepContext| {
        yield_now().await;
        step(&cx)
    })
    .store(store)
    .tool(tool)
}

/// The step of an iteration.
pub(crate) fn step(cx: &StepContext) -> Result<Step, StepError> {
    let call = usize::try_from(cx.dispatch().iteration()).ok().and_then(|n| CALLS.get(n));
    Ok(match call {
        Some(args) => Step::new().call(ProposedCall::new(Forecast::TOOL, *args)),
        None => Step::done().say(cx.message(ANSWER)?),
    })
}

pub(crate) fn forecast() -> Result<Tool, String> {
    let tool = Tool::builder(Forecast::TOOL)
        .description("Says what the weather will be.")
        .effect(ToolEffect::ReadOnly);
    let tool = tool.handler(async |args: Forecast| Ok::<_, ToolFailure>(args.handle()));
    tool.build().map_err(|error| error.to_string())
}

/// A listener that shares nothing between the workers.
pub(crate) fn count<T>(event: &T) {
    black_box(event);
    SEEN.with(|seen| seen.set(seen.get() + 1));
}

thread_local! {
    static SEEN: Cell<u64> = const { Cell::new(0) };
}

/// How many events this thread has seen.
#[cfg(test)]
pub(crate) fn seen() -> u64 {
    SEEN.get()
}

fn uuid() -> String {
    uuid::Uuid::now_v7().to_string()
}

#[expect(clippy::disallowed_methods, reason = "the floor has no clock of its own")]
fn wall() -> SystemTime {
    SystemTime::now()
}

#[expect(clippy::disallowed_methods, reason = "measuring is what this program is for")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
