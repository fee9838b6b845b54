//! One folder for everything that turns need to survive.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::store::StoreError;

use crate::secret::random_secret;
use crate::{FolderSpoolStore, SqliteStore};

/// A folder with the database of turns, their large results, and the key that signs answers to gates.
///
/// Every process that opens it can go on with its turns and answer their gates. Whoever can read the key can
/// allow calls, so that the file is made readable for its owner only.
///
/// ```
/// use haft_stores::TurnFolder;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let parent = tempfile::tempdir()?;
/// # let path = parent.path().join("state");
/// let dir = TurnFolder::open(&path)?;
/// assert_eq!(dir.path(), path);
/// assert!(path.join("gate.key").is_file());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TurnFolder {
    path: PathBuf,
    store: Arc<SqliteStore>,
    spools: Arc<FolderSpoolStore>,
    secret: [u8; 32],
}

impl TurnFolder {
    /// The file of the key.
    const KEY: &str = "gate.key";

    /// Opens a folder, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// The folder cannot be written, a newer program has written it, another one has locked it, or the key is
    /// not one.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let failed = |doing: &str, error| {
            StoreError::backend(format!("{doing} `{}`", path.display()), error)
        };
        fs::create_dir_all(&path).map_err(|error| failed("create the folder", error))?;
        let secret = secret(&path.join(Self::KEY))?;
        let store = Arc::new(SqliteStore::open(&path)?);
        let spools = FolderSpoolStore::open(path.join("spools"));
        let spools = spools.map_err(|error| StoreError::backend("open the spools", error))?;
        Ok(Self { path, store, spools: Arc::new(spools), secret })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The turns.
    #[must_use]
    pub const fn store(&self) -> &Arc<SqliteStore> {
        &self.store
    }

    /// The large results.
    #[must_use]
    pub const fn spools(&self) -> &Arc<FolderSpoolStore> {
        &self.spools
    }

    /// The secret that the key of gates is made from. Anyone who has it can approve calls.
    #[must_use]
    pub const fn secret(&self) -> [u8; 32] {
        self.secret
    }
}

impl fmt::Debug for TurnFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnFolder").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The key in a file, which is made in one step if there is none: two processes that begin at once get the
/// same.
fn secret(file: &Path) -> Result<[u8; 32], StoreError> {
    let failed = |doing: &str, error: std::io::Error| {
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
    let draft = file.with_extension(format!("new-{}", uuid::Uuid::new_v4().simple()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = random_secret();
    let written = options.open(&draft).and_then(|mut draft| {
        draft.write_all(&made)?;
        draft.sync_all()
    });
    // A link fails if somebody was faster; a rename would take his key away.
    let linked = written.and_then(|()| fs::hard_link(&draft, file));
    let _ = fs::remove_file(&draft);
    match linked {
        Ok(()) => Ok(made),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => secret(file),
        Err(error) => Err(failed("write", error)),
    }
}
