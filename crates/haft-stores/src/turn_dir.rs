//! One directory for everything that turns need to survive.

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::store::StoreError;

use crate::private_file::create_private_dir;
use crate::secret::{load_or_create_secret, read_secret_file};
use crate::turns::KEY_FILE;
use crate::{DirApprovals, DirSpoolStore, SqliteOptions, SqliteStore};

/// A directory with the database of turns, the content of their large results, the key that signs decisions on gates,
/// the approvals that were used, the standing ones, and the secret behind the envelopes of prompts.
///
/// Every process that opens the directory can resume its turns and decide on their gates. The key grants the right
/// to approve calls, so only the owner of the file can read it. A new directory gets the mode 0700, and its files get
/// 0600.
///
/// ```
/// use haft_stores::TurnDir;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let parent = tempfile::tempdir()?;
/// # let path = parent.path().join("state");
/// let dir = TurnDir::open(&path)?;
/// assert_eq!(dir.path(), path);
/// assert!(path.join("gate.key").is_file());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TurnDir {
    path: PathBuf,
    store: Arc<SqliteStore>,
    spools: Arc<DirSpoolStore>,
    approvals: Arc<DirApprovals>,
    secret: [u8; 32],
    envelope_secret: Option<[u8; 32]>,
}

impl TurnDir {
    /// The name of the key file.
    pub(crate) const KEY_FILE: &str = KEY_FILE;

    /// The name of the file with the secret of envelopes. It is not derived from the key of gates, so that a process that
    /// renders prompts needs no right to approve calls.
    pub(crate) const ENVELOPE_FILE: &str = "envelope.key";

    pub(crate) const SPOOLS_DIR: &str = "spools";

    /// Opens a directory. It is created if it does not exist.
    ///
    /// ```
    /// use haft_stores::TurnDir;
    ///
    /// # let parent = tempfile::tempdir()?;
    /// let path = parent.path().join("turns");
    /// let secret = TurnDir::open(&path)?.secret();
    /// assert_eq!(TurnDir::open(&path)?.secret(), secret, "the key stays the same");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be written, a newer program has written it, another process has locked the
    /// database, or the key file does not contain the key that the database was made with. A key that other users can read or write, and a link or a
    /// pipe in its place, is an error too.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_with_secret(path.into(), None)
    }

    /// Opens a directory with this secret, or with the one in it.
    pub(crate) fn open_with_secret(
        path: PathBuf,
        secret: Option<[u8; 32]>,
    ) -> Result<Self, StoreError> {
        create_private_dir(&path).map_err(|error| {
            StoreError::backend(format!("create the directory `{}`", path.display()), error)
        })?;
        let options = SqliteOptions { secret, ..SqliteOptions::default() };
        // Creates the key of a new database, and refuses one that belongs to another key.
        let store = Arc::new(SqliteStore::open_with(&path, options)?);
        let secret = match secret {
            Some(secret) => secret,
            None => load_or_create_secret(&path.join(Self::KEY_FILE))?,
        };
        let envelope_secret = load_or_create_secret(&path.join(Self::ENVELOPE_FILE))?;
        let spools = DirSpoolStore::open(path.join(Self::SPOOLS_DIR));
        let spools = spools.map_err(|error| StoreError::backend("open the spools", error))?;
        let spools = Arc::new(spools);
        let approvals = Arc::new(DirApprovals::new(&path));
        let envelope_secret = Some(envelope_secret);
        Ok(Self { path, store, spools, approvals, secret, envelope_secret })
    }

    /// Opens a directory whose turns are only read, also on a file system that cannot be written. Nothing is created or
    /// migrated, and every write fails: to the store and the approvals with [`StoreError::ReadOnly`], to the spools with
    /// [`SpoolError::ReadOnly`](haft_core::spool::SpoolError::ReadOnly).
    ///
    /// Decisions on gates cannot be stored through it.
    ///
    /// ```
    /// use haft_core::store::{TurnQuery, TurnStore as _};
    /// use haft_stores::TurnDir;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let parent = tempfile::tempdir()?;
    /// let path = parent.path().join("turns");
    /// TurnDir::open(&path)?.close().await;
    /// let dir = TurnDir::open_read_only(&path)?;
    /// assert!(dir.store().turns(TurnQuery::default()).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if there is no store of a known version that belongs to the key, or the key file is missing or refused as in
    /// [`TurnDir::open`].
    pub fn open_read_only(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let store = Arc::new(SqliteStore::open_read_only(&path)?);
        let key = path.join(Self::KEY_FILE);
        let missing = || StoreError::NoKey { path: key.display().to_string() };
        let secret = read_secret_file(&key)?.ok_or_else(missing)?;
        let envelope_secret = read_secret_file(&path.join(Self::ENVELOPE_FILE))?;
        let spools = Arc::new(DirSpoolStore::read_only(path.join(Self::SPOOLS_DIR)));
        let approvals = Arc::new(DirApprovals::read_only(&path));
        Ok(Self { path, store, spools, approvals, secret, envelope_secret })
    }

    /// Closes the database, as [`SqliteStore::close`] does: afterwards its file contains everything, so that it can be
    /// copied. Call it before the program ends.
    pub async fn close(&self) {
        self.store.close().await;
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store of the turns.
    #[must_use]
    pub const fn store(&self) -> &Arc<SqliteStore> {
        &self.store
    }

    /// The store of large results.
    #[must_use]
    pub const fn spools(&self) -> &Arc<DirSpoolStore> {
        &self.spools
    }

    /// The approvals that were used, and the standing ones.
    #[must_use]
    pub const fn approvals(&self) -> &Arc<DirApprovals> {
        &self.approvals
    }

    /// The secret that the key of gates is derived from. Every holder of the secret can approve calls.
    #[must_use]
    pub const fn secret(&self) -> [u8; 32] {
        self.secret
    }

    /// The secret from which the names of envelopes in prompts are derived, so that every process renders a turn to the
    /// same bytes. `None` if the directory has none and cannot be written.
    ///
    /// ```
    /// use haft_stores::TurnDir;
    ///
    /// # let parent = tempfile::tempdir()?;
    /// let path = parent.path().join("turns");
    /// let dir = TurnDir::open(&path)?;
    /// assert_eq!(TurnDir::open(&path)?.envelope_secret(), dir.envelope_secret());
    /// assert_ne!(dir.envelope_secret(), Some(dir.secret()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn envelope_secret(&self) -> Option<[u8; 32]> {
        self.envelope_secret
    }
}

impl fmt::Debug for TurnDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnDir").field("path", &self.path).finish_non_exhaustive()
    }
}
