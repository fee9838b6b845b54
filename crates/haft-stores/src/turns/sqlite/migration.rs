//! The version of a file, and the migration of an older file after a copy was made of it.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use haft_core::invariant::OrReport as _;
use haft_core::store::StoreError;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, TransactionBehavior};

use super::database_file::DatabaseFile;
use super::error::{SqliteCause, SqliteError};
use super::indexing::index_turns;
use super::schema::{CHECKSUM_VERSION, MIGRATIONS, SUMMARY_VERSION};
use crate::private_file::{private_file_options, sync_parent};

/// Reads the version of a file, which is 0 for a new one. Refuses a file of a newer or of another program.
pub(super) fn read_version(connection: &Connection, known: usize) -> Result<usize, SqliteError> {
    // Both numbers are read from one snapshot, because another process may be creating the tables.
    let snapshot =
        connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (owner, found) = (number("application_id")?, number("user_version")?);
    let objects: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let foreign = find_foreign_object(connection)?;
    drop(snapshot);
    match (owner, u32::try_from(found)) {
        (0, Ok(0)) if objects == 0 => Ok(0),
        (OWNER, Ok(found)) => match usize::try_from(found) {
            Ok(version) if version <= known => match foreign {
                Some(what) => Err(StoreError::Foreign { what }.into()),
                None => Ok(version),
            },
            _ => Err(newer_version(found, known)),
        },
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

/// Refuses a file that a newer program has migrated since it was opened.
pub(super) fn check_version(connection: &Connection) -> Result<(), SqliteError> {
    read_known_version(connection).map(drop)
}

/// The column of checksums. A file of an earlier version, which is only read, has none.
pub(super) fn checksum_column(connection: &Connection) -> Result<&'static str, SqliteError> {
    let has_checksums = read_known_version(connection)? >= CHECKSUM_VERSION;
    Ok(if has_checksums { "checksum" } else { "NULL" })
}

/// Reads the version of a file that was opened, which a newer program may have migrated since.
pub(super) fn read_known_version(connection: &Connection) -> Result<usize, SqliteError> {
    let mut statement = connection.prepare_cached("PRAGMA user_version")?;
    let found: u32 = statement.query_row([], |row| row.get(0))?;
    match usize::try_from(found) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        _ => Err(newer_version(found, MIGRATIONS.len())),
    }
}

fn newer_version(found: u32, known: usize) -> SqliteError {
    let known = version_number(known);
    StoreError::NewerVersion { found, known }.into()
}

/// The version of a file after this many migrations.
fn version_number(migrations: usize) -> u32 {
    u32::try_from(migrations).or_report("there are fewer than 2^32 migrations", u32::MAX)
}

/// Migrates a file to the newest version, or leaves it as it is.
///
/// The copy is written while this connection holds the write lock, so it is the file as the migration finds it. It
/// gets its name when every step has succeeded, and before the commit: there is never a migrated file without a copy.
pub(super) fn migrate(
    file: &DatabaseFile,
    connection: &mut Connection,
    migrations: &[&str],
) -> Result<(), SqliteError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated the file while this one waited for the lock.
    let version = read_version(&transaction, migrations.len())?;
    if version == migrations.len() {
        return Ok(());
    }
    // A new file has nothing to lose.
    let copy = (version > 0).then(|| CopyDraft::write(file, version)).transpose()?;
    for (number, step) in (1..).zip(migrations).skip(version) {
        transaction.execute_batch(step)?;
        if number == SUMMARY_VERSION {
            index_turns(&transaction)?;
        }
    }
    transaction.pragma_update(None, "application_id", OWNER)?;
    transaction.pragma_update(None, "user_version", version_number(migrations.len()))?;
    if let Some(copy) = copy {
        copy.publish()?;
    }
    transaction.commit()?;
    remove_old_copies(&file.path, version);
    Ok(())
}

/// What the name of a copy ends with until the copy is complete.
const DRAFT: &str = ".new";

/// A copy that has no final name yet. It is removed unless it is published.
#[derive(Debug)]
struct CopyDraft {
    draft: PathBuf,
    copy: PathBuf,
}

impl CopyDraft {
    fn write(file: &DatabaseFile, version: usize) -> Result<Self, SqliteCause> {
        let copy = copy_path(&file.path, version);
        let this = Self { draft: append(&copy, DRAFT), copy };
        this.copy_database(file).map_err(|error| this.failed(error))?;
        Ok(this)
    }

    fn copy_database(&self, file: &DatabaseFile) -> Result<(), SqliteCause> {
        // Only the holder of the write lock comes here, so an older draft belongs to a process that died.
        match fs::remove_file(&self.draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let target =
            self.draft.to_str().ok_or_else(|| SqliteCause::new("its path is not UTF-8"))?;
        let draft = private_file_options().write(true).create_new(true).open(&self.draft)?;
        // A connection of its own reads what was committed, including what only the log has.
        let source = file.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        source.execute("VACUUM INTO ?1", [target])?;
        Ok(draft.sync_all()?)
    }

    /// Gives the copy its name. An older copy of the same version is replaced.
    fn publish(self) -> Result<(), SqliteCause> {
        fs::rename(&self.draft, &self.copy)
            .and_then(|()| sync_parent(&self.copy))
            .map_err(|error| self.failed(error.into()))
    }

    fn failed(&self, cause: SqliteCause) -> SqliteCause {
        let copy = self.copy.display();
        cause.context(&format!("the copy `{copy}` that a migration needs could not be written"))
    }
}

impl Drop for CopyDraft {
    fn drop(&mut self) {
        // A published draft is not there any more. Any other that stays is removed by the next migration.
        let _ = fs::remove_file(&self.draft);
    }
}

/// Removes the copies of versions before `newest`, except for the most recent ones.
fn remove_old_copies(path: &Path, newest: usize) {
    let copies = (1..newest).rev().map(|version| copy_path(path, version));
    for copy in copies.filter(|copy| copy.exists()).skip(KEPT_COPIES - 1) {
        // One that cannot be removed costs space and nothing else; the next migration tries again.
        let _ = fs::remove_file(copy);
    }
}

/// The copies that migrations may have made of a file, or may be making.
pub(super) fn copy_paths(path: &Path) -> impl Iterator<Item = PathBuf> {
    let copies = (1..MIGRATIONS.len()).map(|version| copy_path(path, version));
    copies.flat_map(|copy| [append(&copy, DRAFT), copy])
}

/// The file next to the store that holds its copy from a version.
fn copy_path(path: &Path, version: usize) -> PathBuf {
    append(path, &format!(".v{version}.bak"))
}

pub(super) fn append(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// The application id in the header of a file: `haft` in ASCII.
const OWNER: i32 = 0x6861_6674;
/// How many copies of older versions stay next to a store.
const KEPT_COPIES: usize = 2;
