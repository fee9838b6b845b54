//! Blocks of objects on the local disk.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::private_file::{create_private_dir, write_private_file};

/// Stores blocks as files in a directory. The least recently used ones are removed when there are too many bytes.
///
/// Files of an earlier process are removed at the start: their order of use is not known. A block whose hash is not the one
/// that this process remembers was changed on the disk, and is fetched again.
pub(super) struct BlockCache {
    dir: PathBuf,
    max_bytes: u64,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    by_name: HashMap<String, CachedBlock>,
    /// Names by the number of their last use.
    by_use: BTreeMap<u64, String>,
    bytes: u64,
    last_use: u64,
}

/// What is remembered of a block.
struct CachedBlock {
    bytes: u64,
    /// The number of its last use.
    used: u64,
    hash: [u8; 32],
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
        let hash = self.lock().touch(name)?;
        let read = fs::read(self.dir.join(name)).ok();
        let intact = read.filter(|bytes| hash_of(bytes) == hash);
        if intact.is_none() {
            self.lock().forget(name);
        }
        intact.map(Bytes::from)
    }

    /// Stores a block, and removes others that do not fit any more. Blocks the thread. A block that cannot be stored is
    /// fetched again.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.dir.join(name);
        if bytes.len() as u64 > self.max_bytes || write_private_file(&path, bytes).is_err() {
            let _ = fs::remove_file(path);
            return;
        }
        let block = (bytes.len() as u64, hash_of(bytes));
        let removed = self.lock().insert(name, block, self.max_bytes);
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
    /// Notes that a block is used, and returns its hash.
    fn touch(&mut self, name: &str) -> Option<[u8; 32]> {
        let block = self.by_name.get_mut(name)?;
        self.by_use.remove(&block.used);
        self.last_use += 1;
        block.used = self.last_use;
        self.by_use.insert(self.last_use, name.to_owned());
        Some(block.hash)
    }

    fn forget(&mut self, name: &str) {
        if let Some(CachedBlock { bytes, used, .. }) = self.by_name.remove(name) {
            self.by_use.remove(&used);
            self.bytes -= bytes;
        }
    }

    /// Notes a block, and returns the names of those that have to go.
    fn insert(
        &mut self,
        name: &str,
        (bytes, hash): (u64, [u8; 32]),
        max_bytes: u64,
    ) -> Vec<String> {
        self.forget(name);
        self.last_use += 1;
        self.by_name.insert(name.to_owned(), CachedBlock { bytes, used: self.last_use, hash });
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

fn hash_of(block: &[u8]) -> [u8; 32] {
    Sha256::digest(block).into()
}
