//! Changes of turns, memories and titles.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use haft_core::clock::Timestamp;
use haft_core::store::{
    Lease, Mark, MemoryScope, NewTurn, Row, RowKind, StoreError, StoreKey, StoreWrite, TurnId,
    TurnQuery, TurnSummary,
};
use sha2::{Digest as _, Sha256};

use super::gates::{close_gate, open_gate};
use super::marks::{Contents, entry_mark, memory_mark, place_mark, record_mark, title_mark};
use super::turn::{ListedTurn, SqlTurn, first_expiry};
use super::turn_list::list_removable_turns;
use super::{
    MAX_LIST, SqlQuery, SqlRow, SqlTransaction, SqlValue, query as run_query, read_time,
    saturating_i64,
};
use crate::turns::tool_word;
use crate::turns::turn_row::TurnRow;

/// Inserts a turn with its first rows, and returns the lease on it if it has a holder.
pub(in crate::turns) async fn insert<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    new: &NewTurn,
    process: Option<&Arc<str>>,
) -> Result<Option<Lease>, T::Error> {
    let numbers = [SqlQuery::new(T::RECORD_NUMBERS, [count_records(&new.writes).into()])];
    let (now, rows) = tx.query_with_time(&numbers).await?;
    let (row, lease) = TurnRow::new(new, process, now);
    let number = SqlTurn::insert(tx, &row).await?;
    let number = number.ok_or_else(|| StoreError::turn_exists(&new.id))?;
    insert_words(tx, number, &new.search_words()).await?;
    let mut turn = SqlTurn { number, row, contents: Contents::EMPTY };
    let records = StoredRecords::read(key, Vec::new(), rows)?;
    apply(tx, key, (&mut turn, records, now), &new.writes).await?;
    Ok(lease)
}

/// Stores the words by which a turn is found.
async fn insert_words<T: SqlTransaction>(
    tx: &T,
    turn: i64,
    words: &BTreeSet<String>,
) -> Result<(), T::Error> {
    let words: Vec<SqlValue<'_>> = words.iter().map(SqlValue::from).collect();
    for words in words.chunks(MAX_LIST) {
        let rows: Vec<String> = (2..words.len() + 2).map(|n| format!("(${n}, $1)")).collect();
        let sql = format!(
            "INSERT INTO {{s}}.turn_words (word, turn) VALUES {} ON CONFLICT DO NOTHING",
            rows.join(", ")
        );
        tx.execute(&sql, &[&[turn.into()], words].concat()).await?;
    }
    Ok(())
}

/// Applies the writes of a holder. Returns whether the turn has ended with them, and whether it has a conversation whose next
/// turn may run then.
pub(in crate::turns) async fn commit<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    lease: &Lease,
    writes: &[StoreWrite],
) -> Result<(bool, bool), T::Error> {
    let named = named_records(writes);
    let find = find_record_sql::<T>();
    let name: SqlValue<'_> = lease.turn.as_str().into();
    let mut queries = Vec::with_capacity(named.len() + 1);
    for (kind, id) in &named {
        queries.push(SqlQuery::new(&find, [name, kind.as_str().into(), (*id).into()]));
    }
    queries.push(SqlQuery::new(T::RECORD_NUMBERS, [count_records(writes).into()]));
    let (now, mut turn, rows) = SqlTurn::lock_leased_with(tx, key, lease, &queries).await?;
    let records = StoredRecords::read(key, named, rows)?;
    let has_ended = apply(tx, key, (&mut turn, records, now), writes).await?;
    Ok((has_ended, turn.row.summary.conversation.is_some()))
}

/// The records of a turn that are written, as the store has them, and the numbers of those that are new.
struct StoredRecords<'w> {
    /// The number of each, and its mark at its place.
    known: HashMap<(RowKind, &'w str), (i64, Mark)>,
    numbers: std::vec::IntoIter<i64>,
}

impl<'w> StoredRecords<'w> {
    /// Reads the rows of one query for each name, and after them those of the new numbers.
    fn read(
        key: &StoreKey,
        named: Vec<(RowKind, &'w str)>,
        mut rows: Vec<Vec<SqlRow>>,
    ) -> Result<Self, StoreError> {
        let numbers = rows.pop().unwrap_or_default();
        let numbers =
            numbers.into_iter().map(|mut row| row.int()).collect::<Result<Vec<_>, _>>()?;
        let mut known = HashMap::new();
        for (name, found) in named.into_iter().zip(rows) {
            if let Some(mut row) = found.into_iter().next() {
                let number = row.int()?;
                known.insert(name, (number, place_mark(key, number, &row.mark()?)));
            }
        }
        Ok(Self { known, numbers: numbers.into_iter() })
    }
}

/// The records that writes put or delete, each once.
fn named_records(writes: &[StoreWrite]) -> Vec<(RowKind, &str)> {
    let mut named = Vec::new();
    for write in writes {
        let name = match write {
            StoreWrite::Put(row) => (row.kind, row.id.as_str()),
            StoreWrite::Delete { kind, id } => (*kind, id.as_str()),
            _ => continue,
        };
        if !named.contains(&name) {
            named.push(name);
        }
    }
    named
}

/// How many records are put.
fn count_records(writes: &[StoreWrite]) -> i64 {
    let puts = writes.iter().filter(|it| matches!(it, StoreWrite::Put(_)));
    saturating_i64(puts.count() as u64)
}

fn find_record_sql<T: SqlTransaction>() -> String {
    format!(
        "SELECT number, mark FROM {{s}}.records
         WHERE turn = (SELECT number FROM {{s}}.turns WHERE id = $1) AND kind = $2 AND id = $3{}",
        T::RECORD_ID_PREFIX
    )
}

async fn apply<'w, T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    (turn, mut records, now): (&mut SqlTurn, StoredRecords<'w>, Timestamp),
    writes: &'w [StoreWrite],
) -> Result<bool, T::Error> {
    let before = turn.row.summary.status;
    for write in writes {
        match write {
            StoreWrite::Put(row) => put_record(tx, key, (turn, &mut records), row).await?,
            StoreWrite::Delete { kind, id } => {
                delete_record(tx, (turn, &mut records), (*kind, id)).await?;
            }
            StoreWrite::Journal(json) => {
                let contents = &mut turn.contents;
                let mark = entry_mark(key, &turn.row.summary.id, &contents.last_entry, json);
                contents.add_entry(mark);
                let sql = "INSERT INTO {s}.journal (turn, json, mark) VALUES ($1, $2, $3)";
                tx.execute(sql, &[turn.number.into(), json.as_str().into(), (&mark).into()])
                    .await?;
            }
            StoreWrite::Status(status) => {
                let expiry = first_expiry(tx, turn.number, *status).await?;
                turn.row.set_status(*status, expiry);
            }
            StoreWrite::Interrupt { delay } => turn.row.interrupt(*delay, now),
            StoreWrite::Progress => turn.row.summary.take_overs = 0,
            StoreWrite::Summary(update) => {
                let known = turn.row.summary.tools.clone();
                turn.row.summary.update(update);
                let new = turn.row.summary.tools.iter().filter(|it| !known.contains(it));
                insert_words(tx, turn.number, &new.map(|it| tool_word(it)).collect()).await?;
            }
            StoreWrite::OpenGate { id, json, expires_at } => {
                open_gate(tx, key, turn, (id, json, *expires_at)).await?;
            }
            StoreWrite::CloseGate { id, settlement } => {
                close_gate(tx, key, (&turn.row.summary.id, id), settlement).await?;
            }
            StoreWrite::PutMemory { scope, id, json } => {
                put_memory(tx, key, (scope, id), json).await?;
            }
            StoreWrite::DeleteMemory { scope, id } => delete_memory(tx, scope, id).await?,
            _ => {
                let reason = "this store does not know its sort";
                return Err(StoreError::Invalid { what: "a write", reason }.into());
            }
        }
    }
    let has_ended = turn.row.note_commit(before, now);
    turn.store(tx, key).await?;
    Ok(has_ended)
}

/// Inserts or replaces a record. A replaced record keeps its number and so its place in the order.
async fn put_record<'w, T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    (turn, records): (&mut SqlTurn, &mut StoredRecords<'w>),
    row: &'w Row,
) -> Result<(), T::Error> {
    let mark = record_mark(key, &turn.row.summary.id, row.kind, &row.id, &row.json);
    let json = row.json.as_str();
    let name = (row.kind, row.id.as_str());
    let number = match records.known.remove(&name) {
        Some((number, place)) => {
            turn.contents.remove_row(place);
            let sql = "UPDATE {s}.records SET json = $2, mark = $3 WHERE number = $1";
            tx.execute(sql, &[number.into(), json.into(), (&mark).into()]).await?;
            tx.execute("DELETE FROM {s}.content WHERE record = $1", &[number.into()]).await?;
            number
        }
        None => {
            let number = records.numbers.next();
            let number = number
                .ok_or_else(|| StoreError::backend("store a row", "there is no number for it"))?;
            let sql = "INSERT INTO {s}.records (number, turn, kind, id, json, mark)
                       VALUES ($1, $2, $3, $4, $5, $6)";
            let values = [
                number.into(),
                turn.number.into(),
                row.kind.as_str().into(),
                (&row.id).into(),
                json.into(),
                (&mark).into(),
            ];
            tx.execute(sql, &values).await?;
            number
        }
    };
    let place = place_mark(key, number, &mark);
    turn.contents.add_row(place);
    records.known.insert(name, (number, place));
    let sql = "INSERT INTO {s}.content (key, record) VALUES ($1, $2)";
    for content in row.content_keys() {
        tx.execute(sql, &[content.as_str().into(), number.into()]).await?;
    }
    Ok(())
}

async fn delete_record<'w, T: SqlTransaction>(
    tx: &T,
    (turn, records): (&mut SqlTurn, &mut StoredRecords<'w>),
    name: (RowKind, &'w str),
) -> Result<(), T::Error> {
    let Some((number, place)) = records.known.remove(&name) else { return Ok(()) };
    turn.contents.remove_row(place);
    tx.execute("DELETE FROM {s}.records WHERE number = $1", &[number.into()]).await?;
    Ok(())
}

/// Inserts or replaces a memory. A replaced memory keeps its number and so its place in the order; one that was deleted
/// gets a new place.
async fn put_memory<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    (scope, id): (&MemoryScope, &str),
    json: &str,
) -> Result<(), T::Error> {
    let kind = scope.kind.as_str();
    let (scope_digest, digest) = (digest(&scope.id), digest(id));
    // A row that is there first can be locked, so that its version follows from the one before.
    let sql = "INSERT INTO {s}.memories (scope_kind, scope_digest, digest, id, json, version, deleted, mark)
               VALUES ($1, $2, $3, $4, '', 0, 1, $5) ON CONFLICT DO NOTHING";
    let none = Mark::ZERO;
    let name = [kind.into(), (&scope_digest).into(), (&digest).into()];
    tx.execute(sql, &[&name[..], &[id.into(), (&none).into()]].concat()).await?;
    let sql = format!(
        "SELECT version FROM {{s}}.memories
         WHERE scope_kind = $1 AND scope_digest = $2 AND digest = $3{}",
        T::LOCK
    );
    let mut rows = run_query(tx, &sql, &name).await?;
    let version = rows.first_mut().map(SqlRow::int).transpose()?.unwrap_or(0).saturating_add(1);
    let mark = memory_mark(key, scope, id, version, json);
    let sql = "UPDATE {s}.memories SET
                   number = CASE WHEN deleted = 1 THEN (
                       SELECT coalesce(max(other.number), 0) + 1 FROM {s}.memories AS other
                       WHERE other.scope_kind = $1 AND other.scope_digest = $2) ELSE number END,
                   json = $4, version = $5, deleted = 0, mark = $6
               WHERE scope_kind = $1 AND scope_digest = $2 AND digest = $3";
    let values = [&name[..], &[json.into(), version.into(), (&mark).into()]].concat();
    tx.execute(sql, &values).await?;
    Ok(())
}

/// The row stays with its version, and the text is gone.
async fn delete_memory<T: SqlTransaction>(
    tx: &T,
    scope: &MemoryScope,
    id: &str,
) -> Result<(), T::Error> {
    let sql = "UPDATE {s}.memories SET deleted = 1, json = '', version = version + 1
               WHERE scope_kind = $1 AND scope_digest = $2 AND digest = $3 AND deleted = 0";
    let (scope_digest, digest) = (digest(&scope.id), digest(id));
    let values = [scope.kind.as_str().into(), (&scope_digest).into(), (&digest).into()];
    tx.execute(sql, &values).await?;
    Ok(())
}

/// Removes the selected turns that are free, and returns their ids. The turn that a query names is removed also if it
/// has not ended.
pub(in crate::turns) async fn remove_turns<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    query: &TurnQuery,
) -> Result<Vec<TurnId>, T::Error> {
    let now = read_time(tx).await?;
    let ids = match &query.id {
        Some(id) => vec![id.clone()],
        None => list_removable_turns(tx, key, query, now).await?,
    };
    let mut removed = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(turn) = ListedTurn::lock(tx, key, &id).await? else { continue };
        let free = match &turn {
            ListedTurn::Intact(turn) => turn.row.check_free(now),
            // No process can run it.
            ListedTurn::Damaged { .. } => Ok(()),
        };
        let number = turn.number();
        let summary = turn.into_summary();
        if !query.selects(&summary) {
            continue;
        }
        match free {
            Ok(()) => {}
            Err(held) if query.id.is_some() => return Err(held.into()),
            // Another process has claimed it meanwhile.
            Err(_) => continue,
        }
        remove_turn(tx, number, &summary).await?;
        removed.push(id);
    }
    Ok(removed)
}

async fn remove_turn<T: SqlTransaction>(
    tx: &T,
    number: i64,
    turn: &TurnSummary,
) -> Result<(), T::Error> {
    // The rows that belong to the turn are deleted by the foreign keys.
    tx.execute("DELETE FROM {s}.turns WHERE number = $1", &[number.into()]).await?;
    if let Some(conversation) = &turn.conversation {
        // A conversation loses its title with its last turn.
        let sql = "DELETE FROM {s}.conversations WHERE digest = $1 AND NOT EXISTS
                       (SELECT 1 FROM {s}.turns WHERE conversation = $2 AND tenant = $3)";
        let tenant = &turn.tenant;
        let digest = conversation_digest(tenant, conversation);
        tx.execute(sql, &[(&digest).into(), conversation.into(), tenant.into()]).await?;
    }
    Ok(())
}

/// Sets or removes the title of a conversation.
pub(in crate::turns) async fn set_title<T: SqlTransaction>(
    tx: &T,
    key: &StoreKey,
    (tenant, conversation): (&str, &str),
    title: Option<&str>,
) -> Result<(), T::Error> {
    let digest = conversation_digest(tenant, conversation);
    let Some(title) = title else {
        let sql = "DELETE FROM {s}.conversations WHERE digest = $1";
        tx.execute(sql, &[(&digest).into()]).await?;
        return Ok(());
    };
    let sql = "INSERT INTO {s}.conversations (digest, tenant, id, title, mark)
               VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT (digest) DO UPDATE SET title = excluded.title, mark = excluded.mark";
    let mark = title_mark(key, tenant, conversation, title);
    let values =
        [(&digest).into(), tenant.into(), conversation.into(), title.into(), (&mark).into()];
    tx.execute(sql, &values).await?;
    Ok(())
}

/// The hash by which a conversation of a tenant is found. The length makes it unique for every pair.
pub(super) fn conversation_digest(tenant: &str, conversation: &str) -> [u8; 32] {
    digest(&format!("{}:{tenant}{conversation}", tenant.len()))
}

/// The hash by which a text of any length is found.
pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}
