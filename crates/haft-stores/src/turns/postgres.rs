//! Stores turns in a PostgreSQL server.

mod approvals;
mod connection;
mod error;
mod listener;
mod notifier;
mod schema;
mod transaction;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haft_core::BoxFuture;
use haft_core::spool::SpoolKey;
use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateQuery, GateRow,
    JournalRow, Lease, LeaseRequest, MemoryRow, MemoryScope, NewTurn, SettleOutcome,
    StoreChangeKind, StoreError, StoreKey, StoreWrite, StoredTurn, TurnId, TurnQuery, TurnStore,
    TurnSummary, check_text, check_title,
};

pub use self::approvals::PostgresApprovals;
use self::connection::Database;
use self::error::PostgresError;
use self::listener::ListenTask;
use self::notifier::{Notifier, Origin};
use self::transaction::{Begin, PostgresTransaction};
use super::changes::{ChangeHub, PolledListener};
use super::sql;
use super::turn_row::Holder;

/// Runs an update in a transaction. One that met another transaction runs again, a few times. A macro, because the future of
/// a closure that borrows the transaction cannot be shown to be `Send`.
macro_rules! update {
    ($store:expr, $doing:literal, $tx:ident => $work:expr) => {
        update!($store, Begin::Write, $doing, $tx => $work)
    };
    ($store:expr, $begin:expr, $doing:literal, $tx:ident => $work:expr) => {{
        let mut attempts = 0;
        loop {
            attempts += 1;
            let done: Result<_, PostgresError> = async {
                let tx = PostgresTransaction::begin(&$store.database, $begin).await?;
                let done = {
                    let $tx = &tx;
                    let worked: Result<_, PostgresError> = async { $work }.await;
                    worked?
                };
                tx.commit().await?;
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
    ($store:expr, $doing:literal, $tx:ident => $work:expr) => {
        update!($store, Begin::Snapshot, $doing, $tx => $work)
    };
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
/// Every commit is one transaction of two round trips, and the lock on the turn's row fences it against other holders of the
/// lease. Leases expire by the clock of the server. Workers claim turns by `FOR UPDATE SKIP LOCKED`.
///
/// Other processes are told by `NOTIFY` of turns that can be claimed, of settled gates and of requests to cancel, and find
/// everything else when they look again. The notifications of a process are sent together, and never in the transaction
/// of a commit: those would wait for each other in the whole server.
///
/// The address is that of `libpq`: `postgres://user:password@host/database?sslmode=require`. TLS trusts the certificates of
/// the operating system. The server must be version 12 or newer.
///
/// Every process needs the same secret for gates: the store and the runner refuse another one. The key of the store
/// follows from it. Every row has a mark that only a holder of the key can make, and reading a row compares it: what was
/// edited, moved, removed or made with another key is [`StoreError::Damaged`].
pub struct PostgresStore {
    database: Arc<Database>,
    key: StoreKey,
    changes: Arc<ChangeHub>,
    notifier: Notifier,
    _listening: ListenTask,
}

impl PostgresStore {
    /// Connects to a server with the secret of gates that all processes share, and creates the tables. It needs a Tokio
    /// runtime.
    ///
    /// # Errors
    ///
    /// Returns [`StoreError::OtherVersion`] if a program of another version has created the tables,
    /// [`StoreError::OtherSecret`] if one with another secret has, and [`StoreError::Backend`] if the server cannot be
    /// reached or refuses the user.
    pub async fn connect(url: &str, secret: [u8; 32]) -> Result<Self, StoreError> {
        Self::connect_with(url, secret, PostgresOptions::default()).await
    }

    /// Connects with custom options.
    ///
    /// # Errors
    ///
    /// Fails like [`PostgresStore::connect`], and if the name of the schema is not valid.
    pub async fn connect_with(
        url: &str,
        secret: [u8; 32],
        options: PostgresOptions,
    ) -> Result<Self, StoreError> {
        let database = Arc::new(Database::new(url, &options)?);
        let key = StoreKey::of_secret(secret);
        let created = schema::create_tables(&database, &key).await;
        created.map_err(|error| error.into_store_error("open the store"))?;
        let changes = Arc::new(ChangeHub::new());
        let origin = Origin::random()?;
        let listening = ListenTask::spawn(&database, &changes, origin.clone());
        let notifier = Notifier::spawn(&database, origin);
        Ok(Self { database, key, changes, notifier, _listening: listening })
    }

    /// Closes all connections. Every later operation fails.
    pub fn close(&self) {
        self.database.close();
    }

    /// Claims turns, and looks for others while conversations are busy.
    async fn claim_any(
        &self,
        filter: &ClaimFilter,
        holder: Holder<'_>,
        count: usize,
    ) -> Result<Vec<Lease>, StoreError> {
        let (mut claimed, mut skipped) = (Vec::new(), Vec::new());
        loop {
            let room = count.saturating_sub(claimed.len());
            let attempt = update!(self, "claim turns", tx => {
                sql::claim_next(tx, &self.key, (filter, room, skipped.as_slice()), holder).await
            })?;
            claimed.extend(attempt.claimed);
            if attempt.skipped.is_empty() || skipped.len() >= sql::MAX_SKIPPED {
                return Ok(claimed);
            }
            skipped.extend(attempt.skipped);
        }
    }

    /// Reports a change to this process, and to others before it returns.
    async fn notify(&self, turn: &TurnId, kind: StoreChangeKind) {
        self.changes.notify(turn, kind);
        self.notifier.notify(turn, kind).await;
    }

    /// Reports a change to this process now, and to others soon.
    fn notify_later(&self, turn: &TurnId, kind: StoreChangeKind) {
        self.changes.notify(turn, kind);
        self.notifier.notify_later(turn, kind);
    }
}

impl TurnStore for PostgresStore {
    fn insert(&self, turn: NewTurn) -> BoxFuture<'_, Result<Option<Lease>, StoreError>> {
        Box::pin(async move {
            turn.check()?;
            let lease = update!(self, "begin a turn", tx => {
                sql::insert(tx, &self.key, &turn, None).await
            })?;
            if lease.is_none() {
                self.notify(&turn.id, StoreChangeKind::Claimable).await;
            }
            Ok(lease)
        })
    }

    fn claim_turns(
        &self,
        filter: ClaimFilter,
        holder: LeaseRequest,
        count: usize,
    ) -> BoxFuture<'_, Result<Vec<Lease>, StoreError>> {
        Box::pin(async move {
            holder.check()?;
            let holder = Holder { request: &holder, process: None };
            let Some(turn) = &filter.turn else {
                return self.claim_any(&filter, holder, count).await;
            };
            let lease = update!(self, "claim a turn", tx => {
                sql::claim(tx, &self.key, (turn, &filter), holder).await
            });
            lease.map(|it| vec![it])
        })
    }

    fn renew(&self, lease: Lease) -> BoxFuture<'_, Result<Lease, StoreError>> {
        Box::pin(async move {
            update!(self, "renew a lease", tx => {
                sql::renew(tx, &self.key, lease.clone()).await
            })
        })
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            // A lease that the server forgot to be returned expires.
            let begin = Begin::WriteWithoutFsync;
            let is_claimable = update!(self, begin, "give a lease back", tx => {
                sql::release(tx, &self.key, &lease).await
            })?;
            if is_claimable {
                self.notify(&lease.turn, StoreChangeKind::Claimable).await;
            }
            Ok(())
        })
    }

    fn commit(
        &self,
        lease: Lease,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            writes.iter().try_for_each(StoreWrite::check)?;
            let (has_ended, has_followers) = update!(self, "commit", tx => {
                sql::commit(tx, &self.key, &lease, &writes).await
            })?;
            match (has_ended, has_followers) {
                // The next turn of its conversation can run.
                (true, true) => self.notify_later(&lease.turn, StoreChangeKind::Ended),
                (true, false) => self.changes.notify(&lease.turn, StoreChangeKind::Ended),
                (false, _) => {}
            }
            Ok(())
        })
    }

    fn request_cancel(
        &self,
        turn: TurnId,
        request: CancelRequest,
    ) -> BoxFuture<'_, Result<CancelOutcome, StoreError>> {
        Box::pin(async move {
            request.check()?;
            let outcome = update!(self, "ask for the end of a turn", tx => {
                sql::cancel(tx, &self.key, &turn, &request).await
            })?;
            if outcome == CancelOutcome::Requested {
                self.notify(&turn, StoreChangeKind::CancelRequested).await;
            }
            Ok(outcome)
        })
    }

    fn load(&self, turn: TurnId) -> BoxFuture<'_, Result<Option<StoredTurn>, StoreError>> {
        Box::pin(async move {
            query!(self, "load a turn", tx => sql::load_turn(tx, &self.key, &turn).await)
        })
    }

    fn read_journal(
        &self,
        turn: TurnId,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<JournalRow>, StoreError>> {
        Box::pin(async move {
            query!(self, "read a journal", tx => {
                sql::read_journal(tx, &self.key, &turn, (after, limit)).await
            })
        })
    }

    fn turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnSummary>, StoreError>> {
        Box::pin(async move {
            query!(self, "list turns", tx => sql::list_turns(tx, &self.key, &query).await)
        })
    }

    fn remove_turns(&self, query: TurnQuery) -> BoxFuture<'_, Result<Vec<TurnId>, StoreError>> {
        Box::pin(async move {
            update!(self, "remove turns", tx => sql::remove_turns(tx, &self.key, &query).await)
        })
    }

    fn unreferenced_keys(
        &self,
        keys: Vec<SpoolKey>,
    ) -> BoxFuture<'_, Result<Vec<SpoolKey>, StoreError>> {
        Box::pin(async move {
            query!(self, "look for unused content", tx => {
                sql::list_unreferenced_keys(tx, keys.clone()).await
            })
        })
    }

    fn gates(&self, query: GateQuery) -> BoxFuture<'_, Result<Vec<GateRow>, StoreError>> {
        Box::pin(async move {
            query!(self, "list gates", tx => sql::list_gates(tx, &self.key, &query).await)
        })
    }

    fn settle(
        &self,
        gate: GateId,
        settlement: String,
    ) -> BoxFuture<'_, Result<SettleOutcome, StoreError>> {
        Box::pin(async move {
            check_text("a settlement", &settlement)?;
            let (outcome, turn) = update!(self, "settle a gate", tx => {
                sql::settle(tx, &self.key, &gate, &settlement).await
            })?;
            if outcome.first {
                self.notify(&turn, StoreChangeKind::GateSettled).await;
            }
            Ok(outcome)
        })
    }

    fn load_memories(
        &self,
        scope: MemoryScope,
    ) -> BoxFuture<'_, Result<Vec<MemoryRow>, StoreError>> {
        Box::pin(async move {
            query!(self, "load memories", tx => sql::load_memories(tx, &self.key, &scope).await)
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
            update!(self, "set a title", tx => {
                sql::set_title(tx, &self.key, (&tenant, &conversation), title.as_deref()).await
            })
        })
    }

    fn titles(
        &self,
        tenant: String,
        conversations: Vec<String>,
    ) -> BoxFuture<'_, Result<BTreeMap<String, String>, StoreError>> {
        Box::pin(async move {
            query!(self, "load titles", tx => {
                sql::load_titles(tx, &self.key, &tenant, &conversations).await
            })
        })
    }

    fn listen(&self) -> Box<dyn ChangeListener> {
        Box::new(PolledListener::new(self.changes.listen(), POLL_INTERVAL))
    }

    fn required_secret(&self) -> Option<[u8; 32]> {
        Some(self.key.fingerprint())
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
/// How often a listener looks without a notification, in case one was lost.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
