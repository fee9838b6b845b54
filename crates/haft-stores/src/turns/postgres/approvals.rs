//! Approvals in tables of their own.

mod grants;

use std::fmt;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::gate::{ApprovalStore, GrantId, GrantRow, Spending};
use haft_core::store::{GateId, StoreError};

use super::PostgresOptions;
use super::connection::{Database, LEDGER_SUFFIX};
use super::error::PostgresError;
use crate::approvals::limits::MAX_GRANT_BYTES;

/// Remembers approvals in a PostgreSQL server. Of all processes that spend the same approval, the one that inserts the row is
/// the first.
///
/// The tables have a schema of their own, so that a backup of the turns can be restored without them, and so that another role
/// can own them. To spend approvals, a process needs only the right to insert rows into `approvals_spent`: create the table
/// once with a role that may, or let the first process create it.
///
/// The other tables are created when the first grant is stored or revoked. A role that loads grants needs the right to select
/// from `grants` and `grants_revoked`, one whose turns give grants the right to insert into `grants`, and one that revokes them
/// the right to insert into `grants_revoked`. A mark of revocation is never removed, so that a row of `grants` that is put
/// back approves nothing.
#[derive(Clone)]
pub struct PostgresApprovals {
    database: Arc<Database>,
    /// The tenant whose standing approvals these are.
    tenant: Arc<str>,
}

impl PostgresApprovals {
    /// The name of the schema that belongs to a schema of turns.
    ///
    /// ```
    /// use haft_stores::PostgresApprovals;
    ///
    /// assert_eq!(PostgresApprovals::schema_beside("haft"), "haft_ledger");
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
        let approvals = Self { database, tenant: Arc::default() };
        let created = approvals.create_table().await;
        created.map_err(|error| error.into_store_error("open the ledger of approvals"))?;
        Ok(approvals)
    }

    /// The approvals of a tenant, whose standing approvals are its own; the empty name is that of programs without tenants.
    #[must_use]
    pub fn for_tenant(&self, tenant: impl Into<Arc<str>>) -> Self {
        Self { database: Arc::clone(&self.database), tenant: tenant.into() }
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

impl ApprovalStore for PostgresApprovals {
    fn spend(&self, gate: GateId) -> BoxFuture<'_, Result<Spending, StoreError>> {
        Box::pin(async move {
            let spent = self.insert(&gate).await;
            spent.map_err(|error| error.into_store_error("mark an approval as spent"))
        })
    }

    fn insert_grant(&self, id: GrantId, json: String) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if json.len() > MAX_GRANT_BYTES {
                let reason = "it has more than 262144 bytes";
                return Err(StoreError::Invalid { what: "a standing approval", reason });
            }
            let inserted = self.insert_grant_row(id, &json).await;
            inserted.map_err(|error| error.into_store_error("store a standing approval"))
        })
    }

    fn load_grants(&self) -> BoxFuture<'_, Result<Vec<GrantRow>, StoreError>> {
        Box::pin(async move {
            let loaded = self.load_grant_rows().await;
            loaded.map_err(|error| error.into_store_error("load the standing approvals"))
        })
    }

    fn revoke_grant(&self, id: GrantId) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            let revoked = self.revoke_grant_row(id).await;
            revoked.map_err(|error| error.into_store_error("revoke a standing approval"))
        })
    }
}

impl fmt::Debug for PostgresApprovals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresApprovals")
            .field("schema", &self.database.schema)
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}
