//! Lists of turns.

use haft_core::clock::Timestamp;
use haft_core::store::{StoreError, StoreKey, TurnId, TurnQuery, TurnStatus, TurnSummary};

use super::turn::{COLUMNS, ListedTurn};
use super::{
    SqlRow, SqlTransaction, SqlValue, UNFINISHED, index_hint, query as run_query, read_time,
    saturating_i64,
};
use crate::turns::tool_word;

/// Which of the selected turns a list has, by their leases.
#[derive(Clone, Copy)]
pub(in crate::turns) enum ByLease {
    All,
    /// Those that can be claimed now.
    Claimable(Timestamp),
    /// Those on which no lease is active now.
    Free(Timestamp),
}

pub(in crate::turns) async fn list_turns<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    query: &TurnQuery,
) -> Result<Vec<TurnSummary>, T::Error> {
    let by_lease = match query.claimable {
        true => ByLease::Claimable(read_time(tx).await?),
        false => ByLease::All,
    };
    select(tx, key, query, by_lease).await
}

/// Lists a page of the selected turns that have ended and on which no lease is active.
pub(super) async fn list_removable_turns<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    query: &TurnQuery,
    now: Timestamp,
) -> Result<Vec<TurnId>, T::Error> {
    let mut query = query.clone();
    if query.statuses.is_empty() {
        query.statuses = TurnStatus::ALL.to_vec();
    }
    query.statuses.retain(|status| status.is_final());
    if query.statuses.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = select(tx, key, &query, ByLease::Free(now)).await?;
    // A damaged turn is evidence of what happened to the store, and is removed by its name only.
    found.retain(|it| it.status != TurnStatus::Damaged);
    Ok(found.into_iter().map(|it| it.id).collect())
}

async fn select<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    query: &TurnQuery,
    by_lease: ByLease,
) -> Result<Vec<TurnSummary>, T::Error> {
    let before = match &query.before {
        Some(id) => Some(find_number(tx, id).await?),
        None => None,
    };
    let list = TurnListSql::new::<T>(query, before, by_lease);
    let values: Vec<SqlValue<'_>> = list.values.iter().map(ListValue::borrow).collect();
    let rows = run_query(tx, &list.sql, &values).await?;
    // A turn whose id cannot be read has no name under which a list could show it.
    let turns = rows.into_iter().filter_map(|row| match ListedTurn::read(key, row) {
        Err(StoreError::Damaged { .. }) => None,
        listed => Some(listed.map(ListedTurn::into_summary)),
    });
    Ok(turns.collect::<Result<_, _>>()?)
}

async fn find_number<T: SqlTransaction>(tx: &T, id: &TurnId) -> Result<i64, T::Error> {
    let sql = "SELECT number FROM {s}.turns WHERE id = $1";
    let mut rows = run_query(tx, sql, &[id.as_str().into()]).await?;
    let number = rows.first_mut().map(SqlRow::int).transpose()?;
    Ok(number.ok_or_else(|| StoreError::unknown_turn(id))?)
}

/// The statement of a list of turns, and its parameters.
pub(in crate::turns) struct TurnListSql {
    pub(in crate::turns) sql: String,
    pub(in crate::turns) values: Vec<ListValue>,
}

#[derive(Clone, Debug)]
pub(in crate::turns) enum ListValue {
    Int(i64),
    Text(String),
}

impl ListValue {
    pub(in crate::turns) fn borrow(&self) -> SqlValue<'_> {
        match self {
            Self::Int(value) => (*value).into(),
            Self::Text(text) => text.into(),
        }
    }
}

impl From<i64> for ListValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<String> for ListValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ListValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl TurnListSql {
    /// The query visits only the turns of the conversation, or only the unfinished ones, or those with the words.
    pub(in crate::turns) fn new<T: SqlTransaction>(
        query: &TurnQuery,
        before: Option<i64>,
        by_lease: ByLease,
    ) -> Self {
        let hint = match (&query.conversation, query.unfinished, query.words.is_empty()) {
            (Some(_), ..) => index_hint::<T>("turns_by_conversation"),
            (None, true, true) if query.id.is_none() => index_hint::<T>("turns_unfinished"),
            _ => String::new(),
        };
        let sql = format!("SELECT {COLUMNS} FROM {{s}}.turns{hint} WHERE true");
        let mut this = Self { sql, values: Vec::new() };
        this.add("number <", before);
        this.add("id =", query.id.as_ref().map(TurnId::as_str));
        this.add("conversation =", query.conversation.as_deref());
        this.add("tenant =", query.tenant.as_deref());
        this.add("agent =", query.agent.as_deref());
        this.add("model =", query.model.as_deref());
        this.add("created_at >=", query.created_from.map(Timestamp::as_micros));
        this.add("created_at <", query.created_before.map(Timestamp::as_micros));
        this.add("coalesce(tokens, 0) >=", query.min_tokens.map(saturating_i64));
        this.add("coalesce(tokens, 0) <=", query.max_tokens.map(saturating_i64));
        if let Some(tool) = &query.tool {
            let word = this.mark(tool_word(tool));
            this.sql.push_str(&format!(
                " AND number IN (SELECT turn FROM {{s}}.turn_words WHERE word = {word})"
            ));
        }
        if query.unfinished {
            this.sql.push_str(&format!(" AND {UNFINISHED}"));
        }
        if !query.statuses.is_empty() {
            let marks: Vec<String> =
                query.statuses.iter().map(|status| this.mark(status.as_str())).collect();
            this.sql.push_str(&format!(" AND status IN ({})", marks.join(", ")));
        }
        for word in &query.words {
            // No word contains the last character of Unicode.
            let from = this.mark(word.as_str());
            let to = this.mark(format!("{word}\u{10ffff}"));
            this.sql.push_str(&format!(
                " AND number IN (SELECT turn FROM {{s}}.turn_words WHERE word >= {from} AND word < {to})"
            ));
        }
        this.add_lease(by_lease);
        let limit = query.limit.unwrap_or(TurnQuery::DEFAULT_LIMIT);
        let limit = this.mark(saturating_i64(limit as u64));
        this.sql.push_str(&format!(" ORDER BY number DESC LIMIT {limit}"));
        this
    }

    fn add_lease(&mut self, by_lease: ByLease) {
        let (runnable, now) = match by_lease {
            ByLease::All => return,
            ByLease::Claimable(now) => (true, now),
            ByLease::Free(now) => (false, now),
        };
        let now = self.mark(now.as_micros());
        self.sql.push_str(&format!(" AND (held_until IS NULL OR held_until <= {now})"));
        if runnable {
            self.sql.push_str(&format!(" AND runnable_at IS NOT NULL AND runnable_at <= {now}"));
        }
    }

    /// Adds a parameter, and returns its placeholder.
    fn mark(&mut self, value: impl Into<ListValue>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    fn add(&mut self, condition: &str, value: Option<impl Into<ListValue>>) {
        if let Some(value) = value {
            let mark = self.mark(value);
            self.sql.push_str(&format!(" AND {condition} {mark}"));
        }
    }
}
