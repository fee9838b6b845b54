//! Runs the statements that all databases share.

use bytes::BytesMut;
use deadpool_postgres::Transaction;
use haft_core::clock::Timestamp;
use haft_core::store::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::connection::Database;
use super::error::PostgresError;
use crate::turns::sql::{Cell, SqlRow, SqlTransaction, SqlValue};

/// A transaction in the schema of a store.
pub(super) struct PostgresTransaction<'t> {
    pub(super) database: &'t Database,
    pub(super) transaction: &'t Transaction<'t>,
}

impl PostgresTransaction<'_> {
    /// Notifies other processes of a change when the transaction is committed.
    pub(super) async fn notify(&self, text: &str) -> Result<(), PostgresError> {
        let channel = self.database.channel_name();
        let sql = "SELECT pg_notify($1, $2)";
        self.query(sql, &[(&channel).into(), text.into()]).await.map(drop)
    }
}

impl SqlTransaction for PostgresTransaction<'_> {
    type Error = PostgresError;

    const LOCK: &'static str = " FOR UPDATE";
    const LOCK_UNLOCKED: &'static str = " FOR UPDATE SKIP LOCKED";
    const RECORD_ID_PREFIX: &'static str = " AND substr(id, 1, 500) = substr($3, 1, 500)";
    const HAS_INDEX_HINTS: bool = false;

    async fn execute(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<u64, PostgresError> {
        let statement = self.transaction.prepare_cached(&self.database.qualify_tables(sql)).await?;
        Ok(self.transaction.execute(&statement, &parameters(values)).await?)
    }

    async fn query(
        &self,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<Vec<SqlRow>, PostgresError> {
        let statement = self.transaction.prepare_cached(&self.database.qualify_tables(sql)).await?;
        let rows = self.transaction.query(&statement, &parameters(values)).await?;
        rows.iter().map(read_row).collect()
    }

    async fn read_time(&self) -> Result<Timestamp, PostgresError> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
        let statement = self.transaction.prepare_cached(sql).await?;
        let now = self.transaction.query_one(&statement, &[]).await?.try_get(0)?;
        let now = Timestamp::from_micros(now);
        Ok(now.map_err(|error| StoreError::backend("read the time of the server", error))?)
    }

    async fn lock_conversation(
        &self,
        tenant: &str,
        conversation: &str,
    ) -> Result<bool, PostgresError> {
        let name = format!("haft {} {tenant:?} {conversation:?}", self.database.schema);
        let lock = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))";
        let statement = self.transaction.prepare_cached(lock).await?;
        Ok(self.transaction.query_one(&statement, &[&name]).await?.try_get(0)?)
    }
}

fn parameters<'v>(values: &'v [SqlValue<'_>]) -> Vec<&'v (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
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
