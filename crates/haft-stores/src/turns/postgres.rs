//! Stores turns in a PostgreSQL server.

mod approvals;
mod connection;
mod error;
mod listener;
mod queries;
mod schedule;
mod schema;
mod updates;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::spool::SpoolKey;
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateRow, JournalRow, Lease,
    LeaseRequest, MemoryRow, MemoryScope, NewTurn, NumberedRow, SettleOutcome, StoreChangeKind,
    StoreError, StoreWrite, StoredTurn, TurnId, TurnOutline, TurnQuery, TurnStore, TurnSummary,
    check_text, check_title,
};
use tokio_postgres::IsolationLevel;

pub use self::approvals::PostgresApprovals;
use self::connection::Database;
use self::error::PostgresError;
use self::listener::{ListenTask, ServerListener, change_text};
use self::schedule::ClaimAttempt;
use self::updates::Update;
use super::changes::ChangeHub;

/// Runs an update in a transaction. One that met another transaction runs again, a few times. A macro, because the future of
/// a closure that borrows the transaction cannot be shown to be `Send`.
macro_rules! update {
    ($store:expr, $doing:literal, $update:ident => $work:expr) => {{
        let mut attempts = 0;
        loop {
            attempts += 1;
            let done: Result<_, PostgresError> = async {
                let mut client = $store.database.acquire_client().await?;
                let transaction = client.transaction().await?;
                let update = Update { database: &$store.database, transaction: &transaction };
                let done = {
                    let $update = &update;
                    let worked: Result<_, PostgresError> = async { $work }.await;
                    worked?
                };
                transaction.commit().await?;
                Ok(done)
            }
            .await;
            match done {
                Err(error) if error.is_conflict() && attempts < MAX_ATTEMPTS => {}
                done => break done.map_err(|error| error.into_store_error($doing)),
            }
        }
    }};
}

/// Runs queries that see one snapshot.
macro_rules! query {
    ($store:expr, $doing:literal, $database:ident, $transaction:ident => $work:expr) => {{
        let done: Result<_, PostgresError> = async {
            let mut client = $store.database.acquire_client().await?;
            let builder =
                client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
            let transaction = builder.read_only(true).start().await?;
            let done = {
                let ($database, $transaction) = (&*$store.database, &transaction);
                let worked: Result<_, PostgresError> = async { $work }.await;
                worked?
            };
            transaction.commit().await?;
            Ok(done)
        }
        .await;
        done.map_err(|error| error.into_store_error($doing))
    }};
}

/// Options of a PostgreSQL store.
///
/// ```
/// use haft_stores::PostgresOptions;
///
/// let options = PostgresOptions::default().schema("haft_test").connections(4);
/// assert_eq!((options.schema.as_str(), options.connections), ("haft_test", 4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// The schema in which the tables are, which is created if it does not exist: `haft`. It may have lower-case letters,
    /// digits and `_`.
    pub schema: String,
    /// How many connections a process uses at most, apart from the one that listens to changes: 16.
    pub connections: usize,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { schema: "haft".to_owned(), connections: 16 }
    }
}

impl PostgresOptions {
    /// Sets the schema in which the tables are.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets how many connections a process uses at most.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }
}

/// Stores turns in a PostgreSQL server that processes on many machines share.
///
/// Every commit is one transaction, and the lock on the turn's row fences it against other holders of the lease. Leases
/// expire by the clock of the server. Workers claim turns by `FOR UPDATE SKIP LOCKED` and are woken by `NOTIFY`.
///
/// The address is that of `libpq`: `postgres://user:password@host/database?sslmode=require`. TLS trusts the certificates of
/// the operating system. The server must be version 12 or newer.
///
/// Every process needs the same secret for gates: a runner refuses to be built without one, and the store refuses another.
pub struct PostgresStore {
    database: Arc<Database>,
    changes: Arc<ChangeHub>,
    _listening: ListenTask,
}

impl PostgresStore {
    /// Connects to a server, and creates the tables. It needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::OtherVersion`] if a program of another version has created the tables, and [`StoreError::Backend`] if the
    /// server cannot be reached or refuses the user.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, PostgresOptions::default()).await
    }

    /// Connects with custom options.
    ///
    /// # Errors
    ///
    /// Fails like [`PostgresStore::connect`], and if the name of the schema is not valid.
    pub async fn connect_with(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        let database = Arc::new(Database::new(url, &options)?);
        let created = schema::create_tables(&database).await;
        created.map_err(|error| error.into_store_error("open the store"))?;
        let changes = Arc::new(ChangeHub::new());
        let listening = ListenTask::spawn(&database, &changes);
        Ok(Self { database, changes, _listening: listening })
    }

    /// Closes all connections. Every later operation fails.
    pub fn close(&self) {
        self.database.close();
    }

    /// Claims a turn, and looks for another one while conversations are busy.
    async fn claim_any(
        &self,
        filter: &ClaimFilter,
        holder: &LeaseRequest,
    ) -> Result<Option<Lease>, StoreError> {
        let mut skipped = Vec::new();
        loop {
            let attempt = update!(self, "claim a turn", it => {
                let wanted = (filter, skipped.as_slice());
                schedule::claim_next_turn(it.database, it.transaction, wanted, holder).await
            });
            match attempt? {
                ClaimAttempt::Claimed(lease) => return Ok(Some(*lease)),
                ClaimAttempt::Busy(number) => skipped.push(number),
                ClaimAttempt::Nothing => return Ok(None),
            }
        }
    }
}

impl TurnStore for PostgresStore {
    fn create(
        &self,
        turn: NewTurn,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            turn.check()?;
            holder.check()?;
            update!(self, "begin a turn", it => it.create_turn(&turn, &holder).await)
        })
    }

    fn enqueue(&self, turn: NewTurn) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            turn.check()?;
            let told = change_text(&turn.id, StoreChangeKind::Claimable);
            update!(self, "enqueue a turn", it => {
                it.enqueue_turn(&turn).await?;
                it.notify(&told).await
            })
        })
    }

    fn claim(
        &self,
        turn: TurnId,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            holder.check()?;
            update!(self, "take a turn over", it => {
                schedule::claim_turn(it.database, it.transaction, &turn, &holder).await
            })
        })
    }

    fn claim_next(
        &self,
        filter: ClaimFilter,
        holder: LeaseRequest,
    ) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            holder.check()?;
            self.claim_any(&filter, &holder).await
        })
    }

    fn count_claimable(&self, filter: ClaimFilter) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            query!(self, "count turns", database, transaction => {
                schedule::count_claimable(database, transaction, &filter).await
            })
        })
    }

    fn renew(&self, lease: Lease) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            update!(self, "renew a lease", it => {
                schedule::renew_lease(it.database, it.transaction, lease.clone()).await
            })
        })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let told = change_text(&lease.turn, StoreChangeKind::Claimable);
            update!(self, "give a lease back", it => match schedule::release_lease(
                it.database,
                it.transaction,
                &lease,
            )
            .await?
            {
                true => it.notify(&told).await,
                false => Ok(()),
            })
        })
    }

    fn commit(
        &self,
        lease: Lease,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            writes.iter().try_for_each(StoreWrite::check)?;
            let told = change_text(&lease.turn, StoreChangeKind::Ended);
            update!(self, "commit", it => match it.commit_writes(&lease, &writes).await? {
                true => it.notify(&told).await,
                false => Ok(()),
            })
        })
    }

    fn request_cancel(
        &self,
        turn: TurnId,
        request: CancelRequest,
    ) -> BoxFuture<'_, Result<CancelOutcome, StoreError>> {
        Box::pin(async move {
            request.check()?;
            let told = change_text(&turn, StoreChangeKind::CancelRequested);
            update!(self, "ask for the end of a turn", it => {
                let request = request.clone();
                let outcome =
                    schedule::request_cancel(it.database, it.transaction, &turn, request).await?;
                if outcome == CancelOutcome::Requested {
                    it.notify(&told).await?;
                }
                Ok(outcome)
            })
        })
    }

    fn load(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move {
            query!(self, "load a turn", database, transaction => {
                queries::load_turn(database, transaction, &turn).await
            })
        })
    }

    fn summary(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<TurnSummary>, StoreError>> {
        Box::pin(async move {
            query!(self, "load a turn", database, transaction => {
                let found = queries::find_summary(database, transaction, &turn).await?;
                Ok(found.map(|(_, summary)| summary))
            })
        })
    }

    fn read_journal(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JournalRow>, StoreError>> {
        Box::pin(async move {
            query!(self, "read a journal", database, transaction => {
                queries::read_journal(database, transaction, &turn, (after, limit)).await
            })
        })
    }

    fn outline(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<TurnOutline>, StoreError>> {
        Box::pin(async move {
            query!(self, "read a turn", database, transaction => {
                queries::read_outline(database, transaction, &turn).await
            })
        })
    }

    fn read_rows(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<NumberedRow>, StoreError>> {
        Box::pin(async move {
            query!(self, "read a turn", database, transaction => {
                queries::read_rows(database, transaction, &turn, (after, limit)).await
            })
        })
    }

    fn turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>> {
        Box::pin(async move {
            query!(self, "list turns", database, transaction => {
                queries::list_turns(database, transaction, &query).await
            })
        })
    }

    fn remove(&self, turn: TurnId) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move { update!(self, "remove a turn", it => it.remove_turn(&turn).await) })
    }

    fn remove_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnId>, StoreError>> {
        Box::pin(async move { update!(self, "remove turns", it => it.remove_turns(&query).await) })
    }

    fn unreferenced_keys(
        &self,
        keys: Vec<SpoolKey>,
    ) -> BoxFuture<'_, Result<Vec<SpoolKey>, StoreError>> {
        Box::pin(async move {
            query!(self, "look for unused content", database, transaction => {
                queries::list_unreferenced_keys(database, transaction, &keys).await
            })
        })
    }

    fn gate(&self, gate: GateId) -> BoxFuture<'_, Result<Option<GateRow>, StoreError>> {
        Box::pin(async move {
            query!(self, "read a gate", database, transaction => {
                queries::load_gate(database, transaction, &gate).await
            })
        })
    }

    fn open_gates(&self, turn: Option<TurnId>) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(async move {
            query!(self, "list gates", database, transaction => {
                queries::list_open_gates(database, transaction, turn.as_ref()).await
            })
        })
    }

    fn open_gates_of(&self, tenant: String) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(async move {
            query!(self, "list gates", database, transaction => {
                queries::list_tenant_gates(database, transaction, &tenant).await
            })
        })
    }

    fn settle(
        &self,
        gate: GateId,
        settlement: String,
    ) -> BoxFuture<'_, Result<SettleOutcome, StoreError>> {
        Box::pin(async move {
            check_text("a settlement", &settlement)?;
            update!(self, "settle a gate", it => {
                let (outcome, turn) = it.settle_gate(&gate, &settlement).await?;
                if outcome.first {
                    it.notify(&change_text(&turn, StoreChangeKind::GateSettled)).await?;
                }
                Ok(outcome)
            })
        })
    }

    fn load_memories(
        &self,
        scope: MemoryScope,
    ) -> BoxFuture<'_, Result<Vec<MemoryRow>, StoreError>> {
        Box::pin(async move {
            query!(self, "load memories", database, transaction => {
                queries::load_memories(database, transaction, &scope).await
            })
        })
    }

    fn set_title(
        &self,
        tenant: String,
        conversation: String,
        title: Option<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            check_title(&tenant, &conversation, title.as_deref())?;
            update!(self, "set a title", it => {
                it.set_title(&tenant, &conversation, title.as_deref()).await
            })
        })
    }

    fn titles(
        &self,
        tenant: String,
        conversations: Vec<String>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, String>, StoreError>> {
        Box::pin(async move {
            query!(self, "load titles", database, transaction => {
                queries::load_titles(database, transaction, &tenant, &conversations).await
            })
        })
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        Box::new(ServerListener(self.changes.listen()))
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn verify_secret(&self, fingerprint: [u8; 32]) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let fingerprint = hex::encode(fingerprint);
            update!(self, "compare the secret", it => it.verify_secret(&fingerprint).await)
        })
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.database.config.get_hosts();
        write!(f, "PostgresStore({hosts:?}, schema {})", self.database.schema)
    }
}

/// How often a transaction runs that meets others.
const MAX_ATTEMPTS: u32 = 10;
