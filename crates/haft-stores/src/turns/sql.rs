//! Stores turns in a database: the statements and the rules that SQLite and PostgreSQL share.
//!
//! A statement is written once, with `{s}.` before the name of each table and `$1` for a parameter. Each database runs
//! it by its [`SqlTransaction`].
#![expect(
    clippy::future_not_send,
    reason = "a transaction of SQLite stays on the thread that writes"
)]

mod claims;
mod gates;
mod marks;
mod queries;
mod turn;
mod turn_list;
mod updates;
mod value;

#[cfg(feature = "sqlite")]
#[cfg(test)]
pub(super) use self::claims::claim_sql;
pub(super) use self::claims::{MAX_SKIPPED, cancel, claim, claim_next, release, renew};
pub(super) use self::gates::{list_gates, settle};
pub(super) use self::queries::{
    list_unreferenced_keys, load_memories, load_titles, load_turn, read_journal,
};
pub(super) use self::turn_list::list_turns;
#[cfg(feature = "sqlite")]
#[cfg(test)]
pub(super) use self::turn_list::{ByLease, TurnListSql};
pub(super) use self::updates::{commit, insert, remove_turns, set_title};
pub(super) use self::value::{Cell, SqlRow, SqlValue};

use haft_core::clock::Timestamp;
use haft_core::store::StoreError;

/// A transaction of a database, which is rolled back if a function of this module fails in it.
///
/// The futures of SQLite are done at once.
pub(super) trait SqlTransaction {
    /// How the database fails, and what the contract defines.
    type Error: From<StoreError>;

    /// Locks the selected rows until the end of the transaction.
    const LOCK: &'static str;
    /// Locks the selected row until the end of the transaction, and skips rows that others have locked.
    const LOCK_UNLOCKED: &'static str;
    /// Finds records by the beginning of their ids, in a database that cannot index long texts.
    const RECORD_ID_PREFIX: &'static str;
    /// Gives numbers, as many as the parameter says, to records that are inserted in this transaction.
    const RECORD_NUMBERS: &'static str;
    /// Whether statements name the index that they use.
    const HAS_INDEX_HINTS: bool;

    /// Runs a statement, at the latest with the next query or with the end of the transaction, which fails if it does.
    fn execute(
        &self,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Runs queries one after the other, in one round trip, and returns the rows of each.
    fn query_all(
        &self,
        queries: &[SqlQuery<'_>],
    ) -> impl Future<Output = Result<Vec<Vec<SqlRow>>, Self::Error>> + Send;

    /// Runs queries, and reads the time by the clock of the store after them.
    fn query_with_time(
        &self,
        queries: &[SqlQuery<'_>],
    ) -> impl Future<Output = Result<(Timestamp, Vec<Vec<SqlRow>>), Self::Error>> + Send;

    /// A query that locks a conversation until the end of the transaction, and its parameter. Its row is 0 if another
    /// process has locked it. `None` in a database in which only one transaction writes.
    fn conversation_lock(&self, tenant: &str, conversation: &str)
    -> Option<(&'static str, String)>;
}

/// A query with its parameters.
#[derive(Clone, Debug)]
pub(super) struct SqlQuery<'v> {
    pub(super) sql: &'v str,
    pub(super) values: Vec<SqlValue<'v>>,
}

impl<'v> SqlQuery<'v> {
    pub(super) fn new(sql: &'v str, values: impl Into<Vec<SqlValue<'v>>>) -> Self {
        Self { sql, values: values.into() }
    }
}

/// Runs one query.
async fn query<T: SqlTransaction>(
    tx: &T,
    sql: &str,
    values: &[SqlValue<'_>],
) -> Result<Vec<SqlRow>, T::Error> {
    let mut rows = tx.query_all(&[SqlQuery::new(sql, values)]).await?;
    Ok(rows.pop().unwrap_or_default())
}

/// The time by the clock of the store.
async fn read_time<T: SqlTransaction>(tx: &T) -> Result<Timestamp, T::Error> {
    Ok(tx.query_with_time(&[]).await?.0)
}

/// The part of a statement that names the index to use.
fn index_hint<T: SqlTransaction>(index: &str) -> String {
    if T::HAS_INDEX_HINTS { format!(" INDEXED BY {index}") } else { String::new() }
}

/// Placeholders for `count` parameters after the first `before`: `$3, $4`.
fn placeholders(before: usize, count: usize) -> String {
    let marks: Vec<String> = (before + 1..=before + count).map(|n| format!("${n}")).collect();
    marks.join(", ")
}

/// The error for stored data that no store has written, or that was changed since.
fn damaged(what: impl Into<String>, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged { what: what.into(), reason: reason.into() }
}

/// A number as the signed integers of the databases have it. No limit and no count reaches the largest one.
fn saturating_i64(value: u64) -> i64 {
    value.min(i64::MAX as u64) as i64
}

/// How many parameters a statement has at most for a list.
const MAX_LIST: usize = 500;

/// The condition of a turn that has not ended, as the indexes have it.
pub(super) const UNFINISHED: &str =
    "status IN ('queued', 'running', 'waiting', 'interrupted', 'cancel-requested')";
