//! The file: opened and configured.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_core::store::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::fault::{Cause, Fault};
use super::migration;
use super::options::{SqliteOptions, Synchronous};

/// A file of turns and how to use it.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) options: SqliteOptions,
}

impl File {
    pub(super) fn at(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let failed = |error| StoreError::backend(doing(path), error);
        // An absolute path is never taken for a URI.
        let mut path = std::path::absolute(path).map_err(failed)?;
        if path.is_dir() {
            path.push(NAME);
        } else if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        Ok(Self { path, options })
    }

    /// A connection that writes, to a file with all the tables.
    pub(super) fn open(&self, migrations: &[&str]) -> Result<Connection, StoreError> {
        self.prepare(migrations).map_err(|fault| fault.into_error(&doing(&self.path)))
    }

    /// A connection that only reads.
    pub(super) fn open_to_read(&self) -> Result<Connection, rusqlite::Error> {
        let connection = self.connect(OpenFlags::empty())?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    fn prepare(&self, migrations: &[&str]) -> Result<Connection, Fault> {
        let mut connection = self.connect(OpenFlags::SQLITE_OPEN_CREATE)?;
        // Before anything is changed: a file that is not ours stays as it is.
        let version = migration::read_version(&connection, migrations.len())?;
        if connection.is_readonly("main")? {
            return Err(Cause::new("the file cannot be written").into());
        }
        self.configure(&connection)?;
        if version < migrations.len() {
            migration::migrate(self, &mut connection, migrations)?;
        }
        Ok(connection)
    }

    pub(super) fn connect(&self, flags: OpenFlags) -> Result<Connection, rusqlite::Error> {
        // Each connection is used by one thread at a time.
        let always = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, always | flags)?;
        connection.busy_timeout(self.options.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(connection)
    }

    fn configure(&self, connection: &Connection) -> Result<(), Fault> {
        self.use_log(connection)?;
        let synchronous = self.options.synchronous;
        connection.pragma_update(None, "synchronous", synchronous.word())?;
        // Where the system has two sorts of sync, the one that reaches the disk.
        connection.pragma_update(None, "fullfsync", synchronous == Synchronous::Full)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        // What is needed to undo one write of many stays out of the file system.
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "journal_size_limit", LOG_BYTES)?;
        if let Some(limit) = self.options.max_bytes {
            let page: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            let pages = i64::try_from(limit / u64::from(page).max(1)).unwrap_or(i64::MAX).max(1);
            connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Has commits go to a log first, so that reads and writes do not wait for each other.
    ///
    /// SQLite does not wait here when somebody else does the same to a new file, so this does.
    fn use_log(&self, connection: &Connection) -> Result<(), Fault> {
        let mut waited = Duration::ZERO;
        loop {
            let mode = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| {
                row.get::<_, String>(0)
            });
            match mode {
                Ok(mode) if mode == "wal" => return Ok(()),
                Ok(mode) => {
                    let reason = format!("the file system allows no write-ahead log, only {mode}");
                    return Err(Cause::new(reason).into());
                }
                Err(error)
                    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                        && waited < self.options.busy_timeout =>
                {
                    std::thread::sleep(PAUSE);
                    waited += PAUSE;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn doing(path: &Path) -> String {
    format!("open the store `{}`", path.display())
}

const NAME: &str = "haft.sqlite";
const STATEMENTS: usize = 64;
const PAUSE: Duration = Duration::from_millis(5);
/// What the log is cut to once its content is in the file.
const LOG_BYTES: i64 = 64 << 20;
