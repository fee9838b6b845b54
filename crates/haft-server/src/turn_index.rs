//! Lists and searches turns.
//!
//! The store lists turns by their summaries. What else a row shows is read from the turn itself; rows of turns that have
//! ended never change and are cached.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft::stores::{StoredTurn, TurnId, TurnQuery, TurnSummary};
use haft::turn::{Timestamp, TurnRunner};

use crate::error::ApiError;
use crate::timeline::ReadTurn;
use crate::wire::{TurnFilter, TurnPage, TurnRow};

/// The default number of turns of a page.
const PAGE: usize = 50;
/// The largest number of turns of a page.
const MAX_PAGE: usize = 200;
/// How many turns one request looks at. A client continues where it stopped.
const MAX_SCANNED: usize = 2000;
/// How many rows are cached.
const MAX_CACHED: usize = 4000;

/// A row with the words that a search looks at.
#[derive(Clone, Debug)]
pub(crate) struct IndexedTurn {
    pub(crate) row: TurnRow,
    search: String,
}

/// The rows of ended turns.
#[derive(Debug, Default)]
pub(crate) struct TurnIndex {
    cache: Mutex<RowCache>,
}

#[derive(Debug, Default)]
struct RowCache {
    rows: HashMap<TurnId, IndexedTurn>,
    order: VecDeque<TurnId>,
}

/// Names the agent of a turn.
pub(crate) type AgentNames<'a> = &'a (dyn Fn(&StoredTurn) -> Option<String> + Send + Sync);

impl TurnIndex {
    /// Lists the turns that match a filter.
    pub(crate) async fn list_turns(
        &self,
        runner: &TurnRunner,
        filter: &TurnFilter,
        agents: AgentNames<'_>,
        now: Timestamp,
    ) -> Result<TurnPage, ApiError> {
        let limit = filter.limit.unwrap_or(PAGE).clamp(1, MAX_PAGE);
        let mut query = TurnQuery::default().limit(MAX_PAGE);
        query.conversation = filter.conversation.clone();
        query.before = parse_before(filter)?;
        let (mut turns, mut scanned) = (Vec::new(), 0);
        loop {
            let summaries = runner.list_turns(query.clone()).await?;
            let is_last = summaries.len() < MAX_PAGE;
            for summary in summaries {
                query.before = Some(summary.id.clone());
                scanned += 1;
                let Some(indexed) = self.load_row(runner, &summary, agents, now).await? else {
                    continue;
                };
                if matches(filter, &indexed) {
                    turns.push(indexed.row);
                }
                if turns.len() == limit || scanned == MAX_SCANNED {
                    let next = query.before.map(|id| id.to_string());
                    return Ok(TurnPage { turns, next, scanned });
                }
            }
            if is_last {
                return Ok(TurnPage { turns, next: None, scanned });
            }
        }
    }

    /// The row of a turn; nothing if it was removed.
    pub(crate) async fn load_row(
        &self,
        runner: &TurnRunner,
        summary: &TurnSummary,
        agents: AgentNames<'_>,
        now: Timestamp,
    ) -> Result<Option<IndexedTurn>, ApiError> {
        if summary.status.is_final()
            && let Some(known) = self.lock().rows.get(&summary.id)
        {
            return Ok(Some(known.clone()));
        }
        let Some(stored) = runner.load_turn(&summary.id).await? else { return Ok(None) };
        let agent = agents(&stored);
        let Ok(read) = ReadTurn::new(&stored, now) else { return Ok(None) };
        let row = read.to_row(agent);
        let agent = row.agent.clone().unwrap_or_default();
        let search =
            format!("{} {} {} {}", row.id, row.title, agent, read.search_text()).to_lowercase();
        let indexed = IndexedTurn { row, search };
        if stored.summary.status.is_final() {
            self.lock().insert(summary.id.clone(), indexed.clone());
        }
        Ok(Some(indexed))
    }

    fn lock(&self) -> MutexGuard<'_, RowCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RowCache {
    fn insert(&mut self, id: TurnId, row: IndexedTurn) {
        if self.rows.insert(id.clone(), row).is_none() {
            self.order.push_back(id);
        }
        while self.order.len() > MAX_CACHED {
            if let Some(oldest) = self.order.pop_front() {
                self.rows.remove(&oldest);
            }
        }
    }
}

fn parse_before(filter: &TurnFilter) -> Result<Option<TurnId>, ApiError> {
    let parse = |text: &String| {
        text.parse().map_err(|error| ApiError::invalid(format!("`before`: {error}")))
    };
    filter.before.as_ref().map(parse).transpose()
}

fn matches(filter: &TurnFilter, turn: &IndexedTurn) -> bool {
    let row = &turn.row;
    let is = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
    let words = filter.search.as_deref().unwrap_or_default().to_lowercase();
    words.split_whitespace().all(|word| turn.search.contains(word))
        && filter.state.is_none_or(|state| state == row.state)
        && is(&filter.agent, &row.agent)
        && is(&filter.model, &row.model)
        && (filter.coerced != Some(true) || row.coerced_calls > 0)
        && filter.since.as_deref().is_none_or(|since| row.created_at.as_str() >= since)
        && filter.min_tokens.is_none_or(|least| row.usage.prompt + row.usage.completion >= least)
}
