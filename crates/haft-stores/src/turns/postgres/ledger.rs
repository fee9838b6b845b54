//! Spent approvals in a table of their own.

use std::fmt;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::gate::{ApprovalLedger, Spending};
use haft_core::store::{GateId, StoreError};

use super::PostgresOptions;
use super::connection::{Database, LEDGER_SUFFIX};
use super::error::PostgresError;

/// Records spent approvals in a PostgreSQL server: of all processes that spend the same approval, the one that inserts the row
/// is the first.
///
/// The table `approvals_spent` has a schema of its own, so that a backup of the turns can be restored without it, and so that
/// another role can own it. A process needs only the right to insert rows: create the table once with a role that may, or let
/// the first process create it.
#[derive(Clone)]
pub struct PostgresLedger {
    database: Arc<Database>,
}

impl PostgresLedger {
    /// The name of the schema that belongs to a schema of turns.
    ///
    /// ```
    /// use haft_stores::PostgresLedger;
    ///
    /// assert_eq!(PostgresLedger::schema_beside("haft"), "haft_ledger");
    /// ```
    #[must_use]
    pub fn schema_beside(turns: &str) -> String {
        format!("{turns}{LEDGER_SUFFIX}")
    }

    /// Connects to a server, and creates the table unless it exists. It needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::Backend`] if the server cannot be reached or refuses the user, or the table does not exist and the
    /// user may not create it.
    pub async fn connect(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        let database = Arc::new(Database::new(url, &options)?);
        let ledger = Self { database };
        let created = ledger.create_table().await;
        created.map_err(|error| error.into_store_error("open the ledger of approvals"))?;
        Ok(ledger)
    }

    pub(super) fn database(&self) -> &Arc<Database> {
        &self.database
    }

    async fn create_table(&self) -> Result<(), PostgresError> {
        let client = self.database.acquire_client().await?;
        let find = "SELECT to_regclass($1) IS NOT NULL";
        let table = self.database.qualify_tables("{s}.approvals_spent");
        // A role that may only insert rows must not try to create anything.
        if client.query_one(find, &[&table]).await?.try_get(0)? {
            return Ok(());
        }
        let create = "BEGIN;
            SELECT pg_advisory_xact_lock(hashtextextended('haft schema {s}', 0));
            CREATE SCHEMA IF NOT EXISTS {s};
            CREATE TABLE IF NOT EXISTS {s}.approvals_spent (
                gate text COLLATE \"C\" PRIMARY KEY,
                spent_at timestamptz NOT NULL DEFAULT now()
            );
            COMMIT;";
        client.batch_execute(&self.database.qualify_tables(create)).await?;
        Ok(())
    }

    async fn insert(&self, gate: &GateId) -> Result<Spending, PostgresError> {
        let client = self.database.acquire_client().await?;
        // Without a target of the conflict no right to read is needed.
        let insert = "INSERT INTO {s}.approvals_spent (gate) VALUES ($1) ON CONFLICT DO NOTHING";
        let inserted =
            client.execute(&self.database.qualify_tables(insert), &[&gate.as_str()]).await?;
        Ok(if inserted == 1 { Spending::First } else { Spending::Repeated })
    }

    /// Closes the connections.
    pub fn close(&self) {
        self.database.close();
    }
}

impl ApprovalLedger for PostgresLedger {
    fn spend(&self, gate: GateId) -> BoxFuture<'_, Result<Spending, StoreError>> {
        Box::pin(async move {
            let spent = self.insert(&gate).await;
            spent.map_err(|error| error.into_store_error("mark an approval as spent"))
        })
    }
}

impl fmt::Debug for PostgresLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresLedger")
            .field("schema", &self.database.schema)
            .finish_non_exhaustive()
    }
}
