//! Queries. Each function runs in a transaction, so it sees one snapshot.

use std::sync::Arc;

use haft_core::clock::Timestamp;
use haft_core::store::{
    GateId, GateRow, MemoryRow, MemoryScope, Row as Record, RowKind, StoreError, StoredTurn,
    TurnId, TurnQuery, TurnStatus, TurnSummary,
};
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::checksum::{check_row, gate_checksum, row_checksum};
use super::error::{SqliteError, damaged_error};
use super::migration::{checksum_column, read_known_version};
use super::schema::MEMORIES_VERSION;

pub(super) fn load_turn(
    connection: &Connection,
    id: &TurnId,
) -> Result<Option<StoredTurn>, SqliteError> {
    let sql = format!("SELECT number, {SUMMARY} FROM turns WHERE id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row([id.as_str()], |row| Ok((row.get(0)?, read_summary(row, 1))));
    let Some((number, summary)): Option<(i64, _)> = found.optional()? else { return Ok(None) };
    let mut turn = StoredTurn::new(summary?);
    let checksum = checksum_column(connection)?;
    let sql =
        format!("SELECT kind, id, json, {checksum} FROM records WHERE turn = ?1 ORDER BY number");
    turn.rows = query_all(connection, &sql, [number], read_record)?;
    let sql = format!("SELECT json, {checksum} FROM journal WHERE turn = ?1 ORDER BY number");
    turn.journal = query_all(connection, &sql, [number], |row| {
        let json: Arc<str> = row.get(0)?;
        let what = || format!("the journal of turn `{id}`");
        check_row(row.get(1)?, || row_checksum(&[&json]), what)?;
        Ok(json.into())
    })?;
    turn.gates = query_gates(connection, "WHERE gates.turn = ?1 ORDER BY gates.number", [number])?;
    Ok(Some(turn))
}

pub(super) fn list_turns(
    connection: &Connection,
    query: &TurnQuery,
) -> Result<Vec<TurnSummary>, SqliteError> {
    let before = match &query.before {
        Some(id) => Some(find_number(connection, id)?.ok_or_else(|| StoreError::unknown_turn(id))?),
        None => None,
    };
    let limit = query.limit.unwrap_or(TurnQuery::DEFAULT_LIMIT);
    // A limit beyond the range of SQLite's integers is no limit.
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let parameters = (before.unwrap_or(i64::MAX), &query.conversation, limit);
    query_all(connection, &turns_sql(query), parameters, |row| read_summary(row, 0))
}

/// The query visits only the turns of the conversation, or only the unfinished ones.
pub(super) fn turns_sql(query: &TurnQuery) -> String {
    let (index, conversation) = match (&query.conversation, query.unfinished) {
        (Some(_), _) => ("INDEXED BY turns_by_conversation", "conversation = ?2"),
        (None, true) => ("INDEXED BY turns_unfinished", "?2 IS NULL"),
        (None, false) => ("", "?2 IS NULL"),
    };
    let status = if query.unfinished { "AND status IN ('running', 'waiting')" } else { "" };
    format!(
        "SELECT {SUMMARY} FROM turns {index} WHERE number < ?1 AND {conversation} {status}
         ORDER BY number DESC LIMIT ?3"
    )
}

pub(super) fn load_gate(
    connection: &Connection,
    id: &GateId,
) -> Result<Option<GateRow>, SqliteError> {
    let found = query_gates(connection, "WHERE gates.id = ?1", [id.as_str()])?;
    Ok(found.into_iter().next())
}

pub(super) fn list_open_gates(
    connection: &Connection,
    turn: Option<&TurnId>,
) -> Result<Vec<GateRow>, SqliteError> {
    let Some(id) = turn else {
        let condition = "WHERE gates.settlement IS NULL ORDER BY gates.number";
        return query_gates(connection, condition, []);
    };
    let condition = "WHERE turns.id = ?1 AND gates.settlement IS NULL ORDER BY gates.number";
    query_gates(connection, condition, [id.as_str()])
}

fn query_gates(
    connection: &Connection,
    condition: &str,
    parameters: impl Params,
) -> Result<Vec<GateRow>, SqliteError> {
    let checksum = checksum_column(connection)?;
    let sql = format!(
        "SELECT gates.id, turns.id, gates.json, gates.settlement, {checksum}
         FROM gates JOIN turns ON turns.number = gates.turn {condition}"
    );
    query_all(connection, &sql, parameters, read_gate)
}

pub(super) fn load_memories(
    connection: &Connection,
    scope: &MemoryScope,
) -> Result<Vec<MemoryRow>, SqliteError> {
    if read_known_version(connection)? < MEMORIES_VERSION {
        return Ok(Vec::new());
    }
    let sql = "SELECT id, json, version FROM memories
               WHERE scope_kind = ?1 AND scope_id = ?2 AND deleted = 0 ORDER BY number";
    let parameters = (scope.kind.as_str(), &scope.id);
    query_all(connection, sql, parameters, |row| {
        let id: String = row.get(0)?;
        let version = u64::try_from(row.get::<_, i64>(2)?);
        let version = version
            .map_err(|_| damaged_error(format!("memory `{id}`"), "its version is negative"))?;
        Ok(MemoryRow::new(id, row.get::<_, Arc<str>>(1)?, version))
    })
}

fn find_number(connection: &Connection, id: &TurnId) -> Result<Option<i64>, SqliteError> {
    let mut statement = connection.prepare_cached("SELECT number FROM turns WHERE id = ?1")?;
    Ok(statement.query_row([id.as_str()], |row| row.get(0)).optional()?)
}

fn query_all<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, SqliteError>,
) -> Result<Vec<T>, SqliteError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// Reads the columns of `SUMMARY`, which begin at `first`.
fn read_summary(row: &Row<'_>, first: usize) -> Result<TurnSummary, SqliteError> {
    let id: String = row.get(first)?;
    let damaged = |reason| damaged_error(format!("turn `{id}`"), reason);
    let turn = id.parse().map_err(|_| damaged("its id is none"))?;
    let created_at = Timestamp::from_micros(row.get(first + 3)?);
    let created_at = created_at.map_err(|_| damaged("its begin is no valid time"))?;
    let mut summary = TurnSummary::new(turn, created_at);
    summary.conversation = row.get(first + 1)?;
    let status: String = row.get(first + 2)?;
    let status = TurnStatus::from_word(&status);
    summary.status = status.ok_or_else(|| damaged("its status is unknown"))?;
    summary.holder = row.get(first + 4)?;
    let until: Option<i64> = row.get(first + 5)?;
    let until = until.map(Timestamp::from_micros).transpose();
    summary.held_until = until.map_err(|_| damaged("its lease has no valid end"))?;
    Ok(summary)
}

fn read_record(row: &Row<'_>) -> Result<Record, SqliteError> {
    let (kind, id): (String, String) = (row.get(0)?, row.get(1)?);
    let known = RowKind::from_word(&kind).ok_or_else(|| {
        damaged_error(format!("row `{id}`"), format!("its kind `{kind}` is unknown"))
    })?;
    let json: Arc<str> = row.get(2)?;
    check_row(row.get(3)?, || row_checksum(&[&kind, &id, &json]), || format!("row `{id}`"))?;
    Ok(Record::new(known, id, json))
}

/// Reads the columns of `query_gates`.
fn read_gate(row: &Row<'_>) -> Result<GateRow, SqliteError> {
    let (id, turn): (String, String) = (row.get(0)?, row.get(1)?);
    let damaged = |_| damaged_error(format!("gate `{id}`"), "an id is none");
    let (gate, turn) = (id.parse().map_err(damaged)?, turn.parse().map_err(damaged)?);
    let (json, settlement): (Arc<str>, Option<String>) = (row.get(2)?, row.get(3)?);
    let computed = || gate_checksum(&id, &json, settlement.as_deref());
    check_row(row.get(4)?, computed, || format!("gate `{id}`"))?;
    let mut gate = GateRow::open(gate, turn, json);
    gate.settlement = settlement;
    Ok(gate)
}

const SUMMARY: &str = "id, conversation, status, created_at, holder, held_until";
