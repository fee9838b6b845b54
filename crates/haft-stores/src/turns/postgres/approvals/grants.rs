//! Standing approvals in tables.

use haft_core::gate::{GrantId, GrantRow};
use haft_core::store::StoreError;
use tokio_postgres::types::ToSql;

use super::super::error::PostgresError;
use super::PostgresApprovals;
use crate::approvals::limits::{MAX_GRANT_BYTES, MAX_GRANTS};

impl PostgresApprovals {
    async fn has_grant_tables(&self) -> Result<bool, PostgresError> {
        let client = self.database.acquire_client().await?;
        let find = "SELECT to_regclass($1) IS NOT NULL AND to_regclass($2) IS NOT NULL";
        let tables =
            ["{s}.grants", "{s}.grants_revoked"].map(|name| self.database.qualify_tables(name));
        let [grants, revoked] = &tables;
        Ok(client.query_one(find, &[grants, revoked]).await?.try_get(0)?)
    }

    async fn create_grant_tables(&self) -> Result<(), PostgresError> {
        // A role that may only use the tables must not try to create anything.
        if self.has_grant_tables().await? {
            return Ok(());
        }
        let create = "BEGIN;
            SELECT pg_advisory_xact_lock(hashtextextended('haft schema {s}', 0));
            CREATE SCHEMA IF NOT EXISTS {s};
            CREATE TABLE IF NOT EXISTS {s}.grants (
                tenant text COLLATE \"C\" NOT NULL,
                id text COLLATE \"C\" NOT NULL,
                json text NOT NULL,
                PRIMARY KEY (tenant, id)
            );
            CREATE TABLE IF NOT EXISTS {s}.grants_revoked (
                tenant text COLLATE \"C\" NOT NULL,
                id text COLLATE \"C\" NOT NULL,
                revoked_at timestamptz NOT NULL DEFAULT now(),
                PRIMARY KEY (tenant, id)
            );
            COMMIT;";
        let client = self.database.acquire_client().await?;
        let created = client.batch_execute(&self.database.qualify_tables(create)).await;
        if created.is_err() {
            // The connection goes back to the pool without an open transaction.
            let _ = client.batch_execute("ROLLBACK").await;
        }
        Ok(created?)
    }

    pub(super) async fn insert_grant_row(
        &self,
        id: GrantId,
        json: &str,
    ) -> Result<(), PostgresError> {
        self.create_grant_tables().await?;
        let client = self.database.acquire_client().await?;
        let (tenant, id) = (&*self.tenant, id.to_string());
        let count =
            self.database.qualify_tables("SELECT count(*) FROM {s}.grants WHERE tenant = $1");
        let count: i64 = client.query_one(&count, &[&tenant]).await?.try_get(0)?;
        if usize::try_from(count).is_ok_and(|it| it >= MAX_GRANTS) {
            let reason = "there are 1000 standing approvals; revoke some of them";
            return Err(StoreError::Invalid { what: "another standing approval", reason }.into());
        }
        let insert = "INSERT INTO {s}.grants (tenant, id, json)
                      SELECT $1, $2, $3 WHERE NOT EXISTS
                          (SELECT 1 FROM {s}.grants_revoked WHERE tenant = $1 AND id = $2)
                      ON CONFLICT DO NOTHING";
        client.execute(&self.database.qualify_tables(insert), &[&tenant, &id, &json]).await?;
        Ok(())
    }

    pub(super) async fn load_grant_rows(&self) -> Result<Vec<GrantRow>, PostgresError> {
        if !self.has_grant_tables().await? {
            return Ok(Vec::new());
        }
        let client = self.database.acquire_client().await?;
        // A grant that was revoked and then put back is listed as revoked.
        let load = "SELECT id, json, EXISTS (SELECT 1 FROM {s}.grants_revoked AS revoked
                        WHERE revoked.tenant = grants.tenant AND revoked.id = grants.id)
                    FROM {s}.grants WHERE tenant = $1 ORDER BY id LIMIT $2";
        let limit = MAX_GRANTS as i64;
        let rows =
            client.query(&self.database.qualify_tables(load), &[&&*self.tenant, &limit]).await?;
        let mut grants = Vec::with_capacity(rows.len());
        for row in &rows {
            let (id, json): (String, String) = (row.try_get(0)?, row.try_get(1)?);
            // A row that is no grant approves nothing.
            let Ok(id) = id.parse() else { continue };
            // No signature fits an empty text.
            let json = if json.len() > MAX_GRANT_BYTES { String::new() } else { json };
            grants.push(GrantRow::new(id, json, row.try_get(2)?));
        }
        Ok(grants)
    }

    pub(super) async fn revoke_grant_row(&self, id: GrantId) -> Result<bool, PostgresError> {
        self.create_grant_tables().await?;
        let mut client = self.database.acquire_client().await?;
        let (tenant, id) = (&*self.tenant, id.to_string());
        let parameters: [&(dyn ToSql + Sync); 2] = [&tenant, &id];
        let transaction = client.transaction().await?;
        let find = "SELECT EXISTS (SELECT 1 FROM {s}.grants WHERE tenant = $1 AND id = $2)";
        let found = transaction.query_one(&self.database.qualify_tables(find), &parameters).await?;
        let mark = "INSERT INTO {s}.grants_revoked (tenant, id) VALUES ($1, $2)
                    ON CONFLICT DO NOTHING";
        let marked = transaction.execute(&self.database.qualify_tables(mark), &parameters).await?;
        transaction.commit().await?;
        // The mark counts; the row is only not listed any more, and a role that may not delete it leaves it there.
        let delete = "DELETE FROM {s}.grants WHERE tenant = $1 AND id = $2";
        let _ = client.execute(&self.database.qualify_tables(delete), &parameters).await;
        Ok(found.try_get::<_, bool>(0)? && marked == 1)
    }
}
