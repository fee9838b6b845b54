//! The checks find stores that do not keep the contract.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use haft::BoxFuture;
use haft::stores::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateQuery, GateRow,
    JournalRow, Lease, LeaseRequest, MemoryRow, MemoryScope, MemoryStore, NewTurn, SettleOutcome,
    SpoolKey, StoreError, StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStore, TurnStoreExt as _,
    TurnSummary,
};

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
    ClaimsNewestFirst,
    IgnoresFilters,
    ForgetsTakeOvers,
    TakesTheStoppedForDead,
    HidesCancellation,
    ForgetsTokens,
    SkipsEntries,
    RemovesAllPages,
    ForgetsReferences,
    IgnoresWords,
    IgnoresTools,
    MixesTitles,
    ListsGatesOfOthers,
    CountsAllTurns,
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

    /// Removes a turn, also one that is held.
    async fn force_removal(&self, turn: &TurnId) -> Result<bool, StoreError> {
        let held = self.leases.lock().unwrap().get(turn).cloned();
        if let Some(lease) = held {
            self.store.release(lease).await?;
        }
        self.store.remove(turn.clone()).await
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
                vec![StoreWrite::Journal(without_nul(&text))]
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
    fn insert(&self, mut turn: NewTurn) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            turn.writes = turn.writes.into_iter().flat_map(|it| self.distort(it)).collect();
            if self.flaw == Flaw::OverwritesTurns {
                self.force_removal(&turn.id).await?;
            }
            let scopes = turn.writes.iter().filter_map(|write| match write {
                StoreWrite::PutMemory { scope, .. } => Some((turn.id.clone(), scope.clone())),
                _ => None,
            });
            self.scopes.lock().unwrap().extend(scopes);
            let lease = self.store.insert(turn).await?;
            lease.iter().for_each(|lease| self.note(lease));
            Ok(lease)
        })
    }

    fn claim_turns(
        &self,
        mut filter: ClaimFilter,
        holder: LeaseRequest,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Lease>, StoreError>> {
        Box::pin(async move {
            holder.check()?;
            match (self.flaw, &filter.turn) {
                (Flaw::GivesHeldTurns, Some(turn)) => {
                    let held = self.leases.lock().unwrap().get(turn).cloned();
                    if let Some(lease) = held {
                        self.store.release(lease).await?;
                    }
                }
                (Flaw::IgnoresFilters, None) => filter = ClaimFilter::default(),
                (Flaw::ClaimsNewestFirst, None) => {
                    let open = self.store.turns(TurnQuery::default().unfinished()).await?;
                    let Some(newest) = open.first() else { return Ok(Vec::new()) };
                    return Ok(vec![self.store.claim(newest.id.clone(), holder).await?]);
                }
                _ => {}
            }
            let is_named = filter.turn.is_some();
            let mut leases = self.store.claim_turns(filter, holder, count).await?;
            for lease in &mut leases {
                self.note(lease);
                if self.flaw == Flaw::ForgetsTakeOvers && !is_named {
                    lease.take_overs = 0;
                }
            }
            Ok(leases)
        })
    }

    fn renew(&self, mut lease: Lease) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            if self.flaw == Flaw::LetsLeasesRunOutLater && lease.ttl.is_zero() {
                lease.ttl = Duration::from_secs(60);
            }
            let mut lease = self.store.renew(lease).await?;
            if self.flaw == Flaw::HidesCancellation {
                lease.cancel = None;
            }
            Ok(lease)
        })
    }

    fn request_cancel(
        &self,
        turn: TurnId,
        request: CancelRequest,
    ) -> BoxFuture<'_, Result<CancelOutcome, StoreError>> {
        self.store.request_cancel(turn, request)
    }

    fn read_journal(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JournalRow>, StoreError>> {
        let after = after + u64::from(self.flaw == Flaw::SkipsEntries && after > 0);
        self.store.read_journal(turn, after, limit)
    }

    fn remove_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnId>, StoreError>> {
        Box::pin(async move {
            let removed = match (self.flaw, &query.id) {
                (Flaw::RemovesHeldTurns, Some(turn)) => {
                    self.force_removal(turn).await?.then(|| turn.clone()).into_iter().collect()
                }
                (Flaw::RemovesAllPages, _) => {
                    self.store.remove_turns(query.limit(usize::MAX)).await?
                }
                _ => self.store.remove_turns(query).await?,
            };
            if self.flaw == Flaw::KeepsMemoriesByTurn {
                let mut scopes = self.scopes.lock().unwrap();
                let gone = removed.iter().filter_map(|turn| scopes.remove(turn));
                self.removed_scopes.lock().unwrap().extend(gone);
            }
            Ok(removed)
        })
    }

    fn gates(&self, mut query: GateQuery) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        if self.flaw == Flaw::ListsGatesOfOthers {
            query.tenant = None;
        }
        self.store.gates(query)
    }

    fn unreferenced_keys(
        &self,
        keys: Vec<SpoolKey>,
    ) -> BoxFuture<'_, Result<Vec<SpoolKey>, StoreError>> {
        match self.flaw {
            Flaw::ForgetsReferences => Box::pin(async move { Ok(keys) }),
            _ => self.store.unreferenced_keys(keys),
        }
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        self.store.listen()
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if self.flaw == Flaw::ForgetsToRelease {
                return Ok(());
            }
            if self.flaw == Flaw::TakesTheStoppedForDead {
                let last = self.leases.lock().unwrap().get(&lease.turn).cloned();
                if last.is_some_and(|last| lease.epoch < last.epoch) {
                    return Ok(());
                }
            }
            self.store.release(lease).await
        })
    }

    fn commit(
        &self,
        mut lease: Lease,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
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

    fn load(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move {
            let mut turn = self.store.load(turn).await?;
            if let Some(turn) = turn.as_mut().filter(|_| self.flaw == Flaw::HidesHolders) {
                turn.summary.holder = None;
            }
            Ok(turn)
        })
    }

    fn turns(&self, mut query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>> {
        Box::pin(async move {
            match self.flaw {
                Flaw::IgnoresTheLimit => query.limit = Some(usize::MAX),
                Flaw::IgnoresTheConversation => query.conversation = None,
                Flaw::IncludesFinishedTurns => query.unfinished = false,
                Flaw::IgnoresWords => query.words.clear(),
                Flaw::IgnoresTools => query.tool = None,
                Flaw::CountsAllTurns if query.claimable => query.agent = None,
                _ => {}
            }
            let mut turns = self.store.turns(query).await?;
            if self.flaw == Flaw::ForgetsTokens {
                turns.iter_mut().for_each(|turn| turn.tokens = None);
            }
            if self.flaw == Flaw::ListsOldestFirst {
                turns.reverse();
            }
            Ok(turns)
        })
    }

    fn load_memories(
        &self,
        scope: MemoryScope,
    ) -> BoxFuture<'_, Result<Vec<MemoryRow>, StoreError>> {
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

    fn set_title(
        &self,
        tenant: String,
        conversation: String,
        title: Option<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let tenant = if self.flaw == Flaw::MixesTitles { String::new() } else { tenant };
        self.store.set_title(tenant, conversation, title)
    }

    fn titles(
        &self,
        tenant: String,
        conversations: Vec<String>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, String>, StoreError>> {
        let tenant = if self.flaw == Flaw::MixesTitles { String::new() } else { tenant };
        self.store.titles(tenant, conversations)
    }

    fn settle(
        &self,
        gate: GateId,
        settlement: String,
    ) -> BoxFuture<'_, Result<SettleOutcome, StoreError>> {
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
    let violation = run(haft_conformance::store(&store)).unwrap_err();
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
    let next = "of the turns that can run, the one with the highest priority that waits longest is claimed";
    check(Flaw::ClaimsNewestFirst, next);
    check(Flaw::IgnoresFilters, "turns that cannot run are not claimed");
    check(Flaw::CountsAllTurns, "the turns that can be claimed are counted");
    check(Flaw::ForgetsTakeOvers, "each claim of a dead holder's turn counts");
    check(Flaw::TakesTheStoppedForDead, "what is refused changes nothing");
    check(
        Flaw::HidesCancellation,
        "the holder learns who cancels its turn when it renews its lease",
    );
    check(Flaw::ForgetsTokens, "a summary shows what was written of the turn");
    check(Flaw::SkipsEntries, "the pages are the whole journal");
    check(Flaw::RemovesAllPages, "a page has as many turns as were asked for and are left");
    check(Flaw::ForgetsReferences, "content is used while a record refers to it");
    check(Flaw::IgnoresWords, "a search finds the turns that it selects, newest first");
    check(Flaw::IgnoresTools, "a search finds the turns that it selects, newest first");
    check(Flaw::MixesTitles, "a conversation of a tenant has the title that was set last");
    check(
        Flaw::ListsGatesOfOthers,
        "the open gates of a tenant are listed, oldest first, and no others",
    );
    check(Flaw::MixesScopes, "memories of different scopes are different memories");
    check(Flaw::KeepsMemoriesByTurn, "memories stay when their turn is removed");
    check(
        Flaw::ReplacesAllMemories,
        "memories stand where they were first put, with the text that was put last",
    );
}

/// A store that implements what it must and leaves the rest to the contract.
#[derive(Debug)]
struct Minimal(MemoryStore);

macro_rules! forwarded {
    ($($method:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        impl TurnStore for Minimal {
            $(
                fn $method(&self, $($arg: $type),*) -> BoxFuture<'_, Result<$result, StoreError>> {
                    self.0.$method($($arg),*)
                }
            )*

            fn listen(&self) -> Box<dyn ChangeListener> {
                self.0.listen()
            }
        }
    };
}

forwarded! {
    insert(turn: NewTurn) -> Option<Lease>;
    gates(query: GateQuery) -> Vec<GateRow>;
    claim_turns(filter: ClaimFilter, holder: LeaseRequest, count: usize) -> Vec<Lease>;
    renew(lease: Lease) -> Lease;
    release(lease: Lease) -> ();
    commit(lease: Lease, writes: Vec<StoreWrite>) -> ();
    request_cancel(turn: TurnId, request: CancelRequest) -> CancelOutcome;
    load(turn: TurnId) -> Option<StoredTurn>;
    read_journal(turn: TurnId, after: u64, limit: usize) -> Vec<JournalRow>;
    turns(query: TurnQuery) -> Vec<TurnSummary>;
    remove_turns(query: TurnQuery) -> Vec<TurnId>;
    unreferenced_keys(keys: Vec<SpoolKey>) -> Vec<SpoolKey>;
    settle(gate: GateId, settlement: String) -> SettleOutcome;
    load_memories(scope: MemoryScope) -> Vec<MemoryRow>;
    set_title(tenant: String, conversation: String, title: Option<String>) -> ();
    titles(tenant: String, conversations: Vec<String>) -> BTreeMap<String, String>;
}

#[test]
fn a_store_with_the_default_methods_keeps_the_contract() {
    run(haft_conformance::store(&Minimal(MemoryStore::new()))).unwrap();
}
