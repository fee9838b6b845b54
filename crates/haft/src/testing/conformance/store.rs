//! What every store of turns does.

mod gates;
mod leases;
mod lists;
mod races;
mod rows;
mod texts;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, Lease, LeaseRequest, NewTurn, StoreError, StoreWrite, StoredTurn, TurnId, TurnQuery,
    TurnStore, TurnSummary,
};

use super::ContractViolation;

/// Checks a store of turns. It must be empty, and is empty again afterwards if it passes.
///
/// Whether commits survive the end of the process is for a test of your own, which ends one.
///
/// ```
/// use haft::stores::MemoryStore;
/// use haft::testing::conformance;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// conformance::store(&MemoryStore::new()).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// The first promise of [`TurnStore`] that is not kept.
pub async fn store(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    is_empty("a fresh store is empty", store).await?;
    nothing_is_there(store).await?;
    rows::check(store).await?;
    texts::check(store).await?;
    leases::check(store).await?;
    gates::check(store).await?;
    lists::check(store).await?;
    races::check(store).await?;
    is_empty("removed turns are gone", store).await
}

async fn is_empty(promise: &'static str, store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let turns = expect_ok("turns can be listed", store.turns(TurnQuery::default()).await)?;
    ContractViolation::ensure_equal(promise, &turns, &Vec::new())?;
    let gates = expect_ok("open gates can be listed", store.open_gates(None).await)?;
    ContractViolation::ensure_equal(promise, &gates, &Vec::new())
}

async fn nothing_is_there(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let (turn, gate) = (turn_id("nothing")?, gate_id("nothing")?);
    let lease = Lease::new(turn.clone(), &lease_request("a", 0), 1);
    let loaded = expect_ok("any turn can be asked for", store.load(turn.clone()).await)?;
    ContractViolation::ensure_equal("a turn that was not begun is not there", &loaded, &None)?;
    let found = expect_ok("any gate can be asked for", store.gate(gate.clone()).await)?;
    ContractViolation::ensure_equal("a gate that was not opened is not there", &found, &None)?;
    let open = store.open_gates(Some(turn.clone())).await;
    let open = expect_ok("the gates of any turn can be asked for", open)?;
    ContractViolation::ensure_equal("a turn that was not begun has no gates", &open, &Vec::new())?;
    remove_turn(store, &turn, 0, false).await?;
    expect_ok("a lease on nothing can be given back", store.release(lease.clone()).await)?;

    let promise = "a turn that is not there is unknown";
    expect_unknown_turn(promise, store.claim(turn.clone(), lease_request("a", 0)).await)?;
    expect_unknown_turn(promise, store.renew(lease.clone(), timestamp(1)).await)?;
    expect_unknown_turn(promise, store.commit(lease, Vec::new()).await)?;
    expect_unknown_turn(promise, store.turns(TurnQuery::default().before(turn)).await)?;
    let promise = "a gate that is not there is unknown";
    expect_unknown_turn(promise, store.settle(gate, "{}".to_owned()).await)
}

/// Begins a turn with a lease of a hundred seconds from second 0 on.
async fn begin_turn(
    store: &dyn TurnStore,
    id: &str,
    writes: Vec<StoreWrite>,
) -> Result<Lease, ContractViolation> {
    let new = NewTurn::new(turn_id(id)?, lease_request("a", 0)).writes(writes);
    expect_ok("a turn can begin", store.create(new).await)
}

async fn commit_writes(
    store: &dyn TurnStore,
    lease: &Lease,
    writes: Vec<StoreWrite>,
) -> Result<(), ContractViolation> {
    expect_ok("the holder can commit", store.commit(lease.clone(), writes).await)
}

async fn load_turn(store: &dyn TurnStore, turn: &TurnId) -> Result<StoredTurn, ContractViolation> {
    let loaded = expect_ok("a turn can be loaded", store.load(turn.clone()).await)?;
    loaded.ok_or_else(|| {
        ContractViolation::new("a turn that began is there", format_args!("no {turn:?}"))
    })
}

/// Gives the lease back and removes the turn.
async fn end_turn(store: &dyn TurnStore, lease: Lease) -> Result<(), ContractViolation> {
    let turn = lease.turn.clone();
    expect_ok("a lease can be given back", store.release(lease).await)?;
    remove_turn(store, &turn, 0, true).await
}

async fn remove_turn(
    store: &dyn TurnStore,
    turn: &TurnId,
    second: u64,
    existed: bool,
) -> Result<(), ContractViolation> {
    let removed = store.remove(turn.clone(), timestamp(second)).await;
    let removed = expect_ok("a turn that nobody has can be removed", removed)?;
    ContractViolation::ensure_equal("remove says whether there was a turn", &removed, &existed)
}

/// What is stored of a turn that `begin` began, while its lease holds.
fn expected_turn(lease: &Lease) -> StoredTurn {
    let mut summary = TurnSummary::new(lease.turn.clone(), timestamp(0));
    summary.holder = Some(Arc::clone(&lease.holder));
    summary.held_until = Some(lease.until);
    StoredTurn::new(summary)
}

fn expect_ok<T>(
    promise: &'static str,
    result: Result<T, StoreError>,
) -> Result<T, ContractViolation> {
    result.map_err(|error| ContractViolation::new(promise, error))
}

/// Expects a refusal that `is_right` knows.
fn expect_refusal<T: fmt::Debug>(
    promise: &'static str,
    result: Result<T, StoreError>,
    is_right: impl FnOnce(&StoreError) -> bool,
) -> Result<(), ContractViolation> {
    match result {
        Err(error) if is_right(&error) => Ok(()),
        other => Err(ContractViolation::new(promise, format_args!("{other:?}"))),
    }
}

fn expect_unknown_turn<T: fmt::Debug>(
    promise: &'static str,
    result: Result<T, StoreError>,
) -> Result<(), ContractViolation> {
    expect_refusal(promise, result, |error| matches!(error, StoreError::Unknown { .. }))
}

fn expect_turn_exists<T: fmt::Debug>(
    promise: &'static str,
    result: Result<T, StoreError>,
) -> Result<(), ContractViolation> {
    expect_refusal(promise, result, |error| matches!(error, StoreError::Exists { .. }))
}

fn expect_lease_lost<T: fmt::Debug>(
    promise: &'static str,
    result: Result<T, StoreError>,
) -> Result<(), ContractViolation> {
    expect_refusal(promise, result, |error| matches!(error, StoreError::LeaseLost { .. }))
}

fn turn_id(name: &str) -> Result<TurnId, ContractViolation> {
    name.parse().map_err(|error| ContractViolation::new("the id of a turn is valid", error))
}

fn gate_id(name: &str) -> Result<GateId, ContractViolation> {
    name.parse().map_err(|error| ContractViolation::new("the id of a gate is valid", error))
}

fn lease_request(name: &str, second: u64) -> LeaseRequest {
    LeaseRequest::new(name, timestamp(second), Duration::from_secs(100))
}

fn timestamp(second: u64) -> Timestamp {
    Timestamp::EPOCH.saturating_add(Duration::from_secs(second))
}

/// Runs all of them at once, and gives what they gave in their order.
async fn run_all<'a, T>(
    futures: impl IntoIterator<Item = impl Future<Output = T> + Send + 'a>,
) -> Vec<T> {
    enum Slot<'a, T> {
        Running(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
        Done(T),
    }
    let mut slots: Vec<_> = futures.into_iter().map(|it| Slot::Running(Box::pin(it))).collect();
    poll_fn(|cx| {
        let mut waiting = false;
        for slot in &mut slots {
            if let Slot::Running(future) = slot {
                match future.as_mut().poll(cx) {
                    Poll::Ready(output) => *slot = Slot::Done(output),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    let outputs = slots.into_iter().filter_map(|slot| match slot {
        Slot::Done(output) => Some(output),
        Slot::Running(_) => None,
    });
    outputs.collect()
}
