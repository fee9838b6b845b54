//! The row of a turn in a database.

use haft_core::clock::Timestamp;
use haft_core::store::{
    CancelRequest, Lease, Mark, StoreError, StoreKey, TurnId, TurnSchedule, TurnStatus, TurnSummary,
};

use super::marks::{Contents, check_mark, check_plausible, turn_mark};
use super::{SqlQuery, SqlRow, SqlTransaction, SqlValue, damaged, query, saturating_i64};
use crate::turns::turn_row::TurnRow;

/// A turn with its number, which orders turns, and with what it consists of.
#[derive(Debug)]
pub(super) struct SqlTurn {
    pub(super) number: i64,
    pub(super) row: TurnRow,
    pub(super) contents: Contents,
}

impl SqlTurn {
    /// Finds a turn and locks its row until the end of the transaction, and reads the time: the lock is the fence against
    /// other holders.
    pub(super) async fn lock_now<T: SqlTransaction>(
        tx: &T,
        key: &StoreKey,
        id: &TurnId,
    ) -> Result<(Timestamp, Option<Self>), T::Error> {
        let (now, turn, _) = Self::lock_with(tx, key, id, &[]).await?;
        Ok((now, turn))
    }

    /// Locks a turn, runs queries after that, and reads the time.
    async fn lock_with<T: SqlTransaction>(
        tx: &T,
        key: &StoreKey,
        id: &TurnId,
        then: &[SqlQuery<'_>],
    ) -> Result<(Timestamp, Option<Self>, Vec<Vec<SqlRow>>), T::Error> {
        let sql = turn_sql("id = $1", T::LOCK);
        let lock = SqlQuery::new(&sql, [id.as_str().into()]);
        let queries: Vec<_> = std::iter::once(lock).chain(then.iter().cloned()).collect();
        let (now, mut rows) = tx.query_with_time(&queries).await?;
        let rest = rows.split_off(1.min(rows.len()));
        let row = rows.pop().and_then(|it| it.into_iter().next());
        Ok((now, row.map(|row| Self::read(key, row)).transpose()?, rest))
    }

    /// Locks the turn of a lease that must be valid.
    pub(super) async fn lock_leased<T: SqlTransaction>(
        tx: &T,
        key: &StoreKey,
        lease: &Lease,
    ) -> Result<(Timestamp, Self), T::Error> {
        let (now, turn, _) = Self::lock_leased_with(tx, key, lease, &[]).await?;
        Ok((now, turn))
    }

    /// Locks the turn of a lease that must be valid, and runs queries after that.
    pub(super) async fn lock_leased_with<T: SqlTransaction>(
        tx: &T,
        key: &StoreKey,
        lease: &Lease,
        then: &[SqlQuery<'_>],
    ) -> Result<(Timestamp, Self, Vec<Vec<SqlRow>>), T::Error> {
        let (now, turn, rest) = Self::lock_with(tx, key, &lease.turn, then).await?;
        let turn = turn.ok_or_else(|| StoreError::unknown_turn(&lease.turn))?;
        turn.row.check_lease(lease)?;
        Ok((now, turn, rest))
    }

    /// Reads the columns of [`COLUMNS`], and compares the mark.
    pub(super) fn read(key: &StoreKey, columns: SqlRow) -> Result<Self, StoreError> {
        match ListedTurn::read(key, columns)? {
            ListedTurn::Intact(turn) => Ok(*turn),
            ListedTurn::Damaged { error, .. } => Err(error),
        }
    }

    /// Reads the columns behind those that a [`ListedTurn`] begins with.
    fn read_facts(
        key: &StoreKey,
        (number, mut summary): (i64, TurnSummary),
        mut columns: SqlRow,
    ) -> Result<Self, StoreError> {
        let id = summary.id.clone();
        let what = || format!("turn `{id}`");
        let failed = |reason: &str| damaged(what(), reason);
        let status = TurnStatus::from_word(&columns.text()?);
        summary.set_schedule(TurnSchedule {
            status: status.ok_or_else(|| failed("its status is unknown"))?,
            runnable_at: columns.time(|| failed("it can be claimed at no valid time"))?,
            held_until: columns.time(|| failed("its lease has no valid end"))?,
            take_overs: u32::try_from(columns.int()?)
                .map_err(|_| failed("its count of take-overs is no number"))?,
            cancel: read_cancel(columns.optional_text()?)
                .map_err(|_| failed("its request to cancel cannot be read"))?,
        });
        let epoch = u64::try_from(columns.int()?);
        let epoch = epoch.map_err(|_| failed("its epoch is negative"))?;
        summary.holder = columns.optional_text()?.map(Into::into);
        let process = columns.optional_text()?.map(Into::into);
        summary.conversation = columns.optional_text()?;
        summary.agent = columns.optional_text()?;
        summary.first_words = columns.optional_text()?;
        let priority = i32::try_from(columns.int()?);
        summary.priority = priority.map_err(|_| failed("its priority is no number"))?;
        summary.model = columns.optional_text()?;
        let tokens = columns.optional_int()?.map(u64::try_from).transpose();
        summary.tokens = tokens.map_err(|_| failed("its count of tokens is negative"))?;
        let stop = columns.optional_text()?.map(|text| serde_json::from_str(&text)).transpose();
        summary.stop = stop.map_err(|_| failed("why it stopped cannot be read"))?;
        let tools = columns.text()?;
        summary.tools = tools.split_terminator('\n').map(str::to_owned).collect();
        summary.updated_at = columns.time(|| failed("its last change is no valid time"))?;
        summary.ended_at = columns.time(|| failed("its end is no valid time"))?;
        let entries = u64::try_from(columns.int()?);
        let entries = entries.map_err(|_| failed("its count of entries is negative"))?;
        let last_entry = columns.mark()?;
        let contents = Contents::new(entries, last_entry, &columns.bytes()?);
        let contents = contents.ok_or_else(|| failed("the sum of its rows is none"))?;
        let mark = columns.mark()?;
        let row = TurnRow { summary, epoch, process };
        check_mark(&mark, &turn_mark(key, &row, &contents)?, what)?;
        check_plausible(&row)?;
        Ok(Self { number, row, contents })
    }

    /// Stores who may run the turn, which the mark does not cover.
    pub(super) async fn store_lease<T: SqlTransaction>(&self, tx: &T) -> Result<(), T::Error> {
        let sql = "UPDATE {s}.turns SET status = $2, runnable_at = $3, held_until = $4,
                       take_overs = $5, cancel = $6, epoch = $7, holder = $8, process = $9
                   WHERE number = $1";
        let cancel = self.cancel_text()?;
        let values = self.lease_values(cancel.as_deref())?;
        let values = [&[self.number.into()], &values[..]].concat();
        tx.execute(sql, &values).await?;
        Ok(())
    }

    /// Stores everything that can change, with a new mark.
    pub(super) async fn store<T: SqlTransaction>(
        &self,
        tx: &T,
        key: &StoreKey,
    ) -> Result<(), T::Error> {
        let sql = "UPDATE {s}.turns SET status = $2, runnable_at = $3, held_until = $4,
                       take_overs = $5, cancel = $6, epoch = $7, holder = $8, process = $9,
                       model = $10, tokens = $11, stop = $12, tools = $13, updated_at = $14,
                       ended_at = $15, entries = $16, last_entry = $17, row_sum = $18, mark = $19
                   WHERE number = $1";
        let cancel = self.cancel_text()?;
        let lease = self.lease_values(cancel.as_deref())?;
        let it = &self.row.summary;
        let tools = it.tools.join("\n");
        let stop = it.stop.as_ref().map(serde_json::to_string).transpose();
        let stop = stop.map_err(|error| StoreError::backend("write why a turn stopped", error))?;
        let sum = self.contents.row_sum();
        let mark = turn_mark(key, &self.row, &self.contents)?;
        let written: [SqlValue<'_>; 10] = [
            it.model.as_deref().into(),
            SqlValue::Int(it.tokens.map(saturating_i64)),
            stop.as_deref().into(),
            (&tools).into(),
            it.updated_at.into(),
            it.ended_at.into(),
            saturating_i64(self.contents.entries).into(),
            (&self.contents.last_entry).into(),
            (&sum).into(),
            (&mark).into(),
        ];
        let values = [&[self.number.into()], &lease[..], &written].concat();
        tx.execute(sql, &values).await?;
        Ok(())
    }

    /// Inserts the turn without rows, unless there is one of its id. Returns its number.
    pub(super) async fn insert<T: SqlTransaction>(
        tx: &T,
        row: &TurnRow,
    ) -> Result<Option<i64>, T::Error> {
        let sql = "INSERT INTO {s}.turns (id, conversation, tenant, agent, first_words, priority,
                       created_at, status, take_overs, epoch, tools, entries, last_entry, row_sum, mark)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, '', 0, $9, $9, $9)
                   ON CONFLICT (id) DO NOTHING RETURNING number";
        let it = &row.summary;
        let values: [SqlValue<'_>; 9] = [
            it.id.as_str().into(),
            it.conversation.as_deref().into(),
            (&it.tenant).into(),
            it.agent.as_deref().into(),
            it.first_words.as_deref().into(),
            i64::from(it.priority).into(),
            it.created_at.into(),
            it.status.as_str().into(),
            // The mark of the turn is written with its first rows.
            (&Mark::ZERO).into(),
        ];
        let mut rows = query(tx, sql, &values).await?;
        Ok(rows.first_mut().map(SqlRow::int).transpose()?)
    }

    fn cancel_text(&self) -> Result<Option<String>, StoreError> {
        let text = self.row.summary.cancel.as_ref().map(serde_json::to_string).transpose();
        text.map_err(|error| StoreError::backend("write a request to cancel", error))
    }

    fn lease_values<'v>(
        &'v self,
        cancel: Option<&'v str>,
    ) -> Result<[SqlValue<'v>; 8], StoreError> {
        let it = &self.row.summary;
        let epoch = i64::try_from(self.row.epoch);
        let epoch =
            epoch.map_err(|_| damaged(format!("turn `{}`", it.id), "its epoch is too large"))?;
        Ok([
            it.status.as_str().into(),
            it.runnable_at.into(),
            it.held_until.into(),
            i64::from(it.take_overs).into(),
            cancel.into(),
            epoch.into(),
            it.holder.as_deref().into(),
            self.row.process.as_deref().into(),
        ])
    }
}

fn read_cancel(text: Option<String>) -> serde_json::Result<Option<CancelRequest>> {
    text.map(|text| serde_json::from_str(&text)).transpose()
}

/// A turn in a list, where one that is damaged does not hide the others.
pub(super) enum ListedTurn {
    Intact(Box<SqlTurn>),
    Damaged { number: i64, summary: Box<TurnSummary>, error: StoreError },
}

impl ListedTurn {
    /// Reads the columns of [`COLUMNS`]. Fails if not even the id of the turn can be read.
    pub(super) fn read(key: &StoreKey, mut columns: SqlRow) -> Result<Self, StoreError> {
        let number = columns.int()?;
        let id = columns.text()?;
        let failed = |reason: &str| damaged(format!("turn `{id}`"), reason);
        let turn: TurnId = id.parse().map_err(|_| failed("its id is none"))?;
        let created_at = columns.time(|| failed("its begin is no valid time"));
        let created_at = created_at?.ok_or_else(|| failed("it has no begin"))?;
        let tenant = columns.text()?;
        let mut summary = TurnSummary::new(turn.clone(), created_at);
        summary.tenant.clone_from(&tenant);
        match SqlTurn::read_facts(key, (number, summary), columns) {
            Ok(turn) => Ok(Self::Intact(Box::new(turn))),
            Err(error @ StoreError::Damaged { .. }) => {
                let summary = Box::new(TurnSummary::damaged(turn, tenant, created_at));
                Ok(Self::Damaged { number, summary, error })
            }
            Err(error) => Err(error),
        }
    }

    /// Finds a turn to remove it, and locks its row as [`SqlTurn::lock_now`] does.
    pub(super) async fn lock<T: SqlTransaction>(
        tx: &T,
        key: &StoreKey,
        id: &TurnId,
    ) -> Result<Option<Self>, T::Error> {
        let rows = query(tx, &turn_sql("id = $1", T::LOCK), &[id.as_str().into()]).await?;
        Ok(rows.into_iter().next().map(|row| Self::read(key, row)).transpose()?)
    }

    pub(super) const fn number(&self) -> i64 {
        match self {
            Self::Intact(turn) => turn.number,
            Self::Damaged { number, .. } => *number,
        }
    }

    pub(super) fn into_summary(self) -> TurnSummary {
        match self {
            Self::Intact(turn) => turn.row.summary,
            Self::Damaged { summary, .. } => *summary,
        }
    }
}

/// When the first open gate of a waiting turn closes by itself.
pub(super) async fn first_expiry<T: SqlTransaction>(
    tx: &T,
    turn: i64,
    status: TurnStatus,
) -> Result<Option<Timestamp>, T::Error> {
    if status != TurnStatus::Waiting {
        return Ok(None);
    }
    let sql = "SELECT min(expires_at) FROM {s}.gates WHERE turn = $1 AND settlement IS NULL";
    let mut rows = query(tx, sql, &[turn.into()]).await?;
    let failed = || damaged("an open gate", "its expiry is no valid time");
    Ok(rows.first_mut().map(|row| row.time(failed)).transpose()?.flatten())
}

/// The query of the turns under a condition, of which [`SqlTurn::read`] reads the rows.
pub(super) fn turn_sql(condition: &str, lock: &str) -> String {
    format!("SELECT {COLUMNS} FROM {{s}}.turns WHERE {condition}{lock}")
}

/// The columns that [`SqlTurn::read`] takes.
pub(super) const COLUMNS: &str = "number, id, created_at, tenant, status, runnable_at, held_until, take_overs, \
    cancel, epoch, holder, process, conversation, agent, first_words, priority, model, tokens, stop, tools, \
    updated_at, ended_at, entries, last_entry, row_sum, mark";
