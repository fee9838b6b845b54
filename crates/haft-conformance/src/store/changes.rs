//! Listeners are notified of changes.

use haft_core::store::{
    CancelRequest, ChangeListener, NewTurn, StoreChange, StoreChangeKind, StoreWrite, TurnId,
    TurnStatus, TurnStore, TurnStoreExt as _,
};

use super::{
    ContractViolation, begin_turn, commit_writes, expect_ok, gate_id, lease_request, turn_id,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let mut listener = store.listen();
    let id = turn_id("changes")?;
    expect_ok("a turn can be enqueued", store.enqueue(NewTurn::new(id.clone())).await)?;
    await_change(&mut *listener, &id, StoreChangeKind::Claimable).await;
    let request = CancelRequest::new("ada", "not needed");
    expect_ok(
        "the end of a turn can be asked for",
        store.request_cancel(id.clone(), request).await,
    )?;
    await_change(&mut *listener, &id, StoreChangeKind::CancelRequested).await;
    let lease =
        expect_ok("a turn can be claimed", store.claim(id.clone(), lease_request("a")).await)?;
    commit_writes(store, &lease, vec![StoreWrite::Status(TurnStatus::Cancelled)]).await?;
    await_change(&mut *listener, &id, StoreChangeKind::Ended).await;
    expect_ok("a lease can be given back", store.release(lease).await)?;
    expect_ok("a turn can be removed", store.remove(id).await)?;

    let open = StoreWrite::open_gate(gate_id("g")?, "{}");
    let lease = begin_turn(store, "gates", vec![open]).await?;
    // A listener that is made later hears what comes from then on.
    let mut late = store.listen();
    expect_ok("a gate can be settled", store.settle(gate_id("g")?, "yes".into()).await)?;
    for listener in [&mut listener, &mut late] {
        await_change(&mut **listener, &lease.turn, StoreChangeKind::GateSettled).await;
    }
    super::end_turn(store, lease).await
}

/// Waits until a change is reported. A store that reports nothing fails at the deadline of the test.
async fn await_change(listener: &mut dyn ChangeListener, turn: &TurnId, kind: StoreChangeKind) {
    loop {
        match listener.next_change().await {
            StoreChange::Turn { turn: it, kind: of } if it == *turn && of == kind => return,
            StoreChange::Unknown => return,
            _ => {}
        }
    }
}
