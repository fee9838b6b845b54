//! Who may write.

use haft_core::store::{Lease, StoreError, StoreWrite, StoredTurn, TurnStore};

use super::{
    ContractViolation, begin_turn, commit_writes, end_turn, expect_lease_lost, expect_ok,
    expect_refusal, expect_unknown_turn, lease_request, load_turn, remove_turn, timestamp,
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
    let expected = Lease::new(first.turn.clone(), &lease_request("a", 0), 1);
    ContractViolation::ensure_equal("who begins a turn gets epoch 1", &first, &expected)?;
    for second in [0, 50, 99] {
        for name in ["b", "a"] {
            expect_lease_held(
                store.claim(first.turn.clone(), lease_request(name, second)).await,
                &first,
            )?;
        }
    }
    commit_writes(store, &first, vec![journal_entry("first")]).await?;

    let second = take_over_lease(store, &first, 100).await?;
    let journal = load_turn(store, &first.turn).await?.journal;
    let promise = "who takes a turn over finds what was committed";
    ContractViolation::ensure_equal(promise, &journal, &vec!["first".into()])?;
    expect_lease_held(store.claim(first.turn.clone(), lease_request("c", 199)).await, &second)?;
    let before = load_turn(store, &first.turn).await?;
    let promise = "a lease that was taken over is lost";
    expect_lease_lost(promise, store.commit(first.clone(), vec![journal_entry("late")]).await)?;
    expect_lease_lost(promise, store.renew(first.clone(), timestamp(150)).await)?;
    expect_ok("a lost lease can be given back", store.release(first.clone()).await)?;
    let mut forged = second.clone();
    forged.epoch += 1;
    expect_lease_lost(
        "a lease that was not given out is refused",
        store.commit(forged, Vec::new()).await,
    )?;
    expect_unchanged(store, &first, &before).await?;

    let third = take_over_lease(store, &second, 1000).await?;
    expect_lease_lost(promise, store.commit(second, vec![journal_entry("late")]).await)?;
    end_turn(store, third).await
}

async fn leases_are_kept_by_renewal(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let first = begin_turn(store, "renewal", Vec::new()).await?;
    // The second renewal comes when the lease has run out, but before anybody has taken it.
    let mut lease = first.clone();
    for second in [60, 500] {
        let promise = "a lease that nobody took can be renewed";
        lease = expect_ok(promise, store.renew(lease, timestamp(second)).await)?;
        let expected = first.clone().renewed(timestamp(second));
        ContractViolation::ensure_equal("a renewed lease holds from now on", &lease, &expected)?;
        let summary = load_turn(store, &first.turn).await?.summary;
        let promise = "summaries tell who has a turn and until when";
        ContractViolation::ensure_equal(promise, &summary.holder, &Some("a".into()))?;
        ContractViolation::ensure_equal(promise, &summary.held_until, &Some(lease.until))?;
        expect_lease_held(
            store.claim(first.turn.clone(), lease_request("b", second + 99)).await,
            &lease,
        )?;
    }
    let promise = "a lease that has run out and that nobody took is still good";
    expect_ok(promise, store.commit(first.clone(), vec![journal_entry("first")]).await)?;
    let taken = take_over_lease(store, &lease, 600).await?;
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
    expect_lease_lost(promise, store.renew(first.clone(), timestamp(1)).await)?;
    expect_unchanged(store, &first, &before).await?;
    let second = take_over_lease(store, &first, 1).await?;
    expect_ok("a lost lease can be given back", store.release(first).await)?;
    commit_writes(store, &second, vec![journal_entry("second")]).await?;
    end_turn(store, second).await
}

async fn held_turns_are_not_removed(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let lease = begin_turn(store, "held", vec![journal_entry("first")]).await?;
    let before = load_turn(store, &lease.turn).await?;
    expect_lease_held(store.remove(lease.turn.clone(), timestamp(99)).await, &lease)?;
    expect_unchanged(store, &lease, &before).await?;
    remove_turn(store, &lease.turn, 100, true).await?;
    remove_turn(store, &lease.turn, 100, false).await?;
    let loaded = expect_ok("any turn can be asked for", store.load(lease.turn.clone()).await)?;
    ContractViolation::ensure_equal("a removed turn is gone", &loaded, &None)?;
    let promise = "a removed turn is unknown";
    expect_unknown_turn(promise, store.commit(lease.clone(), vec![journal_entry("late")]).await)?;
    expect_unknown_turn(promise, store.renew(lease.clone(), timestamp(100)).await)?;
    expect_unknown_turn(promise, store.claim(lease.turn.clone(), lease_request("b", 100)).await)?;
    expect_ok("a lease on nothing can be given back", store.release(lease).await)
}

/// Takes the lease over from another process.
async fn take_over_lease(
    store: &dyn TurnStore,
    from: &Lease,
    second: u64,
) -> Result<Lease, ContractViolation> {
    let holder = lease_request("b", second);
    let taken = store.claim(from.turn.clone(), holder.clone()).await;
    let taken = expect_ok("a lease that has run out or was given back can be taken", taken)?;
    let expected = Lease::new(from.turn.clone(), &holder, from.epoch + 1);
    ContractViolation::ensure_equal(
        "who takes a turn over gets the next epoch",
        &taken,
        &expected,
    )?;
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
