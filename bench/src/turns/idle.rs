//! What a turn holds while it waits at a gate.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft::events::{Event, EventName};
use haft::executors::{ProposedCall, Step, StepContext};
use haft::stores::MemoryStore;
use haft::turn::{Agent, TurnOutcome};
use haft::{Tool, ToolFailure};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::job::{Figures, Job};
use super::table::{Bound, Entry, Table};
use super::{runtime, workload};
use crate::dispatch::{Call as _, Forecast};

/// Has turns wait, in processes of their own.
pub(crate) fn measure(full: bool) -> Result<Table, String> {
    let counts: &[usize] = if full { &[10_000, 100_000] } else { &[10_000] };
    let mut entries = Vec::new();
    for &turns in counts {
        let seconds = if full { RENEWAL } else { 2 };
        let floor = Job::Idle { turns, seconds: 0, floor: true }.start(&[])?.unwrap_or_default();
        let ours = Job::Idle { turns, seconds, floor: false }.start(&[])?.unwrap_or_default();
        let get = |figures: &Figures, name| figures.get(name).copied().unwrap_or(f64::NAN);
        let base = get(&floor, "bytes");
        let held = get(&ours, "bytes");
        entries.extend([
            Entry::new(format!("floor, {turns} parked"), base).unit("B per turn"),
            Entry::new(format!("haft, {turns} waiting"), held)
                .ratio(held / base)
                .unit("B per turn")
                .aim(Bound::AtMost(8192.0)),
            Entry::new(format!("haft, {turns} waiting, peak"), get(&ours, "peak"))
                .unit("MiB")
                .aim(Bound::AtMost(850.0)),
            Entry::new(format!("haft, {turns} waiting, CPU"), get(&ours, "cpu")).unit("ms per s"),
            Entry::new(format!("haft, {turns} answered"), get(&ours, "answered")).unit("turns/s"),
        ]);
    }
    Ok(Table::new("turns/idle", "growth of the resident set, and what waiting costs", entries))
}

/// Has so many turns wait for so long, then lets all of them end.
pub(crate) fn run(turns: usize, seconds: u64, floor: bool) -> Result<Figures, String> {
    let runtime = runtime()?;
    let work =
        async move { if floor { parked(turns).await } else { waiting(turns, seconds).await } };
    runtime.block_on(runtime.spawn(work)).map_err(|error| error.to_string())?
}

async fn waiting(turns: usize, seconds: u64) -> Result<Figures, String> {
    let (agent, open) = agent()?;
    let before = resident("VmRSS:")?;
    let mut running = JoinSet::new();
    for _ in 0..turns {
        running.spawn(workload::input(&agent)?.report());
    }
    while open.load(Ordering::SeqCst) < turns {
        pause(Duration::from_millis(10)).await;
    }
    // The last ones have said so and are about to wait.
    pause(Duration::from_millis(100)).await;
    let after = resident("VmRSS:")?;
    let cpu = cpu_time::ProcessTime::now();
    pause(Duration::from_secs(seconds)).await;
    let cpu = cpu.elapsed().as_secs_f64() * 1000.0 / seconds as f64;
    let peak = resident("VmHWM:")?;
    let begun = workload::now();
    let keeper = agent.gates();
    for gate in keeper.open_gates(None).await.map_err(|error| error.to_string())? {
        let answered = keeper.resolve(&gate.id, true.into(), "the benchmark").await;
        answered.map_err(|error| error.to_string())?;
    }
    while let Some(ended) = running.join_next().await {
        let report = ended.map_err(|error| error.to_string())?;
        let report = report.map_err(|error| error.to_string())?;
        if report.outcome != TurnOutcome::Completed || report.calls.len() != 1 {
            return Err(format!("a turn ended otherwise: {report:?}"));
        }
    }
    let answered = turns as f64 / begun.elapsed().as_secs_f64();
    let bytes = (after - before) * 1024.0 / turns as f64;
    let figures = [("bytes", bytes), ("peak", peak / 1024.0), ("cpu", cpu), ("answered", answered)];
    Ok(figures.map(|(name, value)| (name.to_owned(), value)).into())
}

/// An agent whose turns ask for leave, and how many of them have.
fn agent() -> Result<(Agent, Arc<AtomicUsize>), String> {
    let open = Arc::new(AtomicUsize::new(0));
    let opened = Arc::clone(&open);
    let tool = Tool::builder(Forecast::TOOL)
        .description("Says what the weather will be.")
        .requires_approval("May I ask?")
        .handler(async |args: Forecast| Ok::<_, ToolFailure>(args.handle()))
        .build();
    let agent = Agent::builder(async |cx: StepContext| {
        Ok(match cx.dispatch().iteration() {
            0 => Step::new().call(ProposedCall::new(Forecast::TOOL, Forecast::TEXT)),
            _ => Step::done().say(cx.message(workload::ANSWER)?),
        })
    });
    let agent = agent
        .tool(tool.map_err(|error| error.to_string())?)
        .store(Arc::new(MemoryStore::new()))
        .observer(move |event: &Event| {
            if event.kind.name() == EventName::TurnGateOpen {
                opened.fetch_add(1, Ordering::SeqCst);
            }
        });
    Ok((agent.build().map_err(|error| error.to_string())?, open))
}

/// Tasks with the history of a turn that wait for a bell of their own.
async fn parked(turns: usize) -> Result<Figures, String> {
    let before = resident("VmRSS:")?;
    let mut running = JoinSet::new();
    let mut bells = Vec::new();
    for n in 0..turns {
        let bell = Arc::new(Notify::new());
        bells.push(Arc::clone(&bell));
        running.spawn(async move {
            let mut history: Vec<String> = vec![format!("turn {n}"), "You help.".to_owned()];
            history.push(Forecast::TEXT.to_owned());
            bell.notified().await;
            history.len()
        });
    }
    pause(Duration::from_millis(100)).await;
    let after = resident("VmRSS:")?;
    for bell in bells {
        bell.notify_one();
    }
    while let Some(ended) = running.join_next().await {
        ended.map_err(|error| error.to_string())?;
    }
    Ok([("bytes".to_owned(), (after - before) * 1024.0 / turns as f64)].into())
}

/// A line of this process's status, in KiB.
fn resident(line: &str) -> Result<f64, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let found = status.lines().find_map(|it| it.strip_prefix(line));
    let value = found.and_then(|it| it.trim().trim_end_matches("kB").trim().parse().ok());
    value.ok_or_else(|| format!("no `{line}` in the status of this process"))
}

#[expect(clippy::disallowed_methods, reason = "turns wait by the clock of the system here")]
async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Long enough for every lease to be renewed once.
const RENEWAL: u64 = 12;
