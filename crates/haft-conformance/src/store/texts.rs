//! Texts are returned unchanged.

use haft_core::store::{
    CancelRequest, ClaimFilter, GateRow, NewTurn, Row, RowKind, StoreError, StoreWrite, TurnQuery,
    TurnStore, TurnStoreExt as _,
};

use super::{
    ContractViolation, begin_turn, commit_writes, end_turn, expect_ok, expect_refusal,
    expected_turn, gate_id, lease_request, load_turn, turn_id,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let long = "0123456789abcde\u{20ac}".repeat(80_000);
    let mut texts = vec![long.as_str()];
    texts.extend_from_slice(TEXTS);
    texts_are_kept(store, &texts).await?;
    names_are_kept(store, &texts).await?;
    nul_is_refused(store).await
}

async fn texts_are_kept(store: &dyn TurnStore, texts: &[&str]) -> Result<(), ContractViolation> {
    let lease = begin_turn(store, "texts", Vec::new()).await?;
    let mut expected = expected_turn(&lease);
    for (number, text) in (0..).zip(texts) {
        // What databases take for equal are different ids here.
        let row = Row::new(RowKind::Memory, *text, *text);
        let gate = gate_id(&format!("gate {number}"))?;
        let writes = vec![
            StoreWrite::Put(row.clone()),
            StoreWrite::Journal((*text).to_owned()),
            StoreWrite::open_gate(gate.clone(), (*text).to_owned()),
        ];
        commit_writes(store, &lease, writes).await?;
        let settled = store.settle(gate.clone(), (*text).to_owned()).await;
        let settled = expect_ok("a gate can be settled", settled)?;
        ContractViolation::ensure_equal(
            "a settlement is kept byte by byte",
            &&*settled.settlement,
            text,
        )?;
        let mut gate = GateRow::open(gate, lease.turn.clone(), *text);
        gate.settlement = Some((*text).to_owned());
        expected.rows.push(row);
        expected.journal.push((*text).into());
        expected.gates.push(gate);
    }
    if load_turn(store, &lease.turn).await? != expected {
        let promise = "texts are kept byte by byte";
        return Err(ContractViolation::new(
            promise,
            "a turn with other texts than those that were put",
        ));
    }
    end_turn(store, lease).await
}

async fn names_are_kept(store: &dyn TurnStore, texts: &[&str]) -> Result<(), ContractViolation> {
    for text in texts {
        let new = NewTurn::new(turn_id("names")?).conversation(*text).tenant(*text);
        let created = store.create(new.agent(*text).model(*text), lease_request(text)).await;
        let lease = expect_ok("conversations and holders have any names", created)?;
        let mut expected = expected_turn(&lease);
        let name = Some((*text).to_owned());
        (expected.summary.conversation, expected.summary.agent) = (name.clone(), name.clone());
        (expected.summary.model, expected.summary.tenant) = (name, (*text).to_owned());
        let promise = "the names of conversations and holders are kept byte by byte";
        ContractViolation::ensure_equal(promise, &load_turn(store, &lease.turn).await?, &expected)?;
        for other in texts {
            let listed = store.turns(TurnQuery::default().conversation(*other)).await;
            let listed = expect_ok("turns of a conversation can be listed", listed)?.len();
            let promise = "conversations are told apart byte by byte";
            ContractViolation::ensure_equal(promise, &listed, &usize::from(text == other))?;
        }
        end_turn(store, lease).await?;
    }
    let ids =
        ["e\u{301}", "é", "É", "a", "A", " a", "%", "_", "\u{1f980}", &"\u{10ffff}".repeat(200)];
    let mut leases = Vec::new();
    for id in ids {
        leases.push(begin_turn(store, id, Vec::new()).await?);
    }
    for (id, lease) in ids.iter().zip(leases) {
        let promise = "turns are told apart byte by byte";
        ContractViolation::ensure_equal(
            promise,
            &load_turn(store, &turn_id(id)?).await?,
            &expected_turn(&lease),
        )?;
        end_turn(store, lease).await?;
    }
    Ok(())
}

async fn nul_is_refused(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let bad = || "a\0b".to_owned();
    let good = || "ab".to_owned();
    let gate = gate_id("nul")?;
    let open = StoreWrite::open_gate(gate.clone(), good());
    let lease = begin_turn(store, "nul", vec![open]).await?;
    let before = load_turn(store, &lease.turn).await?;
    let promise = "texts with U+0000 are refused";
    let writes = [
        StoreWrite::Put(Row::new(RowKind::Thought, bad(), good())),
        StoreWrite::Put(Row::new(RowKind::Thought, good(), bad())),
        StoreWrite::Delete { kind: RowKind::Thought, id: bad() },
        StoreWrite::Journal(bad()),
        StoreWrite::open_gate(gate_id("other")?, bad()),
        StoreWrite::CloseGate { id: gate.clone(), settlement: bad() },
    ];
    for write in writes {
        let writes = vec![StoreWrite::Journal(good()), write];
        expect_refusal(promise, store.commit(lease.clone(), writes.clone()).await, is_invalid)?;
        let new = NewTurn::new(turn_id("new")?).writes(writes);
        let created = store.create(new.clone(), lease_request("a")).await;
        expect_refusal(promise, created, is_invalid)?;
        expect_refusal(promise, store.enqueue(new).await, is_invalid)?;
    }
    expect_refusal(promise, store.settle(gate, bad()).await, is_invalid)?;
    let bad_holder = || lease_request(&bad());
    expect_refusal(promise, store.claim(lease.turn.clone(), bad_holder()).await, is_invalid)?;
    expect_refusal(
        promise,
        store.create(NewTurn::new(turn_id("new")?), bad_holder()).await,
        is_invalid,
    )?;
    let new = || turn_id("new").map(NewTurn::new);
    for new in
        [new()?.conversation(bad()), new()?.tenant(bad()), new()?.agent(bad()), new()?.model(bad())]
    {
        expect_refusal(promise, store.create(new, lease_request("a")).await, is_invalid)?;
    }
    let claimed = store.claim_next(ClaimFilter::default(), bad_holder()).await;
    expect_refusal(promise, claimed, is_invalid)?;
    let request = CancelRequest::new("a", bad());
    expect_refusal(promise, store.request_cancel(lease.turn.clone(), request).await, is_invalid)?;
    let promise = "what is refused changes nothing";
    ContractViolation::ensure_equal(promise, &load_turn(store, &lease.turn).await?, &before)?;
    end_turn(store, lease).await
}

fn is_invalid(error: &StoreError) -> bool {
    matches!(error, StoreError::Invalid { .. })
}

/// Texts that some stores change or confuse.
const TEXTS: &[&str] = &[
    "",
    " ",
    "  ",
    "null",
    "0",
    "0.0",
    "1e3",
    "{\"b\": 1,\"a\":1,  \"a\":2}",
    "a",
    "A",
    "a ",
    "é",
    "e\u{301}",
    "\u{feff}a",
    "\r\n",
    "\n",
    "\u{1}\u{7f}\u{85}\u{2028}",
    "'; DROP TABLE turns; --",
    "\"",
    "\\",
    "%",
    "_",
    "$1 ?1 :a",
    "\u{202e}\u{200b}",
    "\u{1f980}",
    "\u{fffd}",
    "\u{ffff}\u{10ffff}",
];
