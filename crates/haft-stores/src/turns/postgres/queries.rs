//! Queries.

use std::collections::BTreeMap;

use deadpool_postgres::Transaction;
use haft_core::clock::Timestamp;
use haft_core::spool::SpoolKey;
use haft_core::store::{
    GateId, GateRow, JournalRow, MemoryRow, MemoryScope, NumberedRow, OutlineRow, Row as Record,
    RowKind, StoreError, StoredTurn, TurnId, TurnOutline, TurnQuery, TurnSummary,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::connection::Database;
use super::error::{PostgresError, damaged};
use super::schedule::{NOW, read_schedule, read_time};
use super::schema::UNFINISHED;
use super::updates::{conversation_digest, digest};
use crate::turns::{saturating_i64, split_tools, tool_word};

type Parameter = Box<dyn ToSql + Sync + Send>;

/// Loads everything of a turn. The transaction sees one snapshot.
pub(super) async fn load_turn(
    database: &Database,
    transaction: &Transaction<'_>,
    id: &TurnId,
) -> Result<Option<StoredTurn>, PostgresError> {
    let Some((number, summary)) = find_summary(database, transaction, id).await? else {
        return Ok(None);
    };
    let mut turn = StoredTurn::new(summary);
    let sql = "SELECT kind, id, json FROM {s}.records WHERE turn = $1 ORDER BY number";
    for row in query(database, transaction, sql, &[&number]).await? {
        let (kind, name) = (read_kind(&row, 0, id)?, row.try_get::<_, String>(1)?);
        turn.rows.push(Record::new(kind, name, row.try_get::<_, String>(2)?));
    }
    let sql = "SELECT json FROM {s}.journal WHERE turn = $1 ORDER BY number";
    for row in query(database, transaction, sql, &[&number]).await? {
        turn.journal.push(row.try_get::<_, String>(0)?);
    }
    let condition = "WHERE gates.turn = $1 ORDER BY gates.number";
    turn.gates = query_gates(database, transaction, condition, &[&number]).await?;
    Ok(Some(turn))
}

pub(super) async fn find_summary(
    database: &Database,
    transaction: &Transaction<'_>,
    id: &TurnId,
) -> Result<Option<(i64, TurnSummary)>, PostgresError> {
    let sql = format!("SELECT {SUMMARY} FROM {{s}}.turns WHERE id = $1");
    let rows = query(database, transaction, &sql, &[&id.as_str()]).await?;
    let row = rows.first();
    row.map(|row| Ok((row.try_get("number")?, read_summary(row)?))).transpose()
}

pub(super) async fn read_journal(
    database: &Database,
    transaction: &Transaction<'_>,
    id: &TurnId,
    (after, limit): (u64, usize),
) -> Result<Vec<JournalRow>, PostgresError> {
    let Ok(after) = i64::try_from(after) else { return Ok(Vec::new()) };
    let sql = "SELECT journal.number, journal.json FROM {s}.journal
               WHERE turn = (SELECT number FROM {s}.turns WHERE id = $1) AND number > $2
               ORDER BY number LIMIT $3";
    let parameters: [&(dyn ToSql + Sync); 3] =
        [&id.as_str(), &after, &saturating_i64(limit as u64)];
    let rows = query(database, transaction, sql, &parameters).await?;
    let rows = rows
        .iter()
        .map(|row| Ok(JournalRow::new(read_number(row, id)?, row.try_get::<_, String>(1)?)));
    rows.collect()
}

/// Reads what a turn consists of. The texts are not read.
pub(super) async fn read_outline(
    database: &Database,
    transaction: &Transaction<'_>,
    id: &TurnId,
) -> Result<Option<TurnOutline>, PostgresError> {
    let Some((turn, summary)) = find_summary(database, transaction, id).await? else {
        return Ok(None);
    };
    let mut outline = TurnOutline::new(summary);
    let sql = "SELECT number, kind, id FROM {s}.records WHERE turn = $1 ORDER BY number";
    for row in query(database, transaction, sql, &[&turn]).await? {
        let kind = read_kind(&row, 1, id)?;
        outline.rows.push(OutlineRow::new(
            read_number(&row, id)?,
            kind,
            row.try_get::<_, String>(2)?,
        ));
    }
    let sql = "SELECT number FROM {s}.journal WHERE turn = $1 ORDER BY number";
    let entries = query(database, transaction, sql, &[&turn]).await?;
    outline.journal = entries.iter().map(|row| read_number(row, id)).collect::<Result<_, _>>()?;
    let condition = "WHERE gates.turn = $1 ORDER BY gates.number";
    outline.gates = query_gates(database, transaction, condition, &[&turn]).await?;
    Ok(Some(outline))
}

/// Reads a window of the rows of a turn.
pub(super) async fn read_rows(
    database: &Database,
    transaction: &Transaction<'_>,
    id: &TurnId,
    (after, limit): (u64, usize),
) -> Result<Vec<NumberedRow>, PostgresError> {
    let Ok(after) = i64::try_from(after) else { return Ok(Vec::new()) };
    let sql = "SELECT number, kind, id, json FROM {s}.records
               WHERE turn = (SELECT number FROM {s}.turns WHERE id = $1) AND number > $2
               ORDER BY number LIMIT $3";
    let parameters: [&(dyn ToSql + Sync); 3] =
        [&id.as_str(), &after, &saturating_i64(limit as u64)];
    let rows = query(database, transaction, sql, &parameters).await?;
    let rows = rows.iter().map(|row| {
        let (name, json): (String, String) = (row.try_get(2)?, row.try_get(3)?);
        Ok(NumberedRow::new(read_number(row, id)?, Record::new(read_kind(row, 1, id)?, name, json)))
    });
    rows.collect()
}

/// Reads a number from the first column.
fn read_number(row: &Row, turn: &TurnId) -> Result<u64, PostgresError> {
    let number = u64::try_from(row.try_get::<_, i64>(0)?);
    number.map_err(|_| damaged(turn.as_str(), "a number of it is negative"))
}

fn read_kind(row: &Row, column: usize, turn: &TurnId) -> Result<RowKind, PostgresError> {
    let kind = RowKind::from_word(row.try_get(column)?);
    kind.ok_or_else(|| damaged(turn.as_str(), "the kind of a row is unknown"))
}

pub(super) async fn list_turns(
    database: &Database,
    transaction: &Transaction<'_>,
    wanted: &TurnQuery,
) -> Result<Vec<TurnSummary>, PostgresError> {
    let before = find_before(database, transaction, wanted).await?;
    let TurnsSql { sql, parameters } = TurnsSql::new(wanted, before, "");
    let rows = query_boxed(database, transaction, &sql, parameters).await?;
    rows.iter().map(read_summary).collect()
}

/// Lists a page of the selected turns that have ended and on which no lease is active.
pub(super) async fn list_removable_turns(
    database: &Database,
    transaction: &Transaction<'_>,
    wanted: &TurnQuery,
) -> Result<Vec<TurnId>, PostgresError> {
    let before = find_before(database, transaction, wanted).await?;
    let free = format!("AND NOT {UNFINISHED} AND coalesce(held_until, 0) <= {NOW}");
    let TurnsSql { sql, parameters } = TurnsSql::new(wanted, before, &free);
    let rows = query_boxed(database, transaction, &sql, parameters).await?;
    rows.iter().map(|row| read_summary(row).map(|it| it.id)).collect()
}

async fn find_before(
    database: &Database,
    transaction: &Transaction<'_>,
    wanted: &TurnQuery,
) -> Result<Option<i64>, PostgresError> {
    let Some(id) = &wanted.before else { return Ok(None) };
    let sql = "SELECT number FROM {s}.turns WHERE id = $1";
    let rows = query(database, transaction, sql, &[&id.as_str()]).await?;
    let row = rows.first().ok_or_else(|| StoreError::unknown_turn(id))?;
    Ok(Some(row.try_get(0)?))
}

/// The statement of a list of turns, and its parameters.
struct TurnsSql {
    sql: String,
    parameters: Vec<Parameter>,
}

impl TurnsSql {
    fn new(wanted: &TurnQuery, before: Option<i64>, condition: &str) -> Self {
        let sql = format!("SELECT {SUMMARY} FROM {{s}}.turns WHERE true");
        let mut this = Self { sql, parameters: Vec::new() };
        this.add_optional("number <", before);
        this.add_optional("conversation =", wanted.conversation.clone());
        this.add_optional("tenant =", wanted.tenant.clone());
        this.add_optional("agent =", wanted.agent.clone());
        this.add_optional("model =", wanted.model.clone());
        this.add_optional("created_at >=", wanted.created_from.map(Timestamp::as_micros));
        this.add_optional("created_at <", wanted.created_before.map(Timestamp::as_micros));
        this.add_optional("coalesce(tokens, 0) >=", wanted.min_tokens.map(saturating_i64));
        this.add_optional("coalesce(tokens, 0) <=", wanted.max_tokens.map(saturating_i64));
        if let Some(tool) = &wanted.tool {
            let mark = this.mark(tool_word(tool));
            this.sql.push_str(&format!(
                " AND number IN (SELECT turn FROM {{s}}.turn_words WHERE word = {mark})"
            ));
        }
        if wanted.unfinished {
            this.sql.push_str(&format!(" AND {UNFINISHED}"));
        }
        if !wanted.statuses.is_empty() {
            let words: Vec<String> =
                wanted.statuses.iter().map(|it| it.as_str().to_owned()).collect();
            let mark = this.mark(words);
            this.sql.push_str(&format!(" AND status = ANY ({mark})"));
        }
        for word in &wanted.words {
            // No word contains the last character of Unicode.
            let (from, to) = (this.mark(word.clone()), this.mark(format!("{word}\u{10ffff}")));
            this.sql.push_str(&format!(
                " AND number IN (SELECT turn FROM {{s}}.turn_words WHERE word >= {from} AND word < {to})"
            ));
        }
        let limit =
            this.mark(saturating_i64(wanted.limit.unwrap_or(TurnQuery::DEFAULT_LIMIT) as u64));
        this.sql.push_str(&format!(" {condition} ORDER BY number DESC LIMIT {limit}"));
        this
    }

    /// Adds a parameter, and returns its placeholder.
    fn mark(&mut self, parameter: impl ToSql + Sync + Send + 'static) -> String {
        self.parameters.push(Box::new(parameter));
        format!("${}", self.parameters.len())
    }

    fn add_optional(
        &mut self,
        condition: &str,
        parameter: Option<impl ToSql + Sync + Send + 'static>,
    ) {
        if let Some(parameter) = parameter {
            let mark = self.mark(parameter);
            self.sql.push_str(&format!(" AND {condition} {mark}"));
        }
    }
}

/// Of these keys, those that no record refers to.
pub(super) async fn list_unreferenced_keys(
    database: &Database,
    transaction: &Transaction<'_>,
    keys: &[SpoolKey],
) -> Result<Vec<SpoolKey>, PostgresError> {
    let keys: Vec<&str> = keys.iter().map(SpoolKey::as_str).collect();
    let sql = "SELECT key FROM unnest($1::text[]) AS wanted (key)
               WHERE NOT EXISTS (SELECT 1 FROM {s}.content WHERE content.key = wanted.key)";
    let rows = query(database, transaction, sql, &[&keys]).await?;
    rows.iter().map(|row| Ok(row.try_get::<_, String>(0)?.into())).collect()
}

pub(super) async fn load_gate(
    database: &Database,
    transaction: &Transaction<'_>,
    id: &GateId,
) -> Result<Option<GateRow>, PostgresError> {
    let gates = query_gates(database, transaction, "WHERE gates.id = $1", &[&id.as_str()]).await?;
    Ok(gates.into_iter().next())
}

pub(super) async fn list_open_gates(
    database: &Database,
    transaction: &Transaction<'_>,
    turn: Option<&TurnId>,
) -> Result<Vec<GateRow>, PostgresError> {
    let condition = "WHERE gates.settlement IS NULL AND ($1::text IS NULL OR turns.id = $1)
                     ORDER BY gates.number";
    query_gates(database, transaction, condition, &[&turn.map(TurnId::as_str)]).await
}

/// The open gates of all turns of a tenant.
pub(super) async fn list_tenant_gates(
    database: &Database,
    transaction: &Transaction<'_>,
    tenant: &str,
) -> Result<Vec<GateRow>, PostgresError> {
    let condition = "WHERE gates.settlement IS NULL AND turns.tenant = $1 ORDER BY gates.number";
    query_gates(database, transaction, condition, &[&tenant]).await
}

/// The titles of those of these conversations that have one.
pub(super) async fn load_titles(
    database: &Database,
    transaction: &Transaction<'_>,
    tenant: &str,
    conversations: &[String],
) -> Result<BTreeMap<String, String>, PostgresError> {
    let digests: Vec<Vec<u8>> =
        conversations.iter().map(|id| conversation_digest(tenant, id)).collect();
    let sql = "SELECT id, title FROM {s}.conversations WHERE digest = ANY ($1)";
    let rows = query(database, transaction, sql, &[&digests]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

async fn query_gates(
    database: &Database,
    transaction: &Transaction<'_>,
    condition: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Vec<GateRow>, PostgresError> {
    let sql = format!(
        "SELECT gates.id, turns.id, gates.json, gates.settlement
         FROM {{s}}.gates JOIN {{s}}.turns ON turns.number = gates.turn {condition}"
    );
    let rows = query(database, transaction, &sql, parameters).await?;
    let rows = rows.iter().map(|row| {
        let (id, turn): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let invalid = |_| damaged(&turn, "the id of a gate is none");
        let (gate, of) = (id.parse().map_err(invalid)?, turn.parse().map_err(invalid)?);
        let mut gate = GateRow::open(gate, of, row.try_get::<_, String>(2)?);
        gate.settlement = row.try_get(3)?;
        Ok(gate)
    });
    rows.collect()
}

pub(super) async fn load_memories(
    database: &Database,
    transaction: &Transaction<'_>,
    scope: &MemoryScope,
) -> Result<Vec<MemoryRow>, PostgresError> {
    let sql = "SELECT id, json, version FROM {s}.memories
               WHERE scope_kind = $1 AND scope_digest = $2 AND NOT deleted ORDER BY number";
    let parameters: [&(dyn ToSql + Sync); 2] = [&scope.kind.as_str(), &digest(&scope.id)];
    let rows = query(database, transaction, sql, &parameters).await?;
    let rows = rows.iter().map(|row| {
        let (id, json): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let version = u64::try_from(row.try_get::<_, i64>(2)?);
        let version = version.map_err(|_| StoreError::Damaged {
            what: format!("memory `{id}`"),
            reason: "its version is negative".to_owned(),
        })?;
        Ok(MemoryRow::new(id, json, version))
    });
    rows.collect()
}

async fn query(
    database: &Database,
    transaction: &Transaction<'_>,
    sql: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, PostgresError> {
    let statement = transaction.prepare_cached(&database.qualify_tables(sql)).await?;
    Ok(transaction.query(&statement, parameters).await?)
}

async fn query_boxed(
    database: &Database,
    transaction: &Transaction<'_>,
    sql: &str,
    parameters: Vec<Parameter>,
) -> Result<Vec<Row>, PostgresError> {
    let parameters: Vec<&(dyn ToSql + Sync)> =
        parameters.iter().map(|it| &**it as &(dyn ToSql + Sync)).collect();
    query(database, transaction, sql, &parameters).await
}

/// Reads the columns of `SUMMARY`.
fn read_summary(row: &Row) -> Result<TurnSummary, PostgresError> {
    let id: String = row.try_get("id")?;
    let turn = id.parse().map_err(|_| damaged(&id, "its id is none"))?;
    let created_at = read_time(row, "created_at", &id)?;
    let created_at = created_at.ok_or_else(|| damaged(&id, "it has no begin"))?;
    let mut summary = TurnSummary::new(turn, created_at);
    summary.set_schedule(read_schedule(row, &id)?);
    summary.conversation = row.try_get("conversation")?;
    summary.holder = row.try_get::<_, Option<String>>("holder")?.map(Into::into);
    summary.tenant = row.try_get("tenant")?;
    summary.agent = row.try_get("agent")?;
    summary.model = row.try_get("model")?;
    summary.first_words = row.try_get("first_words")?;
    let tokens: Option<i64> = row.try_get("tokens")?;
    let tokens = tokens.map(u64::try_from).transpose();
    summary.tokens = tokens.map_err(|_| damaged(&id, "its count of tokens is negative"))?;
    summary.priority = row.try_get("priority")?;
    summary.updated_at = read_time(row, "updated_at", &id)?;
    summary.ended_at = read_time(row, "ended_at", &id)?;
    summary.error_code = row.try_get("error_code")?;
    summary.tools = split_tools(row.try_get("tools")?);
    Ok(summary)
}

const SUMMARY: &str = "number, id, conversation, tenant, status, created_at, holder, held_until, priority, \
    runnable_at, take_overs, cancel, agent, model, first_words, tokens, updated_at, ended_at, error_code, \
    (SELECT string_agg(substr(word, 2), chr(10)) FROM {s}.turn_words \
        WHERE turn_words.turn = turns.number AND word >= '=' AND word < '>') AS tools";
