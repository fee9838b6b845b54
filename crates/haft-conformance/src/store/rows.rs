//! Rows, journals and the status of a turn.

use haft_core::store::{
    NewTurn, Row, RowKind, StoreWrite, TurnStatus, TurnStore, TurnStoreExt as _,
};

use super::{
    ContractViolation, begin_turn, commit_writes, end_turn, expect_turn_exists, expected_turn,
    lease_request, load_turn,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    rows_keep_their_places(store).await?;
    entries_keep_their_order(store).await?;
    every_kind_and_status_is_kept(store).await?;
    a_turn_begins_once(store).await
}

async fn rows_keep_their_places(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let steps: [(Vec<StoreWrite>, &[Row]); 8] = [
        (vec![put("a", "1"), put("b", "2"), put("c", "3")], &[row("b", "2"), row("c", "3")]),
        (vec![put("a", "4")], &[row("b", "2"), row("c", "3")]),
        (vec![delete("b")], &[row("c", "3")]),
        (vec![delete("b"), delete("never")], &[row("c", "3")]),
        (vec![put("b", "5"), put("c", "6")], &[row("c", "6"), row("b", "5")]),
        (vec![delete("c"), put("c", "7")], &[row("b", "5"), row("c", "7")]),
        (vec![put("d", "8"), delete("d")], &[row("b", "5"), row("c", "7")]),
        (Vec::new(), &[row("b", "5"), row("c", "7")]),
    ];
    let lease = begin_turn(store, "rows", Vec::new()).await?;
    for (number, (writes, rest)) in (0..).zip(steps) {
        commit_writes(store, &lease, writes).await?;
        let mut expected = expected_turn(&lease);
        expected.rows.push(row("a", if number == 0 { "1" } else { "4" }));
        expected.rows.extend_from_slice(rest);
        let promise = "rows stand where they were first put, with the text that was put last";
        ContractViolation::ensure_equal(promise, &load_turn(store, &lease.turn).await?, &expected)?;
    }
    end_turn(store, lease).await
}

async fn entries_keep_their_order(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let lease = begin_turn(store, "journal", vec![StoreWrite::Journal("0".into())]).await?;
    let mut expected = expected_turn(&lease);
    expected.journal.push("0".into());
    for batch in 0..10 {
        // Entries that repeat are entries all the same.
        let entries = (0..batch).map(|it| (it % 3).to_string());
        expected.journal.extend(entries.clone());
        commit_writes(store, &lease, entries.map(StoreWrite::Journal).collect()).await?;
    }
    let promise = "the journal has every entry, in order";
    ContractViolation::ensure_equal(promise, &load_turn(store, &lease.turn).await?, &expected)?;
    end_turn(store, lease).await
}

async fn every_kind_and_status_is_kept(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let rows = RowKind::ALL.iter().map(|kind| Row::new(*kind, "same", kind.as_str()));
    let lease = begin_turn(store, "kinds", rows.clone().map(StoreWrite::Put).collect()).await?;
    let mut expected = expected_turn(&lease);
    expected.rows = rows.collect();
    let promise = "rows of different kinds are different rows";
    ContractViolation::ensure_equal(promise, &load_turn(store, &lease.turn).await?, &expected)?;
    for status in TurnStatus::ALL {
        commit_writes(store, &lease, vec![StoreWrite::Status(*status)]).await?;
        expected.summary.status = *status;
        let promise = "the status is the last that was written";
        ContractViolation::ensure_equal(promise, &load_turn(store, &lease.turn).await?, &expected)?;
    }
    end_turn(store, lease).await
}

async fn a_turn_begins_once(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let lease = begin_turn(store, "once", vec![put("a", "1")]).await?;
    let again = NewTurn::new(lease.turn.clone()).writes(vec![put("b", "2")]);
    let created = store.create(again.clone(), lease_request("b")).await;
    expect_turn_exists("a turn begins once", created)?;
    expect_turn_exists("a turn begins once", store.enqueue(again).await)?;
    let mut expected = expected_turn(&lease);
    expected.rows.push(row("a", "1"));
    let promise = "a turn that exists is not changed by another that would begin";
    ContractViolation::ensure_equal(promise, &load_turn(store, &lease.turn).await?, &expected)?;
    end_turn(store, lease).await?;

    let lease = begin_turn(store, "once", Vec::new()).await?;
    let promise = "a turn that was removed and begins anew has nothing of the old one";
    ContractViolation::ensure_equal(
        promise,
        &load_turn(store, &lease.turn).await?,
        &expected_turn(&lease),
    )?;
    end_turn(store, lease).await
}

fn row(id: &str, json: &str) -> Row {
    Row::new(RowKind::Message, id, json)
}

fn put(id: &str, json: &str) -> StoreWrite {
    StoreWrite::Put(row(id, json))
}

fn delete(id: &str) -> StoreWrite {
    StoreWrite::Delete { kind: RowKind::Message, id: id.to_owned() }
}
