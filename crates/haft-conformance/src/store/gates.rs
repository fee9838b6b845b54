//! Gates, and the atomicity of commits.

use haft_core::store::{
    GateQuery, GateRow, Lease, NewTurn, Row, RowKind, SettleOutcome, StoreWrite, TurnStatus,
    TurnStore, TurnStoreExt as _,
};

use super::{
    ContractViolation, begin_turn, commit_writes, end_turn, expect_ok, expect_turn_exists,
    expect_unknown_turn, expected_turn, gate_id, lease_request, load_turn, turn_id,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    a_commit_is_whole(store).await?;
    gates_open_once(store).await?;
    the_first_settlement_holds(store).await?;
    gates_are_listed(store).await?;
    gates_of_a_tenant_are_listed(store).await
}

async fn gates_open_once(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let lease = begin_turn(store, "gates", vec![open("g", "1")?]).await?;
    let other = begin_turn(store, "other", Vec::new()).await?;
    for settled in [false, true] {
        let mut expected = expected_turn(&lease);
        expected.gates.push(gate(&lease, "g", "1")?);
        if settled {
            let settlement = store.settle(gate_id("g")?, "yes".to_owned()).await;
            expect_ok("a gate can be settled", settlement)?;
            expected.gates.iter_mut().for_each(|it| it.settlement = Some("yes".to_owned()));
        }
        // The last one opens it twice at once.
        for writes in [vec![open("g", "1")?], vec![open("g", "1")?, open("g", "1")?]] {
            commit_writes(store, &lease, writes).await?;
        }
        let promise = "a gate has one text";
        expect_turn_exists(promise, store.commit(lease.clone(), vec![open("g", "2")?]).await)?;
        let both = vec![open("new", "1")?, open("new", "2")?];
        expect_turn_exists(promise, store.commit(lease.clone(), both).await)?;
        let promise = "a gate has one turn";
        expect_turn_exists(promise, store.commit(other.clone(), vec![open("g", "1")?]).await)?;
        let new = NewTurn::new(turn_id("third")?).writes(vec![open("g", "1")?]);
        expect_turn_exists(promise, store.create(new.clone(), lease_request("a")).await)?;
        expect_turn_exists(promise, store.enqueue(new).await)?;
        let third = expect_ok("any turn can be asked for", store.load(turn_id("third")?).await)?;
        ContractViolation::ensure_equal("a turn whose gate exists does not begin", &third, &None)?;
        let promise = "a gate that is opened again stays as it is";
        ContractViolation::ensure_equal(promise, &load_turn(store, &lease.turn).await?, &expected)?;
        ContractViolation::ensure_equal(
            promise,
            &load_turn(store, &other.turn).await?,
            &expected_turn(&other),
        )?;
    }
    end_turn(store, lease).await?;
    expect_unknown_turn(
        "the gates of a removed turn are gone",
        store.settle(gate_id("g")?, "1".into()).await,
    )?;
    commit_writes(store, &other, vec![open("g", "3")?]).await?;
    let found = expect_ok("any gate can be asked for", store.gate(gate_id("g")?).await)?;
    let promise = "a gate whose turn was removed can be opened anew";
    ContractViolation::ensure_equal(promise, &found, &Some(gate(&other, "g", "3")?))?;
    end_turn(store, other).await
}

async fn the_first_settlement_holds(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let gates = vec![open("settled", "1")?, open("closed", "2")?];
    let lease = begin_turn(store, "settle", gates).await?;
    let other = begin_turn(store, "other", Vec::new()).await?;
    let close = |id: &str, text: &str| {
        gate_id(id).map(|id| StoreWrite::CloseGate { id, settlement: text.to_owned() })
    };
    let settle = async |id: &str, text: &str| {
        expect_ok("a gate can be settled", store.settle(gate_id(id)?, text.to_owned()).await)
    };
    commit_writes(store, &other, vec![close("settled", "no")?, close("never", "no")?]).await?;
    let promise = "the first settlement holds, and only the first call has made it";
    for (id, text, settled) in [
        ("settled", "yes", SettleOutcome::new("yes", true)),
        ("settled", "no", SettleOutcome::new("yes", false)),
        ("settled", "yes", SettleOutcome::new("yes", false)),
    ] {
        ContractViolation::ensure_equal(promise, &settle(id, text).await?, &settled)?;
    }
    commit_writes(store, &lease, vec![close("settled", "late")?, close("closed", "over")?]).await?;
    commit_writes(store, &lease, vec![close("closed", "over again")?]).await?;
    let found = settle("closed", "yes").await?;
    ContractViolation::ensure_equal(
        "a gate that was closed stays so",
        &found,
        &SettleOutcome::new("over", false),
    )?;
    let mut expected = expected_turn(&lease);
    for (id, json, settlement) in [("settled", "1", "yes"), ("closed", "2", "over")] {
        let mut gate = gate(&lease, id, json)?;
        gate.settlement = Some(settlement.to_owned());
        let found = expect_ok("a gate can be asked for", store.gate(gate.id.clone()).await)?;
        ContractViolation::ensure_equal(promise, &found.as_ref(), &Some(&gate))?;
        expected.gates.push(gate);
    }
    ContractViolation::ensure_equal(promise, &load_turn(store, &lease.turn).await?, &expected)?;
    // Settling needs no lease, so a gate can be settled while no process runs its turn.
    commit_writes(store, &lease, vec![open("late", "3")?]).await?;
    expect_ok("a lease can be given back", store.release(lease.clone()).await)?;
    ContractViolation::ensure_equal(
        promise,
        &settle("late", "yes").await?,
        &SettleOutcome::new("yes", true),
    )?;
    end_turn(store, lease).await?;
    end_turn(store, other).await
}

async fn gates_are_listed(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    // Neither their names nor their turns are in the order in which they are opened.
    let first = begin_turn(store, "z", vec![open("3", "a")?]).await?;
    let second = begin_turn(store, "a", vec![open("1", "b")?, open("4", "c")?]).await?;
    commit_writes(store, &first, vec![open("2", "d")?, open("0", "e")?]).await?;
    expect_ok("a gate can be settled", store.settle(gate_id("4")?, "{}".to_owned()).await)?;
    let all = [
        gate(&first, "3", "a")?,
        gate(&second, "1", "b")?,
        gate(&first, "2", "d")?,
        gate(&first, "0", "e")?,
    ];
    for turn in [None, Some(&first.turn), Some(&second.turn)] {
        let listed = expect_ok("open gates can be listed", store.open_gates(turn.cloned()).await)?;
        let expected = all.iter().filter(|it| turn.is_none_or(|turn| it.turn == *turn));
        let expected: Vec<_> = expected.cloned().collect();
        ContractViolation::ensure_equal("open gates are listed, oldest first", &listed, &expected)?;
    }
    end_turn(store, first).await?;
    end_turn(store, second).await
}

async fn gates_of_a_tenant_are_listed(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let mut leases = Vec::new();
    let mut all = Vec::new();
    // The names are in no order: gates are in the order of their opening.
    for (tenant, name) in [("shop", "z"), ("", "m"), ("bank", "b"), ("shop", "a")] {
        let new = NewTurn::new(turn_id(name)?).tenant(tenant).writes(vec![open(name, "1")?]);
        let lease = expect_ok("a turn can begin", store.create(new, lease_request("a")).await)?;
        all.push((tenant, gate(&lease, name, "1")?));
        leases.push((tenant, lease));
    }
    for (tenant, lease) in &leases {
        let late = format!("late {}", lease.turn);
        let settled = format!("settled {}", lease.turn);
        commit_writes(store, lease, vec![open(&late, "2")?, open(&settled, "3")?]).await?;
        expect_ok("a gate can be settled", store.settle(gate_id(&settled)?, "1".into()).await)?;
        all.push((tenant, gate(lease, &late, "2")?));
    }
    for tenant in ["shop", "", "bank", "none"] {
        let listed = store.gates(GateQuery::default().open().tenant(tenant)).await;
        let listed = expect_ok("the open gates of a tenant can be listed", listed)?;
        let expected = all.iter().filter(|it| it.0 == tenant).map(|it| it.1.clone());
        let promise = "the open gates of a tenant are listed, oldest first, and no others";
        ContractViolation::ensure_equal(promise, &listed, &expected.collect())?;
    }
    for (_, lease) in leases {
        end_turn(store, lease).await?;
    }
    Ok(())
}

async fn a_commit_is_whole(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let row = |id: &str, json: &str| StoreWrite::Put(Row::new(RowKind::Message, id, json));
    let kept =
        vec![row("a", "1"), row("b", "2"), StoreWrite::Journal("1".into()), open("mine", "1")?];
    let lease = begin_turn(store, "whole", kept).await?;
    let other = begin_turn(store, "other", vec![open("taken", "1")?]).await?;
    let before = load_turn(store, &lease.turn).await?;
    let changes = [
        row("a", "changed"),
        row("c", "new"),
        StoreWrite::Delete { kind: RowKind::Message, id: "b".to_owned() },
        StoreWrite::Journal("new".into()),
        StoreWrite::Status(TurnStatus::Failed),
        open("new", "1")?,
        StoreWrite::CloseGate { id: gate_id("mine")?, settlement: "over".to_owned() },
    ];
    // Wherever in the batch the write stands that cannot be.
    for place in 0..=changes.len() {
        let mut writes = changes.to_vec();
        writes.insert(place, open("taken", "1")?);
        expect_turn_exists("a gate has one turn", store.commit(lease.clone(), writes).await)?;
        let promise = "a commit that fails writes nothing";
        ContractViolation::ensure_equal(promise, &load_turn(store, &lease.turn).await?, &before)?;
        let new = expect_ok("any gate can be asked for", store.gate(gate_id("new")?).await)?;
        ContractViolation::ensure_equal(promise, &new, &None)?;
    }
    end_turn(store, lease).await?;
    end_turn(store, other).await
}

fn open(id: &str, json: &str) -> Result<StoreWrite, ContractViolation> {
    Ok(StoreWrite::open_gate(gate_id(id)?, json.to_owned()))
}

fn gate(lease: &Lease, id: &str, json: &str) -> Result<GateRow, ContractViolation> {
    Ok(GateRow::open(gate_id(id)?, lease.turn.clone(), json))
}
