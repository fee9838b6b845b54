//! One directory for everything that turns need to survive.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::store::StoreError;

use crate::secret::random_secret;
use crate::{DirSpoolStore, SqliteStore};

/// A directory with the database of turns, the content of their large results, and the key that signs decisions on
/// gates.
///
/// Every process that opens the directory can resume its turns and decide on their gates. The key grants the right
/// to approve calls, so only the owner of the file can read it.
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
    secret: [u8; 32],
}

impl TurnDir {
    /// The name of the key file.
    const KEY_FILE: &str = "gate.key";

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
    /// database, or the key file does not contain a key.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        fs::create_dir_all(&path).map_err(|error| {
            StoreError::backend(format!("create the directory `{}`", path.display()), error)
        })?;
        let secret = load_or_create_secret(&path.join(Self::KEY_FILE))?;
        let store = Arc::new(SqliteStore::open(&path)?);
        let spools = DirSpoolStore::open(path.join("spools"));
        let spools = spools.map_err(|error| StoreError::backend("open the spools", error))?;
        Ok(Self { path, store, spools: Arc::new(spools), secret })
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

    /// The secret that the key of gates is derived from. Every holder of the secret can approve calls.
    #[must_use]
    pub const fn secret(&self) -> [u8; 32] {
        self.secret
    }
}

impl fmt::Debug for TurnDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnDir").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Reads the secret in a file, or creates it. Of processes that create it at the same time one wins, and all return
/// the same secret.
fn load_or_create_secret(file: &Path) -> Result<[u8; 32], StoreError> {
    let failed = |doing: &str, error: io::Error| {
        StoreError::backend(format!("{doing} the key `{}`", file.display()), error)
    };
    match fs::read(file) {
        Ok(bytes) => {
            return bytes.try_into().map_err(|_| StoreError::Damaged {
                what: format!("the key `{}`", file.display()),
                reason: "a key has 32 bytes".to_owned(),
            });
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed("read", error)),
    }
    let secret = random_secret().map_err(|error| failed("create", error.into()))?;
    match create_secret_file(file, &secret) {
        Ok(()) => Ok(secret),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => load_or_create_secret(file),
        Err(error) => Err(failed("write", error)),
    }
}

/// Writes a secret to a draft and links the draft to its final name. The link fails if another process was faster; a
/// rename would replace the secret of that process.
fn create_secret_file(file: &Path, secret: &[u8; 32]) -> io::Result<()> {
    let draft = file.with_extension(format!("new-{}", uuid::Uuid::new_v4().simple()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&draft).and_then(|mut draft| {
        draft.write_all(secret)?;
        draft.sync_all()
    });
    let linked = written.and_then(|()| fs::hard_link(&draft, file));
    // A draft that cannot be removed is not used by anything.
    let _ = fs::remove_file(&draft);
    linked
}
