//! Leases of processes that are dead.

use rusqlite::Connection;

use super::error::SqliteError;
use super::transaction::SqliteTransaction;
use crate::process::is_dead;
use crate::turns::turn_row::Holder;

/// Ends the leases of processes that are provably dead, so that their turns can be claimed at once.
pub(super) fn expire_dead_leases(
    tx: &SqliteTransaction<'_>,
    holder: Holder<'_>,
) -> Result<(), SqliteError> {
    let Some(own) = holder.process else { return Ok(()) };
    let now = tx.clock.now().as_micros();
    for mark in list_marks(tx.connection, own)? {
        if !is_dead(&mark, own) {
            continue;
        }
        let sql = "UPDATE turns SET process = NULL, held_until = min(held_until, ?2),
                       runnable_at = CASE WHEN status IN ('running', 'cancel-requested')
                                     THEN min(runnable_at, ?2) ELSE runnable_at END
                   WHERE process = ?1";
        tx.connection.prepare_cached(sql)?.execute((&mark, now))?;
    }
    Ok(())
}

/// The marks of other processes that hold leases.
fn list_marks(connection: &Connection, own: &str) -> Result<Vec<String>, SqliteError> {
    let sql = "SELECT DISTINCT process FROM turns WHERE process IS NOT NULL AND process <> ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let marks = statement.query_map([own], |row| row.get(0))?;
    Ok(marks.collect::<Result<_, _>>()?)
}
