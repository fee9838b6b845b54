//! Opens and configures connections to the file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_core::store::{StoreError, StoreKey};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::busy::{retry_while_busy, set_lock_wait};
use super::error::{SqliteCause, SqliteError};
use super::options::{SqliteOptions, Synchronous};
use super::version::{check_key, create_tables, has_tables};
use crate::private_file::{create_private_dir, create_private_file};
use crate::secret::{load_or_create_secret, read_secret_file};

/// The path of the file and the options of its connections.
#[derive(Clone, Debug)]
pub(super) struct DatabaseFile {
    pub(super) path: PathBuf,
    pub(super) options: SqliteOptions,
    /// Whether its connections change nothing on the disk.
    pub(super) is_read_only: bool,
}

impl DatabaseFile {
    /// Makes the path absolute, appends the default name to a directory, and creates missing parent directories.
    pub(super) fn locate(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let failed = |error| StoreError::backend(open_action(path), error);
        let (path, is_dir) = file_path(path).map_err(failed)?;
        check_kind(&path).map_err(failed)?;
        if let Some(dir) = path.parent().filter(|_| !is_dir) {
            create_private_dir(dir).map_err(failed)?;
        }
        Ok(Self { path, options, is_read_only: false })
    }

    /// Like [`DatabaseFile::locate`], for a file that is only read.
    pub(super) fn locate_read_only(
        path: &Path,
        options: SqliteOptions,
    ) -> Result<Self, StoreError> {
        let failed = |error| StoreError::backend(open_action(path), error);
        let (path, _) = file_path(path).map_err(failed)?;
        check_kind(&path).map_err(failed)?;
        Ok(Self { path, options, is_read_only: true })
    }

    /// Opens a connection that writes, and creates the tables of a new file. Waits while other processes do the same.
    /// Returns the key that the file belongs to, too.
    pub(super) fn open(&self) -> Result<(OpenFile, StoreKey), StoreError> {
        let opened = retry_while_busy(self.options.busy_timeout, || self.prepare());
        opened.map_err(|error| error.into_store_error(&open_action(&self.path)))
    }

    /// Fails if there is no store of a known version that can be read. Returns the key that it belongs to.
    pub(super) fn check_readable(&self) -> Result<StoreKey, StoreError> {
        let checked = retry_while_busy(self.options.busy_timeout, || {
            let connection = self.open_read_only()?.connection;
            if !has_tables(&connection)? {
                return Err(SqliteCause::new("it contains no turns").into());
            }
            let key = self.load_key()?;
            check_key(&connection, &key)?;
            Ok::<_, SqliteError>(key)
        });
        checked.map_err(|error| error.into_store_error(&open_action(&self.path)))
    }

    /// Opens a connection that only reads.
    pub(super) fn open_read_only(&self) -> Result<ReadConnection, rusqlite::Error> {
        let opened = if self.is_read_only {
            self.connect_read_only()?
        } else {
            let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            ReadConnection { connection, sees_writers: true }
        };
        opened.connection.pragma_update(None, "query_only", true)?;
        Ok(opened)
    }

    /// The key of a file that has its tables.
    fn load_key(&self) -> Result<StoreKey, StoreError> {
        if let Some(secret) = self.options.secret {
            return Ok(StoreKey::of_secret(secret));
        }
        let path = self.key_path();
        let missing = || StoreError::NoKey { path: path.display().to_string() };
        Ok(StoreKey::of_secret(read_secret_file(&path)?.ok_or_else(missing)?))
    }

    /// The key of a file that gets its tables now.
    fn create_key(&self) -> Result<StoreKey, StoreError> {
        let secret = match self.options.secret {
            Some(secret) => secret,
            None => load_or_create_secret(&self.key_path())?,
        };
        Ok(StoreKey::of_secret(secret))
    }

    fn key_path(&self) -> PathBuf {
        self.path.with_file_name(KEY_FILE)
    }

    fn prepare(&self) -> Result<(OpenFile, StoreKey), SqliteError> {
        self.create_file();
        let identity = FileIdentity::read(&self.path);
        let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = self.connect(access)?;
        // Before anything is changed, so that a file of another program stays as it is.
        let is_new = !has_tables(&connection)?;
        if connection.is_readonly("main")? {
            return Err(SqliteCause::new("the file cannot be written").into());
        }
        // The key is there before the tables, so that a file with tables has one.
        let key = if is_new { self.create_key()? } else { self.load_key()? };
        if !is_new {
            check_key(&connection, &key)?;
        }
        self.configure(&connection)?;
        if is_new {
            create_tables(&mut connection, &key)?;
            // Another process may have created them with its secret.
            check_key(&connection, &key)?;
        }
        let (path, busy_timeout) = (self.path.clone(), self.options.busy_timeout);
        let identity = identity.or_else(|| FileIdentity::read(&path));
        let opened = OpenFile { connection, path, identity, busy_timeout };
        // The file may have been replaced between the two calls that opened it.
        opened.check_path()?;
        Ok((opened, key))
    }

    /// Creates an empty file that only its owner can use, if there is none. SQLite gives its log files the same mode.
    fn create_file(&self) {
        if self.path.exists() {
            return;
        }
        // SQLite reports a file that does not exist and cannot be created. A file system without links gets the file from
        // SQLite, with the default mode.
        let _ = create_private_file(&self.path, b"");
    }

    /// Opens a connection with the given access.
    fn connect(&self, access: OpenFlags) -> Result<Connection, rusqlite::Error> {
        self.set_up(Connection::open_with_flags(&self.path, access | NO_MUTEX)?)
    }

    /// Opens a connection that does not change the database.
    ///
    /// SQLite reads a write-ahead log with the help of a file that it shares with writers. In a directory that cannot be
    /// written, or on a full disk, it cannot create that file. Then the database is opened as one that does not change, if it has no log: such
    /// a connection does not notice writers, so that it is used for one read only.
    fn connect_read_only(&self) -> Result<ReadConnection, rusqlite::Error> {
        let access = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let error = match self.connect(access).and_then(probe) {
            Ok(connection) => return Ok(ReadConnection { connection, sees_writers: true }),
            Err(error) => error,
        };
        let is_unshared = matches!(
            error.sqlite_error_code(),
            Some(
                ErrorCode::CannotOpen
                    | ErrorCode::ReadOnly
                    | ErrorCode::SystemIoFailure
                    | ErrorCode::DiskFull
            )
        );
        let log = std::fs::metadata(append(&self.path, "-wal"));
        if !is_unshared || !self.path.exists() || log.is_ok_and(|it| it.len() > 0) {
            return Err(error);
        }
        let flags = access | OpenFlags::SQLITE_OPEN_URI | NO_MUTEX;
        let connection = Connection::open_with_flags(immutable_uri(&self.path), flags)?;
        Ok(ReadConnection { connection: self.set_up(connection)?, sees_writers: false })
    }

    fn set_up(&self, connection: Connection) -> Result<Connection, rusqlite::Error> {
        set_lock_wait(&connection, self.options.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
        Ok(connection)
    }

    fn configure(&self, connection: &Connection) -> Result<(), SqliteError> {
        Self::enable_write_ahead_log(connection)?;
        let synchronous = self.options.synchronous;
        connection.pragma_update(None, "synchronous", synchronous.pragma_value())?;
        // On systems with two kinds of fsync, the one that reaches the disk.
        connection.pragma_update(None, "fullfsync", synchronous == Synchronous::Full)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        // The statement journal of savepoints stays in memory.
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "journal_size_limit", MAX_LOG_BYTES)?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        if let Some(limit) = self.options.max_bytes {
            let page: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            let pages = u32::try_from(limit / u64::from(page).max(1));
            let pages = pages.map_or(MAX_PAGE_COUNT, |it| it.clamp(1, MAX_PAGE_COUNT));
            connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Switches to a write-ahead log, so that reads and writes do not block each other.
    fn enable_write_ahead_log(connection: &Connection) -> Result<(), SqliteError> {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))?;
        if mode == "wal" {
            return Ok(());
        }
        let reason = format!("the file system allows no write-ahead log, only {mode}");
        Err(SqliteCause::new(reason).into())
    }
}

/// A connection that only reads.
#[derive(Debug)]
pub(super) struct ReadConnection {
    pub(super) connection: Connection,
    /// Whether a later read sees what other connections have written meanwhile.
    pub(super) sees_writers: bool,
}

/// Reads the header of the database, which is the first access to its files.
fn probe(connection: Connection) -> Result<Connection, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))?;
    Ok(connection)
}

/// A connection that writes, and the file that it has open.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) connection: Connection,
    path: PathBuf,
    identity: Option<FileIdentity>,
    pub(super) busy_timeout: Duration,
}

impl OpenFile {
    /// Fails if the file was deleted, or another one has taken its place.
    pub(super) fn check_path(&self) -> Result<(), StoreError> {
        if self.identity.is_some() && FileIdentity::read(&self.path) == self.identity {
            return Ok(());
        }
        Err(StoreError::Replaced { path: self.path.display().to_string() })
    }

    /// Writes the part of the log that no reader needs into the file, and closes the connection. The last connection of
    /// all processes removes the log.
    pub(super) fn close(self) {
        // What cannot be copied now stays in the log, which the next connection reads.
        let _ = self.connection.pragma_query(None, "wal_checkpoint", |_| Ok(()));
        // A log that stays behind, because a connection of this process is still open, is emptied: a process that
        // cannot write to the directory reads the file alone. Other processes are not waited for.
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()));
        drop(self.connection);
    }
}

/// Distinguishes a file from another one that has the same path later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Reads the identity of a file; `None` if there is no file. On systems without inodes all files are the same.
    fn read(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        let (device, inode) = {
            use std::os::unix::fs::MetadataExt as _;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let (device, inode) = (0, u64::from(metadata.is_file()));
        Some(Self { device, inode })
    }
}

/// The URI of a file that no process changes.
fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri + "?immutable=1"
}

/// The files of the store at a path, also those that do not exist yet.
pub(in crate::turns) fn list_files(path: &Path) -> Vec<PathBuf> {
    // Without a current directory the path cannot be opened either.
    let file = file_path(path).map_or_else(|_| path.to_owned(), |(file, _)| file);
    let companions = ["-wal", "-shm", "-journal"].map(|suffix| append(&file, suffix));
    [file].into_iter().chain(companions).collect()
}

fn append(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// The absolute path of the file, and whether a directory was given.
fn file_path(path: &Path) -> std::io::Result<(PathBuf, bool)> {
    // An absolute path is never taken for a URI.
    let mut path = std::path::absolute(path)?;
    let is_dir = path.is_dir();
    if is_dir {
        path.push(DEFAULT_FILE_NAME);
    }
    Ok((path, is_dir))
}

/// Fails if the path is not a regular file. SQLite would wait for the writer of a pipe.
fn check_kind(path: &Path) -> std::io::Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(std::io::Error::other("it is no regular file")),
        // SQLite says why a file cannot be opened.
        _ => Ok(()),
    }
}

fn open_action(path: &Path) -> String {
    format!("open the store `{}`", path.display())
}

/// The name of the key file, next to the database.
pub(crate) const KEY_FILE: &str = "gate.key";
const DEFAULT_FILE_NAME: &str = "haft.sqlite";
const STATEMENT_CACHE_SIZE: usize = 64;
/// The largest `max_page_count` that SQLite accepts.
const MAX_PAGE_COUNT: u32 = 4_294_967_294;
/// Only one thread uses a connection at a time.
const NO_MUTEX: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
/// The log is truncated to this size after a checkpoint.
const MAX_LOG_BYTES: i64 = 64 << 20;
/// How many pages of 4 KiB the log has before they are written into the file, which needs two fsyncs. Pages that change
/// often are written once for many commits.
const CHECKPOINT_PAGES: u32 = 15_000;
