//! The turns, gates and memories of one tenant.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::spool::SpoolKey;
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateQuery, GateRow,
    JournalRow, Lease, LeaseRequest, MemoryRow, MemoryScope, NewTurn, SettleOutcome, StoreChange,
    StoreError, StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStore, TurnStoreExt as _,
    TurnSummary,
};

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
    tenant: Arc<str>,
}

impl TenantStore {
    pub(crate) fn new(inner: Arc<dyn TurnStore>, tenant: impl Into<Arc<str>>) -> Self {
        Self { inner, tenant: tenant.into() }
    }

    /// Whether a caller names another tenant. One that names none means the own.
    fn is_foreign(&self, tenant: &str) -> bool {
        !tenant.is_empty() && tenant != &*self.tenant
    }

    /// Gives a new turn to the tenant.
    fn adopt(&self, mut turn: NewTurn) -> Result<NewTurn, StoreError> {
        if self.is_foreign(&turn.tenant) {
            let (what, reason) = ("a turn of another tenant", "the store shows one tenant");
            return Err(StoreError::Invalid { what, reason });
        }
        (*self.tenant).clone_into(&mut turn.tenant);
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
        let tenant = &*self.tenant;
        if !tenant.is_empty() {
            scope.id = format!("{SCOPE_PREFIX}{}:{tenant}:{}", tenant.len(), scope.id);
        } else if scope.id.starts_with(SCOPE_PREFIX) {
            let (what, reason) = ("a scope of memories", "its id begins with `tenant:`");
            return Err(StoreError::Invalid { what, reason });
        }
        Ok(scope)
    }

    /// Whether a turn is the tenant's; `None` if there is no such turn.
    pub(super) async fn owns(&self, turn: &TurnId) -> Result<Option<bool>, StoreError> {
        let summary = self.inner.summary(turn.clone()).await?;
        Ok(summary.map(|it| it.tenant == *self.tenant))
    }

    /// Fails as if there were no such turn, unless it is the tenant's.
    async fn check(&self, turn: &TurnId) -> Result<(), StoreError> {
        match self.owns(turn).await? {
            Some(true) => Ok(()),
            _ => Err(StoreError::unknown_turn(turn)),
        }
    }

    fn check_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        match lease.tenant == *self.tenant {
            true => Ok(()),
            false => Err(StoreError::unknown_turn(&lease.turn)),
        }
    }

    /// The query for turns of the tenant; `None` if it asks for those of another one.
    async fn narrow(&self, query: TurnQuery) -> Result<Option<TurnQuery>, StoreError> {
        if let Some(before) = &query.before {
            self.check(before).await?;
        }
        let is_other = query.tenant.as_deref().is_some_and(|it| it != &*self.tenant);
        Ok((!is_other).then(|| query.tenant(&*self.tenant)))
    }
}

impl TurnStore for TenantStore {
    fn insert(&self, turn: NewTurn) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move { self.inner.insert(self.adopt(turn)?).await })
    }

    fn claim_turns(
        &self,
        filter: ClaimFilter,
        holder: LeaseRequest,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Lease>, StoreError>> {
        Box::pin(async move {
            if filter.tenant.as_deref().is_some_and(|it| it != &*self.tenant) {
                return Ok(Vec::new());
            }
            self.inner.claim_turns(filter.tenant(&*self.tenant), holder, count).await
        })
    }

    fn renew(&self, lease: Lease) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            self.check_lease(&lease)?;
            self.inner.renew(lease).await
        })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.check_lease(&lease)?;
            self.inner.release(lease).await
        })
    }

    fn commit(
        &self,
        lease: Lease,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.check_lease(&lease)?;
            self.inner.commit(lease, self.map_writes(writes)?).await
        })
    }

    fn request_cancel(
        &self,
        turn: TurnId,
        request: CancelRequest,
    ) -> BoxFuture<'_, Result<CancelOutcome, StoreError>> {
        Box::pin(async move {
            self.check(&turn).await?;
            self.inner.request_cancel(turn, request).await
        })
    }

    fn load(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move {
            // What others have stored is not even loaded, so that the time does not tell how large it is.
            match self.owns(&turn).await? {
                Some(true) => self.inner.load(turn).await,
                _ => Ok(None),
            }
        })
    }

    fn read_journal(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JournalRow>, StoreError>> {
        Box::pin(async move {
            match self.owns(&turn).await? {
                Some(true) => self.inner.read_journal(turn, after, limit).await,
                _ => Ok(Vec::new()),
            }
        })
    }

    fn turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>> {
        Box::pin(async move {
            match self.narrow(query).await? {
                Some(query) => self.inner.turns(query).await,
                None => Ok(Vec::new()),
            }
        })
    }

    fn remove_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnId>, StoreError>> {
        Box::pin(async move {
            match self.narrow(query).await? {
                Some(query) => self.inner.remove_turns(query).await,
                None => Ok(Vec::new()),
            }
        })
    }

    fn unreferenced_keys(
        &self,
        keys: Vec<SpoolKey>,
    ) -> BoxFuture<'_, Result<Vec<SpoolKey>, StoreError>> {
        // Whether a record refers to a key is asked about keys that the tenant's own view of the content listed.
        self.inner.unreferenced_keys(keys)
    }

    fn gates(&self, query: GateQuery) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(async move {
            match query.tenant.as_deref().is_some_and(|it| self.is_foreign(it)) {
                true => Ok(Vec::new()),
                false => self.inner.gates(query.tenant(&*self.tenant)).await,
            }
        })
    }

    fn settle(
        &self,
        gate: GateId,
        settlement: String,
    ) -> BoxFuture<'_, Result<SettleOutcome, StoreError>> {
        Box::pin(async move {
            match self.gate(gate.clone()).await? {
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
        self.inner.set_title(self.tenant.to_string(), conversation, title)
    }

    fn titles(
        &self,
        tenant: String,
        conversations: Vec<String>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, String>, StoreError>> {
        if self.is_foreign(&tenant) {
            return Box::pin(async { Ok(BTreeMap::new()) });
        }
        self.inner.titles(self.tenant.to_string(), conversations)
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        Box::new(TenantListener { inner: self.inner.listen(), turns: self.clone() })
    }

    fn required_secret(&self) -> Option<[u8; 32]> {
        self.inner.required_secret()
    }
}

/// Reports the changes of a tenant's turns.
#[derive(Debug)]
struct TenantListener {
    inner: Box<dyn ChangeListener>,
    turns: TenantStore,
}

impl ChangeListener for TenantListener {
    fn next_change(&mut self) -> BoxFuture<'_, StoreChange> {
        Box::pin(async move {
            loop {
                let change = self.inner.next_change().await;
                let StoreChange::Turn { turn, .. } = &change else { return change };
                match self.turns.owns(turn).await {
                    Ok(Some(true)) => return change,
                    Ok(Some(false)) => {}
                    // It was removed, or the store cannot tell now. A listener that hears too much only looks once more.
                    Ok(None) | Err(_) => return StoreChange::Unknown,
                }
            }
        })
    }
}
