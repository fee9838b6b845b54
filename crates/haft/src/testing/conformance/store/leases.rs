//! Who may write.

use haft_core::store::{Lease, StoreError, StoreWrite, StoredTurn, TurnStore};

use super::{
    ContractViolation, at, begin, commit, done, end, holder, load, lost, refused, remove, unknown,
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
    let first = begin(store, "leases", Vec::new()).await?;
    let expected = Lease::new(first.turn.clone(), &holder("a", 0), 1);
    ContractViolation::ensure_equal("who begins a turn gets epoch 1", &first, &expected)?;
    for second in [0, 50, 99] {
        for name in ["b", "a"] {
            held(store.claim(first.turn.clone(), holder(name, second)).await, &first)?;
        }
    }
    commit(store, &first, vec![entry("first")]).await?;

    let second = take(store, &first, 100).await?;
    let journal = load(store, &first.turn).await?.journal;
    let promise = "who takes a turn over finds what was committed";
    ContractViolation::ensure_equal(promise, &journal, &vec!["first".into()])?;
    held(store.claim(first.turn.clone(), holder("c", 199)).await, &second)?;
    let before = load(store, &first.turn).await?;
    let promise = "a lease that was taken over is lost";
    lost(promise, store.commit(first.clone(), vec![entry("late")]).await)?;
    lost(promise, store.renew(first.clone(), at(150)).await)?;
    done("a lost lease can be given back", store.release(first.clone()).await)?;
    let mut forged = second.clone();
    forged.epoch += 1;
    lost("a lease that was not given out is refused", store.commit(forged, Vec::new()).await)?;
    unchanged(store, &first, &before).await?;

    let third = take(store, &second, 1000).await?;
    lost(promise, store.commit(second, vec![entry("late")]).await)?;
    end(store, third).await
}

async fn leases_are_kept_by_renewal(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let first = begin(store, "renewal", Vec::new()).await?;
    // The second renewal comes when the lease has run out, but before anybody has taken it.
    let mut lease = first.clone();
    for second in [60, 500] {
        let promise = "a lease that nobody took can be renewed";
        lease = done(promise, store.renew(lease, at(second)).await)?;
        let expected = first.clone().renewed(at(second));
        ContractViolation::ensure_equal("a renewed lease holds from now on", &lease, &expected)?;
        let summary = load(store, &first.turn).await?.summary;
        let promise = "summaries tell who has a turn and until when";
        ContractViolation::ensure_equal(promise, &summary.holder, &Some("a".into()))?;
        ContractViolation::ensure_equal(promise, &summary.held_until, &Some(lease.until))?;
        held(store.claim(first.turn.clone(), holder("b", second + 99)).await, &lease)?;
    }
    let promise = "a lease that has run out and that nobody took is still good";
    done(promise, store.commit(first.clone(), vec![entry("first")]).await)?;
    let taken = take(store, &lease, 600).await?;
    end(store, taken).await
}

async fn leases_can_be_given_back(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let first = begin(store, "release", Vec::new()).await?;
    for _ in 0..2 {
        done("a lease can be given back", store.release(first.clone()).await)?;
    }
    let before = load(store, &first.turn).await?;
    let promise = "nobody has a turn whose lease was given back";
    let holder_and_end = (&before.summary.holder, before.summary.held_until);
    ContractViolation::ensure_equal(promise, &holder_and_end, &(&None, None))?;
    let promise = "a lease that was given back is lost";
    lost(promise, store.commit(first.clone(), vec![entry("late")]).await)?;
    lost(promise, store.renew(first.clone(), at(1)).await)?;
    unchanged(store, &first, &before).await?;
    let second = take(store, &first, 1).await?;
    done("a lost lease can be given back", store.release(first).await)?;
    commit(store, &second, vec![entry("second")]).await?;
    end(store, second).await
}

async fn held_turns_are_not_removed(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let lease = begin(store, "held", vec![entry("first")]).await?;
    let before = load(store, &lease.turn).await?;
    held(store.remove(lease.turn.clone(), at(99)).await, &lease)?;
    unchanged(store, &lease, &before).await?;
    remove(store, &lease.turn, 100, true).await?;
    remove(store, &lease.turn, 100, false).await?;
    let loaded = done("any turn can be asked for", store.load(lease.turn.clone()).await)?;
    ContractViolation::ensure_equal("a removed turn is gone", &loaded, &None)?;
    let promise = "a removed turn is unknown";
    unknown(promise, store.commit(lease.clone(), vec![entry("late")]).await)?;
    unknown(promise, store.renew(lease.clone(), at(100)).await)?;
    unknown(promise, store.claim(lease.turn.clone(), holder("b", 100)).await)?;
    done("a lease on nothing can be given back", store.release(lease).await)
}

/// Takes the lease over from another process.
async fn take(
    store: &dyn TurnStore,
    from: &Lease,
    second: u64,
) -> Result<Lease, ContractViolation> {
    let holder = holder("b", second);
    let taken = store.claim(from.turn.clone(), holder.clone()).await;
    let taken = done("a lease that has run out or was given back can be taken", taken)?;
    let expected = Lease::new(from.turn.clone(), &holder, from.epoch + 1);
    ContractViolation::ensure_equal(
        "who takes a turn over gets the next epoch",
        &taken,
        &expected,
    )?;
    Ok(taken)
}

async fn unchanged(
    store: &dyn TurnStore,
    lease: &Lease,
    before: &StoredTurn,
) -> Result<(), ContractViolation> {
    ContractViolation::ensure_equal(
        "what is refused changes nothing",
        &load(store, &lease.turn).await?,
        before,
    )
}

fn held<T: std::fmt::Debug>(
    result: Result<T, StoreError>,
    by: &Lease,
) -> Result<(), ContractViolation> {
    refused("a turn that somebody has is held", result, |error| {
        matches!(error, StoreError::Held { turn, holder, until }
            if *turn == by.turn && *holder == by.holder && *until == by.until)
    })
}

fn entry(text: &str) -> StoreWrite {
    StoreWrite::Journal(text.into())
}
