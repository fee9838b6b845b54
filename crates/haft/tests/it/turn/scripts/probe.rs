//! A store that counts what is journaled, and interrupts a turn at a chosen point.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft::BoxFuture;
use haft::stores::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateQuery, GateRow,
    JournalRow, Lease, LeaseRequest, MemoryRow, MemoryScope, MemoryStore, NewTurn, SettleOutcome,
    SpoolKey, StoreError, StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStore, TurnSummary,
};
use tokio::sync::Notify;

#[derive(Debug)]
pub(super) struct Probe {
    inner: Arc<MemoryStore>,
    /// After how many entries the process stops.
    stop_after: Option<usize>,
    stopped: Notify,
    entries: AtomicUsize,
}

impl Probe {
    pub(super) fn new(inner: Arc<MemoryStore>, stop_after: Option<usize>) -> Arc<Self> {
        let (stopped, entries) = (Notify::new(), AtomicUsize::new(0));
        Arc::new(Self { inner, stop_after, stopped, entries })
    }

    /// How many entries were journaled.
    pub(super) fn entries(&self) -> usize {
        self.entries.load(Ordering::SeqCst)
    }

    /// Waits until the process is to stop.
    pub(super) async fn stopped(&self) {
        self.stopped.notified().await;
    }

    /// Counts entries that were written, and never returns if the process is to stop after them.
    async fn count(&self, written: usize) {
        let before = self.entries.fetch_add(written, Ordering::SeqCst);
        if let Some(stop) = self.stop_after
            && before < stop
            && before + written >= stop
        {
            self.stopped.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

fn journaled(writes: &[StoreWrite]) -> usize {
    writes.iter().filter(|it| matches!(it, StoreWrite::Journal(_))).count()
}

macro_rules! forwarded {
    ($($method:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {$(
        fn $method(&self, $($arg: $type),*) -> BoxFuture<'_, Result<$result, StoreError>> {
            self.inner.$method($($arg),*)
        }
    )*};
}

impl TurnStore for Probe {
    fn insert(&self, turn: NewTurn) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        let written = journaled(&turn.writes);
        Box::pin(async move {
            let lease = self.inner.insert(turn).await?;
            self.count(written).await;
            Ok(lease)
        })
    }

    fn commit(
        &self,
        lease: Lease,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let written = journaled(&writes);
        Box::pin(async move {
            self.inner.commit(lease, writes).await?;
            self.count(written).await;
            Ok(())
        })
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        self.inner.listen()
    }

    forwarded! {
        gates(query: GateQuery) -> Vec<GateRow>;
        claim_turns(filter: ClaimFilter, holder: LeaseRequest, count: usize) -> Vec<Lease>;
        renew(lease: Lease) -> Lease;
        release(lease: Lease) -> ();
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
}
