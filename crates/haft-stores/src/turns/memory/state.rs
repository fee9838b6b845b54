//! The state of a store in memory, and its changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, GateRow, Lease, LeaseRequest, MemoryRow, MemoryScope, NewTurn, Row, SettleOutcome,
    StoreError, StoreWrite, StoredText, StoredTurn, TurnId, TurnQuery, TurnSummary,
};

/// A method that fails changes nothing.
#[derive(Default)]
pub(super) struct StoreState {
    /// The turns by number, in the order of their creation.
    turns: BTreeMap<u64, TurnState>,
    numbers: HashMap<TurnId, u64>,
    /// The gates by number, in the order of their opening.
    gates: BTreeMap<u64, GateRow>,
    gate_numbers: HashMap<GateId, u64>,
    last_turn: u64,
    last_gate: u64,
    memories: HashMap<MemoryScope, ScopeMemories>,
}

/// The memories of a scope.
#[derive(Default)]
struct ScopeMemories {
    /// By number, in the order in which they were put.
    rows: BTreeMap<u64, MemoryRow>,
    /// The number of each row, and the version of every id that was ever written.
    numbers: HashMap<String, u64>,
    versions: HashMap<String, u64>,
    last: u64,
}

struct TurnState {
    summary: TurnSummary,
    epoch: u64,
    rows: Vec<Row>,
    journal: Vec<StoredText>,
    /// The numbers of its gates.
    gates: Vec<u64>,
}

impl StoreState {
    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    pub(super) fn create(&mut self, new: NewTurn) -> Result<Lease, StoreError> {
        let NewTurn { id, conversation, holder, writes, .. } = new;
        if self.numbers.contains_key(&id) {
            return Err(StoreError::turn_exists(&id));
        }
        self.check_writes(&id, &writes)?;
        let lease = Lease::new(id.clone(), &holder, 1);
        let mut summary = TurnSummary::new(id.clone(), holder.now);
        summary.conversation = conversation;
        let mut turn = TurnState {
            summary,
            epoch: 0,
            rows: Vec::new(),
            journal: Vec::new(),
            gates: Vec::new(),
        };
        turn.set_lease(&lease);
        self.last_turn += 1;
        self.turns.insert(self.last_turn, turn);
        self.numbers.insert(id, self.last_turn);
        self.apply_writes(self.last_turn, writes);
        Ok(lease)
    }

    pub(super) fn claim(&mut self, id: TurnId, holder: &LeaseRequest) -> Result<Lease, StoreError> {
        let turn = self.turn_mut(&id).ok_or_else(|| StoreError::unknown_turn(&id))?;
        turn.check_free(holder.now)?;
        let lease = Lease::new(id, holder, turn.epoch + 1);
        turn.set_lease(&lease);
        Ok(lease)
    }

    pub(super) fn renew(&mut self, lease: Lease, now: Timestamp) -> Result<Lease, StoreError> {
        self.check_lease(&lease)?;
        let lease = lease.renewed(now);
        if let Some(turn) = self.turn_mut(&lease.turn) {
            turn.set_lease(&lease);
        }
        Ok(lease)
    }

    pub(super) fn release(&mut self, lease: &Lease) {
        if let Some(turn) = self.turn_mut(&lease.turn).filter(|turn| turn.is_held_with(lease)) {
            turn.summary.holder = None;
            turn.summary.held_until = None;
        }
    }

    pub(super) fn commit(
        &mut self,
        lease: &Lease,
        writes: Vec<StoreWrite>,
    ) -> Result<(), StoreError> {
        let number = self.check_lease(lease)?;
        self.check_writes(&lease.turn, &writes)?;
        self.apply_writes(number, writes);
        Ok(())
    }

    pub(super) fn load(&self, id: &TurnId) -> Option<StoredTurn> {
        let turn = self.turns.get(self.numbers.get(id)?)?;
        let mut stored = StoredTurn::new(turn.summary.clone());
        stored.rows.clone_from(&turn.rows);
        stored.journal.clone_from(&turn.journal);
        stored.gates = turn.gates.iter().filter_map(|it| self.gates.get(it)).cloned().collect();
        Some(stored)
    }

    pub(super) fn turns(&self, query: &TurnQuery) -> Result<Vec<TurnSummary>, StoreError> {
        let end = match &query.before {
            Some(id) => *self.numbers.get(id).ok_or_else(|| StoreError::unknown_turn(id))?,
            None => u64::MAX,
        };
        let summaries = self.turns.range(..end).rev().map(|(_, turn)| &turn.summary);
        let wanted = summaries.filter(|it| {
            (query.conversation.is_none() || query.conversation == it.conversation)
                && !(query.unfinished && it.status.is_final())
        });
        Ok(wanted.take(query.limit.unwrap_or(TurnQuery::DEFAULT_LIMIT)).cloned().collect())
    }

    pub(super) fn remove(&mut self, id: &TurnId, now: Timestamp) -> Result<bool, StoreError> {
        let Some(number) = self.numbers.get(id).copied() else { return Ok(false) };
        self.turns.get(&number).map_or(Ok(()), |turn| turn.check_free(now))?;
        self.numbers.remove(id);
        for gate in self.turns.remove(&number).map(|turn| turn.gates).unwrap_or_default() {
            if let Some(gate) = self.gates.remove(&gate) {
                self.gate_numbers.remove(&gate.id);
            }
        }
        Ok(true)
    }

    pub(super) fn gate(&self, id: &GateId) -> Option<GateRow> {
        self.gates.get(self.gate_numbers.get(id)?).cloned()
    }

    pub(super) fn open_gates(&self, turn: Option<&TurnId>) -> Vec<GateRow> {
        let is_open = |gate: &&GateRow| gate.settlement.is_none();
        let Some(id) = turn else { return self.gates.values().filter(is_open).cloned().collect() };
        let turn = self.numbers.get(id).and_then(|number| self.turns.get(number));
        let gates = turn.into_iter().flat_map(|turn| &turn.gates);
        gates.filter_map(|number| self.gates.get(number)).filter(is_open).cloned().collect()
    }

    pub(super) fn settle(
        &mut self,
        id: &GateId,
        given: String,
    ) -> Result<SettleOutcome, StoreError> {
        let gate = self.gate_mut(id).ok_or_else(|| StoreError::unknown_gate(id))?;
        let first = gate.settlement.is_none();
        Ok(SettleOutcome::new(gate.settlement.get_or_insert(given).clone(), first))
    }

    pub(super) fn load_memories(&self, scope: &MemoryScope) -> Vec<MemoryRow> {
        let memories = self.memories.get(scope);
        memories.into_iter().flat_map(|it| it.rows.values()).cloned().collect()
    }

    fn turn_mut(&mut self, id: &TurnId) -> Option<&mut TurnState> {
        self.turns.get_mut(self.numbers.get(id)?)
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
                StoreWrite::OpenGate { id, json } => (id, json),
                StoreWrite::Put(_)
                | StoreWrite::Delete { .. }
                | StoreWrite::Journal(_)
                | StoreWrite::Status(_)
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

    fn apply_writes(&mut self, number: u64, writes: Vec<StoreWrite>) {
        let Some(turn) = self.turns.get_mut(&number) else { return };
        for write in writes {
            match write {
                StoreWrite::Put(row) => turn.put_row(row),
                StoreWrite::Delete { kind, id } => {
                    turn.rows.retain(|row| row.kind != kind || row.id != id);
                }
                StoreWrite::Journal(entry) => turn.journal.push(entry),
                StoreWrite::Status(status) => turn.summary.status = status,
                StoreWrite::OpenGate { id, json } if !self.gate_numbers.contains_key(&id) => {
                    self.last_gate += 1;
                    let gate = GateRow::open(id.clone(), turn.summary.id.clone(), json);
                    self.gates.insert(self.last_gate, gate);
                    self.gate_numbers.insert(id, self.last_gate);
                    turn.gates.push(self.last_gate);
                }
                StoreWrite::CloseGate { id, settlement } => {
                    let gate = self.gate_numbers.get(&id).and_then(|it| self.gates.get_mut(it));
                    if let Some(gate) = gate.filter(|gate| gate.turn == turn.summary.id) {
                        gate.settlement.get_or_insert(settlement);
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
    }
}

impl ScopeMemories {
    fn put(&mut self, id: String, json: StoredText) {
        let version = self.versions.entry(id.clone()).or_default();
        *version += 1;
        let number = *self.numbers.entry(id.clone()).or_insert_with(|| {
            self.last += 1;
            self.last
        });
        self.rows.insert(number, MemoryRow::new(id, json, *version));
    }

    fn delete(&mut self, id: &str) {
        if let Some(number) = self.numbers.remove(id) {
            self.rows.remove(&number);
            *self.versions.entry(id.to_owned()).or_default() += 1;
        }
    }
}

impl TurnState {
    fn set_lease(&mut self, lease: &Lease) {
        self.epoch = lease.epoch;
        self.summary.holder = Some(Arc::clone(&lease.holder));
        self.summary.held_until = Some(lease.until);
    }

    fn is_held_with(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch && self.summary.holder.as_ref() == Some(&lease.holder)
    }

    /// Fails while a lease on the turn is active.
    fn check_free(&self, now: Timestamp) -> Result<(), StoreError> {
        match (&self.summary.holder, self.summary.held_until) {
            (Some(holder), Some(until)) if now < until => {
                let (turn, holder) = (self.summary.id.clone(), Arc::clone(holder));
                Err(StoreError::Held { turn, holder, until })
            }
            _ => Ok(()),
        }
    }

    /// Inserts or replaces a row. The search is linear: a turn has few rows, and the last ones change most often.
    fn put_row(&mut self, row: Row) {
        let same = self.rows.iter_mut().rfind(|it| it.kind == row.kind && it.id == row.id);
        match same {
            Some(place) => *place = row,
            None => self.rows.push(row),
        }
    }
}

fn unknown_write_error() -> StoreError {
    StoreError::Invalid { what: "a write", reason: "this store does not know its sort" }
}
