//! What changes turns. Each function runs in a transaction that is undone if it fails.

use std::sync::Arc;

use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, Holder, Lease, NewTurn, Row, Settled, StoreError, TurnId, TurnStatus, Write,
};
use rusqlite::{Connection, OptionalExtension, ToSql};

use super::fault::{Fault, damaged};

pub(super) fn create(connection: &Connection, new: &NewTurn) -> Result<Lease, Fault> {
    let lease = Lease::new(new.id.clone(), &new.holder, 1);
    let inserted = execute(
        connection,
        "INSERT INTO turns (id, conversation, status, created_at, epoch, holder, held_until)
         VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6) ON CONFLICT (id) DO NOTHING",
        &[
            &new.id.as_str(),
            &new.conversation,
            &TurnStatus::Running.as_str(),
            &new.holder.now.as_micros(),
            &&*lease.holder,
            &lease.until.as_micros(),
        ],
    )?;
    if inserted == 0 {
        return Err(StoreError::turn_exists(&new.id).into());
    }
    apply(connection, connection.last_insert_rowid(), &new.writes)?;
    Ok(lease)
}

pub(super) fn claim(connection: &Connection, id: &TurnId, holder: &Holder) -> Result<Lease, Fault> {
    let turn = find(connection, id)?.ok_or_else(|| StoreError::unknown_turn(id))?;
    turn.check_free(id, holder.now)?;
    let lease = Lease::new(id.clone(), holder, turn.epoch + 1);
    give(connection, turn.number, &lease)?;
    Ok(lease)
}

pub(super) fn renew(
    connection: &Connection,
    lease: &Lease,
    now: Timestamp,
) -> Result<Lease, Fault> {
    let number = check_lease(connection, lease)?;
    let lease = lease.clone().renewed(now);
    give(connection, number, &lease)?;
    Ok(lease)
}

pub(super) fn release(connection: &Connection, lease: &Lease) -> Result<(), Fault> {
    if let Some(turn) = find(connection, &lease.turn)?
        && turn.is_held_with(lease)
    {
        let sql = "UPDATE turns SET holder = NULL, held_until = NULL WHERE number = ?1";
        execute(connection, sql, &[&turn.number])?;
    }
    Ok(())
}

pub(super) fn commit(
    connection: &Connection,
    lease: &Lease,
    writes: &[Write],
) -> Result<(), Fault> {
    let number = check_lease(connection, lease)?;
    apply(connection, number, writes)
}

pub(super) fn remove(connection: &Connection, id: &TurnId, now: Timestamp) -> Result<bool, Fault> {
    let Some(turn) = find(connection, id)? else { return Ok(false) };
    turn.check_free(id, now)?;
    // Everything that belongs to it goes with it.
    execute(connection, "DELETE FROM turns WHERE number = ?1", &[&turn.number])?;
    Ok(true)
}

pub(super) fn settle(
    connection: &Connection,
    id: &GateId,
    settlement: &str,
) -> Result<Settled, Fault> {
    let settled = execute(
        connection,
        "UPDATE gates SET settlement = ?2 WHERE id = ?1 AND settlement IS NULL",
        &[&id.as_str(), &settlement],
    )?;
    if settled == 1 {
        return Ok(Settled::new(settlement, true));
    }
    let mut statement = connection.prepare_cached("SELECT settlement FROM gates WHERE id = ?1")?;
    let holds: Option<String> = statement.query_row([id.as_str()], |row| row.get(0)).optional()?;
    Ok(Settled::new(holds.ok_or_else(|| StoreError::unknown_gate(id))?, false))
}

/// What a turn says about who has it.
struct Tenure {
    number: i64,
    epoch: u64,
    holder: Option<Arc<str>>,
    until: Option<Timestamp>,
}

fn find(connection: &Connection, id: &TurnId) -> Result<Option<Tenure>, Fault> {
    let sql = "SELECT number, epoch, holder, held_until FROM turns WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([id.as_str()], |row| {
        Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get(2)?, row.get::<_, Option<i64>>(3)?))
    });
    let Some((number, epoch, holder, until)) = found.optional()? else { return Ok(None) };
    let broken = |reason| damaged(format!("turn `{id}`"), reason);
    let epoch = u64::try_from(epoch).map_err(|_| broken("its epoch is negative"))?;
    let until = until.map(Timestamp::from_micros).transpose();
    let until = until.map_err(|_| broken("its lease has no valid end"))?;
    Ok(Some(Tenure { number, epoch, holder, until }))
}

impl Tenure {
    fn is_held_with(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch && self.holder.as_ref() == Some(&lease.holder)
    }

    /// Fails while somebody has the turn.
    fn check_free(&self, id: &TurnId, now: Timestamp) -> Result<(), StoreError> {
        match (&self.holder, self.until) {
            (Some(holder), Some(until)) if now < until => {
                Err(StoreError::Held { turn: id.clone(), holder: Arc::clone(holder), until })
            }
            _ => Ok(()),
        }
    }
}

/// The number of the lease's turn, if the lease is good.
fn check_lease(connection: &Connection, lease: &Lease) -> Result<i64, Fault> {
    let turn = find(connection, &lease.turn)?;
    let turn = turn.ok_or_else(|| StoreError::unknown_turn(&lease.turn))?;
    if !turn.is_held_with(lease) {
        return Err(StoreError::LeaseLost { turn: lease.turn.clone() }.into());
    }
    Ok(turn.number)
}

fn give(connection: &Connection, turn: i64, lease: &Lease) -> Result<(), Fault> {
    // Counted up one by one from 1, it does not come to where this would matter.
    let epoch = i64::try_from(lease.epoch).unwrap_or(i64::MAX);
    let sql = "UPDATE turns SET epoch = ?2, holder = ?3, held_until = ?4 WHERE number = ?1";
    execute(connection, sql, &[&turn, &epoch, &&*lease.holder, &lease.until.as_micros()])?;
    Ok(())
}

fn apply(connection: &Connection, turn: i64, writes: &[Write]) -> Result<(), Fault> {
    for write in writes {
        match write {
            Write::Put(row) => put(connection, turn, row)?,
            Write::Delete { kind, id } => {
                let sql = "DELETE FROM records WHERE turn = ?1 AND kind = ?2 AND id = ?3";
                execute(connection, sql, &[&turn, &kind.as_str(), id])?;
            }
            Write::Journal(json) => {
                let sql = "INSERT INTO journal (turn, json) VALUES (?1, ?2)";
                execute(connection, sql, &[&turn, &json.as_str()])?;
            }
            Write::Status(status) => {
                let sql = "UPDATE turns SET status = ?2 WHERE number = ?1";
                execute(connection, sql, &[&turn, &status.as_str()])?;
            }
            Write::OpenGate { id, json } => open_gate(connection, turn, id, json)?,
            Write::CloseGate { id, settlement } => {
                let sql = "UPDATE gates SET settlement = ?3
                           WHERE id = ?1 AND turn = ?2 AND settlement IS NULL";
                execute(connection, sql, &[&id.as_str(), &turn, settlement])?;
            }
            _ => {
                let reason = "this store does not know its sort";
                return Err(StoreError::Invalid { what: "a write", reason }.into());
            }
        }
    }
    Ok(())
}

/// A row that is there keeps its number, and with it its place.
fn put(connection: &Connection, turn: i64, row: &Row) -> Result<(), Fault> {
    let sql = "INSERT INTO records (turn, kind, id, json) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (turn, kind, id) DO UPDATE SET json = excluded.json";
    execute(connection, sql, &[&turn, &row.kind.as_str(), &row.id, &row.json.as_str()])?;
    Ok(())
}

fn open_gate(connection: &Connection, turn: i64, id: &GateId, json: &str) -> Result<(), Fault> {
    let sql = "INSERT INTO gates (id, turn, json) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING";
    if execute(connection, sql, &[&id.as_str(), &turn, &json])? == 1 {
        return Ok(());
    }
    let sql = "SELECT turn = ?2 AND json = ?3 FROM gates WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let is_same = statement.query_row((id.as_str(), turn, json), |row| row.get(0))?;
    if is_same { Ok(()) } else { Err(StoreError::gate_exists(id).into()) }
}

fn execute(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn ToSql],
) -> Result<usize, rusqlite::Error> {
    connection.prepare_cached(sql)?.execute(parameters)
}
