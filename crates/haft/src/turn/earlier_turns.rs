//! Reading earlier turns.

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::artifact::SpooledArtifact;
use haft_core::call::{CallState, ToolCall, ToolResults};
use haft_core::context::{
    EarlierRecord, EarlierTurn, HistoryError, HistoryReader, HydratedRange, TurnContext,
};
use haft_core::record::{
    LoadError, Memory, Message, Record as _, Retrievable, RetrievableContent, Thought,
};
use haft_core::store::{MemoryScope, Row, RowKind, StoreError, TurnId, TurnQuery, TurnSummary};

use super::log::StoredLog;
use super::shared_turn::SharedTurn;
use super::stored_turns::TurnStores;

impl TurnStores {
    /// Loads a turn as later ones show it.
    async fn load_earlier(&self, turn: TurnId) -> Result<Option<EarlierTurn>, HistoryError> {
        let Some(stored) = self.store.load(turn).await? else { return Ok(None) };
        let mut turn = EarlierTurn::new(stored.summary.id.clone(), stored.summary.status);
        turn.created_at = Some(stored.summary.created_at);
        let read = StoredLog::read(&stored.summary.id, &stored.journal)?;
        for row in &stored.rows {
            let record = self.load_record(row).await?;
            let withhold = |record| withhold_unchecked(record, &read.unchecked);
            turn.records.extend(record.map(withhold));
        }
        turn.shown = read.hydrations.into_iter().next().unwrap_or_default();
        Ok(Some(turn))
    }

    /// Loads the record of a row, if later turns can show it.
    async fn load_record(&self, row: &Row) -> Result<Option<EarlierRecord>, LoadError> {
        let readers = &self.readers;
        Ok(match row.kind {
            RowKind::Message => {
                Some(EarlierRecord::Message(Arc::new(Message::open_row(row, readers).await?)))
            }
            RowKind::Thought => Some(EarlierRecord::Thought(Arc::new(Thought::from_row(row)?))),
            RowKind::ToolCall => {
                let call = self.load_call(row).await?;
                call.state().is_final().then(|| EarlierRecord::ToolCall(Arc::new(call)))
            }
            RowKind::Retrievable => {
                let record = Retrievable::open_row(row, readers).await?;
                let is_lost = matches!(
                    record.content(),
                    RetrievableContent::Artifact(artifact) if artifact.is_lost()
                );
                (!is_lost).then(|| EarlierRecord::Retrievable(Arc::new(record)))
            }
            // Memories belong to their scope, and every turn brings its own instructions.
            _ => None,
        })
    }

    /// Loads a call. A result whose content was removed is replaced by a notice: the call was made all the same.
    async fn load_call(&self, row: &Row) -> Result<ToolCall, LoadError> {
        let mut call = ToolCall::open_row(row, &self.readers).await?;
        if let Some(ToolResults::Artifacts(artifacts)) = &call.results
            && artifacts.iter().any(SpooledArtifact::is_lost)
        {
            call.results = Some(ToolResults::Text(GONE_TEXT.to_owned()));
        }
        Ok(call)
    }

    /// Loads the turns of a range, oldest first. Turns that were removed are missing.
    pub(super) async fn load_range(
        &self,
        ctx: &TurnContext,
        range: &HydratedRange,
    ) -> Result<Vec<EarlierTurn>, HistoryError> {
        let (Some(conversation), Ok(mut before)) = (ctx.conversation(), ctx.turn_id().parse())
        else {
            return Ok(Vec::new());
        };
        let mut turns = Vec::with_capacity(range.count);
        loop {
            let query = TurnQuery::default().conversation(conversation).before(before);
            let page = self.store.turns(query).await?;
            let Some(oldest) = page.last().map(|summary| summary.id.clone()) else { break };
            for summary in page.into_iter().filter(|it| !range.except.contains(&it.id)) {
                // The oldest turn of the range may have been removed.
                let is_older =
                    range.first_created_at.is_some_and(|first| summary.created_at < first);
                if turns.len() == range.count || is_older {
                    turns.reverse();
                    return Ok(turns);
                }
                let is_first = summary.id == range.first;
                turns.extend(self.load_earlier(summary.id).await?);
                if is_first {
                    turns.reverse();
                    return Ok(turns);
                }
            }
            before = oldest;
        }
        turns.reverse();
        Ok(turns)
    }

    /// Loads the memories of a scope.
    pub(super) async fn load_scope(&self, scope: MemoryScope) -> Result<Vec<Memory>, HistoryError> {
        let rows = self.store.load_memories(scope).await?;
        let mut memories = Vec::with_capacity(rows.len());
        for row in rows {
            memories.push(Memory::from_json(&row.json)?);
        }
        Ok(memories)
    }
}

/// Reads earlier turns for a turn, and counts for it when the store fails. The object that opens gates does it, because it
/// knows the agent and the recorder of the turn.
impl HistoryReader for SharedTurn {
    fn list_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>> {
        Box::pin(self.recorder.watch(self.agent.store.turns(query)))
    }

    fn load_turn(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<EarlierTurn>, HistoryError>> {
        Box::pin(self.recorder.watch(self.agent.load_earlier(turn)))
    }

    fn load_memories(
        &self,
        scope: MemoryScope,
    ) -> BoxFuture<'_, Result<Vec<Memory>, HistoryError>> {
        Box::pin(self.recorder.watch(self.agent.load_scope(scope)))
    }
}

/// Replaces what a handler returned by a notice, if output middleware did not look at it.
fn withhold_unchecked(record: EarlierRecord, unchecked: &HashSet<u32>) -> EarlierRecord {
    let EarlierRecord::ToolCall(call) = &record else { return record };
    let is_of_handler = matches!(call.state(), CallState::Succeeded | CallState::Failed);
    if !is_of_handler || !unchecked.contains(&call.iteration) {
        return record;
    }
    let mut call = ToolCall::clone(call);
    match &mut call.error {
        Some(error) => error.message = UNCHECKED_TEXT.to_owned(),
        None => call.results = Some(ToolResults::Text(UNCHECKED_TEXT.to_owned())),
    }
    EarlierRecord::ToolCall(Arc::new(call))
}

/// Replaces what output middleware did not look at.
const UNCHECKED_TEXT: &str =
    "(this result was not checked, because its turn ended first; it is not shown)";

/// Replaces a result whose content is not stored any more.
const GONE_TEXT: &str = "(the content of this result is not stored any more)";
