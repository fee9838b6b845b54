//! Opens and configures connections to the file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_core::store::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::{SqliteCause, SqliteError};
use super::migration;
use super::options::{SqliteOptions, Synchronous};
use crate::private_file::{create_private_dir, private_file_options};

/// The path of the file and the options of its connections.
#[derive(Clone, Debug)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
    pub(super) options: SqliteOptions,
}

impl DatabaseFile {
    /// Makes the path absolute, appends the default name to a directory, and creates missing parent directories.
    pub(super) fn locate(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let failed = |error| StoreError::backend(open_action(path), error);
        // An absolute path is never taken for a URI.
        let mut path = std::path::absolute(path).map_err(failed)?;
        if path.is_dir() {
            path.push(DEFAULT_FILE_NAME);
        } else if let Some(dir) = path.parent() {
            create_private_dir(dir).map_err(failed)?;
        }
        Ok(Self { path, options })
    }

    /// Opens a connection that writes, and creates or migrates the tables.
    pub(super) fn open(&self, migrations: &[&str]) -> Result<Connection, StoreError> {
        self.prepare(migrations).map_err(|error| error.into_store_error(&open_action(&self.path)))
    }

    /// Opens a connection that only reads.
    pub(super) fn open_read_only(&self) -> Result<Connection, rusqlite::Error> {
        let connection = self.connect(OpenFlags::empty())?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    fn prepare(&self, migrations: &[&str]) -> Result<Connection, SqliteError> {
        self.create_file();
        let mut connection = self.connect(OpenFlags::empty())?;
        // Before anything is changed, so that a file of another program stays as it is.
        let version = migration::read_version(&connection, migrations.len())?;
        if connection.is_readonly("main")? {
            return Err(SqliteCause::new("the file cannot be written").into());
        }
        self.configure(&connection)?;
        if version < migrations.len() {
            migration::migrate(self, &mut connection, migrations)?;
        }
        Ok(connection)
    }

    /// Creates an empty file that only its owner can use, if there is none. SQLite gives its log files the same mode.
    fn create_file(&self) {
        // SQLite reports a file that does not exist and cannot be created.
        let _ = private_file_options().write(true).create_new(true).open(&self.path);
    }

    pub(super) fn connect(&self, flags: OpenFlags) -> Result<Connection, rusqlite::Error> {
        // Only one thread uses a connection at a time.
        let always = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, always | flags)?;
        connection.busy_timeout(self.options.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
        Ok(connection)
    }

    fn configure(&self, connection: &Connection) -> Result<(), SqliteError> {
        self.enable_write_ahead_log(connection)?;
        let synchronous = self.options.synchronous;
        connection.pragma_update(None, "synchronous", synchronous.pragma_value())?;
        // On systems with two kinds of fsync, the one that reaches the disk.
        connection.pragma_update(None, "fullfsync", synchronous == Synchronous::Full)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        // The statement journal of savepoints stays in memory.
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "journal_size_limit", MAX_LOG_BYTES)?;
        if let Some(limit) = self.options.max_bytes {
            let page: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            let pages = u32::try_from(limit / u64::from(page).max(1));
            let pages = pages.map_or(MAX_PAGE_COUNT, |it| it.clamp(1, MAX_PAGE_COUNT));
            connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Switches to a write-ahead log, so that reads and writes do not block each other.
    ///
    /// SQLite ignores the busy timeout while another process switches a new file, so this function waits itself.
    fn enable_write_ahead_log(&self, connection: &Connection) -> Result<(), SqliteError> {
        let mut waited = Duration::ZERO;
        loop {
            let mode = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| {
                row.get::<_, String>(0)
            });
            match mode {
                Ok(mode) if mode == "wal" => return Ok(()),
                Ok(mode) => {
                    let reason = format!("the file system allows no write-ahead log, only {mode}");
                    return Err(SqliteCause::new(reason).into());
                }
                Err(error)
                    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                        && waited < self.options.busy_timeout =>
                {
                    std::thread::sleep(BUSY_PAUSE);
                    waited += BUSY_PAUSE;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn open_action(path: &Path) -> String {
    format!("open the store `{}`", path.display())
}

const DEFAULT_FILE_NAME: &str = "haft.sqlite";
const STATEMENT_CACHE_SIZE: usize = 64;
/// The largest `max_page_count` that SQLite accepts.
const MAX_PAGE_COUNT: u32 = 4_294_967_294;
const BUSY_PAUSE: Duration = Duration::from_millis(5);
/// The log is truncated to this size after a checkpoint.
const MAX_LOG_BYTES: i64 = 64 << 20;
