//! Stores that ask somebody before and after everything that is asked of them.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io};

use bytes::Bytes;
use futures_core::Stream;
use haft::stores::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateQuery, GateRow,
    JournalRow, Lease, LeaseRequest, MemoryRow, MemoryScope, NewTurn, SettleOutcome, StoreError,
    StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStore, TurnSummary,
};
use haft::stores::{ReaderDescriptor, SpoolError, SpoolKey, SpoolPayload, SpoolReader, SpoolStore};
use haft::tools::ByteStream;
use haft::turn::{ApprovalStore, Spending};
use haft::{BoxFuture, ToolFailure};

use super::pass;

/// A moment at which something can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// What is asked of the store.
    pub(crate) what: &'static str,
    /// Whether it changes something.
    pub(crate) writes: bool,
    pub(crate) side: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// What happens then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    Fail,
    /// It fails after a while.
    FailAfter(Duration),
    Hang,
}

/// Who is asked.
pub(crate) type Judge = Arc<dyn Fn(Moment) -> Fate + Send + Sync>;

/// A store of either sort, with somebody at its door.
#[derive(Clone)]
pub(crate) struct Guarded<S: ?Sized> {
    judge: Judge,
    inner: Arc<S>,
}

impl<S: Send + Sync + ?Sized> Guarded<S> {
    pub(crate) fn new(inner: Arc<S>, judge: Judge) -> Arc<Self> {
        Arc::new(Self { judge, inner })
    }

    async fn meet(&self, what: &'static str, writes: bool, side: Side) -> Result<(), io::Error> {
        match (self.judge)(Moment { what, writes, side }) {
            Fate::Pass => Ok(()),
            Fate::Fail => Err(io::Error::from(io::ErrorKind::StorageFull)),
            Fate::FailAfter(time) => {
                pass(time).await;
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            Fate::Hang => std::future::pending().await,
        }
    }

    /// Does this between two moments. After the second one it has happened, whatever is said.
    async fn around<T>(
        &self,
        what: &'static str,
        writes: bool,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let failed = |error| StoreError::backend(what, error);
        self.meet(what, writes, Side::Before).await.map_err(failed)?;
        let done = work.await?;
        self.meet(what, writes, Side::After).await.map_err(failed)?;
        Ok(done)
    }
}

impl<S: fmt::Debug + ?Sized> fmt::Debug for Guarded<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guarded({:?})", self.inner)
    }
}

macro_rules! guarded {
    ($($method:ident($($arg:ident: $type:ty),*) -> $result:ty, $writes:literal;)*) => {
        impl<S: TurnStore + ?Sized> TurnStore for Guarded<S> {
            $(
                fn $method(&self, $($arg: $type),*) -> BoxFuture<'_, Result<$result, StoreError>> {
                    let work = self.inner.$method($($arg),*);
                    Box::pin(self.around(stringify!($method), $writes, work))
                }
            )*

            fn insert(&self, turn: NewTurn) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
                let what = if turn.holder.is_some() { "create" } else { "enqueue" };
                Box::pin(self.around(what, true, self.inner.insert(turn)))
            }

            fn gates(&self, query: GateQuery) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
                let what = if query.id.is_some() { "gate" } else { "open_gates" };
                Box::pin(self.around(what, false, self.inner.gates(query)))
            }

            fn listen(&self) -> Box<dyn ChangeListener> {
                self.inner.listen()
            }
        }
    };
}

guarded! {
    claim_turns(filter: ClaimFilter, holder: LeaseRequest, count: usize) -> Vec<Lease>, true;
    renew(lease: Lease) -> Lease, true;
    release(lease: Lease) -> (), true;
    commit(lease: Lease, writes: Vec<StoreWrite>) -> (), true;
    request_cancel(turn: TurnId, request: CancelRequest) -> CancelOutcome, true;
    load(turn: TurnId) -> Option<StoredTurn>, false;
    read_journal(turn: TurnId, after: u64, limit: usize) -> Vec<JournalRow>, false;
    turns(query: TurnQuery) -> Vec<TurnSummary>, false;
    remove_turns(query: TurnQuery) -> Vec<TurnId>, true;
    unreferenced_keys(keys: Vec<SpoolKey>) -> Vec<SpoolKey>, false;
    settle(gate: GateId, settlement: String) -> SettleOutcome, true;
    load_memories(scope: MemoryScope) -> Vec<MemoryRow>, false;
    set_title(tenant: String, conversation: String, title: Option<String>) -> (), true;
    titles(tenant: String, conversations: Vec<String>) -> std::collections::BTreeMap<String, String>, false;
}

impl<S: SpoolStore + ?Sized + 'static> SpoolStore for Guarded<S> {
    fn write(
        &self,
        key: SpoolKey,
        payload: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>> {
        Box::pin(async move {
            let failed = |source| SpoolError::Store { doing: "write", source };
            self.meet("spool", true, Side::Before).await.map_err(failed)?;
            let payload = match payload {
                // Content that comes bit by bit is written bit by bit.
                SpoolPayload::Stream(stream) => {
                    let judge = Arc::clone(&self.judge);
                    SpoolPayload::Stream(ByteStream::new(Pieces { stream, judge }))
                }
                whole => whole,
            };
            let reader = self.inner.write(key, payload).await?;
            self.meet("spool", true, Side::After).await.map_err(failed)?;
            Ok(reader)
        })
    }

    fn read(
        &self,
        key: SpoolKey,
    ) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        self.inner.read(key)
    }

    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        self.inner.open(reader)
    }

    fn delete(&self, key: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>> {
        self.inner.delete(key)
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        self.inner.list()
    }
}

struct Pieces {
    stream: ByteStream,
    judge: Judge,
}

impl Stream for Pieces {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match (self.judge)(Moment { what: "piece", writes: true, side: Side::Before }) {
            Fate::Pass => Pin::new(&mut self.stream).poll_next(cx),
            Fate::Fail | Fate::FailAfter(_) => {
                Poll::Ready(Some(Err(ToolFailure::new("the source broke off"))))
            }
            Fate::Hang => Poll::Pending,
        }
    }
}

/// Marks approvals in memory, and fails like a store.
pub(crate) struct GuardedLedger {
    pub(crate) spent: Arc<Mutex<BTreeSet<String>>>,
    pub(crate) judge: Judge,
}

impl fmt::Debug for GuardedLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GuardedLedger({:?})", self.spent)
    }
}

impl ApprovalStore for GuardedLedger {
    fn spend(&self, gate: GateId) -> BoxFuture<'_, Result<Spending, StoreError>> {
        let meet = |side| match (self.judge)(Moment { what: "spend", writes: true, side }) {
            Fate::Pass => Ok(()),
            _ => Err(StoreError::backend("spend", io::Error::from(io::ErrorKind::StorageFull))),
        };
        Box::pin(async move {
            meet(Side::Before)?;
            let is_first = self.spent.lock().unwrap().insert(gate.as_str().to_owned());
            meet(Side::After)?;
            Ok(if is_first { Spending::First } else { Spending::Repeated })
        })
    }

    no_grants!();
}
