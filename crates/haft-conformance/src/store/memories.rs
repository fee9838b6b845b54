//! Memories, which belong to scopes.

use haft_core::store::{
    Lease, MemoryRow, MemoryScope, MemoryScopeKind, StoreWrite, TurnStore, TurnStoreExt as _,
};

use super::{
    ContractViolation, begin_turn, commit_writes, end_turn, expect_lease_lost, expect_ok,
    expire_lease, lease_request, run_all,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    memories_keep_their_places(store).await?;
    scopes_are_apart(store).await?;
    memories_outlive_their_turns(store).await?;
    a_lost_lease_writes_no_memories(store).await?;
    turns_at_once_lose_no_memories(store).await
}

async fn memories_keep_their_places(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let scope = MemoryScope::user("ada");
    let writes = vec![put(&scope, "a", "1"), put(&scope, "b", "2"), put(&scope, "c", "3")];
    let lease = begin_turn(store, "memories", writes).await?;
    let steps: [(Vec<StoreWrite>, Vec<MemoryRow>); 5] = [
        (Vec::new(), vec![row("a", "1", 1), row("b", "2", 1), row("c", "3", 1)]),
        (vec![put(&scope, "a", "4")], vec![row("a", "4", 2), row("b", "2", 1), row("c", "3", 1)]),
        (
            vec![delete(&scope, "b"), delete(&scope, "never")],
            vec![row("a", "4", 2), row("c", "3", 1)],
        ),
        (
            vec![delete(&scope, "b"), put(&scope, "b", "5")],
            vec![row("a", "4", 2), row("c", "3", 1), row("b", "5", 3)],
        ),
        (vec![delete(&scope, "a"), delete(&scope, "b"), delete(&scope, "c")], Vec::new()),
    ];
    for (writes, expected) in steps {
        commit_writes(store, &lease, writes).await?;
        let promise = "memories stand where they were first put, with the text that was put last";
        ContractViolation::ensure_equal(promise, &memories(store, &scope).await?, &expected)?;
    }
    end_turn(store, lease).await
}

async fn scopes_are_apart(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let scopes: Vec<MemoryScope> = ["x", "X", " x", ""]
        .into_iter()
        .flat_map(|id| MemoryScopeKind::ALL.iter().map(move |kind| scope(*kind, id)))
        .collect();
    let lease = begin_turn(store, "scopes", Vec::new()).await?;
    for scope in &scopes {
        commit_writes(store, &lease, vec![put(scope, "same", &scope.to_string())]).await?;
    }
    for scope in &scopes {
        let expected = vec![row("same", &scope.to_string(), 1)];
        let promise = "memories of different scopes are different memories";
        ContractViolation::ensure_equal(promise, &memories(store, scope).await?, &expected)?;
    }
    commit_writes(store, &lease, scopes.iter().map(|scope| delete(scope, "same")).collect())
        .await?;
    end_turn(store, lease).await
}

async fn memories_outlive_their_turns(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let scope = MemoryScope::conversation("outlive");
    let lease = begin_turn(store, "first", vec![put(&scope, "a", "1")]).await?;
    end_turn(store, lease).await?;
    let promise = "memories stay when their turn is removed";
    ContractViolation::ensure_equal(
        promise,
        &memories(store, &scope).await?,
        &vec![row("a", "1", 1)],
    )?;
    let lease = begin_turn(store, "second", vec![delete(&scope, "a")]).await?;
    let promise = "a turn deletes the memories of another";
    ContractViolation::ensure_equal(promise, &memories(store, &scope).await?, &Vec::new())?;
    end_turn(store, lease).await
}

async fn a_lost_lease_writes_no_memories(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let scope = MemoryScope::agent("lost");
    let lease = begin_turn(store, "lost", Vec::new()).await?;
    expire_lease(store, &lease).await?;
    let taken = store.claim(lease.turn.clone(), lease_request("b")).await;
    let taken = expect_ok("a lease that has run out can be taken", taken)?;
    let promise = "a lease that was taken over writes no memories";
    expect_lease_lost(promise, store.commit(lease, vec![put(&scope, "a", "1")]).await)?;
    ContractViolation::ensure_equal(promise, &memories(store, &scope).await?, &Vec::new())?;
    end_turn(store, taken).await
}

/// Turns that run at once put memories with ids of their own, and all of them one that they share.
async fn turns_at_once_lose_no_memories(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let scope = MemoryScope::agent("at once");
    let begun = run_all((0..TURNS).map(|turn| async move {
        let id = format!("memories {turn}");
        begin_turn(store, &id, Vec::new()).await
    }));
    let leases: Vec<Lease> = begun.await.into_iter().collect::<Result<_, _>>()?;
    let written = run_all(leases.iter().enumerate().map(|(turn, lease)| {
        let scope = &scope;
        async move {
            for number in 0..EACH {
                let id = format!("{turn}-{number}");
                let writes = vec![put(scope, &id, &id), put(scope, "shared", &id)];
                commit_writes(store, lease, writes).await?;
            }
            Ok(())
        }
    }));
    written.await.into_iter().collect::<Result<(), ContractViolation>>()?;
    let stored = memories(store, &scope).await?;
    let promise = "turns that run at once lose no memories";
    ContractViolation::ensure_equal(promise, &stored.len(), &(TURNS * EACH + 1))?;
    let shared = stored.iter().find(|row| row.id == "shared");
    let versions = shared.map(|row| row.version);
    ContractViolation::ensure_equal(promise, &versions, &Some((TURNS * EACH) as u64))?;
    let last: Vec<String> = (0..TURNS).map(|turn| format!("{turn}-{}", EACH - 1)).collect();
    let is_last = shared.is_some_and(|row| last.contains(&row.json));
    ContractViolation::ensure_equal(
        "of two writes of one memory the later holds",
        &is_last,
        &true,
    )?;
    let mut leases = leases.into_iter();
    if let Some(lease) = leases.next() {
        commit_writes(store, &lease, stored.iter().map(|row| delete(&scope, &row.id)).collect())
            .await?;
        end_turn(store, lease).await?;
    }
    for lease in leases {
        end_turn(store, lease).await?;
    }
    Ok(())
}

async fn memories(
    store: &dyn TurnStore,
    scope: &MemoryScope,
) -> Result<Vec<MemoryRow>, ContractViolation> {
    expect_ok("memories can be loaded", store.load_memories(scope.clone()).await)
}

fn scope(kind: MemoryScopeKind, id: &str) -> MemoryScope {
    match kind {
        MemoryScopeKind::Conversation => MemoryScope::conversation(id),
        MemoryScopeKind::Agent => MemoryScope::agent(id),
        _ => MemoryScope::user(id),
    }
}

fn put(scope: &MemoryScope, id: &str, text: &str) -> StoreWrite {
    let scope = scope.clone();
    let id = id.to_owned();
    let json = text.to_owned();
    StoreWrite::PutMemory { scope, id, json }
}

fn delete(scope: &MemoryScope, id: &str) -> StoreWrite {
    StoreWrite::DeleteMemory { scope: scope.clone(), id: id.to_owned() }
}

fn row(id: &str, text: &str, version: u64) -> MemoryRow {
    MemoryRow::new(id, text, version)
}

const TURNS: usize = 8;
const EACH: usize = 20;
