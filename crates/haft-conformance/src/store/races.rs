//! Concurrent operations.

use haft_core::store::{
    NewTurn, Row, RowKind, StoreError, StoreWrite, TurnId, TurnStore, TurnStoreExt as _,
};

use super::{
    ContractViolation, begin_turn, brief_request, commit_writes, end_turn, expect_ok,
    expected_turn, expire_lease, gate_id, lease_request, load_turn, run_all, turn_id,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    one_begins(store).await?;
    one_takes_over(store).await?;
    one_settles(store).await?;
    turns_do_not_disturb_each_other(store).await
}

async fn one_begins(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let id = turn_id("race")?;
    let begun = run_all((0..MANY).map(|number| {
        let holder = lease_request(&format!("holder {number}"));
        store.create(NewTurn::new(id.clone()), holder)
    }));
    let mut leases = Vec::new();
    for begun in begun.await {
        match begun {
            Ok(lease) => leases.push(lease),
            Err(StoreError::Exists { .. }) => {}
            Err(error) => return Err(ContractViolation::new("a turn begins once", error)),
        }
    }
    let (Some(lease), 1) = (leases.pop(), leases.len() + 1) else {
        return Err(ContractViolation::new(
            "a turn begins once",
            format_args!("{} more", leases.len()),
        ));
    };
    ContractViolation::ensure_equal(
        "who begins has the turn",
        &load_turn(store, &id).await?,
        &expected_turn(&lease),
    )?;
    end_turn(store, lease).await
}

async fn one_takes_over(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let mut lease = begin_turn(store, "take over", Vec::new()).await?;
    for _ in 1..5 {
        lease = expire_lease(store, &lease).await?;
        let taken = run_all((0..MANY).map(|number| {
            let holder = lease_request(&format!("holder {number}"));
            store.claim(lease.turn.clone(), holder)
        }));
        let mut leases = Vec::new();
        for taken in taken.await {
            match taken {
                Ok(lease) => leases.push(lease),
                Err(StoreError::Held { .. }) => {}
                Err(error) => return Err(ContractViolation::new("one takes over", error)),
            }
        }
        ContractViolation::ensure_equal("exactly one takes over", &leases.len(), &1)?;
        let before = lease.epoch;
        lease = leases.pop().unwrap_or(lease);
        ContractViolation::ensure_equal(
            "who takes over gets the next epoch",
            &lease.epoch,
            &(before + 1),
        )?;
        commit_writes(store, &lease, Vec::new()).await?;
    }
    end_turn(store, lease).await
}

async fn one_settles(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let gate = gate_id("race")?;
    let open = StoreWrite::open_gate(gate.clone(), "{}");
    let lease = begin_turn(store, "settle", vec![open]).await?;
    let texts: Vec<_> = (0..MANY).map(|number| format!("settlement {}", number / 2)).collect();
    let settled = run_all(texts.iter().map(|text| store.settle(gate.clone(), text.clone()))).await;
    let mut holds = None;
    let mut firsts = 0;
    for (text, settled) in texts.iter().zip(settled) {
        let settled = expect_ok("everybody can settle", settled)?;
        if settled.first {
            firsts += 1;
            let promise = "who settles first has settled";
            ContractViolation::ensure_equal(promise, &&settled.settlement, &text)?;
        }
        let holds = holds.get_or_insert_with(|| settled.settlement.clone());
        ContractViolation::ensure_equal(
            "everybody gets the same settlement",
            &settled.settlement,
            holds,
        )?;
    }
    ContractViolation::ensure_equal("exactly one settles first", &firsts, &1)?;
    let found = expect_ok("a gate can be asked for", store.gate(gate).await)?;
    let found = found.and_then(|gate| gate.settlement);
    ContractViolation::ensure_equal("the settlement that was told is kept", &found, &holds)?;
    end_turn(store, lease).await
}

async fn turns_do_not_disturb_each_other(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let ids: Vec<TurnId> =
        (0..MANY).map(|number| turn_id(&format!("turn {number}"))).collect::<Result<_, _>>()?;
    let runs = run_all(ids.iter().map(|id| run(store, id))).await;
    runs.into_iter().collect()
}

/// A turn that loses its lease on the way, from begin to end.
async fn run(store: &dyn TurnStore, id: &TurnId) -> Result<(), ContractViolation> {
    let first = expect_ok(
        "a turn can begin",
        store.create(NewTurn::new(id.clone()), brief_request("a")).await,
    )?;
    let lease =
        expect_ok("a lease can be taken", store.claim(id.clone(), lease_request("b")).await)?;
    let mut expected = expected_turn(&lease);
    for number in 0..10 {
        let row = Row::new(RowKind::ToolCall, (number % 4).to_string(), format!("{id} {number}"));
        let entry = format!("entry {number} of {id}");
        match expected.rows.iter_mut().find(|it| it.id == row.id) {
            Some(place) => place.clone_from(&row),
            None => expected.rows.push(row.clone()),
        }
        expected.journal.push(entry.clone());
        let writes = vec![StoreWrite::Put(row), StoreWrite::Journal(entry)];
        // One of the two fails, and that does not concern the other, nor other turns.
        let late = run_all([(&first, false), (&lease, true)].map(|(lease, good)| {
            let writes = writes.clone();
            async move { (store.commit(lease.clone(), writes).await, good) }
        }));
        for (result, good) in late.await {
            let promise = "the holder can commit, and nobody else";
            ContractViolation::ensure_equal(promise, &result.is_ok(), &good)?;
        }
    }
    expected.summary.holder = Some("b".into());
    let promise = "turns that run at the same time keep what is theirs";
    ContractViolation::ensure_equal(promise, &load_turn(store, id).await?, &expected)?;
    end_turn(store, lease).await
}

/// The number of concurrent attempts.
const MANY: usize = 50;
