//! Blocks of objects on the local disk.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::private_file::{create_private_dir, write_private_file};

/// Stores blocks as files in a directory. The least recently used ones are removed when there are too many bytes.
///
/// Files of an earlier process are removed at the start: their order of use is not known.
pub(super) struct BlockCache {
    dir: PathBuf,
    max_bytes: u64,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    by_name: HashMap<String, (u64, u64)>,
    /// Names by the number of their last use.
    by_use: BTreeMap<u64, String>,
    bytes: u64,
    last_use: u64,
}

impl BlockCache {
    pub(super) fn open(dir: &Path, max_bytes: u64) -> io::Result<Self> {
        create_private_dir(dir)?;
        // A directory of this process alone, so that processes do not remove each other's blocks.
        let dir = dir.join(format!("process-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        create_private_dir(&dir)?;
        Ok(Self { dir, max_bytes, entries: Mutex::default() })
    }

    /// Reads a block, if it is there. Blocks the thread.
    pub(super) fn read(&self, name: &str) -> Option<Bytes> {
        self.lock().touch(name)?;
        match fs::read(self.dir.join(name)) {
            Ok(bytes) => Some(bytes.into()),
            Err(_) => {
                self.lock().forget(name);
                None
            }
        }
    }

    /// Stores a block, and removes others that do not fit any more. Blocks the thread. A block that cannot be stored is
    /// fetched again.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.dir.join(name);
        if bytes.len() as u64 > self.max_bytes || write_private_file(&path, bytes).is_err() {
            let _ = fs::remove_file(path);
            return;
        }
        let removed = self.lock().insert(name, bytes.len() as u64, self.max_bytes);
        for name in removed {
            let _ = fs::remove_file(self.dir.join(name));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.lock().bytes
    }
}

impl Drop for BlockCache {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Entries {
    fn touch(&mut self, name: &str) -> Option<()> {
        let (_, used) = self.by_name.get_mut(name)?;
        self.by_use.remove(used);
        self.last_use += 1;
        *used = self.last_use;
        self.by_use.insert(self.last_use, name.to_owned());
        Some(())
    }

    fn forget(&mut self, name: &str) {
        if let Some((bytes, used)) = self.by_name.remove(name) {
            self.by_use.remove(&used);
            self.bytes -= bytes;
        }
    }

    /// Notes a block, and returns the names of those that have to go.
    fn insert(&mut self, name: &str, bytes: u64, max_bytes: u64) -> Vec<String> {
        self.forget(name);
        self.last_use += 1;
        self.by_name.insert(name.to_owned(), (bytes, self.last_use));
        self.by_use.insert(self.last_use, name.to_owned());
        self.bytes += bytes;
        let mut removed = Vec::new();
        while self.bytes > max_bytes {
            let Some((_, oldest)) = self.by_use.first_key_value() else { break };
            let oldest = oldest.clone();
            self.forget(&oldest);
            removed.push(oldest);
        }
        removed
    }
}
