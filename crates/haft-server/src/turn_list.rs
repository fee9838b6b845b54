//! Lists of turns: searched, filtered and paged in the store.
//!
//! A row is built from the summary that the store has of a turn, so that a list costs the same for turns of any size. What
//! only the turn itself says are its facts, which are read for one turn.

use std::collections::BTreeMap;

use haft::stores::{TurnId, TurnQuery, TurnStatus, TurnSummary};
use haft::turn::Timestamp;

use crate::error::ApiError;
use crate::shared::ApiShared;
use crate::stored::one_line;
use crate::timeline::{state_of, summary_row};
use crate::wire::{
    ConversationPage, ConversationRow, TurnCounts, TurnFacts, TurnFilter, TurnPage, TurnRow,
    TurnState,
};

/// The default number of turns of a page.
const PAGE: usize = 50;
/// The largest number of turns of a page.
const MAX_PAGE: usize = 200;
/// How many summaries one request looks at, for filters that the store does not have. A client continues where it stopped.
const MAX_SCANNED: usize = 5000;
/// How many turns one request counts, and how many at once.
const MAX_COUNTED: usize = 100_000;
const COUNTED_AT_ONCE: usize = 2000;
/// How many turns one request reads, for filters that summaries do not answer.
const MAX_READ: usize = 100;

impl ApiShared {
    /// Lists the turns that match a filter.
    pub(crate) async fn list_turns(&self, filter: &TurnFilter) -> Result<TurnPage, ApiError> {
        let limit = filter.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
        let mut query = store_query(filter)?;
        let (mut turns, mut scanned) = (Vec::new(), 0);
        let max_scanned = if filter.coerced == Some(true) { MAX_READ } else { MAX_SCANNED };
        // The id of a turn is not among the words that the store searches.
        if let Some(summary) = self.find_by_id(filter).await? {
            turns.push(self.to_row(&summary));
        }
        // Without a filter of its own, the server needs one summary for each row.
        let per_query = if filters_summaries(filter) { MAX_PAGE } else { limit };
        query.limit = Some(per_query);
        let next = 'pages: loop {
            let summaries = self.turns.list_turns(query.clone()).await?;
            let is_last = summaries.len() < per_query;
            for summary in summaries {
                query.before = Some(summary.id.clone());
                scanned += 1;
                if self.is_selected(filter, &summary).await? {
                    turns.push(self.to_row(&summary));
                }
                if turns.len() >= limit || scanned == max_scanned {
                    break 'pages query.before.map(|id| id.to_string());
                }
            }
            if is_last {
                break None;
            }
        };
        self.add_questions(&mut turns).await?;
        let conversation_title = match &filter.conversation {
            Some(id) => self.load_titles(vec![id.clone()]).await?.remove(id),
            None => None,
        };
        Ok(TurnPage { turns, next, scanned, conversation_title })
    }

    /// Counts the turns that match a filter, whatever state it names.
    pub(crate) async fn count_turns(&self, filter: &TurnFilter) -> Result<TurnCounts, ApiError> {
        let mut query = store_query(&TurnFilter { state: None, ..filter.clone() })?;
        query.limit = Some(COUNTED_AT_ONCE);
        let mut counts = TurnCounts::default();
        let now = self.now();
        loop {
            let summaries = self.turns.list_turns(query.clone()).await?;
            for summary in &summaries {
                counts.total += 1;
                counts.tokens += summary.tokens.unwrap_or_default();
                let state = summary.status_at(now).as_str().to_owned();
                *counts.states.entry(state).or_default() += 1;
            }
            query.before = summaries.last().map(|it| it.id.clone());
            if summaries.len() < COUNTED_AT_ONCE {
                return Ok(counts);
            }
            if counts.total >= MAX_COUNTED {
                counts.has_more = true;
                return Ok(counts);
            }
        }
    }

    /// Groups the turns of a page by conversation.
    pub(crate) async fn list_conversations(
        &self,
        filter: &TurnFilter,
    ) -> Result<ConversationPage, ApiError> {
        let limit = filter.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
        let mut query = store_query(filter)?.limit(MAX_PAGE);
        let mut rows: Vec<ConversationRow> = Vec::new();
        let mut scanned = 0;
        let next = 'pages: loop {
            let summaries = self.turns.list_turns(query.clone()).await?;
            let is_last = summaries.len() < MAX_PAGE;
            for summary in summaries {
                if rows.len() == limit || scanned == MAX_SCANNED {
                    break 'pages query.before.map(|id| id.to_string());
                }
                query.before = Some(summary.id.clone());
                scanned += 1;
                let Some(id) = summary.conversation.clone() else { continue };
                let turn = self.to_row(&summary);
                match rows.iter_mut().find(|row| row.id == id) {
                    Some(row) => {
                        row.title.clone_from(&turn.title);
                        row.turns.push(turn);
                    }
                    None => {
                        let title = turn.title.clone();
                        rows.push(ConversationRow { id, title, turns: vec![turn] });
                    }
                }
            }
            if is_last {
                break None;
            }
        };
        let mut titles = self.load_titles(rows.iter().map(|row| row.id.clone()).collect()).await?;
        for row in &mut rows {
            if let Some(title) = titles.remove(&row.id) {
                row.title = title;
            }
        }
        Ok(ConversationPage { conversations: rows, next })
    }

    /// The titles that people gave to conversations.
    async fn load_titles(
        &self,
        conversations: Vec<String>,
    ) -> Result<BTreeMap<String, String>, ApiError> {
        self.limit_load(self.turns.load_titles(&self.tenant, conversations)).await
    }

    /// The row of a summary.
    pub(crate) fn to_row(&self, summary: &TurnSummary) -> TurnRow {
        summary_row(summary, self.now())
    }

    /// Reads the facts of a turn.
    pub(crate) async fn load_facts(&self, turn: &TurnId) -> Result<TurnFacts, ApiError> {
        Ok(self.read_turn(turn).await?.facts().clone())
    }

    /// Adds the questions of open gates to turns that wait.
    pub(crate) async fn add_questions(&self, turns: &mut [TurnRow]) -> Result<(), ApiError> {
        if turns.iter().all(|turn| turn.state != TurnState::Waiting) {
            return Ok(());
        }
        let gates = self.turns.gates().open_gates(None).await?;
        for gate in gates.iter().rev() {
            if let Some(turn) = turns.iter_mut().find(|it| it.id == gate.turn.as_str()) {
                turn.question = Some(one_line(&gate.reason, 200));
            }
        }
        Ok(())
    }

    async fn find_by_id(&self, filter: &TurnFilter) -> Result<Option<TurnSummary>, ApiError> {
        let words = filter.search.as_deref().unwrap_or_default().trim();
        let (Ok(id), None) = (words.parse::<TurnId>(), &filter.before) else { return Ok(None) };
        Ok(self.turns.load_summary(&id).await?)
    }

    /// What the store does not filter by.
    async fn is_selected(
        &self,
        filter: &TurnFilter,
        summary: &TurnSummary,
    ) -> Result<bool, ApiError> {
        let has_state = filter.state.is_none_or(|state| state == state_of(summary, self.now()));
        if !has_state || filter.coerced != Some(true) {
            return Ok(has_state);
        }
        Ok(self.load_facts(&summary.id).await.is_ok_and(|facts| facts.coerced_calls > 0))
    }
}

/// Whether the server looks at summaries that it may leave out.
fn filters_summaries(filter: &TurnFilter) -> bool {
    filter.state.is_some() || filter.coerced == Some(true)
}

/// The query of the store for a filter.
fn store_query(filter: &TurnFilter) -> Result<TurnQuery, ApiError> {
    let mut query = TurnQuery::default();
    query.conversation.clone_from(&filter.conversation);
    query.agent.clone_from(&filter.agent);
    query.model.clone_from(&filter.model);
    query.tool.clone_from(&filter.tool);
    query.min_tokens = filter.min_tokens;
    query.statuses = filter.state.map(statuses_of).unwrap_or_default();
    if let Some(before) = &filter.before {
        let id = before.parse().map_err(|error| ApiError::invalid(format!("`before`: {error}")))?;
        query.before = Some(id);
    }
    if let Some(since) = &filter.since {
        let time = Timestamp::parse_rfc3339(since);
        query.created_from =
            Some(time.map_err(|error| ApiError::invalid(format!("`since`: {error}")))?);
    }
    Ok(query.matching(filter.search.as_deref().unwrap_or_default()))
}

/// The stored statuses of a state. A running turn and an interrupted one differ by their leases.
fn statuses_of(state: TurnState) -> Vec<TurnStatus> {
    let status = match state {
        TurnState::Interrupted => return vec![TurnStatus::Interrupted, TurnStatus::Running],
        TurnState::Queued => TurnStatus::Queued,
        TurnState::Running => TurnStatus::Running,
        TurnState::Waiting => TurnStatus::Waiting,
        TurnState::CancelRequested => TurnStatus::CancelRequested,
        TurnState::Completed => TurnStatus::Completed,
        TurnState::Failed => TurnStatus::Failed,
        TurnState::Cancelled => TurnStatus::Cancelled,
        TurnState::LimitReached => TurnStatus::LimitReached,
        // No turn is stored with it: every turn is read.
        TurnState::Damaged => return Vec::new(),
    };
    vec![status]
}
