//! Leases, and when turns can be claimed.

use std::sync::Arc;

use deadpool_postgres::Transaction;
use haft_core::clock::Timestamp;
use haft_core::invariant::OrReport as _;
use haft_core::store::{
    CancelOutcome, CancelRequest, ClaimFilter, Lease, LeaseRequest, StoreError, TurnId,
    TurnSchedule, TurnStatus,
};
use tokio_postgres::Row;

use super::connection::Database;
use super::error::{PostgresError, damaged};

/// The columns of a turn that decide who may run it. The row is locked until the transaction ends.
pub(super) struct LeaseRow {
    pub(super) number: i64,
    pub(super) id: TurnId,
    epoch: i64,
    holder: Option<Arc<str>>,
    pub(super) schedule: TurnSchedule,
    pub(super) conversation: Option<String>,
    pub(super) tenant: String,
    /// The time of the server.
    pub(super) now: Timestamp,
}

impl LeaseRow {
    /// Locks a turn.
    pub(super) async fn lock(
        database: &Database,
        transaction: &Transaction<'_>,
        id: &TurnId,
    ) -> Result<Option<Self>, PostgresError> {
        let sql = format!("SELECT {COLUMNS} FROM {{s}}.turns WHERE id = $1 FOR UPDATE");
        let statement = transaction.prepare_cached(&database.qualify_tables(&sql)).await?;
        let row = transaction.query_opt(&statement, &[&id.as_str()]).await?;
        row.map(|row| Self::read(&row)).transpose()
    }

    /// Locks the turn of a lease that must be valid: the lock is the fence against other holders.
    pub(super) async fn lock_leased(
        database: &Database,
        transaction: &Transaction<'_>,
        lease: &Lease,
    ) -> Result<Self, PostgresError> {
        let turn = Self::lock(database, transaction, &lease.turn).await?;
        let turn = turn.ok_or_else(|| StoreError::unknown_turn(&lease.turn))?;
        match turn.is_held_with(lease) {
            true => Ok(turn),
            false => Err(StoreError::LeaseLost { turn: lease.turn.clone() }.into()),
        }
    }

    fn read(row: &Row) -> Result<Self, PostgresError> {
        let id: String = row.try_get("id")?;
        let now = Timestamp::from_micros(row.try_get("now")?);
        Ok(Self {
            number: row.try_get("number")?,
            id: id.parse().map_err(|_| damaged(&id, "its id is none"))?,
            epoch: row.try_get("epoch")?,
            holder: row.try_get::<_, Option<String>>("holder")?.map(Into::into),
            schedule: read_schedule(row, &id)?,
            conversation: row.try_get("conversation")?,
            tenant: row.try_get("tenant")?,
            now: now.map_err(|_| damaged(&id, "the server has no valid time"))?,
        })
    }

    fn is_held_with(&self, lease: &Lease) -> bool {
        u64::try_from(self.epoch) == Ok(lease.epoch) && self.holder.as_ref() == Some(&lease.holder)
    }

    /// Fails while a lease on the turn is active.
    pub(super) fn check_free(&self) -> Result<(), StoreError> {
        match (&self.holder, self.schedule.held_until) {
            (Some(holder), Some(until)) if self.now < until => {
                let (turn, holder) = (self.id.clone(), Arc::clone(holder));
                Err(StoreError::Held { turn, holder, until })
            }
            _ => Ok(()),
        }
    }

    /// Gives the lease on a turn that is free.
    async fn lease_to(
        mut self,
        database: &Database,
        transaction: &Transaction<'_>,
        holder: &LeaseRequest,
    ) -> Result<Lease, PostgresError> {
        self.epoch += 1;
        let epoch = u64::try_from(self.epoch);
        let epoch = epoch.map_err(|_| damaged(self.id.as_str(), "its epoch is negative"))?;
        let mut lease = Lease::new(self.id.clone(), holder, epoch, self.now);
        self.schedule.claim(lease.until);
        self.holder = Some(Arc::clone(&lease.holder));
        (lease.take_overs, lease.cancel) = (self.schedule.take_overs, self.schedule.cancel.clone());
        self.store(database, transaction).await?;
        Ok(lease)
    }

    /// Stores the lease and the schedule.
    pub(super) async fn store(
        &self,
        database: &Database,
        transaction: &Transaction<'_>,
    ) -> Result<(), PostgresError> {
        let TurnSchedule { status, runnable_at, held_until, take_overs, cancel } = &self.schedule;
        let cancel = cancel.as_ref().map(serde_json::to_string).transpose();
        let cancel =
            cancel.map_err(|error| StoreError::backend("write a request to cancel", error))?;
        let sql = "UPDATE {s}.turns SET epoch = $2, holder = $3, status = $4, runnable_at = $5,
                       held_until = $6, take_overs = $7, cancel = $8 WHERE number = $1";
        let take_overs = i32::try_from(*take_overs);
        let take_overs =
            take_overs.or_report("a turn is taken over fewer than 2^31 times", i32::MAX);
        let statement = transaction.prepare_cached(&database.qualify_tables(sql)).await?;
        transaction
            .execute(
                &statement,
                &[
                    &self.number,
                    &self.epoch,
                    &self.holder.as_deref(),
                    &status.as_str(),
                    &runnable_at.map(Timestamp::as_micros),
                    &held_until.map(Timestamp::as_micros),
                    &take_overs,
                    &cancel,
                ],
            )
            .await?;
        Ok(())
    }
}

/// Reads the columns of a schedule.
pub(super) fn read_schedule(row: &Row, id: &str) -> Result<TurnSchedule, PostgresError> {
    let status: String = row.try_get("status")?;
    let status = TurnStatus::from_word(&status);
    let cancel: Option<String> = row.try_get("cancel")?;
    let cancel = cancel.map(|it| serde_json::from_str(&it)).transpose();
    let take_overs = u32::try_from(row.try_get::<_, i32>("take_overs")?);
    Ok(TurnSchedule {
        status: status.ok_or_else(|| damaged(id, "its status is unknown"))?,
        runnable_at: read_time(row, "runnable_at", id)?,
        held_until: read_time(row, "held_until", id)?,
        take_overs: take_overs.map_err(|_| damaged(id, "its count of take-overs is negative"))?,
        cancel: cancel.map_err(|_| damaged(id, "its request to cancel cannot be read"))?,
    })
}

pub(super) fn read_time(
    row: &Row,
    name: &str,
    id: &str,
) -> Result<Option<Timestamp>, PostgresError> {
    let time: Option<i64> = row.try_get(name)?;
    let time = time.map(Timestamp::from_micros).transpose();
    time.map_err(|_| damaged(id, &format!("its time `{name}` is not valid")))
}

pub(super) async fn claim_turn(
    database: &Database,
    transaction: &Transaction<'_>,
    id: &TurnId,
    holder: &LeaseRequest,
) -> Result<Lease, PostgresError> {
    let turn = LeaseRow::lock(database, transaction, id).await?;
    let turn = turn.ok_or_else(|| StoreError::unknown_turn(id))?;
    turn.check_free()?;
    turn.lease_to(database, transaction, holder).await
}

/// Claims the next turn that is not in `skipped`. A turn whose conversation another process claims from at the same time
/// is returned as the number to skip.
pub(super) async fn claim_next_turn(
    database: &Database,
    transaction: &Transaction<'_>,
    (filter, skipped): (&ClaimFilter, &[i64]),
    holder: &LeaseRequest,
) -> Result<ClaimAttempt, PostgresError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM {{s}}.turns
         WHERE runnable_at IS NOT NULL AND runnable_at <= {NOW}
             AND (held_until IS NULL OR held_until <= {NOW})
             AND ($1::text IS NULL OR tenant = $1)
             AND (cardinality($2::text[]) = 0 OR agent = ANY ($2))
             AND number <> ALL ($3::bigint[])
             AND (conversation IS NULL OR NOT EXISTS ({BUSY}))
         ORDER BY priority DESC, runnable_at, number LIMIT 1 FOR UPDATE SKIP LOCKED"
    );
    let statement = transaction.prepare_cached(&database.qualify_tables(&sql)).await?;
    let found =
        transaction.query_opt(&statement, &[&filter.tenant, &filter.agents, &skipped]).await?;
    let Some(turn) = found.map(|row| LeaseRow::read(&row)).transpose()? else {
        return Ok(ClaimAttempt::Nothing);
    };
    if turn.conversation.is_some() && !lock_conversation(database, transaction, &turn).await? {
        return Ok(ClaimAttempt::Busy(turn.number));
    }
    Ok(ClaimAttempt::Claimed(Box::new(turn.lease_to(database, transaction, holder).await?)))
}

/// How many turns can be claimed now. The index has only turns that can be claimed some time.
pub(super) async fn count_claimable(
    database: &Database,
    transaction: &Transaction<'_>,
    filter: &ClaimFilter,
) -> Result<u64, PostgresError> {
    let sql = format!(
        "SELECT count(*) FROM {{s}}.turns
         WHERE runnable_at IS NOT NULL AND runnable_at <= {NOW}
             AND (held_until IS NULL OR held_until <= {NOW})
             AND ($1::text IS NULL OR tenant = $1)
             AND (cardinality($2::text[]) = 0 OR agent = ANY ($2))"
    );
    let statement = transaction.prepare_cached(&database.qualify_tables(&sql)).await?;
    let row = transaction.query_one(&statement, &[&filter.tenant, &filter.agents]).await?;
    let count: i64 = row.try_get(0)?;
    Ok(u64::try_from(count).or_report_default("a count is not negative"))
}

/// The result of looking for a turn.
pub(super) enum ClaimAttempt {
    Claimed(Box<Lease>),
    /// Another process is about to run a turn of the same conversation.
    Busy(i64),
    Nothing,
}

/// Locks the conversation of a turn until the transaction ends, and looks again whether another turn of it runs: one that
/// was claimed since the turn was selected is visible now.
async fn lock_conversation(
    database: &Database,
    transaction: &Transaction<'_>,
    turn: &LeaseRow,
) -> Result<bool, PostgresError> {
    let conversation = turn.conversation.as_deref().unwrap_or_default();
    let name = format!("haft {} {:?} {conversation:?}", database.schema, turn.tenant);
    let lock = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))";
    let statement = transaction.prepare_cached(lock).await?;
    if !transaction.query_one(&statement, &[&name]).await?.try_get::<_, bool>(0)? {
        return Ok(false);
    }
    let sql = format!("SELECT NOT EXISTS ({BUSY}) FROM {{s}}.turns WHERE number = $1");
    let statement = transaction.prepare_cached(&database.qualify_tables(&sql)).await?;
    Ok(transaction.query_one(&statement, &[&turn.number]).await?.try_get(0)?)
}

pub(super) async fn renew_lease(
    database: &Database,
    transaction: &Transaction<'_>,
    lease: Lease,
) -> Result<Lease, PostgresError> {
    let mut turn = LeaseRow::lock_leased(database, transaction, &lease).await?;
    let mut lease = lease.renewed(turn.now);
    turn.schedule.renew(lease.until);
    (lease.take_overs, lease.cancel) = (turn.schedule.take_overs, turn.schedule.cancel.clone());
    turn.store(database, transaction).await?;
    Ok(lease)
}

/// Returns whether the lease was valid. The process of one that was taken over lives.
pub(super) async fn release_lease(
    database: &Database,
    transaction: &Transaction<'_>,
    lease: &Lease,
) -> Result<bool, PostgresError> {
    let turn = LeaseRow::lock(database, transaction, &lease.turn).await?;
    let Some(mut turn) = turn else { return Ok(false) };
    if !turn.is_held_with(lease) {
        let is_later = u64::try_from(turn.epoch).is_ok_and(|epoch| lease.epoch < epoch);
        if is_later && turn.schedule.take_overs > 0 {
            turn.schedule.retract_take_over();
            turn.store(database, transaction).await?;
        }
        return Ok(false);
    }
    turn.holder = None;
    turn.schedule.release(turn.now);
    turn.store(database, transaction).await?;
    Ok(true)
}

pub(super) async fn request_cancel(
    database: &Database,
    transaction: &Transaction<'_>,
    id: &TurnId,
    request: CancelRequest,
) -> Result<CancelOutcome, PostgresError> {
    let turn = LeaseRow::lock(database, transaction, id).await?;
    let mut turn = turn.ok_or_else(|| StoreError::unknown_turn(id))?;
    let outcome = turn.schedule.request_cancel(request, turn.now);
    if outcome == CancelOutcome::Requested {
        turn.store(database, transaction).await?;
    }
    Ok(outcome)
}

/// The time at which the server began the statement, in microseconds since 1970. It is the same for all rows, so that an
/// index can be used.
pub(super) const NOW: &str = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint";
const COLUMNS: &str = "number, id, epoch, holder, status, runnable_at, held_until, take_overs, cancel, \
    conversation, tenant, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now";

/// Another turn of the conversation that runs, or that comes before a queued one.
const BUSY: &str = "SELECT 1 FROM {s}.turns AS other
    WHERE other.conversation = turns.conversation AND other.tenant = turns.tenant
        AND other.status IN ('queued', 'running', 'waiting', 'suspended', 'cancel-requested')
        AND other.number <> turns.number
        AND (other.held_until > (extract(epoch FROM statement_timestamp()) * 1000000)::bigint
            OR (turns.status = 'queued' AND other.number < turns.number))";
