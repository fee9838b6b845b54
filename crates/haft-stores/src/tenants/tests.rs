//! Nothing of one tenant reaches another one.

use std::sync::Arc;
use std::time::Duration;

use haft_core::gate::GrantId;
use haft_core::spool::{SpoolKey, SpoolPage};
use haft_core::store::{
    CancelRequest, ClaimFilter, GateId, GateQuery, Lease, LeaseRequest, MemoryScope, NewTurn, Row,
    RowKind, StoreChange, StoreError, StoreWrite, TurnId, TurnQuery, TurnStatus, TurnStoreExt as _,
};

use crate::{OpenStores, StoreOptions};

fn turn(name: &str) -> TurnId {
    name.parse().unwrap()
}

fn gate(name: &str) -> GateId {
    name.parse().unwrap()
}

fn holder() -> LeaseRequest {
    LeaseRequest::new("test", Duration::from_secs(1000))
}

async fn memory() -> OpenStores {
    OpenStores::open(&"memory:".parse().unwrap(), StoreOptions::default()).await.unwrap()
}

fn is_unknown<T: std::fmt::Debug>(result: &Result<T, StoreError>) {
    assert!(matches!(result, Err(StoreError::Unknown { .. })), "{result:?}");
}

/// A turn with a journal, an open gate, a memory and a result, in a conversation.
async fn fill(stores: &OpenStores, name: &str) -> Lease {
    let new = NewTurn::new(turn(name)).conversation("talk").said("find the key");
    let lease = stores.turns().create(new, holder()).await.unwrap();
    let scope = MemoryScope::conversation("talk");
    let writes = vec![
        StoreWrite::Journal(format!(r#"{{"of": "{name}"}}"#)),
        StoreWrite::Put(Row::new(RowKind::Message, name, "{}")),
        StoreWrite::open_gate(gate(&format!("gate-{name}")), "{}"),
        StoreWrite::PutMemory { scope, id: "m".to_owned(), json: format!("\"{name}\"") },
        StoreWrite::Status(TurnStatus::Waiting),
    ];
    stores.turns().commit(lease.clone(), writes).await.unwrap();
    let key = SpoolKey::of_turn(name, "call");
    stores.spools().write(key, format!("the result of {name}").into()).await.unwrap();
    lease
}

#[tokio::test]
async fn a_tenant_reads_its_own_turns_and_no_others() {
    let stores = memory().await;
    let (shop, bank) = (stores.for_tenant("shop"), stores.for_tenant("bank"));
    fill(&shop, "a").await;
    fill(&bank, "b").await;
    for (own, name, foreign) in [(&shop, "a", "b"), (&bank, "b", "a")] {
        let turns = own.turns();
        assert!(turns.load(turn(name)).await.unwrap().is_some());
        assert!(turns.load(turn(foreign)).await.unwrap().is_none());
        assert!(turns.summary(turn(name)).await.unwrap().is_some());
        assert!(turns.summary(turn(foreign)).await.unwrap().is_none());
        assert_eq!(turns.read_journal(turn(name), 0, 10).await.unwrap().len(), 1);
        assert!(turns.read_journal(turn(foreign), 0, 10).await.unwrap().is_empty());
        for query in [
            TurnQuery::default(),
            TurnQuery::default().conversation("talk"),
            TurnQuery::default().matching("key"),
        ] {
            let listed = turns.turns(query).await.unwrap();
            assert_eq!(listed.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), [name]);
        }
        is_unknown(&turns.turns(TurnQuery::default().before(turn(foreign))).await);
        assert!(turns.turns(TurnQuery::default().tenant("other")).await.unwrap().is_empty());
        let gates = turns.open_gates(None).await.unwrap();
        assert_eq!(gates.iter().map(|it| it.turn.as_str()).collect::<Vec<_>>(), [name]);
        assert!(turns.open_gates(Some(turn(foreign))).await.unwrap().is_empty());
        assert_eq!(turns.gates(GateQuery::default().open().tenant("")).await.unwrap(), gates);
        assert!(turns.gates(GateQuery::default().open().tenant("other")).await.unwrap().is_empty());
        assert!(turns.gate(gate(&format!("gate-{foreign}"))).await.unwrap().is_none());
        assert!(turns.gate(gate(&format!("gate-{name}"))).await.unwrap().is_some());
        let memories = turns.load_memories(MemoryScope::conversation("talk")).await.unwrap();
        let memories: Vec<&str> = memories.iter().map(|it| it.json.as_str()).collect();
        assert_eq!(memories, [format!("\"{name}\"")]);
    }
}

#[tokio::test]
async fn a_tenant_changes_nothing_of_another_one() {
    let stores = memory().await;
    let (shop, bank) = (stores.for_tenant("shop"), stores.for_tenant("bank"));
    let lease = fill(&shop, "a").await;
    let before = stores.turns().load(turn("a")).await.unwrap();
    let turns = bank.turns();
    is_unknown(&turns.settle(gate("gate-a"), "\"yes\"".to_owned()).await);
    is_unknown(&turns.request_cancel(turn("a"), CancelRequest::new("b", "no")).await);
    is_unknown(&turns.claim(turn("a"), holder()).await);
    is_unknown(&turns.renew(lease.clone()).await);
    is_unknown(&turns.commit(lease.clone(), vec![StoreWrite::Journal("{}".into())]).await);
    is_unknown(&turns.release(lease.clone()).await);
    assert!(!turns.remove(turn("a")).await.unwrap());
    assert!(turns.remove_turns(TurnQuery::default()).await.unwrap().is_empty());
    let of_shop = NewTurn::new(turn("c")).tenant("shop");
    assert!(matches!(turns.enqueue(of_shop).await, Err(StoreError::Invalid { .. })));
    assert_eq!(stores.turns().load(turn("a")).await.unwrap(), before);
    let title = |text: &str| Some(text.to_owned());
    let talk = || "talk".to_owned();
    shop.turns().set_title(String::new(), talk(), title("Ours")).await.unwrap();
    let foreign = turns.set_title("shop".to_owned(), talk(), title("x")).await;
    assert!(matches!(foreign, Err(StoreError::Invalid { .. })));
    turns.set_title(String::new(), talk(), None).await.unwrap();
    assert!(turns.titles("shop".to_owned(), vec![talk()]).await.unwrap().is_empty());
    assert!(turns.titles(String::new(), vec![talk()]).await.unwrap().is_empty());
    let titles = shop.turns().titles(String::new(), vec![talk()]).await.unwrap();
    assert_eq!(titles.get("talk").map(String::as_str), Some("Ours"));
    // The owner can.
    shop.turns().release(lease).await.unwrap();
    assert!(shop.turns().settle(gate("gate-a"), "\"yes\"".to_owned()).await.unwrap().first);
}

#[tokio::test]
async fn only_turns_of_the_tenant_are_claimed_and_told() {
    let stores = memory().await;
    let (shop, bank) = (stores.for_tenant("shop"), stores.for_tenant("bank"));
    let mut changes = bank.turns().listen();
    shop.turns().enqueue(NewTurn::new(turn("a"))).await.unwrap();
    bank.turns().enqueue(NewTurn::new(turn("b"))).await.unwrap();
    let change = changes.next_change().await;
    assert!(matches!(change, StoreChange::Turn { turn: told, .. } if told == turn("b")));
    let other = ClaimFilter::default().tenant("shop");
    assert!(bank.turns().claim_next(other, holder()).await.unwrap().is_none());
    let claimed = bank.turns().claim_next(ClaimFilter::default(), holder()).await.unwrap();
    assert_eq!(claimed.unwrap().turn, turn("b"));
    assert!(bank.turns().claim_next(ClaimFilter::default(), holder()).await.unwrap().is_none());
}

#[tokio::test]
async fn results_of_others_cannot_be_opened_written_or_listed() {
    let stores = memory().await;
    let (shop, bank) = (stores.for_tenant("shop"), stores.for_tenant("bank"));
    fill(&shop, "a").await;
    fill(&bank, "b").await;
    let key = SpoolKey::of_turn("a", "call");
    let reader = shop.spools().read(key.clone()).await.unwrap().unwrap();
    let descriptor = reader.describe().unwrap();
    assert!(shop.spools().open(&descriptor).await.unwrap().is_some());
    let spools = bank.spools();
    assert!(spools.open(&descriptor).await.unwrap().is_none());
    assert!(spools.read(key.clone()).await.unwrap().is_none());
    assert!(spools.write(key.clone(), "changed".into()).await.is_err());
    assert!(spools.write("no turn".into(), "changed".into()).await.is_err());
    assert!(!spools.delete(key.clone()).await.unwrap());
    assert_eq!(spools.list().await.unwrap(), [SpoolKey::of_turn("b", "call")]);
    // A page with nothing but keys of others is not the last one.
    let page = spools.list_page(SpoolPage::new(1)).await.unwrap();
    assert_eq!(page, [SpoolKey::of_turn("b", "call")]);
    assert_eq!(reader.read_at(0, 100).await.unwrap(), "the result of a");
    // A conversation refers to the results of its earlier turns, also after they were removed.
    let lease = shop.turns().claim(turn("a"), holder()).await;
    assert!(matches!(lease, Err(StoreError::Held { .. })));
    let shop = stores.for_tenant("shop");
    let unknown = SpoolKey::of_turn("removed", "call");
    stores.spools().write(unknown.clone(), "old".into()).await.unwrap();
    let descriptor = stores.spools().read(unknown).await.unwrap().unwrap().describe().unwrap();
    assert!(shop.spools().open(&descriptor).await.unwrap().is_some());
}

#[tokio::test]
async fn memories_of_any_two_tenants_and_scopes_are_apart() {
    let stores = memory().await;
    let names = ["", "a", "a:b", "1:a", "a/b"];
    for tenant in names {
        let stores = stores.for_tenant(tenant);
        for id in names {
            let name = turn(&format!("turn {tenant:?} {id:?}"));
            let lease = stores.turns().create(NewTurn::new(name), holder()).await.unwrap();
            let json = format!("\"{tenant} {id}\"");
            let (scope, id) = (MemoryScope::user(id), "m".to_owned());
            let write = StoreWrite::PutMemory { scope, id, json };
            stores.turns().commit(lease, vec![write]).await.unwrap();
        }
    }
    for tenant in names {
        for id in names {
            let stores = stores.for_tenant(tenant);
            let found = stores.turns().load_memories(MemoryScope::user(id)).await.unwrap();
            let found: Vec<&str> = found.iter().map(|it| it.json.as_str()).collect();
            assert_eq!(found, [format!("\"{tenant} {id}\"")]);
        }
    }
    let unnamed = stores.for_tenant("");
    let forged = unnamed.turns().load_memories(MemoryScope::user("tenant:1:a:a")).await;
    assert!(matches!(forged, Err(StoreError::Invalid { .. })), "{forged:?}");
}

#[tokio::test]
async fn standing_approvals_and_the_names_of_envelopes_are_the_tenants_own() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("dir:{}", dir.path().join("turns").display());
    let stores = OpenStores::open(&url.parse().unwrap(), StoreOptions::default()).await.unwrap();
    let (shop, bank) = (stores.for_tenant("shop"), stores.for_tenant("bank"));
    let id = GrantId::of(&gate("gate-1"));
    let approvals = |stores: &OpenStores| Arc::clone(stores.approvals().unwrap());
    approvals(&shop).insert_grant(id, "{}".to_owned()).await.unwrap();
    assert_eq!(approvals(&shop).load_grants().await.unwrap().len(), 1);
    assert!(approvals(&bank).load_grants().await.unwrap().is_empty());
    assert!(approvals(&stores).load_grants().await.unwrap().is_empty());
    assert!(!approvals(&bank).revoke_grant(id).await.unwrap());
    assert_eq!(approvals(&stores.for_tenant("shop")).load_grants().await.unwrap().len(), 1);
    assert_ne!(shop.envelope_secret(), bank.envelope_secret());
    assert_ne!(shop.envelope_secret(), stores.envelope_secret());
    assert_eq!(stores.for_tenant("").envelope_secret(), stores.envelope_secret());
    assert_eq!(shop.secret(), bank.secret());
    stores.close().await;
}
