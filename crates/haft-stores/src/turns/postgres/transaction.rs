//! Runs the statements that all databases share, in few round trips.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use deadpool_postgres::Object;
use haft_core::clock::Timestamp;
use haft_core::store::StoreError;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Row, Statement};

use super::connection::Database;
use super::error::PostgresError;
use crate::turns::sql::{Cell, SqlQuery, SqlRow, SqlTransaction, SqlValue};

/// How a transaction begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// It writes.
    Write,
    /// It writes what the crash of the server may undo, and does not wait for the disk.
    WriteWithoutFsync,
    /// Its queries see one snapshot.
    Snapshot,
}

impl Begin {
    const fn sql(self) -> &'static str {
        match self {
            Self::Write => "BEGIN",
            Self::WriteWithoutFsync => "BEGIN; SET LOCAL synchronous_commit TO off",
            Self::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }
}

/// A transaction in the schema of a store.
///
/// What it writes waits for the next query, or for the end, and is sent together with it. So is its beginning. A server
/// runs the statements in their order, and after the first one that fails no other.
pub(super) struct PostgresTransaction<'d> {
    database: &'d Database,
    client: Object,
    begin: Begin,
    /// Whether the server knows of the transaction, so that it has to be ended.
    is_open: AtomicBool,
    waiting: Mutex<Vec<WaitingWrite>>,
}

/// A statement that is sent with the next one.
struct WaitingWrite {
    sql: String,
    values: Vec<OwnedValue>,
}

impl<'d> PostgresTransaction<'d> {
    pub(super) async fn begin(database: &'d Database, begin: Begin) -> Result<Self, PostgresError> {
        let client = database.acquire_client().await?;
        let waiting = Mutex::default();
        Ok(Self { database, client, begin, is_open: AtomicBool::new(false), waiting })
    }

    /// Sends what waits, and commits. A snapshot has nothing to wait for.
    pub(super) async fn commit(self) -> Result<(), PostgresError> {
        if self.begin == Begin::Snapshot {
            self.end_without_waiting("COMMIT");
            return Ok(());
        }
        let waiting = self.take_waiting();
        if waiting.is_empty() && !self.is_open.load(Ordering::Acquire) {
            return Ok(());
        }
        self.send(&waiting, &[], Some("COMMIT")).await?;
        self.is_open.store(false, Ordering::Release);
        Ok(())
    }

    /// Sends the waiting writes, the queries and the end together, and returns the rows of each query.
    async fn send(
        &self,
        writes: &[WaitingWrite],
        queries: &[SqlQuery<'_>],
        end: Option<&'static str>,
    ) -> Result<Vec<Vec<SqlRow>>, PostgresError> {
        let mut prepared = Vec::with_capacity(writes.len() + queries.len());
        let texts = writes.iter().map(|it| it.sql.as_str());
        for sql in texts.chain(queries.iter().map(|it| it.sql)) {
            prepared.push(self.prepare(sql).await?);
        }
        let parameters = writes.iter().map(|it| it.values.iter().map(as_sql).collect());
        let of_queries = queries.iter().map(|it| it.values.iter().map(as_sql).collect());
        let parameters: Vec<Vec<&(dyn ToSql + Sync)>> = parameters.chain(of_queries).collect();
        let mut sent: Vec<PendingReply<'_>> = Vec::with_capacity(prepared.len() + 2);
        if !self.is_open.swap(true, Ordering::AcqRel) {
            sent.push(self.send_text(self.begin.sql()));
        }
        for (at, (statement, parameters)) in prepared.iter().zip(&parameters).enumerate() {
            sent.push(match at < writes.len() {
                true => Box::pin(async move {
                    self.client.execute(statement, parameters).await?;
                    Ok(None)
                }),
                false => {
                    Box::pin(
                        async move { Ok(Some(self.client.query(statement, parameters).await?)) },
                    )
                }
            });
        }
        sent.extend(end.map(|end| self.send_text(end)));
        // The first error is the cause of those after it.
        let replies = receive_in_order(sent).await.into_iter().collect::<Result<Vec<_>, _>>()?;
        let rows = replies.into_iter().flatten();
        rows.map(|rows| rows.iter().map(read_row).collect()).collect()
    }

    fn send_text(&self, sql: &'static str) -> PendingReply<'_> {
        Box::pin(async move {
            self.client.batch_execute(sql).await?;
            Ok(None)
        })
    }

    /// A statement that the connection has prepared once.
    async fn prepare(&self, sql: &str) -> Result<Statement, PostgresError> {
        Ok(self.client.prepare_cached(&self.database.qualify_tables(sql)).await?)
    }

    /// Ends the transaction by a statement whose reply nobody needs.
    fn end_without_waiting(&self, end: &'static str) {
        if self.is_open.swap(false, Ordering::AcqRel) {
            // The first poll sends it. What is sent on this connection later runs after it.
            let sent = pin!(self.client.batch_execute(end));
            let _ = sent.poll(&mut Context::from_waker(Waker::noop()));
        }
    }

    fn take_waiting(&self) -> Vec<WaitingWrite> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for PostgresTransaction<'_> {
    fn drop(&mut self) {
        self.end_without_waiting("ROLLBACK");
    }
}

type PendingReply<'t> =
    Pin<Box<dyn Future<Output = Result<Option<Vec<Row>>, tokio_postgres::Error>> + Send + 't>>;

/// Sends statements, each by its first poll, before the first reply is awaited.
async fn receive_in_order(
    mut pending: Vec<PendingReply<'_>>,
) -> Vec<Result<Option<Vec<Row>>, tokio_postgres::Error>> {
    let mut replies: Vec<_> = pending.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut is_done = true;
        for (pending, reply) in pending.iter_mut().zip(&mut replies) {
            if reply.is_none() {
                match pending.as_mut().poll(cx) {
                    Poll::Ready(done) => *reply = Some(done),
                    Poll::Pending => is_done = false,
                }
            }
        }
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    replies.into_iter().flatten().collect()
}

impl SqlTransaction for PostgresTransaction<'_> {
    type Error = PostgresError;

    const LOCK: &'static str = " FOR UPDATE";
    const LOCK_UNLOCKED: &'static str = " FOR UPDATE SKIP LOCKED";
    const RECORD_ID_PREFIX: &'static str = " AND substr(id, 1, 500) = substr($3, 1, 500)";
    const RECORD_NUMBERS: &'static str = "SELECT nextval(pg_get_serial_sequence('{s}.records', 'number')) FROM generate_series(1, $1::bigint)";
    const HAS_INDEX_HINTS: bool = false;

    async fn execute(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<(), PostgresError> {
        let values = values.iter().map(OwnedValue::of).collect();
        let write = WaitingWrite { sql: sql.to_owned(), values };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(write);
        Ok(())
    }

    async fn query_all(&self, queries: &[SqlQuery<'_>]) -> Result<Vec<Vec<SqlRow>>, PostgresError> {
        let waiting = self.take_waiting();
        self.send(&waiting, queries, None).await
    }

    async fn query_with_time(
        &self,
        queries: &[SqlQuery<'_>],
    ) -> Result<(Timestamp, Vec<Vec<SqlRow>>), PostgresError> {
        let time = SqlQuery { sql: CLOCK, values: Vec::new() };
        let queries: Vec<_> = queries.iter().cloned().chain([time]).collect();
        let mut rows = self.query_all(&queries).await?;
        let now = rows.pop().and_then(|it| it.into_iter().next());
        let now = now.ok_or_else(|| StoreError::backend(READ_TIME, "it has none"))?.int()?;
        let now = Timestamp::from_micros(now);
        Ok((now.map_err(|error| StoreError::backend(READ_TIME, error))?, rows))
    }

    fn conversation_lock(
        &self,
        tenant: &str,
        conversation: &str,
    ) -> Option<(&'static str, String)> {
        let name = format!("haft {} {tenant:?} {conversation:?}", self.database.schema);
        Some((LOCK_CONVERSATION, name))
    }
}

const READ_TIME: &str = "read the time of the server";
const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
const LOCK_CONVERSATION: &str =
    "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))::int::bigint";

fn as_sql<T: ToSql + Sync>(value: &T) -> &(dyn ToSql + Sync) {
    value
}

fn read_row(row: &Row) -> Result<SqlRow, PostgresError> {
    let cells = row.columns().iter().enumerate().map(|(at, column)| {
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(at)?.map_or(Cell::Null, Cell::Int),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at)?.map_or(Cell::Null, Cell::Bytes),
            Type::TEXT => row.try_get::<_, Option<String>>(at)?.map_or(Cell::Null, Cell::Text),
            // Such as the result of a function without one.
            _ => Cell::Invalid,
        })
    });
    Ok(SqlRow::new(cells.collect::<Result<_, PostgresError>>()?))
}

/// The value of a parameter of a statement that waits.
#[derive(Debug)]
enum OwnedValue {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Vec<u8>),
}

impl OwnedValue {
    fn of(value: &SqlValue<'_>) -> Self {
        match *value {
            SqlValue::Int(value) => Self::Int(value),
            SqlValue::Text(text) => Self::Text(text.map(str::to_owned)),
            SqlValue::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }

    fn borrow(&self) -> SqlValue<'_> {
        match self {
            Self::Int(value) => SqlValue::Int(*value),
            Self::Text(text) => SqlValue::Text(text.as_deref()),
            Self::Bytes(bytes) => SqlValue::Bytes(bytes),
        }
    }
}

impl ToSql for OwnedValue {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        self.borrow().to_sql(ty, out)
    }

    fn accepts(ty: &Type) -> bool {
        <SqlValue<'_> as ToSql>::accepts(ty)
    }

    to_sql_checked!();
}

/// Every number of the tables is a `bigint`.
impl ToSql for SqlValue<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Int(value) => value.to_sql(ty, out),
            Self::Text(text) => text.to_sql(ty, out),
            Self::Bytes(bytes) => bytes.to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::INT8 | Type::TEXT | Type::BYTEA)
    }

    to_sql_checked!();
}
