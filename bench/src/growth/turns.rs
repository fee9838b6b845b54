//! Turns with much in them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::stores::{MemoryStore, TurnStore as _};
use haft::tools::ToolEffect;
use haft::turn::{Limits, TurnOutcome};
use haft::{Agent, Tool};
use serde_json::json;

use super::{cpu_time, runtime, text};

/// One turn whose calls all leave an artifact.
pub(super) fn with_artifacts(calls: usize) -> Result<f64, String> {
    let agent = agent(calls, [log_tool("log")?])?;
    run(&agent)
}

/// One iteration that leaves an artifact, in a turn with this number of tools.
pub(super) fn with_tools(tools: usize) -> Result<f64, String> {
    let more = (1..tools).map(|n| log_tool(&format!("tool_{n}")));
    let tools: Vec<Tool> =
        std::iter::once(log_tool("log")).chain(more).collect::<Result<_, _>>()?;
    // The second runs later iterations of the same turn: their difference is what an iteration costs.
    let few = run(&agent(ITERATIONS, tools.clone())?)?;
    let many = run(&agent(4 * ITERATIONS, tools)?)?;
    Ok((many - few).max(0.0) / (3 * ITERATIONS) as f64)
}

const ITERATIONS: usize = 50;

/// One turn with small results in the memory store.
pub(super) fn with_iterations(iterations: usize) -> Result<f64, String> {
    let small = Tool::builder("log").description("Says little.").effect(ToolEffect::ReadOnly);
    run(&agent(iterations, [small.handler(|| "nothing").build().map_err(text)?])?)
}

/// One turn whose executor stores something under a new key in every iteration.
pub(super) fn with_stash(iterations: usize) -> Result<f64, String> {
    let store = Arc::new(MemoryStore::new());
    let last = u32::try_from(iterations).map_err(text)?;
    let executor = move |ctx: StepContext| async move {
        let iteration = ctx.dispatch().iteration();
        let note = json!({"what": "something that a later iteration may need", "at": iteration});
        let stored = ctx.dispatch().stash().set(format!("notes.n{iteration}"), note);
        stored.map_err(|error| StepError::new(error.to_string()))?;
        Ok::<_, StepError>(if iteration < last { Step::new() } else { Step::done() })
    };
    let builder = Agent::builder(executor).store(Arc::clone(&store) as _);
    let agent = builder.limits(limits(iterations)).build().map_err(text)?;
    let runtime = runtime()?;
    let report = runtime.block_on(agent.turn([]).system("You help.").report()).map_err(text)?;
    if report.outcome != TurnOutcome::Completed {
        return Err(format!("the turn ended otherwise: {:?}", report.error));
    }
    let stored = runtime.block_on(store.load(report.turn)).map_err(text)?.ok_or("it is gone")?;
    Ok(stored.journal.iter().map(|entry| entry.as_str().len()).sum::<usize>() as f64)
}

/// A tool whose result is an artifact.
fn log_tool(name: &str) -> Result<Tool, String> {
    let tool = Tool::builder(name).description("Reads the log.").effect(ToolEffect::ReadOnly);
    tool.handler(|| "a line of the log in which nothing happens\n".repeat(200))
        .build()
        .map_err(text)
}

/// An agent of turns that call the tool `log` so many times.
fn agent(calls: usize, tools: impl IntoIterator<Item = Tool>) -> Result<Agent, String> {
    let last = u32::try_from(calls).map_err(text)?;
    let made = Arc::new(AtomicU32::new(0));
    let executor = move |ctx: StepContext| {
        let call = made.fetch_add(1, Ordering::Relaxed);
        async move {
            Ok::<_, StepError>(if ctx.dispatch().iteration() < last {
                let mut asked = ProposedCall::new("log", "{}");
                asked.provider_id = Some(format!("call-{call}"));
                Step::new().call(asked)
            } else {
                Step::done().say(ctx.message("Done.")?)
            })
        }
    };
    let agent = Agent::builder(executor).tools(tools).limits(limits(calls));
    agent.build().map_err(text)
}

fn limits(calls: usize) -> Limits {
    let most = u32::try_from(calls + 1).unwrap_or(u32::MAX);
    Limits::new().iterations(most).tool_calls(most).identical_calls(most)
}

fn run(agent: &Agent) -> Result<f64, String> {
    let runtime = runtime()?;
    cpu_time(|| {
        let report = runtime.block_on(agent.turn([]).system("You help.").report()).map_err(text)?;
        match report.outcome {
            TurnOutcome::Completed => Ok(()),
            outcome => Err(format!("the turn ended as {outcome:?}: {:?}", report.error)),
        }
    })
}
