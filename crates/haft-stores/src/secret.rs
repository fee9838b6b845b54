//! Files that hold a secret.

#[cfg(unix)]
#[cfg(test)]
mod tests;

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use haft_core::store::StoreError;

use crate::private_file::create_private_file;

/// The length of a secret in bytes.
const SECRET_BYTES: usize = 32;

/// Reads the secret in a file, or creates it. Of processes that create it at the same time one wins, and all return
/// the same secret.
///
/// Only a regular file is used that belongs to this user or to root and that no other user can read or write. A link, a
/// pipe, a file of another user or one with wider permissions is an error, and is not opened.
pub(crate) fn load_or_create_secret(file: &Path) -> Result<[u8; SECRET_BYTES], StoreError> {
    let failed = |doing: &str, error: io::Error| {
        StoreError::backend(format!("{doing} the key `{}`", file.display()), error)
    };
    if let Some(secret) = read_secret_file(file)? {
        return Ok(secret);
    }
    let secret = random_secret().map_err(|error| failed("create", error.into()))?;
    match create_private_file(file, &secret) {
        Ok(()) => Ok(secret),
        // Another process was faster. A file that is gone again is not waited for.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            read_secret_file(file)?.ok_or_else(|| failed("create", error))
        }
        Err(error) => Err(failed("write", error)),
    }
}

/// Reads 32 random bytes from the operating system.
pub(crate) fn random_secret() -> Result<[u8; SECRET_BYTES], getrandom::Error> {
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret)?;
    Ok(secret)
}

/// Reads the secret in a file; `None` if there is no file. The file is checked like that of [`load_or_create_secret`].
pub(crate) fn read_secret_file(path: &Path) -> Result<Option<[u8; SECRET_BYTES]>, StoreError> {
    let failed = |error| StoreError::backend(format!("read the key `{}`", path.display()), error);
    // The link itself, and not what it names: opening a pipe would wait for its writer.
    let entry = match fs::symlink_metadata(path) {
        Ok(entry) => entry,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    check_entry(path, &entry).map_err(failed)?;
    let file = File::open(path).map_err(failed)?;
    check_same_file(&entry, &file.metadata().map_err(failed)?).map_err(failed)?;
    let mut bytes = Vec::with_capacity(SECRET_BYTES + 1);
    file.take(SECRET_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    let secret = bytes.try_into().map_err(|_| StoreError::Damaged {
        what: format!("the key `{}`", path.display()),
        reason: format!("a key has {SECRET_BYTES} bytes"),
    });
    secret.map(Some)
}

/// Refuses everything but a regular file that only its owner can use.
fn check_entry(path: &Path, entry: &Metadata) -> io::Result<()> {
    let refused = |reason: String| Err(io::Error::new(ErrorKind::PermissionDenied, reason));
    if !entry.is_file() {
        let kind = if entry.is_symlink() { "a symbolic link" } else { "no regular file" };
        return refused(format!("it is {kind}; put the key back as a file, or use another store"));
    }
    #[cfg(unix)]
    {
        let owner = std::os::unix::fs::MetadataExt::uid(entry);
        // Root can read every file anyway.
        if owner != 0 && owner != rustix::process::geteuid().as_raw() {
            return refused(format!(
                "it belongs to another user (uid {owner}), who can approve calls with it; change its owner if you trust \
                 the key, or remove it"
            ));
        }
        let mode = std::os::unix::fs::MetadataExt::mode(entry);
        if mode & 0o077 != 0 {
            return refused(format!(
                "other users can read or write it (mode {:03o}); if it is still a secret, run `chmod 600 {}`, otherwise \
                 remove it",
                mode & 0o777,
                path.display()
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Refuses a file that took the place of the checked one before it was opened.
fn check_same_file(checked: &Metadata, opened: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if (checked.dev(), checked.ino()) != (opened.dev(), opened.ino()) {
            return Err(io::Error::other("it was replaced while it was opened"));
        }
    }
    #[cfg(not(unix))]
    let _ = (checked, opened);
    Ok(())
}
