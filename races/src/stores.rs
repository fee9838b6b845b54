//! Stores for the parts under test. They answer what those ask, and yield to the scheduler before each answer.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::{fmt, io};

use haft_core::BoxFuture;
use haft_core::spool::SpoolKey;
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateQuery, GateRow,
    JournalRow, Lease, LeaseRequest, MemoryRow, MemoryScope, NewTurn, SettleOutcome, StoreChange,
    StoreError, StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStore, TurnSummary,
};
use shuttle::future;
use shuttle::sync::Mutex;

/// What a store is asked in these tests.
pub(crate) trait Answers: Send + Sync {
    fn open_gates(&self) -> Result<Vec<GateRow>, StoreError> {
        Err(unavailable())
    }

    fn renew(&self, _lease: Lease) -> Result<Lease, StoreError> {
        Err(unavailable())
    }
}

/// A store that gives these answers.
pub(crate) struct Answering<A>(pub(crate) A);

impl<A> fmt::Debug for Answering<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answering")
    }
}

pub(crate) fn unavailable() -> StoreError {
    StoreError::backend("answer", io::Error::other("nothing asks this here"))
}

fn yielding<T: Send + 'static>(
    answer: Result<T, StoreError>,
) -> BoxFuture<'static, Result<T, StoreError>> {
    Box::pin(async move {
        future::yield_now().await;
        answer
    })
}

/// Tells nothing.
#[derive(Debug)]
struct Silence;

impl ChangeListener for Silence {
    fn next_change(&mut self) -> BoxFuture<'_, StoreChange> {
        Box::pin(std::future::pending())
    }
}

macro_rules! unanswered {
    ($($method:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {$(
        fn $method(&self, $($arg: $type),*) -> BoxFuture<'_, Result<$result, StoreError>> {
            yielding(Err(unavailable()))
        }
    )*};
}

impl<A: Answers> TurnStore for Answering<A> {
    fn renew(&self, lease: Lease) -> BoxFuture<'_, Result<Lease, StoreError>> {
        yielding(self.0.renew(lease))
    }

    fn gates(&self, _: GateQuery) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        yielding(self.0.open_gates())
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        Box::new(Silence)
    }

    unanswered! {
        insert(_turn: NewTurn) -> Option<Lease>;
        claim_turns(_filter: ClaimFilter, _holder: LeaseRequest, _count: usize) -> Vec<Lease>;
        release(_lease: Lease) -> ();
        commit(_lease: Lease, _writes: Vec<StoreWrite>) -> ();
        request_cancel(_turn: TurnId, _request: CancelRequest) -> CancelOutcome;
        load(_turn: TurnId) -> Option<StoredTurn>;
        read_journal(_turn: TurnId, _after: u64, _limit: usize) -> Vec<JournalRow>;
        turns(_query: TurnQuery) -> Vec<TurnSummary>;
        remove_turns(_query: TurnQuery) -> Vec<TurnId>;
        unreferenced_keys(_keys: Vec<SpoolKey>) -> Vec<SpoolKey>;
        settle(_gate: GateId, _settlement: String) -> SettleOutcome;
        load_memories(_scope: MemoryScope) -> Vec<MemoryRow>;
        set_title(_tenant: String, _conversation: String, _title: Option<String>) -> ();
        titles(_tenant: String, _conversations: Vec<String>) -> BTreeMap<String, String>;
    }
}

/// Gates that can be settled, in a store that may be out of reach.
#[derive(Default)]
pub(crate) struct Gates {
    pub(crate) open: Mutex<HashSet<GateId>>,
    pub(crate) is_unavailable: bool,
}

impl Gates {
    pub(crate) fn is_open(&self, id: &GateId) -> bool {
        self.open.lock().unwrap().contains(id)
    }

    pub(crate) fn settle(&self, id: &GateId) {
        self.open.lock().unwrap().remove(id);
    }
}

impl Answers for Gates {
    fn open_gates(&self) -> Result<Vec<GateRow>, StoreError> {
        let open = self.open.lock().unwrap();
        let rows = open.iter().cloned().map(|id| GateRow::open(id, TURN.parse().unwrap(), "{}"));
        let rows = rows.collect();
        if self.is_unavailable { Err(unavailable()) } else { Ok(rows) }
    }
}

const TURN: &str = "turn";

/// Leases that are counted when they are renewed.
#[derive(Default)]
pub(crate) struct Renewals {
    counts: Mutex<HashMap<String, usize>>,
    lost: HashSet<&'static str>,
}

impl Renewals {
    /// Leases of which these are lost.
    pub(crate) fn losing(lost: HashSet<&'static str>) -> Self {
        Self { lost, ..Self::default() }
    }

    pub(crate) fn count(&self, turn: &str) -> usize {
        self.counts.lock().unwrap().get(turn).copied().unwrap_or_default()
    }
}

impl Answers for Renewals {
    fn renew(&self, lease: Lease) -> Result<Lease, StoreError> {
        let turn = lease.turn.as_str().to_owned();
        *self.counts.lock().unwrap().entry(turn.clone()).or_default() += 1;
        match turn.as_str() {
            "unknown" => Err(StoreError::unknown_turn(&lease.turn)),
            turn if self.lost.contains(turn) => Err(StoreError::LeaseLost { turn: lease.turn }),
            _ => Ok(lease),
        }
    }
}
