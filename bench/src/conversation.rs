//! A conversation of many turns on the disk: how its store grows, and how long a turn takes to begin with its history.
//!
//! Every turn makes one call with a large result, so that its artifact is opened again by every later turn that shows
//! it, and says something. Two windows are measured: the default one, and one that holds half of the turns. Figures are
//! taken after every tenth of the turns and fitted with `a * n^b`: an exponent near 1 is linear growth, and one near 0
//! is none.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::middleware::{HydrateConversation, Next, hydrate_conversation};
use haft::stores::TurnDir;
use haft::turn::{Timestamp, TurnContext, TurnOutcome};
use haft::{Agent, Message, Tool, Turn};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::Sink;
use crate::growth::growth_exponent;
use crate::measure::median;
use crate::report::{Entry, Row};

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) turns: usize,
}

/// Figures after some number of turns.
#[derive(Clone, Copy, Debug)]
struct Sample {
    turns: usize,
    /// What all files of the store hold.
    bytes: f64,
    /// The median time of a hydration since the sample before, in microseconds.
    hydration: f64,
}

/// Measures both windows.
///
/// # Errors
///
/// When a turn does not end as it should, or a row cannot be printed.
pub(crate) fn run(options: Options, print: Sink<'_>) -> Result<(), String> {
    let half = options.turns;
    let windows = [
        ("conversation/default window", hydrate_conversation()),
        (
            "conversation/half of the turns",
            hydrate_conversation().last_messages(half).max_tokens(u64::MAX),
        ),
    ];
    for (name, hydrate) in windows {
        crate::note(&format!("{name}: {} turns", options.turns));
        let samples = measure(options.turns, hydrate)?;
        for row in rows(name, &samples) {
            print(&row)?;
        }
    }
    Ok(())
}

fn rows(name: &str, samples: &[Sample]) -> Vec<Row> {
    let mut rows = Vec::new();
    for sample in samples {
        let entry = |name, value| Entry { name, value, ratio: None };
        rows.push(Row {
            name: format!("{name}, {} turns", sample.turns),
            unit: "bytes, us",
            entries: vec![
                entry("haft, store size", sample.bytes),
                entry("haft, size per turn", sample.bytes / sample.turns as f64),
                entry("haft, hydration", sample.hydration),
            ],
        });
    }
    let exponent = |value: fn(&Sample) -> f64| {
        growth_exponent(samples.iter().map(|it| (it.turns as f64, value(it))))
    };
    rows.push(Row {
        name: format!("{name}, growth"),
        unit: "exponent of the number of turns",
        entries: vec![
            Entry { name: "haft, store size", value: exponent(|it| it.bytes), ratio: None },
            Entry { name: "haft, hydration", value: exponent(|it| it.hydration), ratio: None },
        ],
    });
    rows
}

fn measure(turns: usize, hydrate: HydrateConversation) -> Result<Vec<Sample>, String> {
    let dir = TempDir::new().map_err(|error| error.to_string())?;
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let spent = Arc::new(AtomicU64::new(0));
    let mut samples = Vec::new();
    let step = (turns / 10).max(1);
    for first in (1..=turns).step_by(step) {
        let store = TurnDir::open(dir.path()).map_err(|error| error.to_string())?;
        let agent = agent(&store, hydrate, &spent)?;
        let last = (first + step - 1).min(turns);
        let mut times = Vec::new();
        for turn in first..=last {
            let before = spent.load(Ordering::Relaxed);
            let input = input(&agent, turn)?;
            let report = runtime.block_on(input.report()).map_err(|error| error.to_string())?;
            if report.outcome != TurnOutcome::Completed {
                return Err(format!(
                    "turn {turn} ended as {:?}: {:?}",
                    report.outcome, report.error
                ));
            }
            times.push((spent.load(Ordering::Relaxed) - before) as f64 / 1_000.0);
        }
        // What a program leaves behind: while the store is open, its log is much larger than what it holds.
        runtime.block_on(store.close());
        let bytes = dir_size(dir.path()).map_err(|error| error.to_string())? as f64;
        samples.push(Sample { turns: last, bytes, hydration: median(times.into_iter()) });
    }
    Ok(samples)
}

#[expect(clippy::disallowed_methods, reason = "this measures time")]
fn agent(
    store: &TurnDir,
    hydrate: HydrateConversation,
    spent: &Arc<AtomicU64>,
) -> Result<Agent, String> {
    let executor = |ctx: StepContext| async move {
        Ok::<_, StepError>(match ctx.dispatch().iteration() {
            0 => Step::new().call(ProposedCall::new("read_log", "{}")),
            _ => {
                Step::done().say(ctx.message("The log has a hundred lines, and nothing is wrong.")?)
            }
        })
    };
    let log = Tool::builder("read_log").description("Reads the log.");
    let log = log.handler(|| "a line of the log in which nothing happens\n".repeat(100)).build();
    // The clock stands around the hydration: the second member runs when the first has done its work.
    let started = Arc::new(AtomicU64::new(0));
    let origin = Instant::now();
    let now = move || u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let begin = Arc::clone(&started);
    let spent = Arc::clone(spent);
    let before = move |_: TurnContext, next: Next<TurnContext>| {
        begin.store(now(), Ordering::Relaxed);
        next.run()
    };
    let after = move |_: TurnContext, next: Next<TurnContext>| {
        spent.fetch_add(now() - started.load(Ordering::Relaxed), Ordering::Relaxed);
        next.run()
    };
    Agent::builder(executor)
        .dir(store)
        .tool(log.map_err(|error| error.to_string())?)
        .turn_input("before", before)
        .turn_input("history", hydrate)
        .turn_input("after", after)
        .build()
        .map_err(|error| error.to_string())
}

fn input(agent: &Agent, turn: usize) -> Result<Turn, String> {
    let text = format!("Question {turn}: is there anything wrong in the log of today?");
    let message = Message::user_at(format!("question-{turn}"), text, Timestamp::EPOCH);
    let message = message.map_err(|error| error.to_string())?;
    Ok(agent.turn(message).system("You watch a log.").conversation("watch"))
}

/// What the files below a directory hold.
pub(crate) fn dir_size(path: &Path) -> std::io::Result<u64> {
    let mut size = 0;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        size += if metadata.is_dir() { dir_size(&entry.path())? } else { metadata.len() };
    }
    Ok(size)
}
