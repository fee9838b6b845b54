//! What is read of a store in memory.

use haft_core::clock::Timestamp;
use haft_core::store::{
    ClaimFilter, GateId, GateRow, JournalRow, MemoryRow, MemoryScope, NumberedRow, OutlineRow,
    StoreError, StoredTurn, TurnId, TurnOutline, TurnQuery, TurnSummary,
};

use super::scope::ScopeMemories;
use super::state::StoreState;

impl StoreState {
    pub(super) fn count_claimable(&self, filter: &ClaimFilter, now: Timestamp) -> u64 {
        let turns = self.runnable.iter().filter_map(|(_, _, number)| self.turns.get(number));
        let claimable = turns.map(|turn| &turn.summary).filter(|it| {
            it.schedule().is_claimable(now) && filter.selects(it.agent.as_deref(), &it.tenant)
        });
        claimable.count() as u64
    }

    pub(super) fn load(&self, id: &TurnId) -> Option<StoredTurn> {
        let turn = self.turns.get(self.numbers.get(id)?)?;
        let mut stored = StoredTurn::new(turn.summary.clone());
        stored.rows = turn.rows.iter().cloned().collect();
        stored.journal.clone_from(&turn.journal);
        stored.gates = turn.gates.iter().filter_map(|it| self.gates.get(it)).cloned().collect();
        Some(stored)
    }

    pub(super) fn summary(&self, id: &TurnId) -> Option<TurnSummary> {
        Some(self.turns.get(self.numbers.get(id)?)?.summary.clone())
    }

    pub(super) fn read_journal(&self, id: &TurnId, after: u64, limit: usize) -> Vec<JournalRow> {
        let turn = self.numbers.get(id).and_then(|number| self.turns.get(number));
        let entries = turn.into_iter().flat_map(|turn| (1..).zip(&turn.journal));
        let skipped = after.min(usize::MAX as u64) as usize;
        let entries = entries.skip(skipped).take(limit);
        entries.map(|(number, json)| JournalRow::new(number, json.clone())).collect()
    }

    pub(super) fn outline(&self, id: &TurnId) -> Option<TurnOutline> {
        let turn = self.turns.get(self.numbers.get(id)?)?;
        let mut outline = TurnOutline::new(turn.summary.clone());
        let rows = turn.rows.behind(0);
        let rows = rows.map(|(number, row)| OutlineRow::new(number, row.kind, row.id.clone()));
        outline.rows = rows.collect();
        outline.journal = (1..).take(turn.journal.len()).collect();
        outline.gates = turn.gates.iter().filter_map(|it| self.gates.get(it)).cloned().collect();
        Some(outline)
    }

    pub(super) fn read_rows(&self, id: &TurnId, after: u64, limit: usize) -> Vec<NumberedRow> {
        let turn = self.numbers.get(id).and_then(|number| self.turns.get(number));
        let rows = turn.into_iter().flat_map(|turn| turn.rows.behind(after)).take(limit);
        rows.map(|(number, row)| NumberedRow::new(number, row.clone())).collect()
    }

    pub(super) fn turns(&self, query: &TurnQuery) -> Result<Vec<TurnSummary>, StoreError> {
        let limit = query.limit.unwrap_or(TurnQuery::DEFAULT_LIMIT);
        Ok(self.select_turns(query)?.take(limit).cloned().collect())
    }

    /// All turns that a query selects, newest first. Only as many are looked at as are taken.
    pub(super) fn select_turns(
        &self,
        query: &TurnQuery,
    ) -> Result<impl Iterator<Item = &TurnSummary>, StoreError> {
        let end = match &query.before {
            Some(id) => *self.numbers.get(id).ok_or_else(|| StoreError::unknown_turn(id))?,
            None => u64::MAX,
        };
        let summaries = self.turns.range(..end).rev().map(|(_, turn)| &turn.summary);
        Ok(summaries.filter(|it| query.selects(it)))
    }

    pub(super) fn gate(&self, id: &GateId) -> Option<GateRow> {
        self.gates.get(self.gate_numbers.get(id)?).cloned()
    }

    /// The open gates of all turns of a tenant.
    pub(super) fn open_gates_of(&self, tenant: &str) -> Vec<GateRow> {
        let is_selected = |gate: &&GateRow| {
            let turn = self.numbers.get(&gate.turn).and_then(|number| self.turns.get(number));
            gate.settlement.is_none() && turn.is_some_and(|turn| turn.summary.tenant == tenant)
        };
        self.gates.values().filter(is_selected).cloned().collect()
    }

    pub(super) fn open_gates(&self, turn: Option<&TurnId>) -> Vec<GateRow> {
        let is_open = |gate: &&GateRow| gate.settlement.is_none();
        let Some(id) = turn else { return self.gates.values().filter(is_open).cloned().collect() };
        let turn = self.numbers.get(id).and_then(|number| self.turns.get(number));
        let gates = turn.into_iter().flat_map(|turn| &turn.gates);
        gates.filter_map(|number| self.gates.get(number)).filter(is_open).cloned().collect()
    }

    pub(super) fn load_memories(&self, scope: &MemoryScope) -> Vec<MemoryRow> {
        let memories = self.memories.get(scope);
        memories.into_iter().flat_map(ScopeMemories::rows).cloned().collect()
    }
}
