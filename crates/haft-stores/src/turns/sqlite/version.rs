//! The version and the key of a file, and the tables of a new one.

use haft_core::store::{StoreError, StoreKey};
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use super::error::{SqliteCause, SqliteError};
use super::schema::{TABLES, VERSION};

/// Whether a file has its tables; a new one has none. Refuses a file of another version or of another program.
pub(super) fn has_tables(connection: &Connection) -> Result<bool, SqliteError> {
    // Both numbers are read from one snapshot, because another process may be creating the tables.
    let snapshot =
        connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let owner = number("application_id")?;
    let version = u32::try_from(number("user_version")?);
    let objects: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let foreign = find_foreign_object(connection)?;
    drop(snapshot);
    match (owner, version) {
        (0, Ok(0)) if objects == 0 => Ok(false),
        (OWNER, Ok(VERSION)) => match foreign {
            Some(what) => Err(StoreError::Foreign { what }.into()),
            None => Ok(true),
        },
        (OWNER, Ok(found)) => Err(other_version(found)),
        _ => Err(SqliteCause::new("the file is a database of another program").into()),
    }
}

/// Finds a trigger or a view, which this program never creates. Either can change what is written or read.
fn find_foreign_object(connection: &Connection) -> Result<Option<String>, SqliteError> {
    let sql = "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view') LIMIT 1";
    let found = connection.query_row(sql, [], |row| {
        Ok(format!("a {} `{}`", row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    });
    Ok(found.optional()?)
}

/// Refuses a file that another program has changed to its version since it was opened.
pub(super) fn check_version(connection: &Connection) -> Result<(), SqliteError> {
    let mut statement = connection.prepare_cached("PRAGMA user_version")?;
    match statement.query_row([], |row| row.get(0))? {
        VERSION => Ok(()),
        found => Err(other_version(found)),
    }
}

/// Refuses a file that was made with another key.
pub(super) fn check_key(connection: &Connection, key: &StoreKey) -> Result<(), SqliteError> {
    let sql = "SELECT value FROM store WHERE key = 'key'";
    let found: Option<String> = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    match found == Some(hex::encode(key.fingerprint())) {
        true => Ok(()),
        false => Err(StoreError::OtherSecret.into()),
    }
}

fn other_version(found: u32) -> SqliteError {
    StoreError::OtherVersion { found, known: VERSION }.into()
}

/// Creates the tables, unless another process has created them while this one waited for the lock.
pub(super) fn create_tables(
    connection: &mut Connection,
    key: &StoreKey,
) -> Result<(), SqliteError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if has_tables(&transaction)? {
        return Ok(());
    }
    transaction.execute_batch(TABLES)?;
    let sql = "INSERT INTO store (key, value) VALUES ('key', ?1)";
    transaction.execute(sql, [hex::encode(key.fingerprint())])?;
    transaction.pragma_update(None, "application_id", OWNER)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

/// The application id in the header of a file: `haft` in ASCII.
const OWNER: i32 = 0x6861_6674;
