//! What is read of turns, memories and titles. Each function runs in a transaction that sees one snapshot.

use std::collections::{BTreeMap, HashSet};

use haft_core::spool::SpoolKey;
use haft_core::store::{
    JournalRow, Mark, MemoryRow, MemoryScope, Row, RowKind, StoreError, StoreKey, StoredTurn,
    TurnId,
};

use super::gates::{gates_sql, read_gates};
use super::marks::{
    Contents, check_mark, entry_mark, memory_mark, place_mark, record_mark, title_mark,
};
use super::turn::{SqlTurn, turn_sql};
use super::updates::{conversation_digest, digest};
use super::{
    MAX_LIST, SqlQuery, SqlRow, SqlTransaction, SqlValue, damaged, placeholders, query,
    saturating_i64,
};

/// Loads everything of a turn, and compares all of it with its marks: the rows, and what the turn says it consists of.
pub(in crate::turns) async fn load_turn<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    id: &TurnId,
) -> Result<Option<StoredTurn>, T::Error> {
    let name: [SqlValue<'_>; 1] = [id.as_str().into()];
    let turn = turn_sql("id = $1", "");
    let records = "SELECT number, kind, id, json, mark FROM {s}.records
         WHERE turn = (SELECT number FROM {s}.turns WHERE id = $1) ORDER BY number";
    let gates = gates_sql("turns.id = $1");
    let journal = "SELECT number, json, mark FROM {s}.journal
         WHERE turn = (SELECT number FROM {s}.turns WHERE id = $1) ORDER BY number";
    let queries = [&*turn, records, &*gates, journal].map(|sql| SqlQuery::new(sql, name));
    let rows: [Vec<SqlRow>; 4] = tx.query_all(&queries).await?.try_into().unwrap_or_default();
    let [turn, records, gates, journal] = rows;
    let Some(turn) = turn.into_iter().next() else { return Ok(None) };
    let turn = SqlTurn::read(key, turn)?;
    let mut found = Contents::EMPTY;
    let mut stored = StoredTurn::new(turn.row.summary);
    for columns in records {
        let (place, row) = read_record(key, id, columns)?;
        found.add_row(place);
        stored.rows.push(row);
    }
    for gate in read_gates(key, gates)? {
        found.add_row(place_mark(key, gate.number, &gate.mark));
        stored.gates.push(gate.row);
    }
    for columns in journal {
        let (entry, mark) = read_entry(key, id, &found.last_entry, columns)?;
        found.add_entry(mark);
        stored.journal.push(entry.json);
    }
    match found == turn.contents {
        true => Ok(Some(stored)),
        false => Err(damaged(format!("turn `{id}`"), MISSING).into()),
    }
}

/// Reads the columns number, kind, id, json and mark. Returns the mark at its place, too.
fn read_record(
    key: &StoreKey,
    turn: &TurnId,
    mut columns: SqlRow,
) -> Result<(Mark, Row), StoreError> {
    let number = columns.int()?;
    let (kind, id) = (columns.text()?, columns.text()?);
    let what = || format!("row `{id}`");
    let unknown = || damaged(what(), format!("its kind `{kind}` is unknown"));
    let kind = RowKind::from_word(&kind).ok_or_else(unknown)?;
    let json = columns.text()?;
    let mark = columns.mark()?;
    check_mark(&mark, &record_mark(key, turn, kind, &id, &json), what)?;
    Ok((place_mark(key, number, &mark), Row::new(kind, id, json)))
}

/// Reads the columns number, json and mark of the entry that follows the one with another mark.
fn read_entry(
    key: &StoreKey,
    turn: &TurnId,
    before: &Mark,
    mut columns: SqlRow,
) -> Result<(JournalRow, Mark), StoreError> {
    let what = || format!("the journal of turn `{turn}`");
    let number = u64::try_from(columns.int()?);
    let number = number.map_err(|_| damaged(what(), "a number is negative"))?;
    let json = columns.text()?;
    let mark = columns.mark()?;
    check_mark(&mark, &entry_mark(key, turn, before, &json), what)?;
    Ok((JournalRow::new(number, json), mark))
}

/// Reads entries of a journal. The first one has to follow the one before it, and the last one has to be the last that
/// was written.
pub(in crate::turns) async fn read_journal<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    id: &TurnId,
    (after, limit): (u64, usize),
) -> Result<Vec<JournalRow>, T::Error> {
    let Ok(after) = i64::try_from(after) else { return Ok(Vec::new()) };
    let limit = saturating_i64(limit as u64);
    let name: SqlValue<'_> = id.as_str().into();
    let turn = turn_sql("id = $1", "");
    let before = "SELECT mark FROM {s}.journal
         WHERE turn = (SELECT number FROM {s}.turns WHERE id = $1) AND number <= $2
         ORDER BY number DESC LIMIT 1";
    let following = "SELECT number, json, mark FROM {s}.journal
         WHERE turn = (SELECT number FROM {s}.turns WHERE id = $1) AND number > $2
         ORDER BY number LIMIT $3";
    let queries = [
        SqlQuery::new(&turn, [name]),
        SqlQuery::new(before, [name, after.into()]),
        SqlQuery::new(following, [name, after.into(), limit.into()]),
    ];
    let rows: [Vec<SqlRow>; 3] = tx.query_all(&queries).await?.try_into().unwrap_or_default();
    let [turn, mut before, rows] = rows;
    let Some(turn) = turn.into_iter().next() else { return Ok(Vec::new()) };
    let turn = SqlTurn::read(key, turn)?;
    let mut last = before.first_mut().map(SqlRow::mark).transpose()?.unwrap_or(Mark::ZERO);
    let is_end = (rows.len() as u64) < limit.unsigned_abs();
    let mut entries = Vec::with_capacity(rows.len());
    for columns in rows {
        let (entry, mark) = read_entry(key, id, &last, columns)?;
        last = mark;
        entries.push(entry);
    }
    match is_end && last != turn.contents.last_entry {
        true => Err(damaged(format!("the journal of turn `{id}`"), MISSING).into()),
        false => Ok(entries),
    }
}

/// Of these keys, those that no record refers to.
pub(in crate::turns) async fn list_unreferenced_keys<T: SqlTransaction>(
    tx: &T,
    mut keys: Vec<SpoolKey>,
) -> Result<Vec<SpoolKey>, T::Error> {
    let mut used = HashSet::new();
    for part in keys.chunks(MAX_LIST) {
        let list = placeholders(0, part.len());
        let sql = format!("SELECT DISTINCT key FROM {{s}}.content WHERE key IN ({list})");
        let values: Vec<SqlValue<'_>> = part.iter().map(|key| key.as_str().into()).collect();
        for mut row in query(tx, &sql, &values).await? {
            used.insert(row.text()?);
        }
    }
    keys.retain(|key| !used.contains(key.as_str()));
    Ok(keys)
}

pub(in crate::turns) async fn load_memories<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    scope: &MemoryScope,
) -> Result<Vec<MemoryRow>, T::Error> {
    let sql = "SELECT id, json, version, mark FROM {s}.memories
               WHERE scope_kind = $1 AND scope_digest = $2 AND deleted = 0 ORDER BY number";
    let scope_digest = digest(&scope.id);
    let rows = query(tx, sql, &[scope.kind.as_str().into(), (&scope_digest).into()]).await?;
    let rows = rows.into_iter().map(|mut columns| {
        let (id, json, version) = (columns.text()?, columns.text()?, columns.int()?);
        let what = || format!("memory `{id}`");
        check_mark(&columns.mark()?, &memory_mark(key, scope, &id, version, &json), what)?;
        let number = u64::try_from(version);
        let number = number.map_err(|_| damaged(what(), "its version is negative"))?;
        Ok(MemoryRow::new(id, json, number))
    });
    Ok(rows.collect::<Result<_, StoreError>>()?)
}

/// The titles of those of these conversations that have one.
pub(in crate::turns) async fn load_titles<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    tenant: &str,
    conversations: &[String],
) -> Result<BTreeMap<String, String>, T::Error> {
    let digests: Vec<[u8; 32]> =
        conversations.iter().map(|id| conversation_digest(tenant, id)).collect();
    let mut titles = BTreeMap::new();
    for part in digests.chunks(MAX_LIST) {
        let list = placeholders(0, part.len());
        let sql =
            format!("SELECT id, title, mark FROM {{s}}.conversations WHERE digest IN ({list})");
        let values: Vec<SqlValue<'_>> = part.iter().map(SqlValue::from).collect();
        for mut columns in query(tx, &sql, &values).await? {
            let (id, title) = (columns.text()?, columns.text()?);
            let what = || format!("the title of conversation `{id}`");
            check_mark(&columns.mark()?, &title_mark(key, tenant, &id, &title), what)?;
            titles.insert(id, title);
        }
    }
    Ok(titles)
}

/// Why a turn is refused although each of its rows is authentic.
const MISSING: &str = "a row is missing, or an older one stands in its place; restore the store from a copy, or use \
    another one";
