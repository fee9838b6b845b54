//! Runs the statements that all databases share.

use std::future::{Future, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use haft_core::clock::{Clock, Timestamp};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, ToSql, params_from_iter};

use super::error::{SqliteCause, SqliteError};
use crate::turns::sql::{Cell, SqlQuery, SqlRow, SqlTransaction, SqlValue};

/// A transaction of a connection. Only one process writes at a time, so that rows need no locks.
pub(super) struct SqliteTransaction<'c> {
    pub(super) connection: &'c Connection,
    pub(super) clock: &'c dyn Clock,
}

impl SqliteTransaction<'_> {
    fn run_query(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<Vec<SqlRow>, SqliteError> {
        let mut statement = self.connection.prepare_cached(&own_dialect(sql))?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read_row(row, columns)?);
        }
        Ok(found)
    }

    fn run(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<(), SqliteError> {
        let mut statement = self.connection.prepare_cached(&own_dialect(sql))?;
        statement.execute(params_from_iter(values))?;
        Ok(())
    }

    fn run_queries(&self, queries: &[SqlQuery<'_>]) -> Result<Vec<Vec<SqlRow>>, SqliteError> {
        queries.iter().map(|it| self.run_query(it.sql, &it.values)).collect()
    }
}

impl SqlTransaction for SqliteTransaction<'_> {
    type Error = SqliteError;

    const LOCK: &'static str = "";
    const LOCK_UNLOCKED: &'static str = "";
    const RECORD_ID_PREFIX: &'static str = "";
    const RECORD_NUMBERS: &'static str = "WITH RECURSIVE places (place) AS (
            SELECT 1 UNION ALL SELECT place + 1 FROM places WHERE place < $1)
        SELECT (SELECT coalesce(max(number), 0) FROM {s}.records) + place FROM places";
    const HAS_INDEX_HINTS: bool = true;

    fn execute(
        &self,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> impl Future<Output = Result<(), SqliteError>> + Send {
        ready(self.run(sql, values))
    }

    fn query_all(
        &self,
        queries: &[SqlQuery<'_>],
    ) -> impl Future<Output = Result<Vec<Vec<SqlRow>>, SqliteError>> + Send {
        ready(self.run_queries(queries))
    }

    fn query_with_time(
        &self,
        queries: &[SqlQuery<'_>],
    ) -> impl Future<Output = Result<(Timestamp, Vec<Vec<SqlRow>>), SqliteError>> + Send {
        ready(self.run_queries(queries).map(|rows| (self.clock.now(), rows)))
    }

    fn conversation_lock(&self, _: &str, _: &str) -> Option<(&'static str, String)> {
        None
    }
}

/// The result of a future that never waits, such as all work in a [`SqliteTransaction`].
pub(super) fn finish<T>(
    work: impl Future<Output = Result<T, SqliteError>>,
) -> Result<T, SqliteError> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => Err(SqliteCause::new("a statement did not finish at once").into()),
    }
}

/// A statement as SQLite has it: tables without a schema, and `?1` for `$1`, which it would take for a name.
pub(super) fn own_dialect(sql: &str) -> String {
    sql.replace("{s}.", "").replace('$', "?")
}

fn read_row(row: &Row<'_>, columns: usize) -> Result<SqlRow, SqliteError> {
    let cells = (0..columns).map(|column| {
        Ok(match row.get_ref(column)? {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(value) => Cell::Int(value),
            ValueRef::Text(bytes) => match str::from_utf8(bytes) {
                Ok(text) => Cell::Text(text.to_owned()),
                Err(_) => Cell::Invalid,
            },
            ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
            ValueRef::Real(_) => Cell::Invalid,
        })
    });
    Ok(SqlRow::new(cells.collect::<Result<_, SqliteError>>()?))
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match *self {
            Self::Int(value) => value.map_or(ValueRef::Null, ValueRef::Integer),
            Self::Text(text) => text.map_or(ValueRef::Null, |it| ValueRef::Text(it.as_bytes())),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}
