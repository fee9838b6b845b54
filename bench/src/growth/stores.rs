//! Stores with much in them.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::middleware::hydrate_conversation;
use haft::stores::{
    ClaimFilter, LeaseRequest, MemorySpoolStore, MemoryStore, NewTurn, SqliteStore, StoreWrite,
    TurnDir, TurnQuery, TurnStatus, TurnStore, TurnStoreExt as _,
};
use haft::turn::{Agent, AgentBuilder, Timestamp, Turn, TurnError, TurnOutcome, TurnReport};
use haft::{Message, Tool};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::{cpu_time, runtime, text};
use crate::conversation::dir_size;

/// What the files of a conversation hold whose turns are a question and an answer.
pub(super) fn conversation(turns: usize) -> Result<f64, String> {
    let (dir, runtime) = (TempDir::new().map_err(text)?, runtime()?);
    let store = TurnDir::open(dir.path()).map_err(text)?;
    let executor = |ctx: StepContext| async move {
        Ok::<_, StepError>(Step::done().say(ctx.message("Nothing is wrong in the log of today.")?))
    };
    let agent = Agent::builder(executor).dir(&store);
    let agent = agent.turn_input("history", hydrate_conversation()).build().map_err(text)?;
    for turn in 0..turns {
        let asked = format!("Question {turn}: is there anything wrong in the log of today?");
        let asked = Message::user_at(format!("q-{turn}"), asked, Timestamp::EPOCH).map_err(text)?;
        let input = agent.turn(asked).system("You watch a log.").conversation("watch");
        finish(runtime.block_on(input.report()).map_err(text)?.outcome)?;
    }
    drop(agent);
    runtime.block_on(store.close());
    Ok(dir_size(dir.path()).map_err(text)? as f64)
}

/// Looking for unused content among turns with an artifact each.
pub(super) fn garbage_in_memory(turns: usize) -> Result<f64, String> {
    let store = Arc::new(MemoryStore::new());
    collect_garbage(turns, |builder| {
        builder.store(Arc::clone(&store) as _).spools(Arc::new(MemorySpoolStore::new()))
    })
}

/// The same with SQLite and files.
pub(super) fn garbage_in_dir(turns: usize) -> Result<f64, String> {
    let dir = TempDir::new().map_err(text)?;
    let store = TurnDir::open(dir.path()).map_err(text)?;
    collect_garbage(turns, |builder| builder.dir(&store))
}

fn collect_garbage(
    turns: usize,
    stored: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> Result<f64, String> {
    let runtime = runtime()?;
    let executor = |ctx: StepContext| async move {
        Ok::<_, StepError>(match ctx.dispatch().iteration() {
            0 => Step::new().call(ProposedCall::new("log", "{}")),
            _ => Step::done(),
        })
    };
    let log = Tool::builder("log").description("Reads the log.").handler(|| "nothing").build();
    let builder = Agent::builder(executor).tool(log.map_err(text)?).inline_below(1);
    let agent = stored(builder).build().map_err(text)?;
    let all = async {
        let mut running = JoinSet::new();
        for turn in 0..turns {
            if running.len() >= 1000 {
                finish_next(&mut running).await?;
            }
            let (agent, id) = (agent.clone(), format!("turn-{turn}"));
            running.spawn(async move { agent.turn([]).system("You help.").id(id).report().await });
        }
        while !running.is_empty() {
            finish_next(&mut running).await?;
        }
        Ok::<_, String>(())
    };
    runtime.block_on(all)?;
    cpu_time(|| {
        let removed = runtime.block_on(agent.stored_turns().collect_garbage()).map_err(text)?;
        if removed == 0 { Ok(()) } else { Err(format!("{removed} were in use")) }
    })
}

type Ended = Result<TurnReport, TurnError>;

async fn finish_next(running: &mut JoinSet<Ended>) -> Result<(), String> {
    match running.join_next().await {
        Some(ended) => {
            let report = ended.map_err(text)?.map_err(text)?;
            check_calls(&report)?;
            finish(report.outcome)
        }
        None => Ok(()),
    }
}

/// A call that failed leaves nothing that could be collected.
fn check_calls(report: &TurnReport) -> Result<(), String> {
    match report.calls.iter().find_map(|call| call.error.as_ref()) {
        Some(error) => Err(format!("a call of {} failed: {}", report.turn, error.message)),
        None => Ok(()),
    }
}

fn finish(outcome: TurnOutcome) -> Result<(), String> {
    match outcome {
        TurnOutcome::Completed => Ok(()),
        outcome => Err(format!("a turn ended as {outcome:?}")),
    }
}

/// A page of turns, a search, a loaded turn and a claim, in a store with so many turns.
pub(super) fn lookups(turns: usize) -> Result<f64, String> {
    let (dir, runtime) = (TempDir::new().map_err(text)?, runtime()?);
    let store = SqliteStore::open(dir.path().join("turns.db")).map_err(text)?;
    let store = Arc::new(store);
    runtime.block_on(fill(&store, turns))?;
    let middle = format!("turn-{}", turns / 2);
    let looked = async {
        for _ in 0..ROUNDS {
            let page = TurnQuery::default().limit(50);
            black_box(store.turns(page).await.map_err(text)?);
            let search = TurnQuery::default().matching("leak").limit(50);
            black_box(store.turns(search).await.map_err(text)?);
            black_box(store.load(middle.parse().map_err(text)?).await.map_err(text)?);
            let holder = LeaseRequest::new("bench", Duration::from_secs(60));
            let lease = store.claim_next(ClaimFilter::default(), holder).await.map_err(text)?;
            store.release(lease.ok_or("nothing to claim")?).await.map_err(text)?;
        }
        Ok::<_, String>(())
    };
    // The filled pages are written by then, and no run is the first one.
    let before = cpu_time::ProcessTime::now();
    runtime.block_on(looked)?;
    let spent = before.elapsed().as_secs_f64() * 1e6 / ROUNDS as f64;
    runtime.block_on(store.close());
    Ok(spent)
}

const ROUNDS: usize = 100;

/// Ended turns, a queued one among each hundred, and one in a thousand that the search finds.
async fn fill(store: &Arc<SqliteStore>, turns: usize) -> Result<(), String> {
    for first in (0..turns).step_by(1000) {
        let mut writing = JoinSet::new();
        for turn in first..turns.min(first + 1000) {
            let mut new = NewTurn::new(format!("turn-{turn}").parse().map_err(text)?);
            let words = if turn % 1000 == 0 { "find the leak" } else { "watch the log" };
            new.first_words = Some(words.to_owned());
            let is_ended = turn % 100 != 0;
            if is_ended {
                new.writes.push(StoreWrite::Status(TurnStatus::Completed));
            }
            let store = Arc::clone(store);
            writing.spawn(async move {
                let holder = LeaseRequest::new("bench", Duration::from_secs(60));
                match is_ended {
                    true => {
                        let lease = store.create(new, holder).await?;
                        store.release(lease).await
                    }
                    false => store.enqueue(new).await,
                }
            });
        }
        while let Some(written) = writing.join_next().await {
            written.map_err(text)?.map_err(text)?;
        }
    }
    Ok(())
}
