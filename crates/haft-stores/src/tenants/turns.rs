//! The turns, gates and memories of one tenant.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::spool::SpoolKey;
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateRow, JournalRow, Lease,
    LeaseRequest, MemoryRow, MemoryScope, NewTurn, NumberedRow, SettleOutcome, StoreChange,
    StoreError, StoreWrite, StoredTurn, TurnId, TurnOutline, TurnQuery, TurnStore, TurnSummary,
};

use super::TurnOwnership;

/// What the stored ids of the memory scopes of a tenant begin with.
const SCOPE_PREFIX: &str = "tenant:";

/// A store of turns as one tenant sees it.
///
/// New turns belong to the tenant. Turns and gates of others do not exist here. Memories of equal scopes of two tenants
/// are different memories. Ids of turns are unique in the whole store, so a tenant that could choose an id would learn
/// whether another tenant uses it: a server chooses the ids.
#[derive(Clone, Debug)]
pub(crate) struct TenantStore {
    inner: Arc<dyn TurnStore>,
    ownership: Arc<TurnOwnership>,
}

impl TenantStore {
    pub(crate) fn new(inner: Arc<dyn TurnStore>, tenant: impl Into<Arc<str>>) -> Self {
        let ownership = Arc::new(TurnOwnership::new(Arc::clone(&inner), tenant.into()));
        Self { inner, ownership }
    }

    pub(super) fn ownership(&self) -> &Arc<TurnOwnership> {
        &self.ownership
    }

    fn tenant(&self) -> &str {
        &self.ownership.tenant
    }

    fn is_other(&self, tenant: Option<&str>) -> bool {
        tenant.is_some_and(|it| it != self.tenant())
    }

    /// Whether a caller names another tenant. One that names none means the own.
    fn is_foreign(&self, tenant: &str) -> bool {
        !tenant.is_empty() && tenant != self.tenant()
    }

    /// Gives a new turn to the tenant.
    fn adopt(&self, mut turn: NewTurn) -> Result<NewTurn, StoreError> {
        if self.is_foreign(&turn.tenant) {
            let (what, reason) = ("a turn of another tenant", "the store shows one tenant");
            return Err(StoreError::Invalid { what, reason });
        }
        self.tenant().clone_into(&mut turn.tenant);
        turn.writes = self.map_writes(turn.writes)?;
        Ok(turn)
    }

    fn map_writes(&self, writes: Vec<StoreWrite>) -> Result<Vec<StoreWrite>, StoreError> {
        let map = |write| match write {
            StoreWrite::PutMemory { scope, id, json } => {
                Ok(StoreWrite::PutMemory { scope: self.map_scope(scope)?, id, json })
            }
            StoreWrite::DeleteMemory { scope, id } => {
                Ok(StoreWrite::DeleteMemory { scope: self.map_scope(scope)?, id })
            }
            other => Ok(other),
        };
        writes.into_iter().map(map).collect()
    }

    /// The scope under which the memories of a scope of this tenant are stored. The length makes it unique for every pair of
    /// a tenant and an id. Scopes of the unnamed tenant are stored as they are, and cannot look like those of another one.
    fn map_scope(&self, mut scope: MemoryScope) -> Result<MemoryScope, StoreError> {
        let tenant = self.tenant();
        if !tenant.is_empty() {
            scope.id = format!("{SCOPE_PREFIX}{}:{tenant}:{}", tenant.len(), scope.id);
        } else if scope.id.starts_with(SCOPE_PREFIX) {
            let (what, reason) = ("a scope of memories", "its id begins with `tenant:`");
            return Err(StoreError::Invalid { what, reason });
        }
        Ok(scope)
    }

    async fn check_query(&self, query: &TurnQuery) -> Result<(), StoreError> {
        match &query.before {
            Some(before) => self.ownership.check(before).await,
            None => Ok(()),
        }
    }

    /// A lease on a turn of the tenant. A lease is a right that the store gave out, so that what was looked up once holds.
    async fn check_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        match self.ownership.recall(&lease.turn).await? {
            Some(true) => Ok(()),
            _ => Err(StoreError::unknown_turn(&lease.turn)),
        }
    }

    async fn find_gate(&self, gate: GateId) -> Result<Option<GateRow>, StoreError> {
        let Some(row) = self.inner.gate(gate).await? else { return Ok(None) };
        let is_own = self.ownership.look_up(&row.turn).await? == Some(true);
        Ok(is_own.then_some(row))
    }
}

impl TurnStore for TenantStore {
    fn create(
        &self,
        turn: NewTurn,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move { self.inner.create(self.adopt(turn)?, holder).await })
    }

    fn enqueue(&self, turn: NewTurn) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.inner.enqueue(self.adopt(turn)?).await })
    }

    fn claim(
        &self,
        turn: TurnId,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            self.ownership.check(&turn).await?;
            self.inner.claim(turn, holder).await
        })
    }

    fn claim_next(
        &self,
        filter: ClaimFilter,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            if self.is_other(filter.tenant.as_deref()) {
                return Ok(None);
            }
            self.inner.claim_next(filter.tenant(self.tenant()), holder).await
        })
    }

    fn count_claimable(&self, filter: ClaimFilter) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            if self.is_other(filter.tenant.as_deref()) {
                return Ok(0);
            }
            self.inner.count_claimable(filter.tenant(self.tenant())).await
        })
    }

    fn renew(&self, lease: Lease) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            self.check_lease(&lease).await?;
            self.inner.renew(lease).await
        })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.check_lease(&lease).await?;
            self.inner.release(lease).await
        })
    }

    fn commit(
        &self,
        lease: Lease,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.check_lease(&lease).await?;
            self.inner.commit(lease, self.map_writes(writes)?).await
        })
    }

    fn request_cancel(
        &self,
        turn: TurnId,
        request: CancelRequest,
    ) -> BoxFuture<'_, Result<CancelOutcome, StoreError>> {
        Box::pin(async move {
            self.ownership.check(&turn).await?;
            self.inner.request_cancel(turn, request).await
        })
    }

    fn load(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move {
            // What others have stored is not even loaded, so that the time does not tell how large it is.
            match self.ownership.look_up(&turn).await? {
                Some(true) => self.inner.load(turn).await,
                _ => Ok(None),
            }
        })
    }

    fn summary(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<TurnSummary>, StoreError>> {
        Box::pin(async move {
            let summary = self.inner.summary(turn).await?;
            Ok(summary.filter(|it| it.tenant == self.tenant()))
        })
    }

    fn read_journal(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JournalRow>, StoreError>> {
        Box::pin(async move {
            match self.ownership.look_up(&turn).await? {
                Some(true) => self.inner.read_journal(turn, after, limit).await,
                _ => Ok(Vec::new()),
            }
        })
    }

    fn outline(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<TurnOutline>, StoreError>> {
        Box::pin(async move {
            match self.ownership.look_up(&turn).await? {
                Some(true) => self.inner.outline(turn).await,
                _ => Ok(None),
            }
        })
    }

    fn read_rows(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<NumberedRow>, StoreError>> {
        Box::pin(async move {
            match self.ownership.look_up(&turn).await? {
                Some(true) => self.inner.read_rows(turn, after, limit).await,
                _ => Ok(Vec::new()),
            }
        })
    }

    fn turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>> {
        Box::pin(async move {
            self.check_query(&query).await?;
            if self.is_other(query.tenant.as_deref()) {
                return Ok(Vec::new());
            }
            self.inner.turns(query.tenant(self.tenant())).await
        })
    }

    fn remove(&self, turn: TurnId) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            match self.ownership.look_up(&turn).await? {
                Some(true) => self.inner.remove(turn).await,
                _ => Ok(false),
            }
        })
    }

    fn remove_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnId>, StoreError>> {
        Box::pin(async move {
            self.check_query(&query).await?;
            if self.is_other(query.tenant.as_deref()) {
                return Ok(Vec::new());
            }
            self.inner.remove_turns(query.tenant(self.tenant())).await
        })
    }

    fn unreferenced_keys(
        &self,
        keys: Vec<SpoolKey>,
    ) -> BoxFuture<'_, Result<Vec<SpoolKey>, StoreError>> {
        // Whether a record refers to a key is asked about keys that the tenant's own view of the content listed.
        self.inner.unreferenced_keys(keys)
    }

    fn gate(&self, gate: GateId) -> BoxFuture<'_, Result<Option<GateRow>, StoreError>> {
        Box::pin(self.find_gate(gate))
    }

    fn open_gates(&self, turn: Option<TurnId>) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(async move {
            let Some(turn) = turn else {
                return self.inner.open_gates_of(self.tenant().to_owned()).await;
            };
            match self.ownership.look_up(&turn).await? {
                Some(true) => self.inner.open_gates(Some(turn)).await,
                _ => Ok(Vec::new()),
            }
        })
    }

    fn open_gates_of(&self, tenant: String) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        if self.is_foreign(&tenant) {
            return Box::pin(async { Ok(Vec::new()) });
        }
        self.open_gates(None)
    }

    fn settle(
        &self,
        gate: GateId,
        settlement: String,
    ) -> BoxFuture<'_, Result<SettleOutcome, StoreError>> {
        Box::pin(async move {
            match self.find_gate(gate.clone()).await? {
                Some(_) => self.inner.settle(gate, settlement).await,
                None => Err(StoreError::unknown_gate(&gate)),
            }
        })
    }

    fn load_memories(
        &self,
        scope: MemoryScope,
    ) -> BoxFuture<'_, Result<Vec<MemoryRow>, StoreError>> {
        Box::pin(async move { self.inner.load_memories(self.map_scope(scope)?).await })
    }

    fn set_title(
        &self,
        tenant: String,
        conversation: String,
        title: Option<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        if self.is_foreign(&tenant) {
            let (what, reason) = ("a title of another tenant", "the store shows one tenant");
            return Box::pin(async move { Err(StoreError::Invalid { what, reason }) });
        }
        self.inner.set_title(self.tenant().to_owned(), conversation, title)
    }

    fn titles(
        &self,
        tenant: String,
        conversations: Vec<String>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, String>, StoreError>> {
        if self.is_foreign(&tenant) {
            return Box::pin(async { Ok(BTreeMap::new()) });
        }
        self.inner.titles(self.tenant().to_owned(), conversations)
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        let (inner, ownership) = (self.inner.listen(), Arc::clone(&self.ownership));
        Box::new(TenantListener { inner, ownership })
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn verify_secret(&self, fingerprint: [u8; 32]) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.verify_secret(fingerprint)
    }
}

/// Reports the changes of a tenant's turns.
#[derive(Debug)]
struct TenantListener {
    inner: Box<dyn ChangeListener>,
    ownership: Arc<TurnOwnership>,
}

impl ChangeListener for TenantListener {
    fn next_change(&mut self) -> BoxFuture<'_, StoreChange> {
        Box::pin(async move {
            loop {
                let change = self.inner.next_change().await;
                let StoreChange::Turn { turn, .. } = &change else { return change };
                match self.ownership.recall(turn).await {
                    Ok(Some(true)) => return change,
                    Ok(Some(false)) => {}
                    // It was removed, or the store cannot tell now. A listener that hears too much only looks once more.
                    Ok(None) | Err(_) => return StoreChange::Unknown,
                }
            }
        })
    }
}
