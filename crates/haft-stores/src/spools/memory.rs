//! Stores results in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use haft_core::BoxFuture;
use haft_core::spool::{
    LineIndex, LineIndexBuilder, LocalRead, ReaderDescriptor, SpoolError, SpoolKey, SpoolPage,
    SpoolPayload, SpoolReader, SpoolStore,
};

use super::chunk_batches::ChunkBatches;
use super::descriptor::{described_key, memory_descriptor};
use super::unknown_payload;

/// Stores results in memory until it is dropped. A streamed result is collected in memory as a whole.
///
/// ```
/// use haft_core::spool::{SpoolReader as _, SpoolStore as _};
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemorySpoolStore::new();
/// store.write("a".into(), "text".into()).await?;
/// assert_eq!(store.len(), 1);
/// assert!(store.read("b".into()).await?.is_none());
/// # Ok(())
/// # }
/// ```
pub struct MemorySpoolStore {
    /// Unique among all stores in memory, in this and in other processes.
    name: Arc<str>,
    entries: Mutex<BTreeMap<SpoolKey, Arc<MemorySpoolReader>>>,
    max_bytes: Option<u64>,
    block_size: Option<NonZeroU32>,
}

impl MemorySpoolStore {
    /// The tag in the descriptors of its readers.
    pub const TAG: &'static str = "spool:memory";

    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        // The standard library seeds every hasher randomly.
        let name = format!("{:016x}", RandomState::new().hash_one(0)).into();
        Self { name, entries: Mutex::default(), max_bytes: None, block_size: None }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Sets the maximum size of a result. A larger one is refused with [`SpoolError::TooLarge`].
    ///
    /// ```
    /// use haft_core::spool::SpoolStore as _;
    /// use haft_stores::MemorySpoolStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemorySpoolStore::new().max_bytes(4);
    /// assert!(store.write("a".into(), "text".into()).await.is_ok());
    /// assert!(store.write("b".into(), "longer".into()).await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = Some(limit);
        self
    }

    /// Sets the block size of the line index. The default is [`LineIndex::BLOCK_SIZE`].
    #[must_use]
    pub fn block_size(mut self, bytes: NonZeroU32) -> Self {
        self.block_size = Some(bytes);
        self
    }

    /// Removes all results. Existing readers stay readable.
    ///
    /// ```
    /// use haft_core::spool::SpoolStore as _;
    /// use haft_stores::MemorySpoolStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemorySpoolStore::new();
    /// let reader = store.write("a".into(), "text".into()).await?;
    /// store.clear();
    /// assert!(store.is_empty());
    /// assert_eq!(reader.byte_length(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn clear(&self) {
        self.entries().clear();
    }

    /// The number of results.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether there are no results.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<SpoolKey, Arc<MemorySpoolReader>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_size(&self, key: &SpoolKey, len: u64) -> Result<(), SpoolError> {
        match self.max_bytes {
            Some(limit) if len > limit => Err(SpoolError::TooLarge { key: key.clone(), limit }),
            _ => Ok(()),
        }
    }

    async fn collect_bytes(
        &self,
        key: &SpoolKey,
        payload: SpoolPayload,
    ) -> Result<Bytes, SpoolError> {
        let stream = match payload {
            SpoolPayload::Text(text) => return Ok(text.into()),
            SpoolPayload::Bytes(bytes) => return Ok(bytes),
            SpoolPayload::Stream(stream) => stream,
            other => return Err(SpoolError::io(key, "write", unknown_payload(&other))),
        };
        let (mut batches, mut bytes) = (ChunkBatches::new(stream), BytesMut::new());
        loop {
            let chunks = batches.next_batch(key).await?;
            if chunks.is_empty() {
                return Ok(bytes.freeze());
            }
            for chunk in chunks {
                self.check_size(key, bytes.len() as u64 + chunk.len() as u64)?;
                bytes.extend_from_slice(&chunk);
            }
        }
    }
}

impl SpoolStore for MemorySpoolStore {
    fn write(
        &self,
        key: SpoolKey,
        payload: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>> {
        Box::pin(async move {
            let bytes = self.collect_bytes(&key, payload).await?;
            self.check_size(&key, bytes.len() as u64)?;
            let mut index = LineIndexBuilder::new(self.block_size.unwrap_or(LineIndex::BLOCK_SIZE));
            index.push(&bytes);
            let reader = Arc::new(MemorySpoolReader {
                key: key.clone(),
                store: Arc::clone(&self.name),
                content: Arc::new(MemoryContent(bytes)),
                index: Arc::new(index.finish()),
            });
            self.entries().insert(key, Arc::clone(&reader));
            Ok(reader as Arc<dyn SpoolReader>)
        })
    }

    fn read(
        &self,
        key: SpoolKey,
    ) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        let found = self.entries().get(&key).map(|it| Arc::clone(it) as Arc<dyn SpoolReader>);
        Box::pin(std::future::ready(Ok(found)))
    }

    /// Opens only what this very store wrote, because content in memory exists nowhere else.
    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        match described_key(reader, |key| memory_descriptor(key, self.name())) {
            Some(key) => self.read(key),
            None => Box::pin(std::future::ready(Ok(None))),
        }
    }

    fn delete(&self, key: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>> {
        let existed = self.entries().remove(&key).is_some();
        Box::pin(std::future::ready(Ok(existed)))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        let keys = self.entries().keys().cloned().collect();
        Box::pin(std::future::ready(Ok(keys)))
    }

    fn list_page(&self, page: SpoolPage) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        let prefix = SpoolKey::from(page.prefix.as_str());
        let start = page.after.clone().map_or(prefix.clone(), |after| after.max(prefix));
        let entries = self.entries();
        let keys = entries.range(start..).map(|(key, _)| key);
        let keys = keys.take_while(|key| key.as_str().starts_with(&page.prefix));
        let keys = keys.filter(|key| page.selects(key)).take(page.limit).cloned().collect();
        drop(entries);
        Box::pin(std::future::ready(Ok(keys)))
    }
}

impl Default for MemorySpoolStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemorySpoolStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemorySpoolStore({} results)", self.len())
    }
}

struct MemorySpoolReader {
    key: SpoolKey,
    store: Arc<str>,
    content: Arc<MemoryContent>,
    index: Arc<LineIndex>,
}

impl SpoolReader for MemorySpoolReader {
    fn byte_length(&self) -> u64 {
        self.content.0.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        let bytes = &self.content.0;
        let start = clamp_offset(offset, bytes.len());
        let end = start.saturating_add(len).min(bytes.len());
        Box::pin(std::future::ready(Ok(bytes.slice(start..end))))
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        Box::pin(std::future::ready(Ok(Arc::clone(&self.index))))
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        Some(memory_descriptor(&self.key, &self.store))
    }

    fn local(&self) -> Option<Arc<dyn LocalRead>> {
        Some(Arc::clone(&self.content) as Arc<dyn LocalRead>)
    }
}

impl fmt::Debug for MemorySpoolReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemorySpoolReader({} bytes)", self.content.0.len())
    }
}

struct MemoryContent(Bytes);

/// The offset, or the end of content of this length if the offset lies behind it.
fn clamp_offset(offset: u64, len: usize) -> usize {
    usize::try_from(offset).map_or(len, |it| it.min(len))
}

impl LocalRead for MemoryContent {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = clamp_offset(offset, self.0.len());
        self.0.slice(start..).as_ref().read(buffer)
    }

    fn read_at_without_waiting(&self, offset: u64, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        Some(self.read_at(offset, buffer))
    }
}
