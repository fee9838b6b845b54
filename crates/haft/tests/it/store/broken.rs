//! The checks find stores that do not keep the contract.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use haft::stores::MemoryStore;
use haft::stores::{
    GateId, GateRow, Lease, LeaseRequest, MemoryRow, MemoryScope, NewTurn, SettleOutcome,
    StoreFuture, StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStore, TurnSummary,
};
use haft::testing::conformance;
use haft::turn::Timestamp;

use super::run;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    TrimsEntries,
    FoldsIds,
    DropsNul,
    MovesRows,
    CommitsByHalves,
    ForgetsGates,
    IgnoresEpochs,
    ForgetsToRelease,
    GivesHeldTurns,
    LetsLeasesRunOutLater,
    RemovesHeldTurns,
    SettlesTwice,
    ListsOldestFirst,
    IgnoresTheLimit,
    IgnoresTheConversation,
    IncludesFinishedTurns,
    OverwritesTurns,
    HidesHolders,
    MixesScopes,
    KeepsMemoriesByTurn,
    ReplacesAllMemories,
}

/// A store in memory with a flaw.
#[derive(Debug)]
struct Flawed {
    store: MemoryStore,
    flaw: Flaw,
    leases: Mutex<HashMap<TurnId, Lease>>,
    /// The scopes that turns began with.
    scopes: Mutex<HashMap<TurnId, MemoryScope>>,
    removed_scopes: Mutex<HashSet<MemoryScope>>,
}

impl Flawed {
    fn note(&self, lease: &Lease) {
        self.leases.lock().unwrap().insert(lease.turn.clone(), lease.clone());
    }

    fn distort(&self, write: StoreWrite) -> Vec<StoreWrite> {
        let without_nul = |text: &str| text.replace('\0', "");
        match (self.flaw, write) {
            (Flaw::TrimsEntries, StoreWrite::Journal(text)) => {
                vec![StoreWrite::Journal(text.trim().into())]
            }
            (Flaw::FoldsIds, StoreWrite::Put(mut row)) => {
                row.id = row.id.to_lowercase();
                vec![StoreWrite::Put(row)]
            }
            (Flaw::DropsNul, StoreWrite::Journal(text)) => {
                vec![StoreWrite::Journal(without_nul(&text).into())]
            }
            (Flaw::MovesRows, StoreWrite::Put(row)) => {
                vec![
                    StoreWrite::Delete { kind: row.kind, id: row.id.clone() },
                    StoreWrite::Put(row),
                ]
            }
            (Flaw::ForgetsGates, write @ StoreWrite::CloseGate { .. }) if write.check().is_ok() => {
                Vec::new()
            }
            (Flaw::MixesScopes, StoreWrite::PutMemory { id, json, .. }) => {
                let scope = MemoryScope::user("everybody");
                vec![StoreWrite::PutMemory { scope, id, json }]
            }
            (Flaw::MixesScopes, StoreWrite::DeleteMemory { id, .. }) => {
                let scope = MemoryScope::user("everybody");
                vec![StoreWrite::DeleteMemory { scope, id }]
            }
            (_, write) => vec![write],
        }
    }
}

impl TurnStore for Flawed {
    fn create(&self, mut turn: NewTurn) -> StoreFuture<'_, Lease> {
        Box::pin(async move {
            turn.writes = turn.writes.into_iter().flat_map(|it| self.distort(it)).collect();
            if self.flaw == Flaw::OverwritesTurns {
                self.store.remove(turn.id.clone(), Timestamp::MAX).await?;
            }
            let scopes = turn.writes.iter().filter_map(|write| match write {
                StoreWrite::PutMemory { scope, .. } => Some((turn.id.clone(), scope.clone())),
                _ => None,
            });
            self.scopes.lock().unwrap().extend(scopes);
            let lease = self.store.create(turn).await?;
            self.note(&lease);
            Ok(lease)
        })
    }

    fn claim(&self, turn: TurnId, mut holder: LeaseRequest) -> StoreFuture<'_, Lease> {
        Box::pin(async move {
            holder.check()?;
            match self.flaw {
                Flaw::GivesHeldTurns => {
                    let held = self.leases.lock().unwrap().get(&turn).cloned();
                    if let Some(lease) = held {
                        self.store.release(lease).await?;
                    }
                }
                Flaw::LetsLeasesRunOutLater => {
                    holder.now = holder.now.saturating_sub(std::time::Duration::from_micros(1));
                }
                _ => {}
            }
            let lease = self.store.claim(turn, holder).await?;
            self.note(&lease);
            Ok(lease)
        })
    }

    fn renew(&self, lease: Lease, now: Timestamp) -> StoreFuture<'_, Lease> {
        self.store.renew(lease, now)
    }

    fn release(&self, lease: Lease) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            if self.flaw == Flaw::ForgetsToRelease {
                return Ok(());
            }
            self.store.release(lease).await
        })
    }

    fn commit(&self, mut lease: Lease, writes: Vec<StoreWrite>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            if self.flaw == Flaw::IgnoresEpochs {
                let last = self.leases.lock().unwrap().get(&lease.turn).cloned();
                lease = last.unwrap_or(lease);
            }
            let writes: Vec<_> = writes.into_iter().flat_map(|it| self.distort(it)).collect();
            if self.flaw == Flaw::CommitsByHalves {
                writes.iter().try_for_each(StoreWrite::check)?;
                self.store.commit(lease.clone(), Vec::new()).await?;
                for write in writes {
                    self.store.commit(lease.clone(), vec![write]).await?;
                }
                return Ok(());
            }
            self.store.commit(lease, writes).await
        })
    }

    fn load(&self, turn: TurnId) -> StoreFuture<'_, Option<StoredTurn>> {
        Box::pin(async move {
            let mut turn = self.store.load(turn).await?;
            if let Some(turn) = turn.as_mut().filter(|_| self.flaw == Flaw::HidesHolders) {
                turn.summary.holder = None;
            }
            Ok(turn)
        })
    }

    fn turns(&self, mut query: TurnQuery) -> StoreFuture<'_, Vec<TurnSummary>> {
        Box::pin(async move {
            match self.flaw {
                Flaw::IgnoresTheLimit => query.limit = Some(usize::MAX),
                Flaw::IgnoresTheConversation => query.conversation = None,
                Flaw::IncludesFinishedTurns => query.unfinished = false,
                _ => {}
            }
            let mut turns = self.store.turns(query).await?;
            if self.flaw == Flaw::ListsOldestFirst {
                turns.reverse();
            }
            Ok(turns)
        })
    }

    fn remove(&self, turn: TurnId, now: Timestamp) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let always = self.flaw == Flaw::RemovesHeldTurns;
            let now = if always { Timestamp::MAX } else { now };
            let removed = self.store.remove(turn.clone(), now).await?;
            if self.flaw == Flaw::KeepsMemoriesByTurn {
                let scope = self.scopes.lock().unwrap().remove(&turn);
                self.removed_scopes.lock().unwrap().extend(scope);
            }
            Ok(removed)
        })
    }

    fn load_memories(&self, scope: MemoryScope) -> StoreFuture<'_, Vec<MemoryRow>> {
        Box::pin(async move {
            if self.removed_scopes.lock().unwrap().contains(&scope) {
                return Ok(Vec::new());
            }
            let scope = match self.flaw {
                Flaw::MixesScopes => MemoryScope::user("everybody"),
                _ => scope,
            };
            let mut rows = self.store.load_memories(scope).await?;
            if self.flaw == Flaw::ReplacesAllMemories {
                rows.drain(..rows.len().saturating_sub(2));
            }
            Ok(rows)
        })
    }

    fn gate(&self, gate: GateId) -> StoreFuture<'_, Option<GateRow>> {
        self.store.gate(gate)
    }

    fn open_gates(&self, turn: Option<TurnId>) -> StoreFuture<'_, Vec<GateRow>> {
        self.store.open_gates(turn)
    }

    fn settle(&self, gate: GateId, settlement: String) -> StoreFuture<'_, SettleOutcome> {
        Box::pin(async move {
            let mut settled = self.store.settle(gate, settlement).await?;
            settled.first |= self.flaw == Flaw::SettlesTwice;
            Ok(settled)
        })
    }
}

#[track_caller]
fn check(flaw: Flaw, promise: &str) {
    let (leases, scopes, removed_scopes) = Default::default();
    let store = Flawed { store: MemoryStore::new(), flaw, leases, scopes, removed_scopes };
    let violation = run(conformance::store(&store)).unwrap_err();
    assert_eq!(violation.promise, promise, "{flaw:?}: {violation}");
}

#[test]
fn flaws_are_found() {
    let listed = "the turns that were asked for are listed, newest first";
    let held = "a turn that somebody has is held";
    check(Flaw::TrimsEntries, "texts are kept byte by byte");
    check(Flaw::FoldsIds, "texts are kept byte by byte");
    check(Flaw::DropsNul, "texts with U+0000 are refused");
    check(Flaw::MovesRows, "rows stand where they were first put, with the text that was put last");
    check(Flaw::CommitsByHalves, "a commit that fails writes nothing");
    check(Flaw::ForgetsGates, "a gate that was closed stays so");
    check(Flaw::IgnoresEpochs, "a lease that was taken over is lost");
    check(Flaw::ForgetsToRelease, "a turn that nobody has can be removed");
    check(Flaw::GivesHeldTurns, held);
    check(Flaw::LetsLeasesRunOutLater, "a lease that has run out or was given back can be taken");
    check(Flaw::RemovesHeldTurns, held);
    check(Flaw::SettlesTwice, "the first settlement holds, and only the first call has made it");
    check(Flaw::ListsOldestFirst, listed);
    check(Flaw::IgnoresTheLimit, listed);
    check(Flaw::IgnoresTheConversation, "conversations are told apart byte by byte");
    check(Flaw::IncludesFinishedTurns, listed);
    check(Flaw::OverwritesTurns, "a turn begins once");
    check(
        Flaw::HidesHolders,
        "rows stand where they were first put, with the text that was put last",
    );
    check(Flaw::MixesScopes, "memories of different scopes are different memories");
    check(Flaw::KeepsMemoriesByTurn, "memories stay when their turn is removed");
    check(
        Flaw::ReplacesAllMemories,
        "memories stand where they were first put, with the text that was put last",
    );
}
