//! Leases: only their holders may write.

use haft_core::store::{Lease, StoreError, StoreWrite, StoredTurn, TurnStore, TurnStoreExt as _};

use super::{
    ContractViolation, begin_turn, commit_writes, end_turn, expect_lease_lost, expect_ok,
    expect_refusal, expect_unknown_turn, expire_lease, lease_request, load_turn, remove_turn,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    leases_are_taken_over_when_they_run_out(store).await?;
    leases_are_kept_by_renewal(store).await?;
    leases_can_be_given_back(store).await?;
    held_turns_are_not_removed(store).await
}

async fn leases_are_taken_over_when_they_run_out(
    store: &dyn TurnStore,
) -> Result<(), ContractViolation> {
    let first = begin_turn(store, "leases", Vec::new()).await?;
    let got = (first.epoch, &*first.holder, first.ttl, first.take_overs, &first.cancel);
    let expected = (1, "a", lease_request("a").ttl, 0, &None);
    ContractViolation::ensure_equal("who begins a turn gets epoch 1", &got, &expected)?;
    for name in ["b", "a"] {
        expect_lease_held(store.claim(first.turn.clone(), lease_request(name)).await, &first)?;
    }
    commit_writes(store, &first, vec![journal_entry("first")]).await?;

    let expired = expire_lease(store, &first).await?;
    let second = take_over_lease(store, &expired).await?;
    let journal = load_turn(store, &first.turn).await?.journal;
    let promise = "who takes a turn over finds what was committed";
    ContractViolation::ensure_equal(promise, &journal, &vec!["first".into()])?;
    expect_lease_held(store.claim(first.turn.clone(), lease_request("c")).await, &second)?;
    let before = load_turn(store, &first.turn).await?;
    let promise = "a lease that was taken over is lost";
    expect_lease_lost(promise, store.commit(first.clone(), vec![journal_entry("late")]).await)?;
    expect_lease_lost(promise, store.renew(first.clone()).await)?;
    let mut forged = second.clone();
    forged.epoch += 1;
    expect_lease_lost(
        "a lease that was not given out is refused",
        store.commit(forged, Vec::new()).await,
    )?;
    expect_unchanged(store, &first, &before).await?;
    // Its process lives, which is all that changes.
    expect_ok("a lost lease can be given back", store.release(first.clone()).await)?;
    let mut alive = before;
    alive.summary.take_overs = 0;
    expect_unchanged(store, &first, &alive).await?;

    let expired = expire_lease(store, &second).await?;
    let third = take_over_lease(store, &expired).await?;
    expect_lease_lost(promise, store.commit(second, vec![journal_entry("late")]).await)?;
    end_turn(store, third).await
}

async fn leases_are_kept_by_renewal(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let first = begin_turn(store, "renewal", Vec::new()).await?;
    let mut lease = first.clone();
    for is_expired in [false, true] {
        if is_expired {
            // The renewal comes when the lease has run out, but before another process has taken it.
            expire_lease(store, &lease).await?;
        }
        let promise = "a lease that nobody took can be renewed";
        let renewed = expect_ok(promise, store.renew(lease.clone()).await)?;
        let promise = "a renewed lease holds from now on";
        let holds_longer = renewed.until >= lease.until;
        let got = (renewed.epoch, renewed.ttl, holds_longer);
        ContractViolation::ensure_equal(promise, &got, &(first.epoch, first.ttl, true))?;
        lease = renewed;
        let summary = load_turn(store, &first.turn).await?.summary;
        let promise = "summaries tell who has a turn and until when";
        ContractViolation::ensure_equal(promise, &summary.holder, &Some("a".into()))?;
        ContractViolation::ensure_equal(promise, &summary.held_until, &Some(lease.until))?;
        expect_lease_held(store.claim(first.turn.clone(), lease_request("b")).await, &lease)?;
    }
    let expired = expire_lease(store, &lease).await?;
    let promise = "a lease that has run out and that nobody took is still good";
    expect_ok(promise, store.commit(first.clone(), vec![journal_entry("first")]).await)?;
    let taken = take_over_lease(store, &expired).await?;
    end_turn(store, taken).await
}

async fn leases_can_be_given_back(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let first = begin_turn(store, "release", Vec::new()).await?;
    for _ in 0..2 {
        expect_ok("a lease can be given back", store.release(first.clone()).await)?;
    }
    let before = load_turn(store, &first.turn).await?;
    let promise = "nobody has a turn whose lease was given back";
    let holder_and_end = (&before.summary.holder, before.summary.held_until);
    ContractViolation::ensure_equal(promise, &holder_and_end, &(&None, None))?;
    let promise = "a lease that was given back is lost";
    expect_lease_lost(promise, store.commit(first.clone(), vec![journal_entry("late")]).await)?;
    expect_lease_lost(promise, store.renew(first.clone()).await)?;
    expect_unchanged(store, &first, &before).await?;
    let second = take_over_lease(store, &first).await?;
    expect_ok("a lost lease can be given back", store.release(first).await)?;
    commit_writes(store, &second, vec![journal_entry("second")]).await?;
    end_turn(store, second).await
}

async fn held_turns_are_not_removed(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let lease = begin_turn(store, "held", vec![journal_entry("first")]).await?;
    let before = load_turn(store, &lease.turn).await?;
    expect_lease_held(store.remove(lease.turn.clone()).await, &lease)?;
    expect_unchanged(store, &lease, &before).await?;
    expire_lease(store, &lease).await?;
    remove_turn(store, &lease.turn, true).await?;
    remove_turn(store, &lease.turn, false).await?;
    let loaded = expect_ok("any turn can be asked for", store.load(lease.turn.clone()).await)?;
    ContractViolation::ensure_equal("a removed turn is gone", &loaded, &None)?;
    let promise = "a removed turn is unknown";
    expect_unknown_turn(promise, store.commit(lease.clone(), vec![journal_entry("late")]).await)?;
    expect_unknown_turn(promise, store.renew(lease.clone()).await)?;
    expect_unknown_turn(promise, store.claim(lease.turn.clone(), lease_request("b")).await)?;
    expect_ok("a lease on nothing can be given back", store.release(lease).await)
}

/// Takes the lease over from another process.
async fn take_over_lease(store: &dyn TurnStore, from: &Lease) -> Result<Lease, ContractViolation> {
    let holder = lease_request("b");
    let taken = store.claim(from.turn.clone(), holder.clone()).await;
    let taken = expect_ok("a lease that has run out or was given back can be taken", taken)?;
    let got = (&taken.turn, taken.epoch, &taken.holder, taken.ttl);
    let expected = (&from.turn, from.epoch + 1, &holder.name, holder.ttl);
    ContractViolation::ensure_equal("who takes a turn over gets the next epoch", &got, &expected)?;
    Ok(taken)
}

async fn expect_unchanged(
    store: &dyn TurnStore,
    lease: &Lease,
    before: &StoredTurn,
) -> Result<(), ContractViolation> {
    ContractViolation::ensure_equal(
        "what is refused changes nothing",
        &load_turn(store, &lease.turn).await?,
        before,
    )
}

fn expect_lease_held<T: std::fmt::Debug>(
    result: Result<T, StoreError>,
    by: &Lease,
) -> Result<(), ContractViolation> {
    expect_refusal("a turn that somebody has is held", result, |error| {
        matches!(error, StoreError::Held { turn, holder, until }
            if *turn == by.turn && *holder == by.holder && *until == by.until)
    })
}

fn journal_entry(text: &str) -> StoreWrite {
    StoreWrite::Journal(text.into())
}
