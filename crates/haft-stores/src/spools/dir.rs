//! Stores each result as a file in one directory.

mod disk;
mod key_scan;
mod orphans;
mod paths;
mod reader;
mod shared;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_core::BoxFuture;
use haft_core::spool::{
    KeyScan, LineIndex, ReaderDescriptor, SpoolError, SpoolKey, SpoolPage, SpoolPayload,
    SpoolReader, SpoolStore,
};
use haft_core::tool::ByteStream;

use self::disk::Disk;
use self::key_scan::DirKeyScan;
use self::paths::SpoolPaths;
pub use self::reader::FileSpoolReader;
use self::writer::SpoolWriter;
use super::chunk_batches::ChunkBatches;
use super::descriptor::{described_key, dir_descriptor};
use super::unknown_payload;
use crate::blocking::run_blocking;
use crate::private_file::{create_private_dir, open_regular_file};

/// Stores results as files in a directory: the bytes exactly as given, and next to them an index of their lines.
///
/// Content is written under a temporary name, flushed to the disk and renamed, so after a crash a key has either
/// the old content or the new one. No result has to fit into memory; its size is limited by the disk and by
/// [`DirSpoolStore::max_bytes`]. Large content that several keys have is one file. Every key maps to one safe file name, whatever characters it contains. Several
/// processes can use the same directory.
///
/// ```
/// use haft_core::spool::{SpoolReader as _, SpoolStore as _};
/// use haft_stores::DirSpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let store = DirSpoolStore::open(dir.path())?.max_bytes(1024);
/// let written = store.write("logs/today".into(), "started\n".into()).await?;
/// assert_eq!(written.byte_length(), 8);
/// assert!(store.write("logs/all".into(), "x".repeat(2000).into()).await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DirSpoolStore {
    config: Arc<DirConfig>,
}

#[derive(Clone)]
struct DirConfig {
    dir: PathBuf,
    access: Access,
    max_bytes: Option<u64>,
    block_size: NonZeroU32,
    disk: Disk,
}

/// What a store does with its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    ReadWrite,
    #[cfg_attr(
        not(feature = "sqlite"),
        expect(dead_code, reason = "only `TurnDir` opens such a store")
    )]
    ReadOnly,
}

impl DirSpoolStore {
    /// The tag in the descriptors of its readers.
    pub const TAG: &'static str = "spool:folder";

    /// Opens the store in a directory. The directory is created if it does not exist; only its owner can use it then.
    /// New files can be read and written by their owner only.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be created.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, SpoolError> {
        let dir = dir.into();
        let failed = |source| SpoolError::Store { doing: "open", source };
        create_private_dir(&dir).map_err(failed)?;
        Ok(Self::with_access(dir, Access::ReadWrite))
    }

    /// The store in a directory that is only read: every write fails with [`SpoolError::ReadOnly`].
    #[cfg(feature = "sqlite")]
    pub(crate) fn read_only(dir: PathBuf) -> Self {
        Self::with_access(dir, Access::ReadOnly)
    }

    fn with_access(dir: PathBuf, access: Access) -> Self {
        let (max_bytes, block_size, disk) = (None, LineIndex::BLOCK_SIZE, Disk::default());
        Self { config: Arc::new(DirConfig { dir, access, max_bytes, block_size, disk }) }
    }

    fn check_writable(&self, doing: &'static str) -> Result<(), SpoolError> {
        match self.config.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly => Err(SpoolError::ReadOnly { doing }),
        }
    }

    /// Sets the maximum size of a result. A larger one is refused with [`SpoolError::TooLarge`].
    ///
    /// ```
    /// use haft_core::spool::SpoolStore as _;
    /// use haft_stores::DirSpoolStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let store = DirSpoolStore::open(dir.path())?.max_bytes(4);
    /// assert!(store.write("a".into(), "text".into()).await.is_ok());
    /// assert!(store.write("b".into(), "longer".into()).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn max_bytes(mut self, limit: u64) -> Self {
        Arc::make_mut(&mut self.config).max_bytes = Some(limit);
        self
    }

    /// Sets the block size of the line index. The default is [`LineIndex::BLOCK_SIZE`].
    #[must_use]
    pub fn block_size(mut self, bytes: NonZeroU32) -> Self {
        Arc::make_mut(&mut self.config).block_size = bytes;
        self
    }

    /// Leaves it to the operating system when content reaches the disk. Content then survives the end of this process
    /// and not a power failure, and a large result is stored in about half the time. Use it for results that can be
    /// obtained again.
    ///
    /// ```
    /// use haft_core::spool::SpoolStore as _;
    /// use haft_stores::DirSpoolStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let cache = DirSpoolStore::open(dir.path())?.without_sync();
    /// cache.write("page".into(), "text".into()).await?;
    /// assert!(DirSpoolStore::open(dir.path())?.read("page".into()).await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn without_sync(mut self) -> Self {
        Arc::make_mut(&mut self.config).disk.skips_sync = true;
        self
    }

    /// Removes the files that crashed writers left behind, and returns how many there were. Files of live writers,
    /// in this or in another process, are not touched.
    ///
    /// ```
    /// use haft_stores::DirSpoolStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let store = DirSpoolStore::open(dir.path())?;
    /// assert_eq!(store.remove_orphans().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read or a file cannot be removed.
    pub async fn remove_orphans(&self) -> Result<usize, SpoolError> {
        self.check_writable("clean up")?;
        let config = Arc::clone(&self.config);
        let removed = run_blocking(move || orphans::remove_orphans(&config.dir)).await;
        removed.map_err(|source| SpoolError::Store { doing: "clean up", source })
    }

    async fn store_payload(
        &self,
        key: &SpoolKey,
        payload: SpoolPayload,
    ) -> Result<FileSpoolReader, SpoolError> {
        let guard = AbandonGuard::default();
        let bytes = match payload {
            SpoolPayload::Text(text) => text.into(),
            SpoolPayload::Bytes(bytes) => bytes,
            SpoolPayload::Stream(stream) => return self.store_stream(key, stream, &guard).await,
            other => return Err(SpoolError::io(key, "write", unknown_payload(&other))),
        };
        let mut writer = self.new_writer(key, &guard);
        let written = run_blocking(move || {
            writer.push(&bytes)?;
            writer.commit()
        });
        written.await.map_err(|source| SpoolError::io(key, "write", source))
    }

    async fn store_stream(
        &self,
        key: &SpoolKey,
        stream: ByteStream,
        guard: &AbandonGuard,
    ) -> Result<FileSpoolReader, SpoolError> {
        let (mut batches, mut writer) = (ChunkBatches::new(stream), self.new_writer(key, guard));
        let failed = |source| SpoolError::io(key, "write", source);
        loop {
            let chunks = batches.next_batch(key).await?;
            if chunks.is_empty() {
                return run_blocking(move || writer.commit()).await.map_err(failed);
            }
            let pushed = run_blocking(move || {
                chunks.iter().try_for_each(|chunk| writer.push(chunk)).map(|()| writer)
            });
            writer = pushed.await.map_err(failed)?;
        }
    }

    fn new_writer(&self, key: &SpoolKey, guard: &AbandonGuard) -> SpoolWriter {
        SpoolWriter::new(Arc::clone(&self.config), key.clone(), Arc::clone(&guard.0))
    }
}

impl SpoolStore for DirSpoolStore {
    fn write(
        &self,
        key: SpoolKey,
        payload: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>> {
        Box::pin(async move {
            self.check_writable("write")?;
            let reader = self.store_payload(&key, payload).await?;
            Ok(Arc::new(reader) as Arc<dyn SpoolReader>)
        })
    }

    fn read(
        &self,
        key: SpoolKey,
    ) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        Box::pin(async move {
            let (config, wanted) = (Arc::clone(&self.config), key.clone());
            let opened = run_blocking(move || {
                let paths = SpoolPaths::of(&config.dir, &wanted);
                FileSpoolReader::open_stored(wanted, paths, &config)
            });
            let opened = opened.await;
            let reader = opened.map_err(|source| SpoolError::io(&key, "open", source))?;
            Ok(reader.map(|reader| Arc::new(reader) as Arc<dyn SpoolReader>))
        })
    }

    /// Opens what any directory store wrote, but in this directory: a descriptor does not name a directory.
    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        match described_key(reader, dir_descriptor) {
            Some(key) => self.read(key),
            None => Box::pin(std::future::ready(Ok(None))),
        }
    }

    fn remove_orphans(&self) -> BoxFuture<'_, Result<usize, SpoolError>> {
        Box::pin(Self::remove_orphans(self))
    }

    fn delete(&self, key: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>> {
        Box::pin(async move {
            self.check_writable("delete")?;
            let (config, paths) =
                (Arc::clone(&self.config), SpoolPaths::of(&self.config.dir, &key));
            let deleted = run_blocking(move || {
                // Only the file that is removed knows whether other keys have its content.
                let content = open_regular_file(&paths.data).ok();
                let existed = disk::remove_if_exists(&paths.data)?;
                if let Some(content) = content {
                    shared::remove_unused(&config.dir, &content)?;
                }
                disk::remove_if_exists(&paths.index)?;
                disk::remove_if_exists(&paths.key)?;
                if existed {
                    config.disk.sync_dir(&config.dir)?;
                }
                Ok(existed)
            });
            deleted.await.map_err(|source| SpoolError::io(&key, "delete", source))
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        let config = Arc::clone(&self.config);
        Box::pin(async move {
            let listed = run_blocking(move || paths::list_keys(&config.dir)).await;
            listed.map_err(|source| SpoolError::Store { doing: "list", source })
        })
    }

    fn list_page(&self, page: SpoolPage) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        let config = Arc::clone(&self.config);
        Box::pin(async move {
            let listed = run_blocking(move || paths::list_page(&config.dir, &page)).await;
            listed.map_err(|source| SpoolError::Store { doing: "list", source })
        })
    }

    fn scan_keys<'s>(&'s self, prefix: &str) -> Box<dyn KeyScan + 's> {
        Box::new(DirKeyScan::new(self.config.dir.clone(), prefix))
    }
}

impl fmt::Debug for DirSpoolStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DirSpoolStore({})", self.config.dir.display())
    }
}

/// Cancels a write that still runs on a blocking thread after its future was dropped, so that it does not take effect.
#[derive(Default)]
struct AbandonGuard(Arc<AtomicBool>);

impl Drop for AbandonGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
