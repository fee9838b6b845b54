//! Leases, and when turns can be claimed.

use std::collections::HashSet;

use haft_core::clock::Timestamp;
use haft_core::store::{
    CancelOutcome, CancelRequest, ClaimFilter, Lease, StoreError, StoreKey, TurnId,
};

use super::turn::{COLUMNS, ListedTurn, SqlTurn};
use super::{
    SqlQuery, SqlRow, SqlTransaction, SqlValue, UNFINISHED, index_hint, placeholders, query,
    read_time, saturating_i64,
};
use crate::turns::turn_row::{Holder, Returned};

/// The result of looking for turns.
#[derive(Default)]
pub(in crate::turns) struct ClaimAttempt {
    pub(in crate::turns) claimed: Vec<Lease>,
    /// The numbers of turns to skip: another process is about to run a turn of the same conversation, or the turn is
    /// damaged and must not keep the others waiting.
    pub(in crate::turns) skipped: Vec<i64>,
}

/// How many turns of busy conversations a claim skips before it takes what it has found.
pub(in crate::turns) const MAX_SKIPPED: usize = 1000;

/// Claims the turn that a filter names.
pub(in crate::turns) async fn claim<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    (id, filter): (&TurnId, &ClaimFilter),
    holder: Holder<'_>,
) -> Result<Lease, T::Error> {
    let (now, turn) = SqlTurn::lock_now(tx, key, id).await?;
    let mut turn = turn
        .filter(|it| filter.selects(it.row.summary.agent.as_deref(), &it.row.summary.tenant))
        .ok_or_else(|| StoreError::unknown_turn(id))?;
    turn.row.check_free(now)?;
    let lease = turn.row.claim(holder, now);
    turn.store_lease(tx).await?;
    Ok(lease)
}

/// Claims the next turns that are not among those to skip, at most `count` of them.
pub(in crate::turns) async fn claim_next<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    (filter, count, skipped): (&ClaimFilter, usize, &[i64]),
    holder: Holder<'_>,
) -> Result<ClaimAttempt, T::Error> {
    let now = read_time(tx).await?;
    let sql = claim_sql::<T>(filter, skipped.len());
    let mut values: Vec<SqlValue<'_>> = vec![now.into(), saturating_i64(count as u64).into()];
    values.extend(filter.tenant.as_deref().map(SqlValue::from));
    values.extend(filter.agents.iter().map(SqlValue::from));
    values.extend(skipped.iter().map(|number| SqlValue::from(*number)));
    let mut attempt = ClaimAttempt::default();
    let mut turns = Vec::new();
    for row in query(tx, &sql, &values).await? {
        match ListedTurn::read(key, row)? {
            ListedTurn::Intact(turn) => turns.push(*turn),
            ListedTurn::Damaged { number, .. } => attempt.skipped.push(number),
        }
    }
    let busy = find_busy(tx, &turns, now).await?;
    for mut turn in turns {
        if busy.contains(&turn.number) {
            attempt.skipped.push(turn.number);
            continue;
        }
        attempt.claimed.push(turn.row.claim(holder, now));
        turn.store_lease(tx).await?;
    }
    Ok(attempt)
}

/// Locks the conversations of turns. Returns the turns that cannot be claimed because another one of the same
/// conversation runs, is about to run, or is among them before it.
///
/// Looks again, because a turn that was claimed since these were selected is visible only when the conversation is locked.
async fn find_busy<T: SqlTransaction>(
    tx: &T,
    turns: &[SqlTurn],
    now: Timestamp,
) -> Result<HashSet<i64>, T::Error> {
    let mut first = HashSet::new();
    let mut busy = HashSet::new();
    let mut names = Vec::new();
    for turn in turns {
        let it = &turn.row.summary;
        let Some(conversation) = &it.conversation else { continue };
        if !first.insert((&it.tenant, conversation)) {
            busy.insert(turn.number);
            continue;
        }
        names.push((turn.number, tx.conversation_lock(&it.tenant, conversation)));
    }
    if names.is_empty() {
        return Ok(busy);
    }
    let sql = format!(
        "SELECT number FROM {{s}}.turns WHERE number = $1 AND EXISTS ({})",
        busy_sql::<T>("$2")
    );
    let mut queries = Vec::new();
    for (number, lock) in &names {
        queries.extend(lock.as_ref().map(|(sql, name)| SqlQuery::new(sql, [name.into()])));
        queries.push(SqlQuery::new(&sql, [(*number).into(), now.into()]));
    }
    let mut found = tx.query_all(&queries).await?.into_iter();
    for (number, lock) in &names {
        let is_locked = match lock {
            Some(_) => found.next().unwrap_or_default().first_mut().map(SqlRow::int).transpose()?,
            None => Some(1),
        };
        let is_busy = found.next().is_none_or(|rows| !rows.is_empty());
        if is_locked != Some(1) || is_busy {
            busy.insert(*number);
        }
    }
    Ok(busy)
}

/// The query walks along the turns that can be claimed some time, in the order in which they are claimed.
pub(in crate::turns) fn claim_sql<T: SqlTransaction>(
    filter: &ClaimFilter,
    skipped: usize,
) -> String {
    let mut conditions = String::new();
    let mut count = 2;
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
         ORDER BY priority DESC, runnable_at, number LIMIT $2{lock}",
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

pub(in crate::turns) async fn renew<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    lease: Lease,
) -> Result<Lease, T::Error> {
    let (now, mut turn) = SqlTurn::lock_leased(tx, key, &lease).await?;
    let lease = turn.row.renew(lease, now)?;
    turn.store_lease(tx).await?;
    Ok(lease)
}

/// Returns whether the turn can be claimed by that, now or later.
pub(in crate::turns) async fn release<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    lease: &Lease,
) -> Result<bool, T::Error> {
    let (now, turn) = SqlTurn::lock_now(tx, key, &lease.turn).await?;
    let Some(mut turn) = turn else { return Ok(false) };
    let returned = turn.row.release(lease, now);
    if returned != Returned::Nothing {
        turn.store_lease(tx).await?;
    }
    Ok(returned == Returned::Lease && turn.row.summary.runnable_at.is_some())
}

pub(in crate::turns) async fn cancel<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    id: &TurnId,
    request: &CancelRequest,
) -> Result<CancelOutcome, T::Error> {
    let (now, turn) = SqlTurn::lock_now(tx, key, id).await?;
    let mut turn = turn.ok_or_else(|| StoreError::unknown_turn(id))?;
    let outcome = turn.row.request_cancel(request.clone(), now);
    if outcome == CancelOutcome::Requested {
        turn.store_lease(tx).await?;
    }
    Ok(outcome)
}
