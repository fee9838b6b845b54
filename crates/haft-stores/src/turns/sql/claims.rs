//! Leases, and when turns can be claimed.

use haft_core::store::{
    CancelOutcome, CancelRequest, ClaimFilter, Lease, StoreError, StoreKey, TurnId,
};

use super::turn::{COLUMNS, SqlTurn};
use super::{SqlTransaction, SqlValue, UNFINISHED, index_hint, placeholders};
use crate::turns::turn_row::{Holder, Returned};

/// The result of looking for a turn.
pub(in crate::turns) enum ClaimAttempt {
    Claimed(Box<Lease>),
    /// Another process is about to run a turn of the same conversation; the number of the turn to skip.
    Busy(i64),
    Nothing,
}

/// Claims the turn that a filter names.
pub(in crate::turns) async fn claim<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    (id, filter): (&TurnId, &ClaimFilter),
    holder: Holder<'_>,
) -> Result<Lease, T::Error> {
    let now = tx.read_time().await?;
    let turn = SqlTurn::lock(tx, key, id).await?;
    let mut turn = turn
        .filter(|it| filter.selects(it.row.summary.agent.as_deref(), &it.row.summary.tenant))
        .ok_or_else(|| StoreError::unknown_turn(id))?;
    turn.row.check_free(now)?;
    let lease = turn.row.claim(holder, now);
    turn.store_lease(tx).await?;
    Ok(lease)
}

/// Claims the next turn that is not one of those to skip.
pub(in crate::turns) async fn claim_next<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    (filter, skipped): (&ClaimFilter, &[i64]),
    holder: Holder<'_>,
) -> Result<ClaimAttempt, T::Error> {
    let now = tx.read_time().await?;
    let sql = claim_sql::<T>(filter, skipped.len());
    let mut values: Vec<SqlValue<'_>> = vec![now.into()];
    values.extend(filter.tenant.as_deref().map(SqlValue::from));
    values.extend(filter.agents.iter().map(SqlValue::from));
    values.extend(skipped.iter().map(|number| SqlValue::from(*number)));
    let Some(row) = tx.query(&sql, &values).await?.into_iter().next() else {
        return Ok(ClaimAttempt::Nothing);
    };
    let mut turn = SqlTurn::read(key, row)?;
    if let Some(conversation) = &turn.row.summary.conversation {
        let is_locked = tx.lock_conversation(&turn.row.summary.tenant, conversation).await?;
        if !is_locked || is_busy(tx, turn.number, now.into()).await? {
            return Ok(ClaimAttempt::Busy(turn.number));
        }
    }
    let lease = turn.row.claim(holder, now);
    turn.store_lease(tx).await?;
    Ok(ClaimAttempt::Claimed(Box::new(lease)))
}

/// The query walks along the turns that can be claimed some time, in the order in which they are claimed.
pub(in crate::turns) fn claim_sql<T: SqlTransaction>(
    filter: &ClaimFilter,
    skipped: usize,
) -> String {
    let mut conditions = String::new();
    let mut count = 1;
    let mut add = |column: &str, test: &str, values: usize| {
        if values > 0 {
            let list = placeholders(count, values);
            conditions.push_str(&format!(" AND {column} {test} ({list})"));
            count += values;
        }
    };
    add("tenant", "IN", usize::from(filter.tenant.is_some()));
    add("agent", "IN", filter.agents.len());
    add("number", "NOT IN", skipped);
    format!(
        "SELECT {COLUMNS} FROM {{s}}.turns{hint}
         WHERE runnable_at IS NOT NULL AND runnable_at <= $1
             AND (held_until IS NULL OR held_until <= $1){conditions}
             AND (conversation IS NULL OR NOT EXISTS ({busy}))
         ORDER BY priority DESC, runnable_at, number LIMIT 1{lock}",
        hint = index_hint::<T>("turns_runnable"),
        busy = busy_sql::<T>("$1"),
        lock = T::LOCK_UNLOCKED,
    )
}

/// Another turn of the conversation that runs, or that comes before a queued one.
fn busy_sql<T: SqlTransaction>(now: &str) -> String {
    let hint = index_hint::<T>("turns_unfinished_by_conversation");
    format!(
        "SELECT 1 FROM {{s}}.turns AS other{hint}
         WHERE other.conversation = turns.conversation AND other.tenant = turns.tenant
             AND other.{UNFINISHED} AND other.number <> turns.number
             AND (other.held_until > {now}
                 OR (turns.status = 'queued' AND other.number < turns.number))"
    )
}

/// Looks again whether another turn of the conversation runs: one that was claimed since the turn was selected is
/// visible when the conversation is locked.
async fn is_busy<T: SqlTransaction>(
    tx: &T,
    number: i64,
    now: SqlValue<'_>,
) -> Result<bool, T::Error> {
    let busy = busy_sql::<T>("$2");
    let sql = format!("SELECT number FROM {{s}}.turns WHERE number = $1 AND EXISTS ({busy})");
    Ok(!tx.query(&sql, &[number.into(), now]).await?.is_empty())
}

pub(in crate::turns) async fn renew<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    lease: Lease,
) -> Result<Lease, T::Error> {
    let now = tx.read_time().await?;
    let mut turn = SqlTurn::lock_leased(tx, key, &lease).await?;
    let lease = turn.row.renew(lease, now)?;
    turn.store_lease(tx).await?;
    Ok(lease)
}

/// Returns whether the turn can be claimed by that.
pub(in crate::turns) async fn release<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    lease: &Lease,
) -> Result<bool, T::Error> {
    let now = tx.read_time().await?;
    let Some(mut turn) = SqlTurn::lock(tx, key, &lease.turn).await? else { return Ok(false) };
    let returned = turn.row.release(lease, now);
    if returned != Returned::Nothing {
        turn.store_lease(tx).await?;
    }
    Ok(returned == Returned::Lease)
}

pub(in crate::turns) async fn cancel<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    id: &TurnId,
    request: &CancelRequest,
) -> Result<CancelOutcome, T::Error> {
    let now = tx.read_time().await?;
    let turn = SqlTurn::lock(tx, key, id).await?;
    let mut turn = turn.ok_or_else(|| StoreError::unknown_turn(id))?;
    let outcome = turn.row.request_cancel(request.clone(), now);
    if outcome == CancelOutcome::Requested {
        turn.store_lease(tx).await?;
    }
    Ok(outcome)
}
