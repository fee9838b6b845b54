//! The contract of turn stores.

mod agents;
mod changes;
mod claims;
mod gates;
mod leases;
mod lists;
mod memories;
mod races;
mod rows;
mod summaries;
mod texts;
mod titles;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use haft_core::clock::Timestamp;
use haft_core::contract::ContractViolation;
use haft_core::store::{
    CancelRequest, ClaimFilter, GateId, Lease, LeaseRequest, NewTurn, StoreError, StoreWrite,
    StoredTurn, TurnId, TurnQuery, TurnStore, TurnStoreExt as _, TurnSummary,
};

/// Checks a store of turns. It must be empty, and is empty again afterwards if it passes.
///
/// Whether commits survive the end of the process must be checked by a test that ends a process.
///
/// ```
/// use haft::stores::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// haft_conformance::store(&MemoryStore::new()).await?;
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
    summaries::check(store).await?;
    titles::check(store).await?;
    claims::check(store).await?;
    changes::check(store).await?;
    memories::check(store).await?;
    races::check(store).await?;
    is_empty("removed turns are gone", store).await
}

/// Checks a store of turns together with agents whose clocks are five minutes ahead and five minutes behind: none of them
/// takes a turn from another one because of its clock. The store must be empty, and is empty again afterwards if it passes.
///
/// ```
/// use std::sync::Arc;
///
/// use haft::stores::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// haft_conformance::store_with_skewed_clocks(Arc::new(MemoryStore::new())).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// The first promise that is not kept.
pub async fn store_with_skewed_clocks(store: Arc<dyn TurnStore>) -> Result<(), ContractViolation> {
    agents::check(&store).await?;
    is_empty("removed turns are gone", &*store).await
}

async fn is_empty(promise: &'static str, store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let turns = expect_ok("turns can be listed", store.turns(TurnQuery::default()).await)?;
    ContractViolation::ensure_equal(promise, &turns, &Vec::new())?;
    let gates = expect_ok("open gates can be listed", store.open_gates(None).await)?;
    ContractViolation::ensure_equal(promise, &gates, &Vec::new())
}

async fn nothing_is_there(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let turn = turn_id("nothing")?;
    let gate = gate_id("nothing")?;
    let lease = Lease::new(turn.clone(), &lease_request("a"), 1, Timestamp::EPOCH);
    let loaded = expect_ok("any turn can be asked for", store.load(turn.clone()).await)?;
    ContractViolation::ensure_equal("a turn that was not begun is not there", &loaded, &None)?;
    let found = expect_ok("any gate can be asked for", store.gate(gate.clone()).await)?;
    ContractViolation::ensure_equal("a gate that was not opened is not there", &found, &None)?;
    let open = store.open_gates(Some(turn.clone())).await;
    let open = expect_ok("the gates of any turn can be asked for", open)?;
    ContractViolation::ensure_equal("a turn that was not begun has no gates", &open, &Vec::new())?;
    remove_turn(store, &turn, false).await?;
    expect_ok("a lease on nothing can be given back", store.release(lease.clone()).await)?;

    let promise = "a turn that is not there is unknown";
    expect_unknown_turn(promise, store.claim(turn.clone(), lease_request("a")).await)?;
    expect_unknown_turn(promise, store.renew(lease.clone()).await)?;
    let request = CancelRequest::new("a", "b");
    expect_unknown_turn(promise, store.request_cancel(turn.clone(), request).await)?;
    let claimed = store.claim_next(ClaimFilter::default(), lease_request("a")).await;
    let claimed = expect_ok("any process can look for work", claimed)?;
    ContractViolation::ensure_equal("an empty store has no work", &claimed, &None)?;
    let summary = expect_ok("any turn can be asked for", store.summary(turn.clone()).await)?;
    ContractViolation::ensure_equal("a turn that was not begun is not there", &summary, &None)?;
    let journal =
        expect_ok("any journal can be read", store.read_journal(turn.clone(), 0, 10).await)?;
    ContractViolation::ensure_equal(
        "a turn that was not begun has no journal",
        &journal,
        &Vec::new(),
    )?;
    expect_unknown_turn(promise, store.commit(lease, Vec::new()).await)?;
    expect_unknown_turn(promise, store.turns(TurnQuery::default().before(turn)).await)?;
    let promise = "a gate that is not there is unknown";
    expect_unknown_turn(promise, store.settle(gate, "{}".to_owned()).await)
}

/// Begins a turn with a lease that does not expire while the store is checked.
async fn begin_turn(
    store: &dyn TurnStore,
    id: &str,
    writes: Vec<StoreWrite>,
) -> Result<Lease, ContractViolation> {
    let new = NewTurn::new(turn_id(id)?).writes(writes);
    expect_ok("a turn can begin", store.create(new, lease_request("a")).await)
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
    let mut loaded = loaded.ok_or_else(|| {
        ContractViolation::new("a turn that began is there", format_args!("no {turn:?}"))
    })?;
    hide_times(&mut loaded.summary);
    Ok(loaded)
}

/// Replaces the times of the store's clock, so that summaries can be compared.
fn hide_times(summary: &mut TurnSummary) {
    summary.created_at = Timestamp::EPOCH;
    (summary.updated_at, summary.ended_at, summary.runnable_at) = (None, None, None);
}

/// Lets a lease expire, by renewing it for zero time.
async fn expire_lease(store: &dyn TurnStore, lease: &Lease) -> Result<Lease, ContractViolation> {
    let mut lease = lease.clone();
    lease.ttl = Duration::ZERO;
    expect_ok("a lease can be renewed for any time", store.renew(lease).await)
}

/// Returns the lease and removes the turn.
async fn end_turn(store: &dyn TurnStore, lease: Lease) -> Result<(), ContractViolation> {
    let turn = lease.turn.clone();
    expect_ok("a lease can be given back", store.release(lease).await)?;
    remove_turn(store, &turn, true).await
}

async fn remove_turn(
    store: &dyn TurnStore,
    turn: &TurnId,
    existed: bool,
) -> Result<(), ContractViolation> {
    let removed = store.remove(turn.clone()).await;
    let removed = expect_ok("a turn that nobody has can be removed", removed)?;
    ContractViolation::ensure_equal("remove says whether there was a turn", &removed, &existed)
}

/// What is stored of a turn that `begin` began, while its lease holds.
fn expected_turn(lease: &Lease) -> StoredTurn {
    let mut summary = TurnSummary::new(lease.turn.clone(), Timestamp::EPOCH);
    summary.holder = Some(Arc::clone(&lease.holder));
    summary.held_until = Some(lease.until);
    (summary.take_overs, summary.cancel) = (lease.take_overs, lease.cancel.clone());
    StoredTurn::new(summary)
}

fn expect_ok<T>(
    promise: &'static str,
    result: Result<T, StoreError>,
) -> Result<T, ContractViolation> {
    result.map_err(|error| ContractViolation::new(promise, error))
}

/// Expects a refusal that `is_right` accepts.
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

/// A request for a lease that does not expire while the store is checked.
fn lease_request(name: &str) -> LeaseRequest {
    LeaseRequest::new(name, Duration::from_secs(100_000))
}

/// A request for a lease that has expired when it is granted.
fn brief_request(name: &str) -> LeaseRequest {
    LeaseRequest::new(name, Duration::ZERO)
}

/// Runs all of them concurrently, and returns their results in order.
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
