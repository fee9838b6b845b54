//! Fills the columns and tables that repeat what journals and records say, for turns of an older version.

use std::collections::BTreeSet;
use std::path::Path;

use haft_core::clock::Timestamp;
use haft_core::store::{Row, RowKind, first_words, search_words};
use rusqlite::Connection;
use serde_json::Value;

use super::error::SqliteError;
use super::updates::{execute, insert_words, store_content_keys};

/// Fills the summaries of all turns, the words by which they are found, and which content their records refer to.
pub(super) fn index_turns(connection: &Connection) -> Result<(), SqliteError> {
    let mut statement = connection.prepare("SELECT number, conversation FROM turns")?;
    let mut turns = statement.query([])?;
    while let Some(row) = turns.next()? {
        let (number, conversation): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
        index_turn(connection, number, conversation.as_deref())?;
    }
    Ok(())
}

fn index_turn(
    connection: &Connection,
    turn: i64,
    conversation: Option<&str>,
) -> Result<(), SqliteError> {
    let started = read_entry(connection, turn, "ASC")?;
    let last = read_entry(connection, turn, "DESC")?;
    let ended = last.filter(|it| text(it, "/entry").as_deref() == Some("ended"));
    let agent = started.as_ref().and_then(|it| text(it, "/stash/haft-run/agent"));
    let agent = agent.map(|path| agent_name(&path));
    let model = started.as_ref().and_then(|it| text(it, "/executor/model"));
    let first_words = index_records(connection, turn)?;
    let mut words: BTreeSet<String> = BTreeSet::new();
    for text in [first_words.as_deref(), agent.as_deref(), conversation].into_iter().flatten() {
        words.extend(search_words(text));
    }
    insert_words(connection, turn, &words)?;
    let tokens = ended.as_ref().and_then(|it| it.pointer("/usage/totalTokens")?.as_i64());
    let ended_at = ended.as_ref().and_then(|it| text(it, "/at")?.parse::<Timestamp>().ok());
    let error_code = ended.as_ref().and_then(|it| text(it, "/error/code"));
    let sql = "UPDATE turns SET agent = ?2, model = ?3, first_words = ?4, tokens = ?5,
                   ended_at = ?6, updated_at = ?6, error_code = ?7 WHERE number = ?1";
    let ended_at = ended_at.map(Timestamp::as_micros);
    let parameters: [&dyn rusqlite::ToSql; 7] =
        [&turn, &agent, &model, &first_words, &tokens, &ended_at, &error_code];
    execute(connection, sql, &parameters)?;
    Ok(())
}

/// Stores which content the records of a turn refer to, and returns the first words of the user's last message.
fn index_records(connection: &Connection, turn: i64) -> Result<Option<String>, SqliteError> {
    let sql = "SELECT kind, id, json, number FROM records WHERE turn = ?1 ORDER BY number";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([turn])?;
    let mut said = None;
    while let Some(row) = rows.next()? {
        let (kind, id, json): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let Some(kind) = RowKind::from_word(&kind) else { continue };
        let record = Row::new(kind, id, json);
        store_content_keys(connection, row.get(3)?, &record)?;
        if kind == RowKind::Message {
            // Turns of version 1 begin with the messages of the turns before them.
            said = user_text(&record.json).or(said);
        }
    }
    Ok(said)
}

/// The first words of a message, if the user wrote it.
fn user_text(json: &str) -> Option<String> {
    let message: Value = serde_json::from_str(json).ok()?;
    let is_user = text(&message, "/role").as_deref() == Some("user");
    is_user.then(|| text(&message, "/content")).flatten().map(|it| first_words(&it))
}

/// The first or the last entry of the journal, or `None` if it is not JSON.
fn read_entry(
    connection: &Connection,
    turn: i64,
    order: &str,
) -> Result<Option<Value>, SqliteError> {
    let sql = format!("SELECT json FROM journal WHERE turn = ?1 ORDER BY number {order} LIMIT 1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([turn])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let json: String = row.get(0)?;
    Ok(serde_json::from_str(&json).ok())
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer)?.as_str().map(str::to_owned)
}

/// The name of an agent: the last part of its path.
fn agent_name(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
}
