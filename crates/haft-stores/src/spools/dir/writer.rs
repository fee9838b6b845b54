//! Writes the content of one key.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fs4::FileExt;
use haft_core::spool::{LineIndexBuilder, SpoolError, SpoolKey};

use super::DirConfig;
use super::disk::{Disk, remove_if_exists};
use super::paths::{SpoolPaths, TEMPORARY, read_key_file};
use super::reader::{FileSpoolReader, FileStamp, encode_index};
use super::shared::{SharedLink, name_shared, remove_unused, shared_path};
use crate::private_file::open_regular_file;

/// Writes content to a temporary file and renames it at the end. Every method blocks. A writer that is dropped
/// before [`commit`](Self::commit) leaves nothing behind.
pub(super) struct SpoolWriter {
    config: Arc<DirConfig>,
    key: SpoolKey,
    /// Created with the first write: creating a file blocks, and a writer is constructed in async code.
    temporary: Option<TempFile>,
    buffer: Vec<u8>,
    index: LineIndexBuilder,
    is_abandoned: Arc<AtomicBool>,
}

impl SpoolWriter {
    pub(super) fn new(
        config: Arc<DirConfig>,
        key: SpoolKey,
        is_abandoned: Arc<AtomicBool>,
    ) -> Self {
        let index = LineIndexBuilder::new(config.block_size);
        Self { config, key, temporary: None, buffer: Vec::new(), index, is_abandoned }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let total = self.index.byte_length() + self.buffer.len() as u64 + bytes.len() as u64;
        if let Some(limit) = self.config.max_bytes.filter(|limit| total > *limit) {
            return Err(SpoolError::TooLarge { key: self.key.clone(), limit }.into());
        }
        if self.buffer.len() + bytes.len() < PIECE_BYTES {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        // In pieces that stay in the CPU cache between counting lines and writing.
        bytes.chunks(PIECE_BYTES).try_for_each(|piece| self.write(piece))
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
        if self.is_abandoned.load(Ordering::Acquire) {
            return Err(abandoned_error());
        }
        let DirConfig { dir, disk, .. } = &*self.config;
        let temporary = match &mut self.temporary {
            Some(temporary) => temporary,
            none => none.insert(TempFile::create(dir, disk)?),
        };
        disk.write(&mut temporary.file, bytes)?;
        self.index.push(bytes);
        Ok(())
    }

    /// Makes the content visible under its key.
    pub(super) fn commit(mut self) -> io::Result<FileSpoolReader> {
        self.flush()?;
        let DirConfig { dir, disk, block_size, .. } = &*self.config;
        let temporary = match self.temporary.take() {
            Some(temporary) => temporary,
            None => TempFile::create(dir, disk)?,
        };
        let paths = SpoolPaths::of(dir, &self.key);
        let index = self.index.finish();
        let shared = shared_path(dir, &temporary.file, index.byte_length())?;
        let link = shared.as_ref().and_then(|shared| temporary.link_equal(shared));
        let stamp = match &link {
            Some(link) => FileStamp::of(&link.file)?,
            None => {
                disk.sync(&temporary.file)?;
                FileStamp::of(&temporary.file)?
            }
        };
        if stamp.len != index.byte_length() {
            let how = "its file changed while it was written".to_owned();
            return Err(SpoolError::Changed { key: self.key, how }.into());
        }
        let is_new = link.is_none();
        let replaced = open_regular_file(&paths.data).ok();
        let renamed = write_key_file(&self.key, &paths, &self.config).and_then(|()| {
            remove_if_exists(&paths.index)?;
            if self.is_abandoned.load(Ordering::Acquire) {
                return Err(abandoned_error());
            }
            match link {
                Some(link) => link.replace(&paths.data, disk),
                None => temporary.replace(&paths.data, disk),
            }
        });
        let file = renamed.inspect_err(|_| remove_unused_key_file(&paths))?;
        if let Some(shared) = shared.filter(|_| is_new) {
            // Without a second name the content is not shared, and nothing else.
            let _ = name_shared(&paths.data, &shared);
        }
        if let Some(replaced) = replaced {
            // A name that stays is removed by `remove_orphans`.
            let _ = remove_unused(dir, &replaced);
        }
        if index.byte_length() > u64::from(block_size.get()) {
            // A missing index file costs time only: the index is built again when it is needed.
            let _ = disk.write_index(&paths.index, &encode_index(&index, stamp.modified_nanos));
        }
        if let Err(error) = disk.sync_dir(dir) {
            remove_if_exists(&paths.data)?;
            remove_unused(dir, &file)?;
            remove_if_exists(&paths.index)?;
            remove_unused_key_file(&paths);
            return Err(error);
        }
        Ok(FileSpoolReader::from_written(self.key, paths, file, (stamp, index)))
    }
}

/// A file with a temporary name. It is locked while its writer lives, and removed on drop.
struct TempFile {
    file: File,
    path: Option<PathBuf>,
}

impl TempFile {
    fn create(dir: &Path, disk: &Disk) -> io::Result<Self> {
        loop {
            let number = TEMP_FILE_COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = dir.join(format!("{TEMPORARY}{}-{number}.tmp", process::id()));
            let file = match disk.create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                created => created?,
            };
            let temporary = Self { file, path: Some(path.clone()) };
            // Before the lock was taken, `remove_orphans` may have removed the file as that of a crashed writer.
            match FileExt::try_lock(&temporary.file) {
                Err(fs4::TryLockError::WouldBlock) => {}
                _ if fs::exists(&path)? => return Ok(temporary),
                _ => {}
            }
        }
    }

    /// A link to equal content that is stored already.
    fn link_equal(&self, shared: &Path) -> Option<SharedLink> {
        SharedLink::create(shared, &self.file, self.path.as_ref()?)
    }

    /// Renames the file and returns it.
    fn replace(mut self, to: &Path, disk: &Disk) -> io::Result<File> {
        let file = self.file.try_clone()?;
        if let Some(path) = &self.path {
            disk.replace(path, to)?;
        }
        self.path = None;
        // Where locks are mandatory, a lock that stays would keep readers of other processes out.
        let _ = FileExt::unlock(&file);
        Ok(file)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // A file that cannot be removed now is removed by `remove_orphans`.
            let _ = fs::remove_file(path);
        }
    }
}

/// Writes the key file, if the key needs one and has none.
fn write_key_file(key: &SpoolKey, paths: &SpoolPaths, config: &DirConfig) -> io::Result<()> {
    let (DirConfig { dir, disk, .. }, key) = (config, key.as_str());
    if !paths.needs_key_file || read_key_file(&paths.key).is_ok_and(|existing| existing == key) {
        return Ok(());
    }
    // By rename as well: a partially written key would hide the existing content.
    let mut temporary = TempFile::create(dir, disk)?;
    disk.write(&mut temporary.file, key.as_bytes())?;
    disk.sync(&temporary.file)?;
    temporary.replace(&paths.key, disk).map(drop)
}

/// Removes the key file of content that was not written.
fn remove_unused_key_file(paths: &SpoolPaths) {
    if paths.needs_key_file && !fs::exists(&paths.data).unwrap_or(true) {
        let _ = fs::remove_file(&paths.key);
    }
}

fn abandoned_error() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "the write was abandoned by its caller")
}

static TEMP_FILE_COUNTER: AtomicU64 = AtomicU64::new(0);
const PIECE_BYTES: usize = 128 * 1024;
