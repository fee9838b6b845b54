//! Updates. Each function runs in a transaction that is rolled back if it fails.

use std::sync::Arc;

use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, Lease, LeaseRequest, MemoryScope, NewTurn, Row, SettleOutcome, StoreError, StoreWrite,
    TurnId, TurnStatus,
};
use rusqlite::{Connection, OptionalExtension, ToSql};

use super::checksum::{gate_checksum, row_checksum};
use super::error::{SqliteError, damaged_error};
use super::queries::load_gate;

pub(super) fn create_turn(connection: &Connection, new: &NewTurn) -> Result<Lease, SqliteError> {
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
    let number = connection.last_insert_rowid();
    if let Some(conversation) = &new.conversation {
        note_conversation(connection, conversation, new.holder.now)?;
    }
    apply_writes(connection, number, &new.writes)?;
    Ok(lease)
}

pub(super) fn claim_turn(
    connection: &Connection,
    id: &TurnId,
    holder: &LeaseRequest,
) -> Result<Lease, SqliteError> {
    let turn = find_lease(connection, id)?.ok_or_else(|| StoreError::unknown_turn(id))?;
    turn.check_free(id, holder.now)?;
    let lease = Lease::new(id.clone(), holder, turn.epoch + 1);
    store_lease(connection, turn.number, &lease)?;
    Ok(lease)
}

pub(super) fn renew_lease(
    connection: &Connection,
    lease: &Lease,
    now: Timestamp,
) -> Result<Lease, SqliteError> {
    let number = check_lease(connection, lease)?;
    let lease = lease.clone().renewed(now);
    store_lease(connection, number, &lease)?;
    Ok(lease)
}

pub(super) fn release_lease(connection: &Connection, lease: &Lease) -> Result<(), SqliteError> {
    if let Some(turn) = find_lease(connection, &lease.turn)?
        && turn.is_held_with(lease)
    {
        let sql = "UPDATE turns SET holder = NULL, held_until = NULL WHERE number = ?1";
        execute(connection, sql, &[&turn.number])?;
    }
    Ok(())
}

pub(super) fn commit_writes(
    connection: &Connection,
    lease: &Lease,
    writes: &[StoreWrite],
) -> Result<(), SqliteError> {
    let number = check_lease(connection, lease)?;
    apply_writes(connection, number, writes)
}

pub(super) fn remove_turn(
    connection: &Connection,
    id: &TurnId,
    now: Timestamp,
) -> Result<bool, SqliteError> {
    let Some(turn) = find_lease(connection, id)? else { return Ok(false) };
    turn.check_free(id, now)?;
    // The rows that belong to the turn are deleted by the foreign keys.
    execute(connection, "DELETE FROM turns WHERE number = ?1", &[&turn.number])?;
    Ok(true)
}

pub(super) fn settle_gate(
    connection: &Connection,
    id: &GateId,
    settlement: &str,
) -> Result<SettleOutcome, SqliteError> {
    let gate = load_gate(connection, id)?.ok_or_else(|| StoreError::unknown_gate(id))?;
    if let Some(existing) = gate.settlement {
        return Ok(SettleOutcome::new(existing, false));
    }
    store_settlement(connection, id, &gate.json, settlement)?;
    Ok(SettleOutcome::new(settlement, true))
}

/// Closes a gate of a turn. One that is settled stays so, and one of another turn changes nothing.
fn close_gate(
    connection: &Connection,
    id: &GateId,
    turn: i64,
    settlement: &str,
) -> Result<(), SqliteError> {
    let sql = "SELECT 1 FROM gates WHERE id = ?1 AND turn = ?2 AND settlement IS NULL";
    let is_open = connection.prepare_cached(sql)?.exists((id.as_str(), turn))?;
    match load_gate(connection, id)?.filter(|_| is_open) {
        Some(gate) => store_settlement(connection, id, &gate.json, settlement),
        None => Ok(()),
    }
}

/// Settles a gate that was loaded, so that its checksum was compared: the new checksum must not cover damage.
fn store_settlement(
    connection: &Connection,
    id: &GateId,
    json: &str,
    settlement: &str,
) -> Result<(), SqliteError> {
    let checksum = gate_checksum(id.as_str(), json, Some(settlement));
    let sql = "UPDATE gates SET settlement = ?2, checksum = ?3 WHERE id = ?1";
    execute(connection, sql, &[&id.as_str(), &settlement, &checksum])?;
    Ok(())
}

/// The lease of a turn as it is stored.
struct LeaseRow {
    number: i64,
    epoch: u64,
    holder: Option<Arc<str>>,
    held_until: Option<Timestamp>,
}

fn find_lease(connection: &Connection, id: &TurnId) -> Result<Option<LeaseRow>, SqliteError> {
    let sql = "SELECT number, epoch, holder, held_until FROM turns WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement.query_row([id.as_str()], |row| {
        Ok((row.get(0)?, row.get::<_, i64>(1)?, row.get(2)?, row.get::<_, Option<i64>>(3)?))
    });
    let Some((number, epoch, holder, until)) = found.optional()? else { return Ok(None) };
    let damaged = |reason| damaged_error(format!("turn `{id}`"), reason);
    let epoch = u64::try_from(epoch).map_err(|_| damaged("its epoch is negative"))?;
    let until = until.map(Timestamp::from_micros).transpose();
    let until = until.map_err(|_| damaged("its lease has no valid end"))?;
    Ok(Some(LeaseRow { number, epoch, holder, held_until: until }))
}

impl LeaseRow {
    fn is_held_with(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch && self.holder.as_ref() == Some(&lease.holder)
    }

    /// Fails while a lease on the turn is active.
    fn check_free(&self, id: &TurnId, now: Timestamp) -> Result<(), StoreError> {
        match (&self.holder, self.held_until) {
            (Some(holder), Some(until)) if now < until => {
                Err(StoreError::Held { turn: id.clone(), holder: Arc::clone(holder), until })
            }
            _ => Ok(()),
        }
    }
}

/// Returns the number of the turn, if the lease is valid.
fn check_lease(connection: &Connection, lease: &Lease) -> Result<i64, SqliteError> {
    let turn = find_lease(connection, &lease.turn)?;
    let turn = turn.ok_or_else(|| StoreError::unknown_turn(&lease.turn))?;
    if !turn.is_held_with(lease) {
        return Err(StoreError::LeaseLost { turn: lease.turn.clone() }.into());
    }
    Ok(turn.number)
}

fn store_lease(connection: &Connection, turn: i64, lease: &Lease) -> Result<(), SqliteError> {
    let invalid = |_| damaged_error(format!("turn `{}`", lease.turn), "its epoch is too large");
    let epoch = i64::try_from(lease.epoch).map_err(invalid)?;
    let sql = "UPDATE turns SET epoch = ?2, holder = ?3, held_until = ?4 WHERE number = ?1";
    execute(connection, sql, &[&turn, &epoch, &&*lease.holder, &lease.until.as_micros()])?;
    Ok(())
}

fn apply_writes(
    connection: &Connection,
    turn: i64,
    writes: &[StoreWrite],
) -> Result<(), SqliteError> {
    for write in writes {
        match write {
            StoreWrite::Put(row) => put_record(connection, turn, row)?,
            StoreWrite::Delete { kind, id } => {
                let sql = "DELETE FROM records WHERE turn = ?1 AND kind = ?2 AND id = ?3";
                execute(connection, sql, &[&turn, &kind.as_str(), id])?;
            }
            StoreWrite::Journal(json) => {
                let sql = "INSERT INTO journal (turn, json, checksum) VALUES (?1, ?2, ?3)";
                let checksum = row_checksum(&[json.as_str()]);
                execute(connection, sql, &[&turn, &json.as_str(), &checksum])?;
            }
            StoreWrite::Status(status) => {
                let sql = "UPDATE turns SET status = ?2 WHERE number = ?1";
                execute(connection, sql, &[&turn, &status.as_str()])?;
            }
            StoreWrite::OpenGate { id, json } => open_gate(connection, turn, id, json)?,
            StoreWrite::CloseGate { id, settlement } => {
                close_gate(connection, id, turn, settlement)?;
            }
            StoreWrite::PutMemory { scope, id, json } => put_memory(connection, scope, id, json)?,
            StoreWrite::DeleteMemory { scope, id } => {
                // The row stays with its version, and the text is gone.
                let sql = "UPDATE memories SET deleted = 1, json = '', version = version + 1
                           WHERE scope_kind = ?1 AND scope_id = ?2 AND id = ?3 AND deleted = 0";
                execute(connection, sql, &[&scope.kind.as_str(), &scope.id, id])?;
            }
            _ => {
                let reason = "this store does not know its sort";
                return Err(StoreError::Invalid { what: "a write", reason }.into());
            }
        }
    }
    Ok(())
}

/// Inserts or replaces a record. A replaced record keeps its number and so its place in the order.
fn put_record(connection: &Connection, turn: i64, row: &Row) -> Result<(), SqliteError> {
    let sql = "INSERT INTO records (turn, kind, id, json, checksum) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (turn, kind, id) DO UPDATE SET
                   json = excluded.json, checksum = excluded.checksum";
    let (kind, json) = (row.kind.as_str(), row.json.as_str());
    let checksum = row_checksum(&[kind, &row.id, json]);
    execute(connection, sql, &[&turn, &kind, &row.id, &json, &checksum])?;
    Ok(())
}

/// Inserts or replaces a memory. A replaced memory keeps its number and so its place in the order; one that was deleted
/// gets a new place.
fn put_memory(
    connection: &Connection,
    scope: &MemoryScope,
    id: &str,
    json: &str,
) -> Result<(), SqliteError> {
    let sql = "INSERT INTO memories (scope_kind, scope_id, id, json) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (scope_kind, scope_id, id) DO UPDATE SET
                   number = iif(deleted, (SELECT max(number) + 1 FROM memories), number),
                   json = excluded.json, version = version + 1, deleted = 0";
    execute(connection, sql, &[&scope.kind.as_str(), &scope.id, &id, &json])?;
    Ok(())
}

/// Lists a conversation, or notes that it has a new turn.
fn note_conversation(connection: &Connection, id: &str, now: Timestamp) -> Result<(), SqliteError> {
    let sql = "INSERT INTO conversations (id, created_at, updated_at) VALUES (?1, ?2, ?2)
               ON CONFLICT (tenant, id) DO UPDATE SET updated_at = max(updated_at, excluded.updated_at)";
    execute(connection, sql, &[&id, &now.as_micros()])?;
    Ok(())
}

fn open_gate(
    connection: &Connection,
    turn: i64,
    id: &GateId,
    json: &str,
) -> Result<(), SqliteError> {
    let sql = "INSERT INTO gates (id, turn, json, checksum) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (id) DO NOTHING";
    let checksum = gate_checksum(id.as_str(), json, None);
    if execute(connection, sql, &[&id.as_str(), &turn, &json, &checksum])? == 1 {
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
