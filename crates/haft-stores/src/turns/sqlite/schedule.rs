//! Leases, and when turns can be claimed. Each function runs in a transaction that is rolled back if it fails.

use std::sync::Arc;

use haft_core::clock::Timestamp;
use haft_core::invariant::OrReport as _;
use haft_core::store::{
    CancelOutcome, CancelRequest, ClaimFilter, Lease, LeaseRequest, StoreError, TurnId,
    TurnSchedule, TurnStatus,
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::error::{SqliteError, damaged_error};
use super::schema::UNFINISHED;
use super::updates::execute;
use crate::process::is_dead;

/// Who asks for a lease.
pub(super) struct Holder<'h> {
    pub(super) request: &'h LeaseRequest,
    /// The mark of this process, if there is one.
    pub(super) process: Option<&'h Arc<str>>,
}

/// The columns of a turn that decide who may run it.
pub(super) struct LeaseRow {
    pub(super) number: i64,
    id: TurnId,
    epoch: u64,
    holder: Option<Arc<str>>,
    /// The mark of the process that holds the lease.
    process: Option<Arc<str>>,
    pub(super) schedule: TurnSchedule,
}

impl LeaseRow {
    pub(super) fn find(connection: &Connection, id: &TurnId) -> Result<Option<Self>, SqliteError> {
        let sql = format!("SELECT {COLUMNS} FROM turns WHERE id = ?1");
        let mut statement = connection.prepare_cached(&sql)?;
        statement.query_row([id.as_str()], |row| Ok(Self::read(row))).optional()?.transpose()
    }

    /// The columns of a turn that was just inserted.
    pub(super) fn created(
        number: i64,
        id: &TurnId,
        holder: Option<&Holder<'_>>,
        schedule: TurnSchedule,
    ) -> Self {
        let epoch = u64::from(holder.is_some());
        let process = holder.and_then(|it| it.process.cloned());
        let holder = holder.map(|it| Arc::clone(&it.request.name));
        Self { number, id: id.clone(), epoch, holder, process, schedule }
    }

    /// Finds the turn of a valid lease.
    pub(super) fn find_leased(connection: &Connection, lease: &Lease) -> Result<Self, SqliteError> {
        let turn = Self::find(connection, &lease.turn)?;
        let turn = turn.ok_or_else(|| StoreError::unknown_turn(&lease.turn))?;
        if !turn.is_held_with(lease) {
            return Err(StoreError::LeaseLost { turn: lease.turn.clone() }.into());
        }
        Ok(turn)
    }

    /// Reads the columns of `COLUMNS`.
    fn read(row: &Row<'_>) -> Result<Self, SqliteError> {
        let id: String = row.get(1)?;
        let damaged = |reason| damaged_error(format!("turn `{id}`"), reason);
        let turn = id.parse().map_err(|_| damaged("its id is none"))?;
        let epoch = u64::try_from(row.get::<_, i64>(2)?);
        let epoch = epoch.map_err(|_| damaged("its epoch is negative"))?;
        let schedule = read_schedule(row, 5, &id)?;
        let (number, holder, process) = (row.get(0)?, row.get(3)?, row.get(4)?);
        Ok(Self { number, id: turn, epoch, holder, process, schedule })
    }

    fn is_held_with(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch && self.holder.as_ref() == Some(&lease.holder)
    }

    /// Fails while a lease on the turn is active.
    pub(super) fn check_free(&self, now: Timestamp) -> Result<(), StoreError> {
        match (&self.holder, self.schedule.held_until) {
            (Some(holder), Some(until)) if now < until => {
                let (turn, holder) = (self.id.clone(), Arc::clone(holder));
                Err(StoreError::Held { turn, holder, until })
            }
            _ => Ok(()),
        }
    }

    /// Gives the lease on a turn that is free.
    fn lease_to(
        mut self,
        connection: &Connection,
        holder: &Holder<'_>,
        now: Timestamp,
    ) -> Result<Lease, SqliteError> {
        self.epoch += 1;
        let mut lease = Lease::new(self.id.clone(), holder.request, self.epoch, now);
        self.schedule.claim(lease.until);
        self.holder = Some(Arc::clone(&lease.holder));
        self.process = holder.process.cloned();
        (lease.take_overs, lease.cancel) = (self.schedule.take_overs, self.schedule.cancel.clone());
        self.store(connection)?;
        Ok(lease)
    }

    /// Stores the lease and the schedule.
    pub(super) fn store(&self, connection: &Connection) -> Result<(), SqliteError> {
        let invalid = |_| damaged_error(format!("turn `{}`", self.id), "its epoch is too large");
        let epoch = i64::try_from(self.epoch).map_err(invalid)?;
        let TurnSchedule { status, runnable_at, held_until, take_overs, .. } = &self.schedule;
        let sql = "UPDATE turns SET epoch = ?2, holder = ?3, status = ?4, runnable_at = ?5,
                       held_until = ?6, take_overs = ?7, cancel = ?8, process = ?9 WHERE number = ?1";
        execute(
            connection,
            sql,
            &[
                &self.number,
                &epoch,
                &self.holder.as_deref(),
                &status.as_str(),
                &runnable_at.map(Timestamp::as_micros),
                &held_until.map(Timestamp::as_micros),
                take_overs,
                &cancel_text(&self.schedule)?,
                &self.process.as_deref(),
            ],
        )?;
        Ok(())
    }
}

/// The text of a request to cancel.
pub(super) fn cancel_text(schedule: &TurnSchedule) -> Result<Option<String>, SqliteError> {
    let text = schedule.cancel.as_ref().map(serde_json::to_string).transpose();
    Ok(text.map_err(|error| StoreError::backend("write a request to cancel", error))?)
}

/// Reads the columns of a schedule, which begin at `first`: status, runnable_at, held_until, take_overs, cancel.
pub(super) fn read_schedule(
    row: &Row<'_>,
    first: usize,
    id: &str,
) -> Result<TurnSchedule, SqliteError> {
    let damaged = |reason: &str| damaged_error(format!("turn `{id}`"), reason);
    let status: String = row.get(first)?;
    let status = TurnStatus::from_word(&status).ok_or_else(|| damaged("its status is unknown"))?;
    let time = |at: usize, reason: &str| -> Result<Option<Timestamp>, SqliteError> {
        let time = row.get::<_, Option<i64>>(at)?.map(Timestamp::from_micros).transpose();
        Ok(time.map_err(|_| damaged(reason))?)
    };
    let cancel: Option<String> = row.get(first + 4)?;
    let cancel = cancel.map(|it| serde_json::from_str(&it)).transpose();
    Ok(TurnSchedule {
        status,
        runnable_at: time(first + 1, "it can be claimed at no valid time")?,
        held_until: time(first + 2, "its lease has no valid end")?,
        take_overs: row.get(first + 3)?,
        cancel: cancel.map_err(|_| damaged("its request to cancel cannot be read"))?,
    })
}

pub(super) fn claim_turn(
    connection: &Connection,
    id: &TurnId,
    holder: &Holder<'_>,
    now: Timestamp,
) -> Result<Lease, SqliteError> {
    expire_dead_leases(connection, holder, now)?;
    let turn = LeaseRow::find(connection, id)?.ok_or_else(|| StoreError::unknown_turn(id))?;
    turn.check_free(now)?;
    turn.lease_to(connection, holder, now)
}

/// Ends the leases of processes that are provably dead, so that their turns can be claimed at once.
fn expire_dead_leases(
    connection: &Connection,
    holder: &Holder<'_>,
    now: Timestamp,
) -> Result<(), SqliteError> {
    let Some(own) = holder.process else { return Ok(()) };
    let sql = "SELECT DISTINCT process FROM turns WHERE process IS NOT NULL AND process <> ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let marks = statement.query_map([&**own], |row| row.get::<_, String>(0))?;
    let dead = marks.filter(|mark| mark.as_ref().map_or(true, |mark| is_dead(mark, own)));
    for mark in dead.collect::<Result<Vec<_>, _>>()? {
        let sql = "UPDATE turns SET process = NULL, held_until = min(held_until, ?2),
                       runnable_at = CASE WHEN status IN ('running', 'cancel-requested')
                                     THEN min(runnable_at, ?2) ELSE runnable_at END
                   WHERE process = ?1";
        execute(connection, sql, &[&mark, &now.as_micros()])?;
    }
    Ok(())
}

pub(super) fn claim_next_turn(
    connection: &Connection,
    filter: &ClaimFilter,
    holder: &Holder<'_>,
    now: Timestamp,
) -> Result<Option<Lease>, SqliteError> {
    expire_dead_leases(connection, holder, now)?;
    let agents = serde_json::to_string(&filter.agents)
        .map_err(|error| StoreError::backend("write a list of agents", error))?;
    let sql = claim_sql(filter);
    let mut statement = connection.prepare_cached(&sql)?;
    let parameters = (now.as_micros(), &filter.tenant, &agents);
    let found = statement.query_row(parameters, |row| Ok(LeaseRow::read(row)));
    let Some(turn) = found.optional()?.transpose()? else { return Ok(None) };
    turn.lease_to(connection, holder, now).map(Some)
}

/// How many turns can be claimed now. The index has only turns that can be claimed some time.
pub(super) fn count_claimable(
    connection: &Connection,
    filter: &ClaimFilter,
    now: Timestamp,
) -> Result<u64, SqliteError> {
    let agents = serde_json::to_string(&filter.agents)
        .map_err(|error| StoreError::backend("write a list of agents", error))?;
    let sql = "SELECT count(*) FROM turns INDEXED BY turns_runnable
               WHERE runnable_at IS NOT NULL AND runnable_at <= ?1
                   AND (held_until IS NULL OR held_until <= ?1)
                   AND (?2 IS NULL OR tenant = ?2)
                   AND (?3 = '[]' OR agent IN (SELECT value FROM json_each(?3)))";
    let mut statement = connection.prepare_cached(sql)?;
    let count: i64 =
        statement.query_row((now.as_micros(), &filter.tenant, &agents), |row| row.get(0))?;
    Ok(u64::try_from(count).or_report_default("a count is not negative"))
}

/// The query walks along the turns that can be claimed some time, in the order in which they are claimed.
pub(super) fn claim_sql(filter: &ClaimFilter) -> String {
    let agents = match filter.agents.is_empty() {
        true => "?3 IS NOT NULL",
        false => "agent IN (SELECT value FROM json_each(?3))",
    };
    format!(
        "SELECT {COLUMNS} FROM turns INDEXED BY turns_runnable
         WHERE runnable_at IS NOT NULL AND runnable_at <= ?1
             AND (held_until IS NULL OR held_until <= ?1)
             AND (?2 IS NULL OR tenant = ?2) AND {agents}
             AND (conversation IS NULL OR NOT EXISTS (
                 SELECT 1 FROM turns AS other INDEXED BY turns_unfinished_by_conversation
                 WHERE other.conversation = turns.conversation AND other.tenant = turns.tenant
                     AND other.{UNFINISHED} AND other.number <> turns.number
                     AND (other.held_until > ?1
                         OR (turns.status = 'queued' AND other.number < turns.number))))
         ORDER BY priority DESC, runnable_at, number LIMIT 1"
    )
}

pub(super) fn renew_lease(
    connection: &Connection,
    lease: &Lease,
    now: Timestamp,
) -> Result<Lease, SqliteError> {
    let mut turn = LeaseRow::find_leased(connection, lease)?;
    let mut lease = lease.clone().renewed(now);
    turn.schedule.renew(lease.until);
    (lease.take_overs, lease.cancel) = (turn.schedule.take_overs, turn.schedule.cancel.clone());
    turn.store(connection)?;
    Ok(lease)
}

/// Returns whether the lease was valid. The process of one that was taken over lives.
pub(super) fn release_lease(
    connection: &Connection,
    lease: &Lease,
    now: Timestamp,
) -> Result<bool, SqliteError> {
    let Some(mut turn) = LeaseRow::find(connection, &lease.turn)? else { return Ok(false) };
    if !turn.is_held_with(lease) {
        if lease.epoch < turn.epoch && turn.schedule.take_overs > 0 {
            turn.schedule.retract_take_over();
            turn.store(connection)?;
        }
        return Ok(false);
    }
    turn.holder = None;
    turn.process = None;
    turn.schedule.release(now);
    turn.store(connection)?;
    Ok(true)
}

pub(super) fn request_cancel(
    connection: &Connection,
    id: &TurnId,
    request: &CancelRequest,
    now: Timestamp,
) -> Result<CancelOutcome, SqliteError> {
    let turn = LeaseRow::find(connection, id)?;
    let mut turn = turn.ok_or_else(|| StoreError::unknown_turn(id))?;
    let outcome = turn.schedule.request_cancel(request.clone(), now);
    if outcome == CancelOutcome::Requested {
        turn.store(connection)?;
    }
    Ok(outcome)
}

const COLUMNS: &str =
    "number, id, epoch, holder, process, status, runnable_at, held_until, take_overs, cancel";
