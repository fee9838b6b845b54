//! Queries. Each function runs in a transaction, so it sees one snapshot.

use std::collections::BTreeMap;

use haft_core::clock::Timestamp;
use haft_core::spool::SpoolKey;
use haft_core::store::{
    GateId, GateRow, JournalRow, MemoryRow, MemoryScope, NumberedRow, OutlineRow, Row as Record,
    RowKind, StoreError, StoredTurn, TurnId, TurnOutline, TurnQuery, TurnSummary,
};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::checksum::{check_row, gate_checksum, row_checksum};
use super::error::{SqliteError, damaged_error};
use super::schedule::read_schedule;
use super::schema::{UNFINISHED, UNFINISHED_WORDS};
use crate::turns::{saturating_i64, split_tools, tool_word};

pub(super) fn load_turn(
    connection: &Connection,
    id: &TurnId,
) -> Result<Option<StoredTurn>, SqliteError> {
    let Some((number, summary)) = find_summary(connection, id)? else { return Ok(None) };
    let mut turn = StoredTurn::new(summary);
    let sql = "SELECT kind, id, json, checksum FROM records WHERE turn = ?1 ORDER BY number";
    turn.rows = query_all(connection, sql, [number], read_record)?;
    let sql = "SELECT json, checksum FROM journal WHERE turn = ?1 ORDER BY number";
    turn.journal = query_all(connection, sql, [number], |row| {
        let json: String = row.get(0)?;
        let what = || format!("the journal of turn `{id}`");
        check_row(row.get(1)?, || row_checksum(&[&json]), what)?;
        Ok(json)
    })?;
    turn.gates = query_gates(connection, "WHERE gates.turn = ?1 ORDER BY gates.number", [number])?;
    Ok(Some(turn))
}

pub(super) fn load_summary(
    connection: &Connection,
    id: &TurnId,
) -> Result<Option<TurnSummary>, SqliteError> {
    Ok(find_summary(connection, id)?.map(|(_, summary)| summary))
}

fn find_summary(
    connection: &Connection,
    id: &TurnId,
) -> Result<Option<(i64, TurnSummary)>, SqliteError> {
    let sql = format!("SELECT {SUMMARY} FROM turns WHERE id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let found =
        statement.query_row([id.as_str()], |row| Ok((row.get("number")?, read_summary(row))));
    let Some((number, summary)): Option<(i64, _)> = found.optional()? else { return Ok(None) };
    Ok(Some((number, summary?)))
}

pub(super) fn read_journal(
    connection: &Connection,
    id: &TurnId,
    after: u64,
    limit: usize,
) -> Result<Vec<JournalRow>, SqliteError> {
    let Some(turn) = find_number(connection, id)? else { return Ok(Vec::new()) };
    let Ok(after) = i64::try_from(after) else { return Ok(Vec::new()) };
    let sql = "SELECT number, json, checksum FROM journal WHERE turn = ?1 AND number > ?2
               ORDER BY number LIMIT ?3";
    query_all(connection, sql, (turn, after, saturating_i64(limit as u64)), |row| {
        let (number, json): (i64, String) = (row.get(0)?, row.get(1)?);
        let what = || format!("the journal of turn `{id}`");
        check_row(row.get(2)?, || row_checksum(&[&json]), what)?;
        let number = u64::try_from(number);
        let number = number.map_err(|_| damaged_error(what(), "a number is negative"))?;
        Ok(JournalRow::new(number, json))
    })
}

/// Reads what a turn consists of. The index of the records has everything that is needed, so that no text is read.
pub(super) fn read_outline(
    connection: &Connection,
    id: &TurnId,
) -> Result<Option<TurnOutline>, SqliteError> {
    let Some((turn, summary)) = find_summary(connection, id)? else { return Ok(None) };
    let mut outline = TurnOutline::new(summary);
    let sql = "SELECT number, kind, id FROM records WHERE turn = ?1 ORDER BY +number";
    outline.rows = query_all(connection, sql, [turn], |row| {
        let (kind, id): (String, String) = (row.get(1)?, row.get(2)?);
        Ok(OutlineRow::new(read_number(row, &id)?, read_kind(&kind, &id)?, id))
    })?;
    let sql = "SELECT number FROM journal WHERE turn = ?1 ORDER BY number";
    outline.journal = query_all(connection, sql, [turn], |row| read_number(row, id.as_str()))?;
    outline.gates = query_gates(connection, "WHERE gates.turn = ?1 ORDER BY gates.number", [turn])?;
    Ok(Some(outline))
}

/// Reads a window of the rows of a turn. The numbers are selected from an index; only the rows of the window are read.
pub(super) fn read_rows(
    connection: &Connection,
    id: &TurnId,
    after: u64,
    limit: usize,
) -> Result<Vec<NumberedRow>, SqliteError> {
    let Some(turn) = find_number(connection, id)? else { return Ok(Vec::new()) };
    let Ok(after) = i64::try_from(after) else { return Ok(Vec::new()) };
    // The sign keeps the statement from walking over the rows of later turns.
    let sql = "SELECT kind, id, json, checksum, number FROM records WHERE number IN (
                   SELECT number FROM records WHERE turn = ?1 AND +number > ?2
                   ORDER BY +number LIMIT ?3)
               ORDER BY number";
    query_all(connection, sql, (turn, after, saturating_i64(limit as u64)), |row| {
        let record = read_record(row)?;
        let number = u64::try_from(row.get::<_, i64>(4)?);
        let number = number.map_err(|_| negative_number(&record.id))?;
        Ok(NumberedRow::new(number, record))
    })
}

/// Reads a number from the first column.
fn read_number(row: &Row<'_>, of: &str) -> Result<u64, SqliteError> {
    Ok(u64::try_from(row.get::<_, i64>(0)?).map_err(|_| negative_number(of))?)
}

fn negative_number(of: &str) -> StoreError {
    damaged_error(format!("`{of}`"), "a number is negative")
}

pub(super) fn list_turns(
    connection: &Connection,
    query: &TurnQuery,
) -> Result<Vec<TurnSummary>, SqliteError> {
    let before = find_before(connection, query)?;
    let TurnsSql { sql, parameters } = TurnsSql::new(query, before, "");
    query_all(connection, &sql, rusqlite::params_from_iter(parameters), read_summary)
}

/// Lists a page of the selected turns that have ended and on which no lease is active.
pub(super) fn list_removable_turns(
    connection: &Connection,
    query: &TurnQuery,
    now: Timestamp,
) -> Result<Vec<TurnId>, SqliteError> {
    let before = find_before(connection, query)?;
    let free = format!(
        "AND status NOT IN ({UNFINISHED_WORDS}) AND coalesce(held_until, {0}) <= {0}",
        now.as_micros()
    );
    let TurnsSql { sql, parameters } = TurnsSql::new(query, before, &free);
    let parameters = rusqlite::params_from_iter(parameters);
    query_all(connection, &sql, parameters, |row| read_summary(row).map(|it| it.id))
}

fn find_before(connection: &Connection, query: &TurnQuery) -> Result<Option<i64>, SqliteError> {
    let Some(id) = &query.before else { return Ok(None) };
    Ok(Some(find_number(connection, id)?.ok_or_else(|| StoreError::unknown_turn(id))?))
}

/// The statement of a list of turns, and its parameters.
pub(super) struct TurnsSql {
    pub(super) sql: String,
    pub(super) parameters: Vec<Value>,
}

impl TurnsSql {
    /// The query visits only the turns of the conversation, or only the unfinished ones, or those with the words.
    pub(super) fn new(query: &TurnQuery, before: Option<i64>, condition: &str) -> Self {
        let mut this = Self { sql: String::new(), parameters: Vec::new() };
        let index = match (&query.conversation, query.unfinished, query.words.is_empty()) {
            (Some(_), ..) => "INDEXED BY turns_by_conversation",
            (None, true, true) => "INDEXED BY turns_unfinished",
            _ => "",
        };
        this.sql = format!("SELECT {SUMMARY} FROM turns {index} WHERE true");
        if let Some(before) = before {
            this.add("number < ?", [before.into()]);
        }
        for (column, value) in [
            ("conversation = ?", &query.conversation),
            ("tenant = ?", &query.tenant),
            ("agent = ?", &query.agent),
            ("model = ?", &query.model),
        ] {
            this.add_optional(column, value.clone());
        }
        this.add_optional("created_at >= ?", query.created_from.map(Timestamp::as_micros));
        this.add_optional("created_at < ?", query.created_before.map(Timestamp::as_micros));
        this.add_optional("coalesce(tokens, 0) >= ?", query.min_tokens.map(saturating_i64));
        this.add_optional("coalesce(tokens, 0) <= ?", query.max_tokens.map(saturating_i64));
        this.add_optional(
            "number IN (SELECT turn FROM turn_words WHERE word = ?)",
            query.tool.as_deref().map(tool_word),
        );
        if query.unfinished {
            this.add(UNFINISHED, []);
        }
        if !query.statuses.is_empty() {
            let marks = vec!["?"; query.statuses.len()].join(", ");
            let words = query.statuses.iter().map(|it| it.as_str().to_owned().into());
            this.add(&format!("status IN ({marks})"), words);
        }
        for word in &query.words {
            let found = "number IN (SELECT turn FROM turn_words WHERE word >= ? AND word < ?)";
            // No word contains the last character of Unicode.
            this.add(found, [word.clone().into(), format!("{word}\u{10ffff}").into()]);
        }
        let limit = saturating_i64(query.limit.unwrap_or(TurnQuery::DEFAULT_LIMIT) as u64);
        this.sql.push_str(&format!(" {condition} ORDER BY number DESC LIMIT ?"));
        this.parameters.push(limit.into());
        this
    }

    fn add(&mut self, condition: &str, parameters: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.parameters.extend(parameters);
    }

    fn add_optional(&mut self, condition: &str, parameter: Option<impl Into<Value>>) {
        if let Some(parameter) = parameter {
            self.add(condition, [parameter.into()]);
        }
    }
}

/// Of these keys, those that no record refers to.
pub(super) fn list_unreferenced_keys(
    connection: &Connection,
    keys: Vec<SpoolKey>,
) -> Result<Vec<SpoolKey>, SqliteError> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM content WHERE key = ?1")?;
    let mut unused = Vec::new();
    for key in keys {
        if !statement.exists([key.as_str()])? {
            unused.push(key);
        }
    }
    Ok(unused)
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

/// The open gates of all turns of a tenant.
pub(super) fn list_tenant_gates(
    connection: &Connection,
    tenant: &str,
) -> Result<Vec<GateRow>, SqliteError> {
    let condition = "WHERE gates.settlement IS NULL AND turns.tenant = ?1 ORDER BY gates.number";
    query_gates(connection, condition, [tenant])
}

/// The titles of those of these conversations that have one.
pub(super) fn load_titles(
    connection: &Connection,
    tenant: &str,
    conversations: Vec<String>,
) -> Result<BTreeMap<String, String>, SqliteError> {
    let mut titles = BTreeMap::new();
    let sql = "SELECT title FROM conversations WHERE tenant = ?1 AND id = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    for id in conversations {
        let title = statement.query_row((tenant, &id), |row| row.get(0)).optional()?;
        titles.extend(title.map(|title| (id, title)));
    }
    Ok(titles)
}

fn query_gates(
    connection: &Connection,
    condition: &str,
    parameters: impl Params,
) -> Result<Vec<GateRow>, SqliteError> {
    let sql = format!(
        "SELECT gates.id, turns.id, gates.json, gates.settlement, gates.checksum
         FROM gates JOIN turns ON turns.number = gates.turn {condition}"
    );
    query_all(connection, &sql, parameters, read_gate)
}

pub(super) fn load_memories(
    connection: &Connection,
    scope: &MemoryScope,
) -> Result<Vec<MemoryRow>, SqliteError> {
    let sql = "SELECT id, json, version, checksum FROM memories
               WHERE scope_kind = ?1 AND scope_id = ?2 AND deleted = 0 ORDER BY number";
    let parameters = (scope.kind.as_str(), &scope.id);
    query_all(connection, sql, parameters, |row| {
        let id: String = row.get(0)?;
        let json: String = row.get(1)?;
        let computed = || row_checksum(&[scope.kind.as_str(), &scope.id, &id, &json]);
        check_row(row.get(3)?, computed, || format!("memory `{id}`"))?;
        let version = u64::try_from(row.get::<_, i64>(2)?);
        let version = version
            .map_err(|_| damaged_error(format!("memory `{id}`"), "its version is negative"))?;
        Ok(MemoryRow::new(id, json, version))
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

/// Reads the columns of `SUMMARY`.
fn read_summary(row: &Row<'_>) -> Result<TurnSummary, SqliteError> {
    let id: String = row.get(SCHEDULE_COLUMNS)?;
    let damaged = |reason| damaged_error(format!("turn `{id}`"), reason);
    let turn = id.parse().map_err(|_| damaged("its id is none"))?;
    let time = |name: &str, reason| -> Result<Option<Timestamp>, SqliteError> {
        let time = row.get::<_, Option<i64>>(name)?.map(Timestamp::from_micros).transpose();
        Ok(time.map_err(|_| damaged(reason))?)
    };
    let created_at = time("created_at", "its begin is no valid time")?;
    let created_at = created_at.ok_or_else(|| damaged("it has no begin"))?;
    let mut summary = TurnSummary::new(turn, created_at);
    summary.set_schedule(read_schedule(row, 0, &id)?);
    summary.conversation = row.get("conversation")?;
    summary.holder = row.get("holder")?;
    summary.tenant = row.get("tenant")?;
    summary.agent = row.get("agent")?;
    summary.model = row.get("model")?;
    summary.first_words = row.get("first_words")?;
    let tokens: Option<i64> = row.get("tokens")?;
    let tokens = tokens.map(u64::try_from).transpose();
    summary.tokens = tokens.map_err(|_| damaged("its count of tokens is negative"))?;
    summary.priority = row.get("priority")?;
    summary.updated_at = time("updated_at", "its last change is no valid time")?;
    summary.ended_at = time("ended_at", "its end is no valid time")?;
    summary.error_code = row.get("error_code")?;
    let tools: Option<String> = row.get("tools")?;
    summary.tools = split_tools(tools.as_deref());
    Ok(summary)
}

fn read_record(row: &Row<'_>) -> Result<Record, SqliteError> {
    let (kind, id): (String, String) = (row.get(0)?, row.get(1)?);
    let known = read_kind(&kind, &id)?;
    let json: String = row.get(2)?;
    check_row(row.get(3)?, || row_checksum(&[&kind, &id, &json]), || format!("row `{id}`"))?;
    Ok(Record::new(known, id, json))
}

fn read_kind(kind: &str, id: &str) -> Result<RowKind, SqliteError> {
    let unknown = || damaged_error(format!("row `{id}`"), format!("its kind `{kind}` is unknown"));
    Ok(RowKind::from_word(kind).ok_or_else(unknown)?)
}

/// Reads the columns of `query_gates`.
fn read_gate(row: &Row<'_>) -> Result<GateRow, SqliteError> {
    let (id, turn): (String, String) = (row.get(0)?, row.get(1)?);
    let damaged = |_| damaged_error(format!("gate `{id}`"), "an id is none");
    let (gate, turn) = (id.parse().map_err(damaged)?, turn.parse().map_err(damaged)?);
    let (json, settlement): (String, Option<String>) = (row.get(2)?, row.get(3)?);
    let computed = || gate_checksum(&id, &json, settlement.as_deref());
    check_row(row.get(4)?, computed, || format!("gate `{id}`"))?;
    let mut gate = GateRow::open(gate, turn, json);
    gate.settlement = settlement;
    Ok(gate)
}

/// How many columns of a schedule stand before the id in `SUMMARY`.
const SCHEDULE_COLUMNS: usize = 5;
const SUMMARY: &str = "status, runnable_at, held_until, take_overs, cancel, id, number, conversation, \
    created_at, holder, tenant, agent, model, first_words, tokens, priority, updated_at, ended_at, error_code, \
    (SELECT group_concat(substr(word, 2), char(10)) FROM turn_words \
        WHERE turn_words.turn = turns.number AND word >= '=' AND word < '>') AS tools";
