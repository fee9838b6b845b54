//! A store with a deadline for everything.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use haft_core::BoxFuture;
use haft_core::spool::SpoolKey;
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateQuery, GateRow,
    JournalRow, Lease, LeaseRequest, MemoryRow, MemoryScope, NewTurn, SettleOutcome, StoreError,
    StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStore, TurnSummary,
};
use tokio::time::timeout;

/// Puts a deadline on every operation of a store. An operation may still take effect after its deadline, as after every
/// error of a backend.
#[derive(Debug)]
pub(crate) struct TimedStore {
    store: Arc<dyn TurnStore>,
    limit: Duration,
}

impl TimedStore {
    pub(crate) fn new(store: Arc<dyn TurnStore>, limit: Duration) -> Self {
        Self { store, limit }
    }

    /// Puts the deadline of the store on other work, too.
    pub(super) fn with_deadline<T>(
        &self,
        doing: &str,
        work: BoxFuture<'_, Result<T, StoreError>>,
    ) -> impl Future<Output = Result<T, StoreError>> {
        self.with_deadlines(1, doing, work)
    }

    /// Puts a deadline on work that waits for other operations: a multiple of the deadline of one operation.
    pub(super) async fn with_deadlines<T>(
        &self,
        operations: u32,
        doing: &str,
        mut work: BoxFuture<'_, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        // A store in memory is done at once: a timer is only needed for others.
        if let Poll::Ready(done) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
            return done;
        }
        let limit = self.limit.saturating_mul(operations);
        Box::pin(timeout(limit, work)).await.unwrap_or_else(|elapsed| {
            let doing = format!("{doing} within {limit:?}");
            Err(StoreError::Backend { doing, retryable: true, source: elapsed.into() })
        })
    }
}

macro_rules! timed {
    ($($method:ident($($arg:ident: $type:ty),*) -> $result:ty, $doing:literal;)*) => {
        /// The same as the methods of [`TurnStore`], without a box for each future.
        impl TimedStore {$(
            pub(crate) fn $method(
                &self,
                $($arg: $type),*
            ) -> impl Future<Output = Result<$result, StoreError>> + Send + '_ {
                self.with_deadline($doing, self.store.$method($($arg),*))
            }
        )*}

        impl TurnStore for TimedStore {
            $(
                fn $method(&self, $($arg: $type),*) -> BoxFuture<'_, Result<$result, StoreError>> {
                    Box::pin(Self::$method(self, $($arg),*))
                }
            )*

            fn listen(&self) -> Box<dyn ChangeListener> {
                self.store.listen()
            }

            fn required_secret(&self) -> Option<[u8; 32]> {
                self.store.required_secret()
            }
        }
    };
}

timed! {
    insert(turn: NewTurn) -> Option<Lease>, "begin a turn";
    gates(query: GateQuery) -> Vec<GateRow>, "list gates";
    claim_turns(filter: ClaimFilter, holder: LeaseRequest, count: usize) -> Vec<Lease>, "claim a turn";
    renew(lease: Lease) -> Lease, "renew a lease";
    release(lease: Lease) -> (), "give back a lease";
    commit(lease: Lease, writes: Vec<StoreWrite>) -> (), "write to the store";
    request_cancel(turn: TurnId, request: CancelRequest) -> CancelOutcome, "ask for the end of a turn";
    load(turn: TurnId) -> Option<StoredTurn>, "load a turn";
    read_journal(turn: TurnId, after: u64, limit: usize) -> Vec<JournalRow>, "read a journal";
    turns(query: TurnQuery) -> Vec<TurnSummary>, "list turns";
    remove_turns(query: TurnQuery) -> Vec<TurnId>, "remove turns";
    unreferenced_keys(keys: Vec<SpoolKey>) -> Vec<SpoolKey>, "look for unused content";
    settle(gate: GateId, settlement: String) -> SettleOutcome, "settle a gate";
    load_memories(scope: MemoryScope) -> Vec<MemoryRow>, "load memories";
    set_title(tenant: String, conversation: String, title: Option<String>) -> (), "set a title";
    titles(tenant: String, conversations: Vec<String>) -> BTreeMap<String, String>, "load titles";
}
