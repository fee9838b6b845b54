//! Updates. Each function runs in a transaction that is rolled back if it fails.

use std::collections::BTreeSet;

use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, Lease, MemoryScope, NewTurn, Row, SettleOutcome, StoreError, StoreWrite, SummaryUpdate,
    TurnId, TurnQuery, TurnSchedule, TurnStatus, TurnSummary,
};
use rusqlite::{Connection, ToSql};

use super::checksum::{gate_checksum, row_checksum};
use super::error::{SqliteError, damaged_error};
use super::queries::{list_removable_turns, load_gate};
use super::schedule::{Holder, LeaseRow};
use crate::turns::{saturating_i64, tool_word};

pub(super) fn create_turn(
    connection: &Connection,
    new: &NewTurn,
    holder: &Holder<'_>,
    now: Timestamp,
) -> Result<Lease, SqliteError> {
    let lease = Lease::new(new.id.clone(), holder.request, 1, now);
    let schedule = TurnSchedule::running(lease.until);
    insert_turn(connection, new, Some(holder), &schedule, now)?;
    Ok(lease)
}

pub(super) fn enqueue_turn(
    connection: &Connection,
    new: &NewTurn,
    now: Timestamp,
) -> Result<(), SqliteError> {
    let schedule = TurnSchedule::queued(now.saturating_add(new.start_after));
    insert_turn(connection, new, None, &schedule, now)
}

fn insert_turn(
    connection: &Connection,
    new: &NewTurn,
    holder: Option<&Holder<'_>>,
    schedule: &TurnSchedule,
    now: Timestamp,
) -> Result<(), SqliteError> {
    let inserted = execute(
        connection,
        "INSERT INTO turns (id, conversation, status, created_at, epoch, holder, held_until, tenant,
             agent, model, first_words, priority, runnable_at, process, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?4)
         ON CONFLICT (id) DO NOTHING",
        &[
            &new.id.as_str(),
            &new.conversation,
            &schedule.status.as_str(),
            &now.as_micros(),
            &i64::from(holder.is_some()),
            &holder.map(|it| &*it.request.name),
            &schedule.held_until.map(Timestamp::as_micros),
            &new.tenant,
            &new.agent,
            &new.model,
            &new.first_words,
            &new.priority,
            &schedule.runnable_at.map(Timestamp::as_micros),
            &holder.and_then(|it| it.process.map(|it| &**it)),
        ],
    )?;
    if inserted == 0 {
        return Err(StoreError::turn_exists(&new.id).into());
    }
    let number = connection.last_insert_rowid();
    insert_words(connection, number, &new.search_words())?;
    let turn = LeaseRow::created(number, &new.id, holder, schedule.clone());
    apply_writes(connection, turn, &new.writes, now).map(drop)
}

/// Stores the words by which a turn is found.
fn insert_words(
    connection: &Connection,
    turn: i64,
    words: &BTreeSet<String>,
) -> Result<(), SqliteError> {
    let sql = "INSERT INTO turn_words (word, turn) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    for word in words {
        execute(connection, sql, &[word, &turn])?;
    }
    Ok(())
}

/// Returns whether the turn has ended with it.
pub(super) fn commit_writes(
    connection: &Connection,
    lease: &Lease,
    writes: &[StoreWrite],
    now: Timestamp,
) -> Result<bool, SqliteError> {
    let turn = LeaseRow::find_leased(connection, lease)?;
    apply_writes(connection, turn, writes, now)
}

pub(super) fn remove_turn(
    connection: &Connection,
    id: &TurnId,
    now: Timestamp,
) -> Result<bool, SqliteError> {
    let Some(turn) = LeaseRow::find(connection, id)? else { return Ok(false) };
    turn.check_free(now)?;
    // A conversation loses its title with its last turn.
    let sql = "DELETE FROM conversations
               WHERE (tenant, id) IN (SELECT tenant, conversation FROM turns WHERE number = ?1)
                   AND NOT EXISTS (SELECT 1 FROM turns AS other WHERE other.conversation = conversations.id
                       AND other.tenant = conversations.tenant AND other.number <> ?1)";
    execute(connection, sql, &[&turn.number])?;
    // The rows that belong to the turn are deleted by the foreign keys.
    execute(connection, "DELETE FROM turns WHERE number = ?1", &[&turn.number])?;
    Ok(true)
}

pub(super) fn remove_turns(
    connection: &Connection,
    query: &TurnQuery,
    now: Timestamp,
) -> Result<Vec<TurnId>, SqliteError> {
    let ids = list_removable_turns(connection, query, now)?;
    for id in &ids {
        remove_turn(connection, id, now)?;
    }
    Ok(ids)
}

/// Sets or removes the title of a conversation.
pub(super) fn set_title(
    connection: &Connection,
    (tenant, conversation): (&str, &str),
    title: Option<&str>,
) -> Result<(), SqliteError> {
    let sql = match title {
        Some(_) => {
            "INSERT INTO conversations (tenant, id, title) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET title = excluded.title"
        }
        None => "DELETE FROM conversations WHERE tenant = ?1 AND id = ?2 AND ?3 IS NULL",
    };
    execute(connection, sql, &[&tenant, &conversation, &title])?;
    Ok(())
}

/// Compares the fingerprint of a secret with the one that is stored, or stores it.
pub(super) fn verify_secret(connection: &Connection, fingerprint: &str) -> Result<(), SqliteError> {
    let sql = "INSERT INTO store (key, value) VALUES ('secret', ?1) ON CONFLICT DO NOTHING";
    execute(connection, sql, &[&fingerprint])?;
    let sql = "SELECT value = ?1 FROM store WHERE key = 'secret'";
    match connection.query_row(sql, [fingerprint], |row| row.get(0))? {
        true => Ok(()),
        false => Err(StoreError::OtherSecret.into()),
    }
}

pub(super) fn settle_gate(
    connection: &Connection,
    id: &GateId,
    settlement: &str,
    now: Timestamp,
) -> Result<(SettleOutcome, TurnId), SqliteError> {
    let gate = load_gate(connection, id)?.ok_or_else(|| StoreError::unknown_gate(id))?;
    if let Some(existing) = gate.settlement {
        return Ok((SettleOutcome::new(existing, false), gate.turn));
    }
    store_settlement(connection, id, &gate.json, settlement)?;
    if let Some(mut turn) = LeaseRow::find(connection, &gate.turn)? {
        turn.schedule.settle_gate(now);
        turn.store(connection)?;
    }
    Ok((SettleOutcome::new(settlement, true), gate.turn))
}

/// Closes a gate of a turn. One that is settled stays so, and one of another turn changes nothing.
fn close_gate_if_open(
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

/// Applies the writes of one commit, and returns whether the turn has ended with it.
fn apply_writes(
    connection: &Connection,
    mut row: LeaseRow,
    writes: &[StoreWrite],
    now: Timestamp,
) -> Result<bool, SqliteError> {
    let (turn, before) = (row.number, row.schedule.clone());
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
                row.schedule.set_status(*status, first_expiry(connection, turn, *status)?);
            }
            StoreWrite::Suspend { delay } => row.schedule.suspend(now.saturating_add(*delay)),
            StoreWrite::Progress => row.schedule.take_overs = 0,
            StoreWrite::Summary(update) => update_summary(connection, turn, update)?,
            StoreWrite::OpenGate { id, json, expires_at } => {
                open_gate(connection, turn, (id, json), *expires_at)?;
            }
            StoreWrite::CloseGate { id, settlement } => {
                close_gate_if_open(connection, id, turn, settlement)?;
            }
            StoreWrite::PutMemory { scope, id, json } => put_memory(connection, scope, id, json)?,
            StoreWrite::DeleteMemory { scope, id } => {
                // The row stays with its version, and the text is gone.
                let sql = "UPDATE memories
                           SET deleted = 1, json = '', version = version + 1, checksum = 0
                           WHERE scope_kind = ?1 AND scope_id = ?2 AND id = ?3 AND deleted = 0";
                execute(connection, sql, &[&scope.kind.as_str(), &scope.id, id])?;
            }
            _ => {
                let reason = "this store does not know its sort";
                return Err(StoreError::Invalid { what: "a write", reason }.into());
            }
        }
    }
    if row.schedule != before {
        row.store(connection)?;
    }
    let is_ended = row.schedule.status.is_final();
    let sql = "UPDATE turns SET updated_at = ?2, ended_at = iif(?3, coalesce(ended_at, ?2), NULL)
               WHERE number = ?1";
    execute(connection, sql, &[&turn, &now.as_micros(), &is_ended])?;
    Ok(is_ended && !before.status.is_final())
}

/// When the first open gate of a waiting turn closes by itself.
fn first_expiry(
    connection: &Connection,
    turn: i64,
    status: TurnStatus,
) -> Result<Option<Timestamp>, SqliteError> {
    if status != TurnStatus::Waiting {
        return Ok(None);
    }
    let sql = "SELECT min(expires_at) FROM gates WHERE turn = ?1 AND settlement IS NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let first: Option<i64> = statement.query_row([turn], |row| row.get(0))?;
    let first = first.map(Timestamp::from_micros).transpose();
    Ok(first.map_err(|_| damaged_error("an open gate", "its expiry is no valid time"))?)
}

fn update_summary(
    connection: &Connection,
    turn: i64,
    update: &SummaryUpdate,
) -> Result<(), SqliteError> {
    let sql = "UPDATE turns SET model = coalesce(?2, model), tokens = coalesce(?3, tokens),
                   error_code = coalesce(?4, error_code) WHERE number = ?1";
    let tokens = update.tokens.map(saturating_i64);
    if update.model.is_some() || tokens.is_some() || update.error_code.is_some() {
        execute(connection, sql, &[&turn, &update.model, &tokens, &update.error_code])?;
    }
    let sql = "INSERT INTO turn_words (word, turn) SELECT ?1, ?2
               WHERE (SELECT count(*) FROM turn_words
                      WHERE turn = ?2 AND word >= '=' AND word < '>') < ?3
               ON CONFLICT DO NOTHING";
    for tool in &update.tools {
        execute(connection, sql, &[&tool_word(tool), &turn, &(TurnSummary::MAX_TOOLS as i64)])?;
    }
    Ok(())
}

/// Inserts or replaces a record. A replaced record keeps its number and so its place in the order.
fn put_record(connection: &Connection, turn: i64, row: &Row) -> Result<(), SqliteError> {
    let sql = "INSERT INTO records (turn, kind, id, json, checksum) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (turn, kind, id) DO UPDATE SET
                   json = excluded.json, checksum = excluded.checksum
               RETURNING number";
    let (kind, json) = (row.kind.as_str(), row.json.as_str());
    let checksum = row_checksum(&[kind, &row.id, json]);
    let mut statement = connection.prepare_cached(sql)?;
    let record = statement.query_row((turn, kind, &row.id, json, checksum), |row| row.get(0))?;
    store_content_keys(connection, record, row)
}

/// Stores which content a record refers to.
fn store_content_keys(connection: &Connection, record: i64, row: &Row) -> Result<(), SqliteError> {
    execute(connection, "DELETE FROM content WHERE record = ?1", &[&record])?;
    let sql = "INSERT INTO content (key, record) VALUES (?1, ?2)";
    for key in row.content_keys() {
        execute(connection, sql, &[&key.as_str(), &record])?;
    }
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
    let sql = "INSERT INTO memories (scope_kind, scope_id, id, json, checksum)
               VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (scope_kind, scope_id, id) DO UPDATE SET
                   number = iif(deleted, (SELECT max(number) + 1 FROM memories), number),
                   json = excluded.json, checksum = excluded.checksum, version = version + 1,
                   deleted = 0";
    let kind = scope.kind.as_str();
    let checksum = row_checksum(&[kind, &scope.id, id, json]);
    execute(connection, sql, &[&kind, &scope.id, &id, &json, &checksum])?;
    Ok(())
}

fn open_gate(
    connection: &Connection,
    turn: i64,
    (id, json): (&GateId, &str),
    expires_at: Option<Timestamp>,
) -> Result<(), SqliteError> {
    let sql = "INSERT INTO gates (id, turn, json, checksum, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (id) DO NOTHING";
    let checksum = gate_checksum(id.as_str(), json, None);
    let expires_at = expires_at.map(Timestamp::as_micros);
    if execute(connection, sql, &[&id.as_str(), &turn, &json, &checksum, &expires_at])? == 1 {
        return Ok(());
    }
    let sql = "SELECT turn = ?2 AND json = ?3 FROM gates WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let is_same = statement.query_row((id.as_str(), turn, json), |row| row.get(0))?;
    if is_same { Ok(()) } else { Err(StoreError::gate_exists(id).into()) }
}

pub(super) fn execute(
    connection: &Connection,
    sql: &str,
    parameters: &[&dyn ToSql],
) -> Result<usize, rusqlite::Error> {
    connection.prepare_cached(sql)?.execute(parameters)
}
