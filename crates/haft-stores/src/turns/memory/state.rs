//! The state of a store in memory. It has no indexes but the names of turns: everything else is found by looking at all
//! turns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use haft_core::clock::Timestamp;
use haft_core::spool::SpoolKey;
use haft_core::store::{
    ClaimFilter, GateId, GateQuery, GateRow, JournalRow, Lease, MemoryRow, MemoryScope, NewTurn,
    Row, SettleOutcome, StoreError, StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStatus,
    TurnSummary,
};

use crate::turns::turn_row::{Holder, TurnRow};

/// A method that fails changes nothing.
#[derive(Default)]
pub(super) struct StoreState {
    /// The turns by number, in the order of their creation.
    turns: BTreeMap<u64, Turn>,
    numbers: HashMap<TurnId, u64>,
    last_turn: u64,
    /// Counts gates and ends of turns, for their order.
    last_event: u64,
    memories: HashMap<MemoryScope, Vec<Memory>>,
    /// The titles of conversations, by tenant and id.
    titles: HashMap<(String, String), String>,
    /// The maximum number of ended turns; `None` for no limit.
    pub(super) max_ended: Option<usize>,
}

struct Turn {
    row: TurnRow,
    records: Vec<Row>,
    journal: Vec<String>,
    gates: Vec<Gate>,
    /// The place of its end in the order of ends.
    ended: u64,
}

struct Gate {
    number: u64,
    row: GateRow,
    expires_at: Option<Timestamp>,
}

/// A memory of a scope. One that was deleted stays with its version.
struct Memory {
    row: MemoryRow,
    is_deleted: bool,
}

impl StoreState {
    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    pub(super) fn insert(
        &mut self,
        new: NewTurn,
        now: Timestamp,
    ) -> Result<Option<Lease>, StoreError> {
        if self.numbers.contains_key(&new.id) {
            return Err(StoreError::turn_exists(&new.id));
        }
        self.check_writes(&new.id, &new.writes)?;
        let (row, lease) = TurnRow::new(&new, None, now);
        self.last_turn += 1;
        let number = self.last_turn;
        self.numbers.insert(new.id, number);
        let records = Vec::new();
        let journal = Vec::new();
        let gates = Vec::new();
        self.turns.insert(number, Turn { row, records, journal, gates, ended: 0 });
        self.apply(number, new.writes, now);
        Ok(lease)
    }

    pub(super) fn find_mut(&mut self, id: &TurnId) -> Result<&mut TurnRow, StoreError> {
        let turn = self.numbers.get(id).and_then(|number| self.turns.get_mut(number));
        Ok(&mut turn.ok_or_else(|| StoreError::unknown_turn(id))?.row)
    }

    fn find(&self, id: &TurnId) -> Option<&Turn> {
        self.turns.get(self.numbers.get(id)?)
    }

    pub(super) fn claim(
        &mut self,
        filter: &ClaimFilter,
        holder: Holder<'_>,
        (count, now): (usize, Timestamp),
    ) -> Result<Vec<Lease>, StoreError> {
        if let Some(id) = &filter.turn {
            let row = self.find_mut(id)?;
            if !filter.selects(row.summary.agent.as_deref(), &row.summary.tenant) {
                return Err(StoreError::unknown_turn(id));
            }
            row.check_free(now)?;
            return Ok(vec![row.claim(holder, now)]);
        }
        // What is claimed keeps other turns of its conversation from being claimed.
        let claimed = std::iter::from_fn(|| self.claim_next(filter, holder, now));
        Ok(claimed.take(count).collect())
    }

    fn claim_next(
        &mut self,
        filter: &ClaimFilter,
        holder: Holder<'_>,
        now: Timestamp,
    ) -> Option<Lease> {
        let next = self.turns.iter().filter(|(number, turn)| {
            let it = &turn.row.summary;
            is_claimable(it, now)
                && filter.selects(it.agent.as_deref(), &it.tenant)
                && !self.is_conversation_busy(**number, it, now)
        });
        let order = |(number, turn): &(&u64, &Turn)| {
            (Reverse(turn.row.summary.priority), turn.row.summary.runnable_at, **number)
        };
        let number = next.min_by_key(order).map(|(number, _)| *number);
        let turn = number.and_then(|number| self.turns.get_mut(&number))?;
        Some(turn.row.claim(holder, now))
    }

    /// Whether another turn of the conversation runs, or comes before a queued one.
    fn is_conversation_busy(&self, number: u64, summary: &TurnSummary, now: Timestamp) -> bool {
        let Some(conversation) = &summary.conversation else { return false };
        self.turns.iter().any(|(other, turn)| {
            let it = &turn.row.summary;
            *other != number
                && it.conversation.as_ref() == Some(conversation)
                && it.tenant == summary.tenant
                && !it.status.is_final()
                && (it.held_until.is_some_and(|until| now < until)
                    || (summary.status == TurnStatus::Queued && *other < number))
        })
    }

    /// Returns whether the turn has ended with the writes.
    pub(super) fn commit(
        &mut self,
        lease: &Lease,
        writes: Vec<StoreWrite>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.find_mut(&lease.turn)?.check_lease(lease)?;
        self.check_writes(&lease.turn, &writes)?;
        let number = self.numbers.get(&lease.turn).copied().unwrap_or_default();
        Ok(self.apply(number, writes, now))
    }

    /// Fails if one of the writes opens a gate whose id belongs to another gate.
    fn check_writes(&self, turn: &TurnId, writes: &[StoreWrite]) -> Result<(), StoreError> {
        let mut opened: Vec<(&GateId, &str)> = Vec::new();
        for write in writes {
            let (id, json) = match write {
                StoreWrite::OpenGate { id, json, .. } => (id, json.as_str()),
                StoreWrite::Put(_)
                | StoreWrite::Delete { .. }
                | StoreWrite::Journal(_)
                | StoreWrite::Status(_)
                | StoreWrite::Interrupt { .. }
                | StoreWrite::Progress
                | StoreWrite::Summary(_)
                | StoreWrite::CloseGate { .. }
                | StoreWrite::PutMemory { .. }
                | StoreWrite::DeleteMemory { .. } => continue,
                _ => {
                    let reason = "this store does not know its sort";
                    return Err(StoreError::Invalid { what: "a write", reason });
                }
            };
            let is_same = match self.gates().find(|gate| gate.row.id == *id) {
                Some(gate) => gate.row.turn == *turn && gate.row.json == *json,
                None => opened.iter().all(|(other, text)| *other != id || *text == json),
            };
            if !is_same {
                return Err(StoreError::gate_exists(id));
            }
            opened.push((id, json));
        }
        Ok(())
    }

    /// Returns whether the turn has ended with the writes.
    fn apply(&mut self, number: u64, writes: Vec<StoreWrite>, now: Timestamp) -> bool {
        let Some(turn) = self.turns.get_mut(&number) else { return false };
        let before = turn.row.summary.status;
        for write in writes {
            match write {
                StoreWrite::Put(row) => {
                    let is_same = |it: &Row| it.kind == row.kind && it.id == row.id;
                    match turn.records.iter_mut().rfind(|it| is_same(it)) {
                        Some(place) => *place = row,
                        None => turn.records.push(row),
                    }
                }
                StoreWrite::Delete { kind, id } => {
                    turn.records.retain(|it| it.kind != kind || it.id != id);
                }
                StoreWrite::Journal(entry) => turn.journal.push(entry),
                StoreWrite::Status(status) => {
                    let open = turn.gates.iter().filter(|it| it.row.settlement.is_none());
                    let first_expiry = open.filter_map(|it| it.expires_at).min();
                    turn.row.set_status(status, first_expiry);
                }
                StoreWrite::Interrupt { delay } => turn.row.interrupt(delay, now),
                StoreWrite::Progress => turn.row.summary.take_overs = 0,
                StoreWrite::Summary(update) => turn.row.summary.update(&update),
                // Another turn's gate of this name was refused before.
                StoreWrite::OpenGate { id, json, expires_at }
                    if turn.gates.iter().all(|it| it.row.id != id) =>
                {
                    self.last_event += 1;
                    let row = GateRow::open(id, turn.row.summary.id.clone(), json);
                    turn.gates.push(Gate { number: self.last_event, row, expires_at });
                }
                StoreWrite::OpenGate { .. } => {}
                StoreWrite::CloseGate { id, settlement } => {
                    if let Some(gate) = turn.gates.iter_mut().find(|it| it.row.id == id) {
                        gate.row.settlement.get_or_insert(settlement);
                    }
                }
                StoreWrite::PutMemory { scope, id, json } => {
                    put_memory(self.memories.entry(scope).or_default(), id, json);
                }
                StoreWrite::DeleteMemory { scope, id } => {
                    let memories = self.memories.get_mut(&scope).into_iter().flatten();
                    for memory in memories.filter(|it| it.row.id == id && !it.is_deleted) {
                        memory.is_deleted = true;
                        memory.row.version += 1;
                    }
                }
                // `check_writes` has refused all others.
                _ => {}
            }
        }
        let has_ended = turn.row.note_commit(before, now);
        if has_ended {
            self.last_event += 1;
            turn.ended = self.last_event;
        }
        has_ended
    }

    /// Removes the turns that ended first while there are more than are to be stored. A turn that its process still holds
    /// is removed later, and those after it with it.
    pub(super) fn remove_surplus(&mut self, now: Timestamp) {
        let Some(limit) = self.max_ended else { return };
        let ended = self.turns.values().filter(|turn| turn.row.summary.status.is_final());
        let mut ended: Vec<(u64, TurnId, bool)> = ended
            .map(|it| (it.ended, it.row.summary.id.clone(), it.row.check_free(now).is_ok()))
            .collect();
        ended.sort_unstable_by_key(|(place, ..)| *place);
        let surplus = ended.len().saturating_sub(limit);
        for (_, id, is_free) in ended.into_iter().take(surplus) {
            if !is_free {
                return;
            }
            self.remove(&id);
        }
    }

    pub(super) fn remove_turns(
        &mut self,
        query: &TurnQuery,
        now: Timestamp,
    ) -> Result<Vec<TurnId>, StoreError> {
        let is_named = query.id.is_some();
        let mut selected = Vec::new();
        for turn in self.select(query)? {
            let it = &turn.row.summary;
            match turn.row.check_free(now) {
                Err(held) if is_named => return Err(held),
                Ok(()) if is_named || it.status.is_final() => selected.push(it.id.clone()),
                _ => {}
            }
            if selected.len() >= query.limit.unwrap_or(TurnQuery::DEFAULT_LIMIT) {
                break;
            }
        }
        for id in &selected {
            self.remove(id);
        }
        Ok(selected)
    }

    fn remove(&mut self, id: &TurnId) {
        let removed = self.numbers.remove(id).and_then(|number| self.turns.remove(&number));
        let Some((summary, conversation)) = removed.and_then(|turn| {
            let conversation = turn.row.summary.conversation.clone()?;
            Some((turn.row.summary, conversation))
        }) else {
            return;
        };
        // A conversation loses its title with its last turn.
        let is_other = |turn: &Turn| {
            turn.row.summary.conversation == summary.conversation
                && turn.row.summary.tenant == summary.tenant
        };
        if !self.titles.is_empty() && !self.turns.values().any(is_other) {
            self.titles.remove(&(summary.tenant, conversation));
        }
    }

    /// All turns that a query selects, newest first.
    fn select(&self, query: &TurnQuery) -> Result<impl Iterator<Item = &Turn>, StoreError> {
        let end = match &query.before {
            Some(id) => *self.numbers.get(id).ok_or_else(|| StoreError::unknown_turn(id))?,
            None => u64::MAX,
        };
        let from = query.id.as_ref().map(|id| self.numbers.get(id).copied().unwrap_or(u64::MAX));
        let range = match from {
            // One turn is found by its name.
            Some(number) => number..end.min(number.saturating_add(1)).max(number),
            None => 0..end,
        };
        let turns = self.turns.range(range).rev().map(|(_, turn)| turn);
        Ok(turns.filter(|turn| query.selects(&turn.row.summary)))
    }

    pub(super) fn list_turns(
        &self,
        query: &TurnQuery,
        now: Timestamp,
    ) -> Result<Vec<TurnSummary>, StoreError> {
        let limit = query.limit.unwrap_or(TurnQuery::DEFAULT_LIMIT);
        let turns = self.select(query)?.map(|turn| &turn.row.summary);
        let turns = turns.filter(|it| !query.claimable || is_claimable(it, now));
        Ok(turns.take(limit).cloned().collect())
    }

    pub(super) fn load(&self, id: &TurnId) -> Option<StoredTurn> {
        let turn = self.find(id)?;
        let mut stored = StoredTurn::new(turn.row.summary.clone());
        stored.rows.clone_from(&turn.records);
        stored.journal.clone_from(&turn.journal);
        stored.gates = turn.gates.iter().map(|gate| gate.row.clone()).collect();
        Some(stored)
    }

    pub(super) fn read_journal(&self, id: &TurnId, after: u64, limit: usize) -> Vec<JournalRow> {
        let entries = self.find(id).into_iter().flat_map(|turn| (1..).zip(&turn.journal));
        let entries = entries.skip(usize::try_from(after).unwrap_or(usize::MAX)).take(limit);
        entries.map(|(number, json)| JournalRow::new(number, json.clone())).collect()
    }

    pub(super) fn unreferenced_keys(&self, mut keys: Vec<SpoolKey>) -> Vec<SpoolKey> {
        let records = self.turns.values().flat_map(|turn| &turn.records);
        let used: HashSet<SpoolKey> = records.flat_map(Row::content_keys).collect();
        keys.retain(|key| !used.contains(key));
        keys
    }

    fn gates(&self) -> impl Iterator<Item = &Gate> {
        self.turns.values().flat_map(|turn| &turn.gates)
    }

    pub(super) fn list_gates(&self, query: &GateQuery) -> Vec<GateRow> {
        let turns: Vec<&Turn> = match &query.turn {
            Some(id) => self.find(id).into_iter().collect(),
            None => self.turns.values().collect(),
        };
        let mut found: Vec<&Gate> = Vec::new();
        for turn in turns {
            let tenant = &turn.row.summary.tenant;
            found.extend(turn.gates.iter().filter(|gate| query.selects(&gate.row, tenant)));
        }
        found.sort_unstable_by_key(|gate| gate.number);
        found.into_iter().map(|gate| gate.row.clone()).collect()
    }

    /// Returns the turn of the gate, too.
    pub(super) fn settle(
        &mut self,
        id: &GateId,
        given: String,
        now: Timestamp,
    ) -> Result<(SettleOutcome, TurnId), StoreError> {
        for turn in self.turns.values_mut() {
            let Some(gate) = turn.gates.iter_mut().find(|gate| gate.row.id == *id) else {
                continue;
            };
            let first = gate.row.settlement.is_none();
            let settlement = gate.row.settlement.get_or_insert(given).clone();
            if first {
                turn.row.settle_gate(now);
            }
            let turn = turn.row.summary.id.clone();
            return Ok((SettleOutcome::new(settlement, first), turn));
        }
        Err(StoreError::unknown_gate(id))
    }

    pub(super) fn load_memories(&self, scope: &MemoryScope) -> Vec<MemoryRow> {
        let memories = self.memories.get(scope).into_iter().flatten();
        memories.filter(|it| !it.is_deleted).map(|it| it.row.clone()).collect()
    }

    pub(super) fn set_title(
        &mut self,
        tenant: String,
        conversation: String,
        title: Option<String>,
    ) {
        match title {
            Some(title) => self.titles.insert((tenant, conversation), title),
            None => self.titles.remove(&(tenant, conversation)),
        };
    }

    pub(super) fn load_titles(
        &self,
        tenant: &str,
        conversations: Vec<String>,
    ) -> BTreeMap<String, String> {
        let titles = conversations.into_iter().filter_map(|id| {
            let key = (tenant.to_owned(), id);
            let title = self.titles.get(&key)?.clone();
            Some((key.1, title))
        });
        titles.collect()
    }
}

fn is_claimable(it: &TurnSummary, now: Timestamp) -> bool {
    it.held_until.is_none_or(|until| until <= now) && it.runnable_at.is_some_and(|at| at <= now)
}

/// A memory that is replaced keeps its place; one that was deleted gets a new place.
fn put_memory(memories: &mut Vec<Memory>, id: String, json: String) {
    let place = memories.iter().position(|it| it.row.id == id);
    let Some(memory) = place.and_then(|place| memories.get_mut(place).map(|it| (place, it))) else {
        let row = MemoryRow::new(id, json, 1);
        memories.push(Memory { row, is_deleted: false });
        return;
    };
    let (place, memory) = memory;
    let version = memory.row.version + 1;
    memory.row = MemoryRow::new(id, json, version);
    if memory.is_deleted {
        memory.is_deleted = false;
        let memory = memories.remove(place);
        memories.push(memory);
    }
}
