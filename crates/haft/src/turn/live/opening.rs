//! How a turn begins, or is gone on with.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;

use haft_core::call::ToolCall;
use haft_core::cancel::Cancellation;
use haft_core::context::Instruction;
use haft_core::context::RecordError;
use haft_core::context::Tokenizable;
use haft_core::record::{LoadError, Memory, Message, Record, RecordName, Retrievable, Thought};
use haft_core::stash::Registry;
use haft_core::store::{
    Holder, Lease, NewTurn, Row, RowKind, StoreError, StoredTurn, TurnId, Write,
};

use super::super::journal::{Entry, Journal, VERSION};
use super::super::runner::Shared;
use super::super::{Outcome, TurnError, TurnInput, TurnReport};
use super::{Live, Past};

/// Begins a turn and runs it to its end.
pub(in crate::turn) fn begin(
    runner: Arc<Shared>,
    input: TurnInput,
    cancellation: Cancellation,
) -> impl Future<Output = Result<TurnReport, TurnError>> + Send {
    // Boxes here and below keep what is over out of the future of a turn, which may wait for long. This one
    // also keeps the input, which a future would hold to its end.
    let begun = Box::pin(begun(runner, input, cancellation));
    async move { Ok(Box::pin(begun.await?.run()).await) }
}

/// Keeps what a turn begins with.
async fn begun(
    runner: Arc<Shared>,
    input: TurnInput,
    cancellation: Cancellation,
) -> Result<Box<Live>, TurnError> {
    let id = input.turn_id()?;
    let stash = input.registry()?;
    let system_prompt = input.prompt_text()?;
    let started = Entry::Started {
        version: VERSION,
        system_prompt,
        stash: input.stash,
        at: runner.clock.now(),
    };
    let instructions = shared(input.instructions);
    let messages = shared(input.messages);
    let memories = shared(input.memories);
    let thoughts = shared(input.thoughts);
    let retrievables = shared(input.retrievables);
    let mut new = NewTurn::new(id, holder(&runner));
    new.conversation = input.conversation;
    new.writes.push(started.write());
    new.writes.extend(rows("instructions", &instructions)?);
    new.writes.extend(rows("messages", &messages)?);
    new.writes.extend(rows("memories", &memories)?);
    new.writes.extend(rows("thoughts", &thoughts)?);
    new.writes.extend(rows("retrievables", &retrievables)?);
    let lease = runner.store.create(new).await?;
    let past = Past { stash, ..Past::default() };
    let live = Box::new(Live::new(&runner, lease, input.system_prompt, past, &cancellation));
    let ctx = live.ctx.turn();
    for instruction in instructions {
        ctx.instructions().put(instruction);
    }
    for message in messages {
        ctx.messages().put(message);
    }
    for memory in memories {
        ctx.memories().put(memory);
    }
    for thought in thoughts {
        ctx.thoughts().put(thought);
    }
    for record in retrievables {
        // There is no call yet whose id it could have.
        ctx.restore_retrievable(record)?;
    }
    Ok(live)
}

/// Goes on with a turn.
pub(in crate::turn) async fn resume(
    runner: &Arc<Shared>,
    id: &TurnId,
    cancellation: Cancellation,
) -> Result<TurnReport, TurnError> {
    let (stored, journal) = load(runner, id).await?;
    if journal.ended.is_some() {
        return ended(runner, stored, journal).await;
    }
    let lease = runner.store.claim(id.clone(), holder(runner)).await?;
    match Box::pin(loaded(runner, lease.clone(), &cancellation)).await {
        Ok(Loaded::Over(over)) => {
            let (stored, journal) = *over;
            runner.store.release(lease).await?;
            ended(runner, stored, journal).await
        }
        Ok(Loaded::Live(live)) => Ok(live.run().await),
        Err(error) => {
            // Whoever can read it need not wait until the lease has run out.
            let _ = runner.store.release(lease).await;
            Err(error)
        }
    }
}

/// A turn that was taken over.
enum Loaded {
    Over(Box<(StoredTurn, Journal)>),
    Live(Box<Live>),
}

async fn loaded(
    runner: &Arc<Shared>,
    lease: Lease,
    cancellation: &Cancellation,
) -> Result<Loaded, TurnError> {
    let id = lease.turn.clone();
    // Whoever had it may have gone on until now.
    let (stored, journal) = load(runner, &id).await?;
    if journal.ended.is_some() {
        return Ok(Loaded::Over(Box::new((stored, journal))));
    }
    let stash = Registry::from_value(journal.stash.clone());
    let stash = stash.map_err(|error| StoreError::Damaged {
        what: format!("turn `{id}`"),
        reason: error.to_string(),
    })?;
    let prompt = Tokenizable::new(Arc::clone(&journal.system_prompt));
    let past = Past {
        stash,
        resumed: true,
        usage: journal.usage(),
        said: journal.steps.iter().flat_map(|step| step.messages.iter().cloned()).collect(),
        steps: journal.steps,
        iterated: journal.iterated,
        done: journal.done,
        gates: stored.gates,
    };
    let live = Live::new(runner, lease, prompt, past, cancellation);
    live.load(&stored.rows).await?;
    let (by, at) = (runner.name.to_string(), runner.clock.now());
    let entry = Entry::Resumed { version: VERSION, by, at };
    live.recorder.defer(entry.write());
    Ok(Loaded::Live(Box::new(live)))
}

async fn load(runner: &Shared, id: &TurnId) -> Result<(StoredTurn, Journal), TurnError> {
    let stored = runner.store.load(id.clone()).await?;
    let stored = stored.ok_or_else(|| StoreError::unknown_turn(id))?;
    let journal = Journal::read(id, &stored.journal)?;
    Ok((stored, journal))
}

/// The report of a turn that is over.
async fn ended(
    runner: &Arc<Shared>,
    stored: StoredTurn,
    journal: Journal,
) -> Result<TurnReport, TurnError> {
    let said: Vec<&RecordName> = journal.steps.iter().flat_map(|step| &step.messages).collect();
    let (mut messages, mut calls) = (Vec::new(), Vec::new());
    for row in &stored.rows {
        match row.kind {
            RowKind::Message if said.iter().any(|id| id.as_str() == row.id) => {
                messages.push(Arc::new(Message::from_row(row, &runner.loader).await?));
            }
            RowKind::ToolCall => {
                calls.push(Arc::new(ToolCall::from_row(row, &runner.loader).await?))
            }
            _ => {}
        }
    }
    let usage = journal.usage();
    let end = journal.ended;
    Ok(TurnReport {
        turn: stored.summary.id,
        outcome: end.as_ref().map_or(Outcome::Failed, |end| end.outcome.clone()),
        messages,
        usage: end.as_ref().map_or(usage, |end| end.usage),
        iterations: end.as_ref().map_or(0, |end| end.iterations),
        calls,
        error: end.and_then(|end| end.error),
        duration: std::time::Duration::ZERO,
    })
}

fn holder(runner: &Shared) -> Holder {
    Holder::new(Arc::clone(&runner.name), runner.clock.now(), runner.deadlines.lease)
}

/// Records as both the turn and the store have them.
fn shared<T>(records: Vec<T>) -> Vec<Arc<T>> {
    records.into_iter().map(Arc::new).collect()
}

/// The writes that keep records of the input, of which no two have the same id.
fn rows<T: Record>(field: &'static str, records: &[Arc<T>]) -> Result<Vec<Write>, TurnError> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let mut ids = HashSet::with_capacity(records.len());
    if let Some(twice) = records.iter().find(|record| !ids.insert(record.key())) {
        return Err(TurnError::invalid(field, format_args!("two have the id `{}`", twice.key())));
    }
    let rows = records.iter().map(|record| record.to_row().map(Write::Put));
    rows.collect::<Result<_, _>>().map_err(|error| RecordError::from(error).into())
}

impl Live {
    /// Puts what was stored back on the shelves.
    async fn load(&self, rows: &[Row]) -> Result<(), TurnError> {
        let (ctx, loader) = (self.ctx.turn(), &self.runner.loader);
        for row in rows {
            match row.kind {
                RowKind::Message => {
                    ctx.messages().put(Message::from_row(row, loader).await?);
                }
                RowKind::Memory => {
                    ctx.memories().put(Memory::from_row(row, loader).await?);
                }
                RowKind::Thought => {
                    ctx.thoughts().put(Thought::from_row(row, loader).await?);
                }
                RowKind::Instruction => {
                    ctx.instructions().put(Instruction::from_row(row, loader).await?);
                }
                RowKind::Retrievable => {
                    ctx.restore_retrievable(Retrievable::from_row(row, loader).await?)?;
                }
                RowKind::ToolCall => {
                    let call = ToolCall::from_row(row, loader).await?;
                    self.occurrences().restore(call.id());
                    ctx.restore_tool_call(call)?;
                }
                _ => {
                    let kind = row.kind.as_str();
                    return Err(
                        LoadError::damaged(row.kind, format!("no {kind} is known here")).into()
                    );
                }
            }
        }
        Ok(())
    }
}
