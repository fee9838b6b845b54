//! What the parts of a running turn share.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::BoxFuture;
use haft_core::context::{Hydration, RecordWriter};
use haft_core::store::{GateId, GateRow, StoreError, StoreWrite, TurnId};

use super::agent::AgentShared;
use super::deadline::Stopwatch;
use super::gates::{GateScope, GateWaits};
use super::journal::JournalEntry;
use super::recorder::LeasedRecorder;

/// The state that the driver of a turn shares with its calls, its context and its gates. It is a single object, because
/// thousands of turns may wait at once.
pub(super) struct SharedTurn {
    pub(super) agent: Arc<AgentShared>,
    pub(super) turn: TurnId,
    pub(super) recorder: LeasedRecorder,
    pub(super) watch: Stopwatch,
    /// What runs, and may open gates.
    pub(super) scope: Mutex<GateScope>,
    /// How many gates each place of the turn has opened.
    pub(super) opened: Mutex<HashMap<String, u32>>,
    /// Gates that another process opened for this turn before it died.
    pub(super) known: Vec<GateRow>,
    /// Gates that this process opened and has not seen settled.
    pub(super) unsettled: Mutex<HashSet<GateId>>,
    /// What waits at gates, and what does not.
    pub(super) waits: GateWaits,
}

impl SharedTurn {
    /// The shared state of a turn that starts now. An earlier process may have opened gates for it.
    pub(super) fn new(
        agent: &Arc<AgentShared>,
        recorder: LeasedRecorder,
        turn: TurnId,
        known: Vec<GateRow>,
    ) -> Self {
        Self {
            agent: Arc::clone(agent),
            turn,
            recorder,
            watch: Stopwatch::start(),
            scope: Mutex::new(GateScope::Opening),
            opened: Mutex::default(),
            known,
            unsettled: Mutex::default(),
            waits: GateWaits::default(),
        }
    }

    /// Sets what runs from now on. When a turn is resumed, not everything runs again; therefore every scope counts
    /// its own gates.
    pub(super) fn enter(&self, scope: GateScope) {
        *self.scope.lock().unwrap_or_else(PoisonError::into_inner) = scope;
    }
}

impl RecordWriter for SharedTurn {
    fn commit(&self, writes: Vec<StoreWrite>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.recorder.commit(writes))
    }

    fn journal_hydration(&self, hydration: Hydration) {
        self.recorder.defer(JournalEntry::Hydrated(hydration).to_write());
    }

    fn hydration_write(&self, hydration: Hydration) -> Option<StoreWrite> {
        Some(JournalEntry::Hydrated(hydration).to_write())
    }
}

/// Releases the lease when the driver of a turn is dropped, although tasks that were aborted may live a moment longer: what
/// they write then is refused.
pub(super) struct ReleaseGuard(pub(super) Arc<SharedTurn>);

impl Drop for ReleaseGuard {
    fn drop(&mut self) {
        self.0.recorder.release_in_background();
    }
}
