//! Resuming a turn.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{RecordId, ToolCall};
use haft_core::cancel::Cancellation;
use haft_core::context::{Hydration, TurnContext};
use haft_core::error::codes;
use haft_core::event::{ErrorReport, LogLevel};
use haft_core::media::ReaderResolvers;
use haft_core::record::{Message, MessageRole, Record as _, RecordName};
use haft_core::step::ExecutorDescription;
use haft_core::store::{
    ClaimFilter, Lease, Row, RowKind, StoreError, StoredTurn, TurnId, TurnStoreExt as _,
};

use super::super::agent::AgentShared;
use super::super::journal::JournalEntry;
use super::super::lease::cancel_reason;
use super::super::log::{StoredLog, TurnLog, TurnTotals};
use super::super::report::{Conclusion, FailurePoint, LogTopic};
use super::super::seed::TurnSeed;
use super::super::stored_turns::TurnStores;
use super::super::turn_record::TurnRecord;
use super::super::{TurnError, TurnReport};
use super::TurnDriver;
use super::create::new_lease_request;

/// Resumes a turn and runs it to its end. One that has ended is reported again.
pub(in crate::turn) async fn resume_turn(
    agent: &Arc<AgentShared>,
    id: &TurnId,
    cancellation: Cancellation,
) -> Result<TurnReport, TurnError> {
    let (stored, read) = load_turn(agent, id).await?;
    if let Some(end) = read.log.end() {
        return report_ended(agent, &stored, &read.log, end).await;
    }
    if !cancellation.is_cancelled() {
        check_executor(agent, id, &read)?;
    }
    let lease = agent.store.claim(id.clone(), new_lease_request(agent)).await?;
    let leased = LeasedTurn { lease, refusal: None, retry_delay: None };
    run_leased(agent, leased, cancellation).await
}

/// Claims the next turn that can run, and runs it to its end. Returns `None` if there is none.
pub(in crate::turn) async fn run_next_turn(
    agent: &Arc<AgentShared>,
    filter: ClaimFilter,
    cancellation: Cancellation,
) -> Result<Option<TurnReport>, TurnError> {
    let claimed = agent.store.claim_next(filter, new_lease_request(agent)).await?;
    let Some(lease) = claimed else { return Ok(None) };
    Box::pin(run_claimed_turn(agent, lease, cancellation)).await.map(Some)
}

/// Runs a turn whose lease [`claim_turns`](haft_core::store::TurnStore::claim_turns) granted. A turn that was taken over
/// too often ends as failed. A turn that cannot be run is left alone for a while, because the next claim would get it
/// again.
pub(in crate::turn) async fn run_claimed_turn(
    agent: &Arc<AgentShared>,
    mut lease: Lease,
    cancellation: Cancellation,
) -> Result<TurnReport, TurnError> {
    // Leases are renewed as often as the agent's deadline demands.
    if lease.ttl != agent.deadlines.lease {
        lease.ttl = agent.deadlines.lease;
        lease = agent.store.renew(lease).await?;
    }
    let refusal = (lease.take_overs > agent.limits.take_overs).then(|| {
        let message = format!(
            "the turn was given up: {} processes died while they ran it, and it got no further",
            lease.take_overs
        );
        ErrorReport::coded(codes::LIMIT_REACHED, message).at(FailurePoint::Turn.as_str())
    });
    let retry_delay = Some(agent.deadlines.outage);
    run_leased(agent, LeasedTurn { lease, refusal, retry_delay }, cancellation).await
}

/// A turn whose lease was given out.
struct LeasedTurn {
    lease: Lease,
    /// Why nothing of it is run, and it ends as failed.
    refusal: Option<ErrorReport>,
    /// How long it is left alone if it cannot be run.
    retry_delay: Option<Duration>,
}

/// Runs a turn whose lease was given out.
async fn run_leased(
    agent: &Arc<AgentShared>,
    leased: LeasedTurn,
    cancellation: Cancellation,
) -> Result<TurnReport, TurnError> {
    let LeasedTurn { lease, refusal, retry_delay } = leased;
    if let Some(request) = &lease.cancel {
        cancellation.cancel(cancel_reason(request));
    }
    match Box::pin(take_over(agent, lease.clone(), &cancellation)).await {
        Ok(TakenOver::Ended(report)) => {
            // A lease that cannot be released expires by itself.
            let _ = agent.store.release(lease).await;
            Ok(*report)
        }
        Ok(TakenOver::Unfinished(turn)) => Ok(match refusal {
            Some(error) => turn.refuse(error).await,
            None => turn.run().await,
        }),
        Err(error) => {
            if let Some(delay) = retry_delay {
                let _ = agent.store.commit(lease.clone(), error.interrupt_writes(delay)).await;
            }
            // A process that can read the turn need not wait until the lease has expired.
            let _ = agent.store.release(lease).await;
            Err(error)
        }
    }
}

/// A turn whose lease was claimed.
enum TakenOver {
    Ended(Box<TurnReport>),
    Unfinished(Box<TurnDriver>),
}

/// Loads a turn under its new lease, with everything it has behind it.
async fn take_over(
    agent: &Arc<AgentShared>,
    lease: Lease,
    cancellation: &Cancellation,
) -> Result<TakenOver, TurnError> {
    let id = lease.turn.clone();
    // The process that had the lease may have run the turn until now.
    let (stored, read) = load_turn(agent, &id).await?;
    // A turn that is cancelled takes no more steps, so that any executor can end it.
    let other_executor = match cancellation.is_cancelled() {
        true => None,
        false => check_executor(agent, &id, &read)?,
    };
    if let Some(end) = read.log.end() {
        let report = report_ended(agent, &stored, &read.log, end).await?;
        return Ok(TakenOver::Ended(Box::new(report)));
    }
    let definition = agent.definition.clone().filter(|it| read.definition.as_ref() != Some(it));
    let mut seed = TurnSeed::of_stored(&stored, read)?;
    let resumed = JournalEntry::Resumed {
        by: agent.process.to_string(),
        at: agent.clock.now(),
        executor: other_executor.map(Box::new),
        definition,
    };
    seed.log.advance(&resumed).map_err(|illegal| damaged(&id, illegal.to_string()))?;
    let hydrations = std::mem::take(&mut seed.hydrations);
    let mut driver = TurnDriver::new(agent, lease, seed, cancellation.child());
    let TurnDriver { ctx, occurrences, .. } = &mut *driver;
    restore_history(ctx.turn(), agent, hydrations).await?;
    let on_call = |call| occurrences.restore(call);
    restore_records(ctx.turn(), &agent.readers, &stored.rows, on_call).await?;
    driver.shared.recorder.defer(resumed.to_write());
    Ok(TakenOver::Unfinished(driver))
}

/// Compares the executor of the agent with the one that took the steps of the turn so far. Returns the description of
/// the agent's executor if it differs and the agent may change it.
fn check_executor(
    agent: &AgentShared,
    id: &TurnId,
    read: &StoredLog,
) -> Result<Option<ExecutorDescription>, TurnError> {
    let stored = &read.executor;
    let given = agent.executor.description();
    let differences = stored.differences(&given);
    if differences.is_empty() {
        return Ok(None);
    }
    if agent.allows_executor_change {
        return Ok(Some(given));
    }
    let (turn, stored) = (id.clone(), stored.clone());
    Err(TurnError::OtherExecutor { turn, stored, given: Box::new(given), differences })
}

/// Loads a turn, and reads its journal.
pub(in crate::turn) async fn load_turn(
    stores: &TurnStores,
    id: &TurnId,
) -> Result<(StoredTurn, StoredLog), TurnError> {
    let stored = stores.store.load(id.clone()).await?;
    let stored = stored.ok_or_else(|| StoreError::unknown_turn(id))?;
    let read = StoredLog::read(id, &stored.journal)?;
    Ok((stored, read))
}

fn damaged(id: &TurnId, reason: String) -> StoreError {
    StoreError::Damaged { what: format!("turn `{id}`"), reason }
}

/// The report of a turn that has ended, if there is such a turn.
pub(in crate::turn) async fn load_report(
    stores: &TurnStores,
    id: &TurnId,
) -> Result<Option<TurnReport>, TurnError> {
    let Some(stored) = stores.store.load(id.clone()).await? else { return Ok(None) };
    let read = StoredLog::read(id, &stored.journal)?;
    match read.log.end() {
        Some(end) => report_ended(stores, &stored, &read.log, end).await.map(Some),
        None => Ok(None),
    }
}

/// The report of a turn that has ended.
async fn report_ended(
    stores: &TurnStores,
    stored: &StoredTurn,
    log: &TurnLog,
    end: &Conclusion,
) -> Result<TurnReport, TurnError> {
    let said: HashSet<&str> = log.messages().iter().map(RecordName::as_str).collect();
    let (mut messages, mut calls) = (Vec::new(), Vec::new());
    for row in &stored.rows {
        match row.kind {
            RowKind::Message if said.contains(row.id.as_str()) => {
                let message = Message::open_row(row, &stores.readers).await?;
                if message.role() == MessageRole::Assistant {
                    messages.push(Arc::new(message));
                }
            }
            RowKind::ToolCall => {
                calls.push(Arc::new(ToolCall::open_row(row, &stores.readers).await?));
            }
            _ => {}
        }
    }
    let TurnTotals { iterations, usage } = *log.totals();
    let Conclusion { outcome, error, .. } = end.clone();
    Ok(TurnReport {
        turn: stored.summary.id.clone(),
        outcome,
        messages,
        usage,
        iterations,
        calls,
        error: error.map(|it| *it),
        is_resumable: false,
        duration: Duration::ZERO,
    })
}

/// Opens again what a turn shows of earlier turns, as its journal refers to it.
pub(in crate::turn) async fn restore_history(
    ctx: &TurnContext,
    stores: &TurnStores,
    hydrations: Vec<Hydration>,
) -> Result<(), TurnError> {
    for hydration in hydrations {
        // A commit that failed may have been written all the same, and is repeated.
        if hydration.removed.is_empty() && !ctx.is_hydrated() {
            let turns = match &hydration.range {
                Some(range) => {
                    let turns = stores.load_range(ctx, range).await?;
                    if turns.len() < range.count {
                        let text =
                            format!("of {} earlier turns {} are left", range.count, turns.len());
                        ctx.log(LogLevel::Warn, LogTopic::History.as_str(), &text, None);
                    }
                    turns
                }
                None => Vec::new(),
            };
            ctx.restore_hydration(&hydration, turns);
        }
        hydration.removed.iter().for_each(|record| ctx.restore_removal(record));
    }
    Ok(())
}

/// Gives a turn the records that are stored, and reports the id of each call.
pub(in crate::turn) async fn restore_records(
    ctx: &TurnContext,
    readers: &ReaderResolvers,
    rows: &[Row],
    mut on_call: impl FnMut(RecordId),
) -> Result<(), TurnError> {
    for row in rows {
        match TurnRecord::read(row, readers).await? {
            TurnRecord::Message(message) => {
                ctx.messages().put(message);
            }
            TurnRecord::Memory(memory) => {
                ctx.memories().put(memory);
            }
            TurnRecord::Thought(thought) => {
                ctx.thoughts().put(thought);
            }
            TurnRecord::Instruction(instruction) => {
                ctx.instructions().put(instruction);
            }
            TurnRecord::Retrievable(record) => ctx.restore_retrievable(record)?,
            TurnRecord::ToolCall(call) => {
                on_call(call.id());
                ctx.restore_tool_call(*call)?;
            }
        }
    }
    Ok(())
}
