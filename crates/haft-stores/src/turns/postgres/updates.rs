//! Updates. Each function runs in a transaction that is rolled back if it fails.

use deadpool_postgres::Transaction;
use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, Lease, LeaseRequest, MemoryScope, NewTurn, SettleOutcome, StoreError, StoreWrite,
    TurnId, TurnQuery, TurnSchedule, TurnStatus, TurnSummary,
};
use sha2::{Digest as _, Sha256};
use tokio_postgres::types::ToSql;

use super::connection::Database;
use super::error::PostgresError;
use super::queries::list_removable_turns;
use super::schedule::{LeaseRow, NOW};
use crate::turns::{saturating_i64, tool_word};

/// A transaction in the schema of a store.
pub(super) struct Update<'t> {
    pub(super) database: &'t Database,
    pub(super) transaction: &'t Transaction<'t>,
}

impl Update<'_> {
    /// Runs a statement, which is prepared once per connection.
    async fn execute(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, PostgresError> {
        let statement = self.transaction.prepare_cached(&self.database.qualify_tables(sql)).await?;
        Ok(self.transaction.execute(&statement, parameters).await?)
    }

    /// The time of the server.
    async fn read_time(&self) -> Result<Timestamp, PostgresError> {
        let statement = self.transaction.prepare_cached(&format!("SELECT {NOW}")).await?;
        let now = self.transaction.query_one(&statement, &[]).await?.try_get(0)?;
        let now = Timestamp::from_micros(now);
        Ok(now.map_err(|error| StoreError::backend("read the time of the server", error))?)
    }

    pub(super) async fn create_turn(
        &self,
        new: &NewTurn,
        holder: &LeaseRequest,
    ) -> Result<Lease, PostgresError> {
        let now = self.read_time().await?;
        let lease = Lease::new(new.id.clone(), holder, 1, now);
        let schedule = TurnSchedule::running(lease.until);
        self.insert_turn(new, Some(&lease.holder), schedule, now).await?;
        Ok(lease)
    }

    pub(super) async fn enqueue_turn(&self, new: &NewTurn) -> Result<(), PostgresError> {
        let now = self.read_time().await?;
        let schedule = TurnSchedule::queued(now.saturating_add(new.start_after));
        self.insert_turn(new, None, schedule, now).await
    }

    async fn insert_turn(
        &self,
        new: &NewTurn,
        holder: Option<&str>,
        schedule: TurnSchedule,
        now: Timestamp,
    ) -> Result<(), PostgresError> {
        let sql =
            "INSERT INTO {s}.turns (id, conversation, tenant, status, created_at, epoch, holder,
                       held_until, priority, runnable_at, agent, model, first_words, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $5)
                   ON CONFLICT (id) DO NOTHING";
        let inserted = self
            .execute(
                sql,
                &[
                    &new.id.as_str(),
                    &new.conversation,
                    &new.tenant,
                    &schedule.status.as_str(),
                    &now.as_micros(),
                    &i64::from(holder.is_some()),
                    &holder,
                    &schedule.held_until.map(Timestamp::as_micros),
                    &new.priority,
                    &schedule.runnable_at.map(Timestamp::as_micros),
                    &new.agent,
                    &new.model,
                    &new.first_words,
                ],
            )
            .await?;
        if inserted == 0 {
            return Err(StoreError::turn_exists(&new.id).into());
        }
        let turn = LeaseRow::lock(self.database, self.transaction, &new.id).await?;
        let turn = turn.ok_or_else(|| StoreError::unknown_turn(&new.id))?;
        let words: Vec<String> = new.search_words().into_iter().collect();
        let sql = "INSERT INTO {s}.turn_words (word, turn) SELECT word, $2 FROM unnest($1::text[]) AS word";
        self.execute(sql, &[&words, &turn.number]).await?;
        self.apply_writes(turn, &new.writes).await.map(drop)
    }

    /// Returns whether the turn has ended with it.
    pub(super) async fn commit_writes(
        &self,
        lease: &Lease,
        writes: &[StoreWrite],
    ) -> Result<bool, PostgresError> {
        let turn = LeaseRow::lock_leased(self.database, self.transaction, lease).await?;
        self.apply_writes(turn, writes).await
    }

    pub(super) async fn remove_turn(&self, id: &TurnId) -> Result<bool, PostgresError> {
        let turn = LeaseRow::lock(self.database, self.transaction, id).await?;
        let Some(turn) = turn else { return Ok(false) };
        turn.check_free()?;
        // The rows that belong to the turn are deleted by the foreign keys.
        self.execute("DELETE FROM {s}.turns WHERE number = $1", &[&turn.number]).await?;
        if let Some(conversation) = &turn.conversation {
            // A conversation loses its title with its last turn.
            let sql = "DELETE FROM {s}.conversations WHERE digest = $1 AND NOT EXISTS
                           (SELECT 1 FROM {s}.turns WHERE conversation = $2 AND tenant = $3)";
            let digest = conversation_digest(&turn.tenant, conversation);
            self.execute(sql, &[&digest, conversation, &turn.tenant]).await?;
        }
        Ok(true)
    }

    pub(super) async fn remove_turns(
        &self,
        query: &TurnQuery,
    ) -> Result<Vec<TurnId>, PostgresError> {
        let ids = list_removable_turns(self.database, self.transaction, query).await?;
        let mut removed = Vec::with_capacity(ids.len());
        for id in ids {
            match self.remove_turn(&id).await {
                Ok(true) => removed.push(id),
                // Another process has removed or claimed it meanwhile.
                Ok(false) | Err(PostgresError::Store(StoreError::Held { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(removed)
    }

    /// Settles a gate, and returns the turn that it belongs to.
    pub(super) async fn settle_gate(
        &self,
        id: &GateId,
        settlement: &str,
    ) -> Result<(SettleOutcome, TurnId), PostgresError> {
        // The turn first, as in every other transaction, so that no two wait for each other.
        let sql = "SELECT turns.id FROM {s}.gates JOIN {s}.turns ON turns.number = gates.turn
                   WHERE gates.id = $1";
        let statement = self.transaction.prepare_cached(&self.database.qualify_tables(sql)).await?;
        let found = self.transaction.query_opt(&statement, &[&id.as_str()]).await?;
        let found = found.ok_or_else(|| StoreError::unknown_gate(id))?;
        let turn: String = found.try_get(0)?;
        let damaged = |_| super::error::damaged(&turn, "its id is none");
        let turn_id: TurnId = turn.parse().map_err(damaged)?;
        let row = LeaseRow::lock(self.database, self.transaction, &turn_id).await?;
        let mut row = row.ok_or_else(|| StoreError::unknown_gate(id))?;
        let sql = "UPDATE {s}.gates SET settlement = $2 WHERE id = $1 AND settlement IS NULL";
        if self.execute(sql, &[&id.as_str(), &settlement]).await? == 1 {
            row.schedule.settle_gate(row.now);
            row.store(self.database, self.transaction).await?;
            return Ok((SettleOutcome::new(settlement, true), turn_id));
        }
        let sql = self.database.qualify_tables("SELECT settlement FROM {s}.gates WHERE id = $1");
        let statement = self.transaction.prepare_cached(&sql).await?;
        let found = self.transaction.query_opt(&statement, &[&id.as_str()]).await?;
        let found = found.ok_or_else(|| StoreError::unknown_gate(id))?;
        Ok((SettleOutcome::new(found.try_get::<_, String>(0)?, false), turn_id))
    }

    /// Sets or removes the title of a conversation.
    pub(super) async fn set_title(
        &self,
        tenant: &str,
        conversation: &str,
        title: Option<&str>,
    ) -> Result<(), PostgresError> {
        let digest = conversation_digest(tenant, conversation);
        if let Some(title) = title {
            let sql = "INSERT INTO {s}.conversations (digest, tenant, id, title)
                       VALUES ($1, $2, $3, $4)
                       ON CONFLICT (digest) DO UPDATE SET title = excluded.title";
            self.execute(sql, &[&digest, &tenant, &conversation, &title]).await?;
        } else {
            self.execute("DELETE FROM {s}.conversations WHERE digest = $1", &[&digest]).await?;
        }
        Ok(())
    }

    pub(super) async fn verify_secret(&self, fingerprint: &str) -> Result<(), PostgresError> {
        let sql = "INSERT INTO {s}.store (key, value) VALUES ('secret', $1) ON CONFLICT DO NOTHING";
        self.execute(sql, &[&fingerprint]).await?;
        let sql =
            self.database.qualify_tables("SELECT value = $1 FROM {s}.store WHERE key = 'secret'");
        let row = self.transaction.query_one(&sql, &[&fingerprint]).await?;
        match row.try_get(0)? {
            true => Ok(()),
            false => Err(StoreError::OtherSecret.into()),
        }
    }

    /// Applies the writes of one commit, and returns whether the turn has ended with it.
    async fn apply_writes(
        &self,
        mut row: LeaseRow,
        writes: &[StoreWrite],
    ) -> Result<bool, PostgresError> {
        let (turn, before) = (row.number, row.schedule.clone());
        for write in writes {
            match write {
                StoreWrite::Status(status) => {
                    let expiry = self.first_expiry(turn, *status).await?;
                    row.schedule.set_status(*status, expiry);
                }
                StoreWrite::Suspend { delay } => {
                    row.schedule.suspend(row.now.saturating_add(*delay));
                }
                StoreWrite::Progress => row.schedule.take_overs = 0,
                write => self.apply_write(turn, write).await?,
            }
        }
        if row.schedule != before {
            row.store(self.database, self.transaction).await?;
        }
        let is_ended = row.schedule.status.is_final();
        let sql = "UPDATE {s}.turns SET updated_at = $2,
                       ended_at = CASE WHEN $3 THEN coalesce(ended_at, $2) END WHERE number = $1";
        self.execute(sql, &[&turn, &row.now.as_micros(), &is_ended]).await?;
        Ok(is_ended && !before.status.is_final())
    }

    /// Applies a write that does not change the schedule.
    async fn apply_write(&self, turn: i64, write: &StoreWrite) -> Result<(), PostgresError> {
        match write {
            StoreWrite::Put(row) => {
                let (kind, digest) = (row.kind.as_str(), digest(&row.id));
                let keys: Vec<String> =
                    row.content_keys().iter().map(|it| it.as_str().to_owned()).collect();
                let sql = "WITH put AS (
                        INSERT INTO {s}.records (turn, kind, digest, id, json) VALUES ($1, $2, $3, $4, $5)
                        ON CONFLICT (turn, kind, digest) DO UPDATE SET json = excluded.json
                        RETURNING number
                    ), forgotten AS (
                        DELETE FROM {s}.content WHERE record IN (SELECT number FROM put)
                    )
                    INSERT INTO {s}.content (key, record) SELECT key, number FROM put, unnest($6::text[]) AS key";
                let parameters: [&(dyn ToSql + Sync); 6] =
                    [&turn, &kind, &digest, &row.id, &row.json.as_str(), &keys];
                self.execute(sql, &parameters).await?;
            }
            StoreWrite::Delete { kind, id } => {
                let sql = "DELETE FROM {s}.records WHERE turn = $1 AND kind = $2 AND digest = $3";
                self.execute(sql, &[&turn, &kind.as_str(), &digest(id)]).await?;
            }
            StoreWrite::Journal(json) => {
                let sql = "INSERT INTO {s}.journal (turn, json) VALUES ($1, $2)";
                self.execute(sql, &[&turn, &json.as_str()]).await?;
            }
            StoreWrite::Summary(update) => {
                let sql = "UPDATE {s}.turns SET model = coalesce($2, model),
                               tokens = coalesce($3, tokens), error_code = coalesce($4, error_code)
                           WHERE number = $1";
                let tokens = update.tokens.map(saturating_i64);
                if update.model.is_some() || tokens.is_some() || update.error_code.is_some() {
                    self.execute(sql, &[&turn, &update.model, &tokens, &update.error_code]).await?;
                }
                self.add_tools(turn, &update.tools).await?;
            }
            StoreWrite::OpenGate { id, json, expires_at } => {
                self.open_gate(turn, (id, json), *expires_at).await?;
            }
            StoreWrite::CloseGate { id, settlement } => {
                let sql = "UPDATE {s}.gates SET settlement = $3
                           WHERE id = $1 AND turn = $2 AND settlement IS NULL";
                self.execute(sql, &[&id.as_str(), &turn, settlement]).await?;
            }
            StoreWrite::PutMemory { scope, id, json } => self.put_memory(scope, id, json).await?,
            StoreWrite::DeleteMemory { scope, id } => {
                // The row stays with its version, and the text is gone.
                let sql = "UPDATE {s}.memories SET deleted = true, json = '', version = version + 1
                           WHERE scope_kind = $1 AND scope_digest = $2 AND digest = $3 AND NOT deleted";
                let parameters: [&(dyn ToSql + Sync); 3] =
                    [&scope.kind.as_str(), &digest(&scope.id), &digest(id)];
                self.execute(sql, &parameters).await?;
            }
            _ => {
                let reason = "this store does not know its sort";
                return Err(StoreError::Invalid { what: "a write", reason }.into());
            }
        }
        Ok(())
    }

    /// Stores the tools that a turn has called, so that it is found by them.
    async fn add_tools(&self, turn: i64, tools: &[String]) -> Result<(), PostgresError> {
        if tools.is_empty() {
            return Ok(());
        }
        let words: Vec<String> = tools.iter().map(|it| tool_word(it)).collect();
        let sql = "INSERT INTO {s}.turn_words (word, turn)
                   SELECT tool, $2 FROM unnest($1::text[]) AS tool
                   WHERE NOT EXISTS (SELECT 1 FROM {s}.turn_words AS known
                                     WHERE known.turn = $2 AND known.word = tool)
                   LIMIT greatest(0, $3 - (SELECT count(*) FROM {s}.turn_words
                                           WHERE turn = $2 AND word >= '=' AND word < '>'))
                   ON CONFLICT DO NOTHING";
        let limit = TurnSummary::MAX_TOOLS as i64;
        self.execute(sql, &[&words, &turn, &limit]).await?;
        Ok(())
    }

    /// When the first open gate of a waiting turn closes by itself.
    async fn first_expiry(
        &self,
        turn: i64,
        status: TurnStatus,
    ) -> Result<Option<Timestamp>, PostgresError> {
        if status != TurnStatus::Waiting {
            return Ok(None);
        }
        let sql = "SELECT min(expires_at) FROM {s}.gates WHERE turn = $1 AND settlement IS NULL";
        let statement = self.transaction.prepare_cached(&self.database.qualify_tables(sql)).await?;
        let first: Option<i64> =
            self.transaction.query_one(&statement, &[&turn]).await?.try_get(0)?;
        let first = first.map(Timestamp::from_micros).transpose();
        let (what, reason) = ("an open gate".to_owned(), "its expiry is no valid time".to_owned());
        Ok(first.map_err(|_| StoreError::Damaged { what, reason })?)
    }

    async fn open_gate(
        &self,
        turn: i64,
        (id, json): (&GateId, &str),
        expires_at: Option<Timestamp>,
    ) -> Result<(), PostgresError> {
        let sql = "INSERT INTO {s}.gates (id, turn, json, expires_at) VALUES ($1, $2, $3, $4)
                   ON CONFLICT (id) DO NOTHING";
        let expires_at = expires_at.map(Timestamp::as_micros);
        if self.execute(sql, &[&id.as_str(), &turn, &json, &expires_at]).await? == 1 {
            return Ok(());
        }
        let sql = "SELECT turn = $2 AND json = $3 FROM {s}.gates WHERE id = $1";
        let statement = self.transaction.prepare_cached(&self.database.qualify_tables(sql)).await?;
        let found = self.transaction.query_opt(&statement, &[&id.as_str(), &turn, &json]).await?;
        match found.map(|row| row.try_get::<_, bool>(0)).transpose()? {
            Some(true) => Ok(()),
            _ => Err(StoreError::gate_exists(id).into()),
        }
    }

    /// Inserts or replaces a memory. A replaced memory keeps its number and so its place in the order; one that was deleted
    /// gets a new place.
    async fn put_memory(
        &self,
        scope: &MemoryScope,
        id: &str,
        json: &str,
    ) -> Result<(), PostgresError> {
        let sql = "INSERT INTO {s}.memories AS old (scope_kind, scope_digest, digest, id, json)
                   VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (scope_kind, scope_digest, digest) DO UPDATE SET
                       number = CASE WHEN old.deleted THEN nextval('{s}.memory_numbers') ELSE old.number END,
                       json = excluded.json, version = old.version + 1, deleted = false";
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&scope.kind.as_str(), &digest(&scope.id), &digest(id), &id, &json];
        self.execute(sql, &parameters).await?;
        Ok(())
    }

    /// Notifies other processes of a change when the transaction is committed.
    pub(super) async fn notify(&self, text: &str) -> Result<(), PostgresError> {
        let channel = self.database.channel_name();
        self.execute("SELECT pg_notify($1, $2)", &[&channel, &text]).await?;
        Ok(())
    }
}

/// The hash by which a conversation of a tenant is found. The length makes it unique for every pair.
pub(super) fn conversation_digest(tenant: &str, conversation: &str) -> Vec<u8> {
    digest(&format!("{}:{tenant}{conversation}", tenant.len()))
}

/// The hash by which a text of any length is found.
pub(super) fn digest(text: &str) -> Vec<u8> {
    Sha256::digest(text).to_vec()
}
