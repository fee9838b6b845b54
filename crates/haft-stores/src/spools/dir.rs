//! Results as files in one folder.

mod disk;
mod name;
mod reader;
mod sweep;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_core::spool::{
    LineIndex, Payload, SpoolError, SpoolFuture, SpoolKey, SpoolReader, SpoolStore,
};

use self::disk::Disk;
use self::name::Paths;
pub use self::reader::FileSpoolReader;
use self::writer::Writer;
use super::pump::Pump;
use crate::blocking::run_blocking;

/// Keeps results as files in a folder: the bytes exactly as given, and beside them the index of their
/// lines.
///
/// Content is written under a temporary name, brought to the disk, and takes its place in one step, so
/// a crash leaves the old content or the new. Nothing needs a result in memory; how large one can be is
/// up to the disk, or to [`FolderSpoolStore::max_bytes`]. Every key becomes one safe file name, whatever
/// it contains. Several processes can use one folder.
#[derive(Clone)]
pub struct FolderSpoolStore {
    shared: Arc<Shared>,
}

#[derive(Clone)]
struct Shared {
    folder: PathBuf,
    max_bytes: Option<u64>,
    block_size: NonZeroU32,
    disk: Disk,
}

impl FolderSpoolStore {
    /// The tag of its readers' descriptors.
    pub const TAG: &'static str = "spool:folder";

    /// The store in a folder, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// When the folder cannot be created.
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, SpoolError> {
        let folder = folder.into();
        let failed = |source| SpoolError::Store { doing: "open", source };
        fs::create_dir_all(&folder).map_err(failed)?;
        let (max_bytes, block_size, disk) = (None, LineIndex::BLOCK_SIZE, Disk::default());
        Ok(Self { shared: Arc::new(Shared { folder, max_bytes, block_size, disk }) })
    }

    /// Refuses results of more than this many bytes.
    #[must_use]
    pub fn max_bytes(mut self, limit: u64) -> Self {
        Arc::make_mut(&mut self.shared).max_bytes = Some(limit);
        self
    }

    /// Counts lines per this many bytes instead of [`LineIndex::BLOCK_SIZE`].
    #[must_use]
    pub fn block_size(mut self, bytes: NonZeroU32) -> Self {
        Arc::make_mut(&mut self.shared).block_size = bytes;
        self
    }

    /// Removes what writers left behind that died, and says how many files that were. Writers that live,
    /// here or in other processes, are not touched.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read, or a file of a dead writer cannot be removed.
    pub async fn sweep(&self) -> Result<usize, SpoolError> {
        let shared = Arc::clone(&self.shared);
        let swept = run_blocking(move || sweep::sweep(&shared.folder)).await;
        swept.map_err(|source| SpoolError::Store { doing: "sweep", source })
    }

    async fn store(
        &self,
        key: &SpoolKey,
        payload: Payload,
    ) -> Result<io::Result<FileSpoolReader>, SpoolError> {
        let abandoned = Abandoned::default();
        let bytes = match payload {
            Payload::Text(text) => text.into(),
            Payload::Bytes(bytes) => bytes,
            Payload::Stream(stream) => {
                return self.store_stream(key, Pump::new(stream), &abandoned).await;
            }
            other => {
                let reason = format!("a payload of an unknown sort: {other:?}");
                return Ok(Err(io::Error::other(reason)));
            }
        };
        let mut writer = self.writer(key, &abandoned);
        let stored = run_blocking(move || {
            writer.push(&bytes)?;
            writer.commit()
        });
        Ok(stored.await)
    }

    async fn store_stream(
        &self,
        key: &SpoolKey,
        mut pump: Pump,
        abandoned: &Abandoned,
    ) -> Result<io::Result<FileSpoolReader>, SpoolError> {
        let mut writer = self.writer(key, abandoned);
        loop {
            let chunks = pump.next(key).await?;
            if chunks.is_empty() {
                return Ok(run_blocking(move || writer.commit()).await);
            }
            let pushed = run_blocking(move || {
                chunks.iter().try_for_each(|chunk| writer.push(chunk)).map(|()| writer)
            });
            writer = match pushed.await {
                Ok(writer) => writer,
                Err(error) => return Ok(Err(error)),
            };
        }
    }

    fn writer(&self, key: &SpoolKey, abandoned: &Abandoned) -> Writer {
        Writer::new(Arc::clone(&self.shared), key.clone(), Arc::clone(&abandoned.0))
    }
}

impl SpoolStore for FolderSpoolStore {
    fn write(&self, key: SpoolKey, payload: Payload) -> SpoolFuture<'_, Arc<dyn SpoolReader>> {
        Box::pin(async move {
            let stored = self.store(&key, payload).await?;
            let reader = stored.map_err(|source| SpoolError::io(&key, "write", source))?;
            Ok(Arc::new(reader) as Arc<dyn SpoolReader>)
        })
    }

    fn read(&self, key: SpoolKey) -> SpoolFuture<'_, Option<Arc<dyn SpoolReader>>> {
        Box::pin(async move {
            let (shared, wanted) = (Arc::clone(&self.shared), key.clone());
            let opened = run_blocking(move || {
                FileSpoolReader::stored(wanted.clone(), Paths::of(&shared.folder, &wanted), &shared)
            });
            let opened = opened.await;
            let reader = opened.map_err(|source| SpoolError::io(&key, "open", source))?;
            Ok(reader.map(|reader| Arc::new(reader) as Arc<dyn SpoolReader>))
        })
    }

    fn delete(&self, key: SpoolKey) -> SpoolFuture<'_, bool> {
        Box::pin(async move {
            let (shared, paths) = (Arc::clone(&self.shared), Paths::of(&self.shared.folder, &key));
            let deleted = run_blocking(move || {
                let existed = disk::remove(&paths.data)?;
                disk::remove(&paths.index)?;
                disk::remove(&paths.key)?;
                if existed {
                    shared.disk.sync_folder(&shared.folder)?;
                }
                Ok(existed)
            });
            deleted.await.map_err(|source| SpoolError::io(&key, "delete", source))
        })
    }

    fn list(&self) -> SpoolFuture<'_, Vec<SpoolKey>> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let listed = run_blocking(move || name::keys(&shared.folder)).await;
            listed.map_err(|source| SpoolError::Store { doing: "list", source })
        })
    }
}

impl fmt::Debug for FolderSpoolStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FolderSpoolStore({})", self.shared.folder.display())
    }
}

/// Set when the future of a write is gone, so that work which still runs on a thread stops short of
/// taking effect.
#[derive(Default)]
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
