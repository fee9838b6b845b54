//! The state of a store in memory, and its changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use haft_core::clock::Timestamp;
use haft_core::spool::SpoolKey;
use haft_core::store::{
    CancelOutcome, CancelRequest, ClaimFilter, GateId, GateRow, Lease, LeaseRequest, MemoryScope,
    NewTurn, SettleOutcome, StoreChangeKind, StoreError, StoreWrite, TurnId, TurnQuery,
    TurnSchedule, TurnStatus, TurnSummary,
};

use super::content_index::ContentIndex;
use super::rows::TurnRows;
use super::scope::ScopeMemories;
use super::titles::{ConversationKey, ConversationTitles};
use super::turn_state::TurnState;

/// A method that fails changes nothing.
#[derive(Default)]
pub(super) struct StoreState {
    /// The turns by number, in the order of their creation.
    ///
    /// Boxed, because the nodes of a B-tree stay half empty if keys are only added at the end.
    pub(super) turns: BTreeMap<u64, Box<TurnState>>,
    pub(super) numbers: HashMap<TurnId, u64>,
    /// The gates by number, in the order of their opening.
    pub(super) gates: BTreeMap<u64, GateRow>,
    pub(super) gate_numbers: HashMap<GateId, u64>,
    last_turn: u64,
    last_gate: u64,
    pub(super) memories: HashMap<MemoryScope, ScopeMemories>,
    pub(super) titles: ConversationTitles,
    /// When open gates close by themselves, by their numbers.
    gate_expiries: HashMap<u64, Timestamp>,
    /// The turns that can be claimed some time, in the order in which they are claimed.
    pub(super) runnable: BTreeSet<(Reverse<i32>, Timestamp, u64)>,
    /// The numbers of the turns that have not ended, by tenant and conversation.
    unfinished: HashMap<(String, String), BTreeSet<u64>>,
    content: ContentIndex,
    /// The maximum number of ended turns; `None` for no limit.
    max_ended: Option<usize>,
    /// The numbers of turns in the order in which they ended, if not all are stored.
    ended: VecDeque<u64>,
    changes: NotedChanges,
    /// The fingerprint of the secret that the first process used.
    secret: Option<[u8; 32]>,
}

impl StoreState {
    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    /// Records changes from now on, if there are listeners.
    pub(super) fn set_has_listeners(&mut self, has_listeners: bool) {
        self.changes.has_listeners = has_listeners;
    }

    /// What was changed since the last call, for listeners.
    pub(super) fn take_changes(&mut self) -> Vec<(TurnId, StoreChangeKind)> {
        std::mem::take(&mut self.changes.noted)
    }

    pub(super) fn create(
        &mut self,
        new: NewTurn,
        holder: &LeaseRequest,
        now: Timestamp,
    ) -> Result<Lease, StoreError> {
        let lease = Lease::new(new.id.clone(), holder, 1, now);
        let number = self.insert(new, TurnSchedule::running(lease.until), now)?;
        if let Some(turn) = self.turns.get_mut(&number) {
            (turn.epoch, turn.summary.holder) = (1, Some(Arc::clone(&lease.holder)));
        }
        Ok(lease)
    }

    pub(super) fn enqueue(&mut self, new: NewTurn, now: Timestamp) -> Result<(), StoreError> {
        let (id, from) = (new.id.clone(), now.saturating_add(new.start_after));
        self.insert(new, TurnSchedule::queued(from), now)?;
        self.changes.note(&id, StoreChangeKind::Claimable);
        Ok(())
    }

    /// Inserts a turn without a holder, and returns its number.
    fn insert(
        &mut self,
        new: NewTurn,
        schedule: TurnSchedule,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        if self.numbers.contains_key(&new.id) {
            return Err(StoreError::turn_exists(&new.id));
        }
        self.check_writes(&new.id, &new.writes)?;
        let summary = TurnSummary::of_new(&new, now);
        self.titles.note_insertion(&summary);
        self.last_turn += 1;
        let number = self.last_turn;
        self.numbers.insert(new.id, number);
        let turn = TurnState {
            summary,
            epoch: 0,
            rows: TurnRows::default(),
            has_new_rows: false,
            journal: Vec::new(),
            gates: Vec::new(),
        };
        self.turns.insert(number, Box::new(turn));
        self.set_schedule(number, schedule);
        self.apply_writes(number, new.writes, now);
        Ok(number)
    }

    pub(super) fn claim(
        &mut self,
        id: &TurnId,
        holder: &LeaseRequest,
        now: Timestamp,
    ) -> Result<Lease, StoreError> {
        let number = *self.numbers.get(id).ok_or_else(|| StoreError::unknown_turn(id))?;
        self.turns.get(&number).map_or(Ok(()), |turn| turn.check_free(now))?;
        self.lease_to(number, holder, now).ok_or_else(|| StoreError::unknown_turn(id))
    }

    /// Gives the lease on a turn that is free.
    fn lease_to(&mut self, number: u64, holder: &LeaseRequest, now: Timestamp) -> Option<Lease> {
        let turn = self.turns.get_mut(&number)?;
        turn.epoch += 1;
        let mut lease = Lease::new(turn.summary.id.clone(), holder, turn.epoch, now);
        turn.summary.holder = Some(Arc::clone(&lease.holder));
        let mut schedule = turn.summary.schedule();
        schedule.claim(lease.until);
        (lease.take_overs, lease.cancel) = (schedule.take_overs, schedule.cancel.clone());
        self.set_schedule(number, schedule);
        Some(lease)
    }

    pub(super) fn claim_next(
        &mut self,
        filter: &ClaimFilter,
        holder: &LeaseRequest,
        now: Timestamp,
    ) -> Option<Lease> {
        let numbers = self.runnable.iter().map(|(_, _, number)| *number);
        let number = numbers.into_iter().find(|number| self.can_run(*number, filter, now))?;
        self.lease_to(number, holder, now)
    }

    fn can_run(&self, number: u64, filter: &ClaimFilter, now: Timestamp) -> bool {
        let Some(summary) = self.turns.get(&number).map(|it| &it.summary) else { return false };
        summary.schedule().is_claimable(now)
            && filter.selects(summary.agent.as_deref(), &summary.tenant)
            && !self.is_conversation_busy(number, summary, now)
    }

    /// Whether another turn of the conversation runs, or comes before a queued one.
    fn is_conversation_busy(&self, number: u64, summary: &TurnSummary, now: Timestamp) -> bool {
        let Some(conversation) = &summary.conversation else { return false };
        let unfinished = self.unfinished.get(&(summary.tenant.clone(), conversation.clone()));
        unfinished.into_iter().flatten().filter(|it| **it != number).any(|other| {
            let is_held =
                self.turns.get(other).is_some_and(|it| it.summary.schedule().is_held(now));
            is_held || (summary.status == TurnStatus::Queued && *other < number)
        })
    }

    /// Sets when a turn can be claimed, and the indexes by which it is found.
    fn set_schedule(&mut self, number: u64, schedule: TurnSchedule) {
        let Some(turn) = self.turns.get_mut(&number) else { return };
        let priority = Reverse(turn.summary.priority);
        if let Some(at) = turn.summary.runnable_at {
            self.runnable.remove(&(priority, at, number));
        }
        if let Some(at) = schedule.runnable_at {
            self.runnable.insert((priority, at, number));
        }
        if let Some(conversation) = &turn.summary.conversation {
            let key = (turn.summary.tenant.clone(), conversation.clone());
            let numbers = self.unfinished.entry(key.clone()).or_default();
            if schedule.status.is_final() {
                numbers.remove(&number);
            } else {
                numbers.insert(number);
            }
            if numbers.is_empty() {
                self.unfinished.remove(&key);
            }
        }
        turn.summary.set_schedule(schedule);
    }

    fn change_schedule<T>(
        &mut self,
        number: u64,
        change: impl FnOnce(&mut TurnSchedule) -> T,
    ) -> Option<T> {
        let mut schedule = self.turns.get(&number)?.summary.schedule();
        let result = change(&mut schedule);
        self.set_schedule(number, schedule);
        Some(result)
    }

    pub(super) fn renew(&mut self, lease: Lease, now: Timestamp) -> Result<Lease, StoreError> {
        let number = self.check_lease(&lease)?;
        let mut lease = lease.renewed(now);
        self.change_schedule(number, |schedule| {
            schedule.renew(lease.until);
            (lease.take_overs, lease.cancel) = (schedule.take_overs, schedule.cancel.clone());
        });
        Ok(lease)
    }

    pub(super) fn release(&mut self, lease: &Lease, now: Timestamp) {
        let Ok(number) = self.check_lease(lease) else { return self.retract_take_over(lease) };
        self.change_schedule(number, |schedule| schedule.release(now));
        if let Some(turn) = self.turns.get_mut(&number) {
            turn.summary.holder = None;
        }
        self.changes.note(&lease.turn, StoreChangeKind::Claimable);
        self.remove_surplus(now);
    }

    /// A process that lost its lease lives.
    fn retract_take_over(&mut self, lease: &Lease) {
        let Some(number) = self.numbers.get(&lease.turn).copied() else { return };
        if self.turns.get(&number).is_some_and(|turn| lease.epoch < turn.epoch) {
            self.change_schedule(number, TurnSchedule::retract_take_over);
        }
    }

    pub(super) fn commit(
        &mut self,
        lease: &Lease,
        writes: Vec<StoreWrite>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let number = self.check_lease(lease)?;
        self.check_writes(&lease.turn, &writes)?;
        self.apply_writes(number, writes, now);
        Ok(())
    }

    pub(super) fn request_cancel(
        &mut self,
        id: &TurnId,
        request: CancelRequest,
        now: Timestamp,
    ) -> Result<CancelOutcome, StoreError> {
        let unknown = || StoreError::unknown_turn(id);
        let number = *self.numbers.get(id).ok_or_else(unknown)?;
        let change = |schedule: &mut TurnSchedule| schedule.request_cancel(request, now);
        let outcome = self.change_schedule(number, change).ok_or_else(unknown)?;
        if outcome == CancelOutcome::Requested {
            self.changes.note(id, StoreChangeKind::CancelRequested);
        }
        Ok(outcome)
    }

    /// Sets or removes the title of a conversation.
    pub(super) fn set_title(&mut self, key: ConversationKey, title: Option<String>) {
        let summaries = self.turns.values().map(|turn| &turn.summary);
        self.titles.set(key, title, summaries);
    }

    pub(super) fn remove(&mut self, id: &TurnId, now: Timestamp) -> Result<bool, StoreError> {
        let Some(number) = self.numbers.get(id).copied() else { return Ok(false) };
        self.turns.get(&number).map_or(Ok(()), |turn| turn.check_free(now))?;
        // Takes it out of the indexes.
        self.change_schedule(number, |schedule| {
            (schedule.status, schedule.runnable_at) = (TurnStatus::Cancelled, None);
        });
        self.numbers.remove(id);
        self.content.remove(number);
        let Some(removed) = self.turns.remove(&number) else { return Ok(false) };
        self.titles.note_removal(&removed.summary);
        for gate in removed.gates {
            if let Some(gate) = self.gates.remove(&gate) {
                self.gate_numbers.remove(&gate.id);
            }
            self.gate_expiries.remove(&gate);
        }
        Ok(true)
    }

    pub(super) fn remove_turns(
        &mut self,
        query: &TurnQuery,
        now: Timestamp,
    ) -> Result<Vec<TurnId>, StoreError> {
        let limit = query.limit.unwrap_or(TurnQuery::DEFAULT_LIMIT);
        let selected = self.select_turns(query)?;
        let free = selected.filter(|it| it.status.is_final() && !it.schedule().is_held(now));
        let ids: Vec<TurnId> = free.map(|it| it.id.clone()).take(limit).collect();
        ids.iter().try_for_each(|id| self.remove(id, now).map(drop))?;
        Ok(ids)
    }

    /// The rows that have changed since the last call are read. Storing them does not read them, because nearly nothing
    /// asks for the text of a row in memory.
    pub(super) fn unreferenced_keys(&mut self, mut keys: Vec<SpoolKey>) -> Vec<SpoolKey> {
        for number in self.content.take_changed() {
            if let Some(turn) = self.turns.get_mut(&number) {
                turn.has_new_rows = false;
                self.content.read(number, turn.rows.iter());
            }
        }
        keys.retain(|key| !self.content.contains(key));
        keys
    }

    pub(super) fn verify_secret(&mut self, fingerprint: [u8; 32]) -> Result<(), StoreError> {
        match *self.secret.get_or_insert(fingerprint) == fingerprint {
            true => Ok(()),
            false => Err(StoreError::OtherSecret),
        }
    }

    pub(super) fn settle(
        &mut self,
        id: &GateId,
        given: String,
        now: Timestamp,
    ) -> Result<SettleOutcome, StoreError> {
        if let Some(number) = self.gate_numbers.get(id) {
            self.gate_expiries.remove(number);
        }
        let gate = self.gate_mut(id).ok_or_else(|| StoreError::unknown_gate(id))?;
        let first = gate.settlement.is_none();
        let settlement = gate.settlement.get_or_insert(given).clone();
        let turn = gate.turn.clone();
        if first {
            if let Some(number) = self.numbers.get(&turn).copied() {
                self.change_schedule(number, |schedule| schedule.settle_gate(now));
            }
            self.changes.note(&turn, StoreChangeKind::GateSettled);
        }
        Ok(SettleOutcome::new(settlement, first))
    }

    fn gate_mut(&mut self, id: &GateId) -> Option<&mut GateRow> {
        self.gates.get_mut(self.gate_numbers.get(id)?)
    }

    /// Returns the number of the turn, if the lease is valid.
    fn check_lease(&self, lease: &Lease) -> Result<u64, StoreError> {
        let unknown = || StoreError::unknown_turn(&lease.turn);
        let number = self.numbers.get(&lease.turn).ok_or_else(unknown)?;
        let turn = self.turns.get(number).ok_or_else(unknown)?;
        if !turn.is_held_with(lease) {
            return Err(StoreError::LeaseLost { turn: lease.turn.clone() });
        }
        Ok(*number)
    }

    /// Fails if one of the writes opens a gate whose id belongs to another gate.
    fn check_writes(&self, turn: &TurnId, writes: &[StoreWrite]) -> Result<(), StoreError> {
        let mut opened: Vec<(&GateId, &str)> = Vec::new();
        for write in writes {
            let (id, json) = match write {
                StoreWrite::OpenGate { id, json, .. } => (id, json),
                StoreWrite::Put(_)
                | StoreWrite::Delete { .. }
                | StoreWrite::Journal(_)
                | StoreWrite::Status(_)
                | StoreWrite::Suspend { .. }
                | StoreWrite::Progress
                | StoreWrite::Summary(_)
                | StoreWrite::CloseGate { .. }
                | StoreWrite::PutMemory { .. }
                | StoreWrite::DeleteMemory { .. } => continue,
                _ => return Err(unknown_write_error()),
            };
            let stored = self.gate_numbers.get(id).and_then(|number| self.gates.get(number));
            let same = match (stored, opened.iter().find(|(it, _)| *it == id)) {
                (Some(gate), _) => gate.turn == *turn && gate.json == *json,
                (None, Some((_, text))) => text == json,
                (None, None) => true,
            };
            if !same {
                return Err(StoreError::gate_exists(id));
            }
            opened.push((id, json));
        }
        Ok(())
    }

    fn apply_writes(&mut self, number: u64, writes: Vec<StoreWrite>, now: Timestamp) {
        let Some(turn) = self.turns.get_mut(&number) else { return };
        // Most writes do not change when the turn can be claimed.
        let mut changed_schedule = None;
        let mut rows_changed = false;
        for write in writes {
            match write {
                StoreWrite::Put(row) => {
                    turn.rows.put(row);
                    rows_changed = true;
                }
                StoreWrite::Delete { kind, id } => {
                    turn.rows.delete(kind, &id);
                    rows_changed = true;
                }
                StoreWrite::Journal(entry) => turn.push_entry(entry),
                StoreWrite::Status(status) => {
                    let expiries = turn.gates.iter().filter_map(|it| self.gate_expiries.get(it));
                    let schedule = changed_schedule.get_or_insert_with(|| turn.summary.schedule());
                    schedule.set_status(status, expiries.min().copied());
                }
                StoreWrite::Suspend { delay } => {
                    let schedule = changed_schedule.get_or_insert_with(|| turn.summary.schedule());
                    schedule.suspend(now.saturating_add(delay));
                }
                StoreWrite::Progress => {
                    let schedule = changed_schedule.get_or_insert_with(|| turn.summary.schedule());
                    schedule.take_overs = 0;
                }
                StoreWrite::Summary(update) => turn.summary.update(&update),
                StoreWrite::OpenGate { id, json, expires_at }
                    if !self.gate_numbers.contains_key(&id) =>
                {
                    self.last_gate += 1;
                    let gate = GateRow::open(id.clone(), turn.summary.id.clone(), json);
                    self.gates.insert(self.last_gate, gate);
                    self.gate_numbers.insert(id, self.last_gate);
                    // Nearly always it is the only one, and thousands of turns may wait.
                    turn.gates.reserve_exact(usize::from(turn.gates.is_empty()));
                    turn.gates.push(self.last_gate);
                    if let Some(at) = expires_at {
                        self.gate_expiries.insert(self.last_gate, at);
                    }
                }
                StoreWrite::CloseGate { id, settlement } => {
                    let number = self.gate_numbers.get(&id).copied().unwrap_or_default();
                    let gate = self.gates.get_mut(&number);
                    if let Some(gate) = gate.filter(|gate| gate.turn == turn.summary.id) {
                        gate.settlement.get_or_insert(settlement);
                        self.gate_expiries.remove(&number);
                    }
                }
                StoreWrite::PutMemory { scope, id, json } => {
                    self.memories.entry(scope).or_default().put(id, json);
                }
                StoreWrite::DeleteMemory { scope, id } => {
                    if let Some(memories) = self.memories.get_mut(&scope) {
                        memories.delete(&id);
                    }
                }
                // The gate is open already; `check_writes` has refused all other cases.
                _ => {}
            }
        }
        if rows_changed && !turn.has_new_rows {
            turn.has_new_rows = true;
            self.content.note_change(number);
        }
        let status = changed_schedule.as_ref().map_or(turn.summary.status, |it| it.status);
        if turn.note_write(status, now) {
            self.changes.note(&turn.summary.id, StoreChangeKind::Ended);
            if self.max_ended.is_some() {
                self.ended.push_back(number);
            }
        }
        if let Some(schedule) = changed_schedule.filter(|it| *it != turn.summary.schedule()) {
            self.set_schedule(number, schedule);
        }
    }

    /// Sets how many turns that have ended are stored.
    pub(super) fn set_max_ended(&mut self, limit: usize) {
        self.max_ended = Some(limit);
    }

    /// Removes the turns that ended first while there are more than are to be stored. A turn that its process still holds
    /// is removed later, and those after it with it.
    fn remove_surplus(&mut self, now: Timestamp) {
        let Some(limit) = self.max_ended else { return };
        while self.ended.len() > limit
            && let Some(number) = self.ended.front().copied()
        {
            let turn = self.turns.get(&number).map(|turn| &turn.summary);
            // One that was resumed meanwhile ends again.
            if let Some(summary) = turn.filter(|it| it.status.is_final()) {
                let id = summary.id.clone();
                if self.remove(&id, now).is_err() {
                    return;
                }
            }
            self.ended.pop_front();
        }
    }
}

/// Changes of which listeners are not yet notified.
#[derive(Default)]
struct NotedChanges {
    has_listeners: bool,
    noted: Vec<(TurnId, StoreChangeKind)>,
}

impl NotedChanges {
    fn note(&mut self, turn: &TurnId, kind: StoreChangeKind) {
        if self.has_listeners {
            self.noted.push((turn.clone(), kind));
        }
    }
}

fn unknown_write_error() -> StoreError {
    StoreError::Invalid { what: "a write", reason: "this store does not know its sort" }
}
