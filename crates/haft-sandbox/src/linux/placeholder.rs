//! Directories that stand where a program must not create one.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// An empty directory, which is removed when the last program that needs it has ended. If that cannot happen, because
/// everything was killed, the next one that ends removes it.
#[derive(Debug)]
pub(super) struct Placeholder {
    path: PathBuf,
    dir: File,
}

impl Placeholder {
    /// Creates the directory, or shares it with other programs. Returns `None` if it is not empty.
    pub(super) fn create(path: &Path) -> io::Result<Option<Self>> {
        loop {
            match DirBuilder::new().mode(0o755).create(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let Some(dir) = open_if_there(path)? else { continue };
            flock(&dir, FlockOperation::LockShared)?;
            // Another program may have removed it before the lock.
            if !is_same(&dir, path)? {
                continue;
            }
            let is_empty = fs::read_dir(path)?.next().is_none();
            return Ok(is_empty.then(|| Self { path: path.to_owned(), dir }));
        }
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        // Other programs hold a lock, too.
        if flock(&self.dir, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // A directory that is not empty belongs to someone else now.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn open_if_there(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

fn is_same(dir: &File, path: &Path) -> io::Result<bool> {
    let opened = dir.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
