//! Writes one result.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fs4::FileExt;
use haft_core::spool::{LineIndexBuilder, SpoolError, SpoolKey};

use super::Shared;
use super::disk::{Disk, remove};
use super::name::{Paths, TEMPORARY};
use super::reader::{FileSpoolReader, Stamp, encode_index};

/// Takes the bytes of a result. Everything here blocks. A writer that is dropped leaves nothing.
pub(super) struct Writer {
    shared: Arc<Shared>,
    key: SpoolKey,
    /// Created with the first bytes, because creating blocks and a writer is made where nothing may.
    temporary: Option<Temporary>,
    buffer: Vec<u8>,
    index: LineIndexBuilder,
    abandoned: Arc<AtomicBool>,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, key: SpoolKey, abandoned: Arc<AtomicBool>) -> Self {
        let index = LineIndexBuilder::new(shared.block_size);
        Self { shared, key, temporary: None, buffer: Vec::new(), index, abandoned }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let total = self.index.byte_length() + self.buffer.len() as u64 + bytes.len() as u64;
        if let Some(limit) = self.shared.max_bytes.filter(|limit| total > *limit) {
            return Err(SpoolError::TooLarge { key: self.key.clone(), limit }.into());
        }
        if self.buffer.len() + bytes.len() < PIECE {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        // In pieces that stay in the cache between counting and writing.
        bytes.chunks(PIECE).try_for_each(|piece| self.write(piece))
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        if !buffer.is_empty() {
            self.write(&buffer)?;
        }
        buffer.clear();
        self.buffer = buffer;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.abandoned.load(Ordering::Acquire) {
            return Err(abandoned());
        }
        let Shared { folder, disk, .. } = &*self.shared;
        let temporary = match &mut self.temporary {
            Some(temporary) => temporary,
            none => none.insert(Temporary::create(folder, disk)?),
        };
        disk.write(&mut temporary.file, bytes)?;
        self.index.push(bytes);
        Ok(())
    }

    /// Puts the content in its place.
    pub(super) fn commit(mut self) -> io::Result<FileSpoolReader> {
        self.flush()?;
        let Shared { folder, disk, block_size, .. } = &*self.shared;
        let temporary = match self.temporary.take() {
            Some(temporary) => temporary,
            None => Temporary::create(folder, disk)?,
        };
        let paths = Paths::of(folder, &self.key);
        let index = self.index.finish();
        disk.sync(&temporary.file)?;
        let stamp = Stamp::of(&temporary.file)?;
        if stamp.len != index.byte_length() {
            let how = "its file changed while it was written".to_owned();
            return Err(SpoolError::Changed { key: self.key, how }.into());
        }
        let replaced = note_key(&self.key, &paths, &self.shared).and_then(|()| {
            remove(&paths.index)?;
            if self.abandoned.load(Ordering::Acquire) {
                return Err(abandoned());
            }
            temporary.replace(&paths.data, disk)
        });
        let file = replaced.inspect_err(|_| forget_key(&paths))?;
        if index.byte_length() > u64::from(block_size.get()) {
            // Without it the index is built again when it is needed.
            let _ = disk.note_index(&paths.index, &encode_index(&index, stamp));
        }
        if let Err(error) = disk.sync_folder(folder) {
            remove(&paths.data)?;
            remove(&paths.index)?;
            forget_key(&paths);
            return Err(error);
        }
        Ok(FileSpoolReader::written(self.key, paths, file, (stamp, index)))
    }
}

/// A file under a temporary name, locked while its writer lives and removed when it is dropped.
struct Temporary {
    file: File,
    path: Option<PathBuf>,
}

impl Temporary {
    fn create(folder: &Path, disk: &Disk) -> io::Result<Self> {
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{TEMPORARY}{}-{number}.tmp", process::id()));
            let file = match disk.create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            };
            let temporary = Self { file, path: Some(path.clone()) };
            // Between creation and lock a sweep may have taken it for a dead writer's.
            match FileExt::try_lock(&temporary.file) {
                Err(fs4::TryLockError::WouldBlock) => {}
                _ if fs::exists(&path)? => return Ok(temporary),
                _ => {}
            }
        }
    }

    /// Gives the file its name and hands it over.
    fn replace(mut self, to: &Path, disk: &Disk) -> io::Result<File> {
        let file = self.file.try_clone()?;
        if let Some(path) = &self.path {
            disk.replace(path, to)?;
        }
        self.path = None;
        // Readers of other processes may not be shut out where locks are binding.
        let _ = FileExt::unlock(&file);
        Ok(file)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // What cannot be removed now is removed by a sweep.
            let _ = fs::remove_file(path);
        }
    }
}

/// Writes the file with the key, if this key needs one and has none.
fn note_key(key: &SpoolKey, paths: &Paths, shared: &Shared) -> io::Result<()> {
    let (Shared { folder, disk, .. }, key) = (shared, key.as_str().as_bytes());
    if !paths.needs_key || fs::read(&paths.key).is_ok_and(|noted| noted == key) {
        return Ok(());
    }
    // In one step as well: half a key would hide the content that is there.
    let mut temporary = Temporary::create(folder, disk)?;
    disk.write(&mut temporary.file, key)?;
    disk.sync(&temporary.file)?;
    temporary.replace(&paths.key, disk).map(drop)
}

/// Removes the file with the key of content that did not come to be.
fn forget_key(paths: &Paths) {
    if paths.needs_key && !fs::exists(&paths.data).unwrap_or(true) {
        let _ = fs::remove_file(&paths.key);
    }
}

fn abandoned() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "nobody waits for the write any more")
}

static COUNTER: AtomicU64 = AtomicU64::new(0);
const PIECE: usize = 128 * 1024;
