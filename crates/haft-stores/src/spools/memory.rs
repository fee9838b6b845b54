//! Results in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use haft_core::spool::{
    LineIndex, LineIndexBuilder, LocalRead, Payload, ReaderDescriptor, SpoolError, SpoolFuture,
    SpoolKey, SpoolReader, SpoolStore,
};
use serde_json::json;

use super::pump::Pump;

/// Keeps results in memory, until it is dropped. A streamed result is in memory as a whole.
pub struct MemorySpoolStore {
    /// Tells it from every other store in memory, here and in other processes.
    name: Arc<str>,
    entries: Mutex<BTreeMap<SpoolKey, Arc<MemoryReader>>>,
    max_bytes: Option<u64>,
    block_size: Option<NonZeroU32>,
}

impl MemorySpoolStore {
    /// The tag of its readers' descriptors.
    pub const TAG: &'static str = "spool:memory";

    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        // The standard library seeds every hasher at random.
        let name = format!("{:016x}", RandomState::new().hash_one(0)).into();
        Self { name, entries: Mutex::default(), max_bytes: None, block_size: None }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Refuses results of more than this many bytes.
    #[must_use]
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = Some(limit);
        self
    }

    /// Counts lines per this many bytes instead of [`LineIndex::BLOCK_SIZE`].
    #[must_use]
    pub fn block_size(mut self, bytes: NonZeroU32) -> Self {
        self.block_size = Some(bytes);
        self
    }

    /// Removes everything. Readers that were handed out stay readable.
    pub fn clear(&self) {
        self.entries().clear();
    }

    /// How many results there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<SpoolKey, Arc<MemoryReader>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, key: &SpoolKey, len: u64) -> Result<(), SpoolError> {
        match self.max_bytes {
            Some(limit) if len > limit => Err(SpoolError::TooLarge { key: key.clone(), limit }),
            _ => Ok(()),
        }
    }

    async fn gather(&self, key: &SpoolKey, payload: Payload) -> Result<Bytes, SpoolError> {
        let stream = match payload {
            Payload::Text(text) => return Ok(text.into()),
            Payload::Bytes(bytes) => return Ok(bytes),
            Payload::Stream(stream) => stream,
            other => {
                let reason = format!("a payload of an unknown sort: {other:?}");
                return Err(SpoolError::io(key, "write", io::Error::other(reason)));
            }
        };
        let (mut pump, mut bytes) = (Pump::new(stream), BytesMut::new());
        loop {
            let chunks = pump.next(key).await?;
            if chunks.is_empty() {
                return Ok(bytes.freeze());
            }
            for chunk in chunks {
                self.check(key, bytes.len() as u64 + chunk.len() as u64)?;
                bytes.extend_from_slice(&chunk);
            }
        }
    }
}

impl SpoolStore for MemorySpoolStore {
    fn write(&self, key: SpoolKey, payload: Payload) -> SpoolFuture<'_, Arc<dyn SpoolReader>> {
        Box::pin(async move {
            let bytes = self.gather(&key, payload).await?;
            self.check(&key, bytes.len() as u64)?;
            let mut index = LineIndexBuilder::new(self.block_size.unwrap_or(LineIndex::BLOCK_SIZE));
            index.push(&bytes);
            let reader = Arc::new(MemoryReader {
                key: key.clone(),
                store: Arc::clone(&self.name),
                content: Arc::new(Content(bytes)),
                index: Arc::new(index.finish()),
            });
            self.entries().insert(key, Arc::clone(&reader));
            Ok(reader as Arc<dyn SpoolReader>)
        })
    }

    fn read(&self, key: SpoolKey) -> SpoolFuture<'_, Option<Arc<dyn SpoolReader>>> {
        let found = self.entries().get(&key).map(|it| Arc::clone(it) as Arc<dyn SpoolReader>);
        Box::pin(std::future::ready(Ok(found)))
    }

    fn delete(&self, key: SpoolKey) -> SpoolFuture<'_, bool> {
        let existed = self.entries().remove(&key).is_some();
        Box::pin(std::future::ready(Ok(existed)))
    }

    fn list(&self) -> SpoolFuture<'_, Vec<SpoolKey>> {
        let keys = self.entries().keys().cloned().collect();
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

struct MemoryReader {
    key: SpoolKey,
    store: Arc<str>,
    content: Arc<Content>,
    index: Arc<LineIndex>,
}

impl SpoolReader for MemoryReader {
    fn byte_length(&self) -> u64 {
        self.content.0.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> SpoolFuture<'_, Bytes> {
        let bytes = &self.content.0;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(len).min(bytes.len());
        Box::pin(std::future::ready(Ok(bytes.slice(start..end))))
    }

    fn index(&self) -> SpoolFuture<'_, Arc<LineIndex>> {
        Box::pin(std::future::ready(Ok(Arc::clone(&self.index))))
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        let locator = json!({"key": self.key, "store": &*self.store});
        Some(ReaderDescriptor::new(MemorySpoolStore::TAG, locator))
    }

    fn local(&self) -> Option<Arc<dyn LocalRead>> {
        Some(Arc::clone(&self.content) as Arc<dyn LocalRead>)
    }
}

impl fmt::Debug for MemoryReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryReader({} bytes)", self.content.0.len())
    }
}

struct Content(Bytes);

impl LocalRead for Content {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.0.get(start..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        let (Some(to), Some(from)) = (buffer.get_mut(..len), rest.get(..len)) else { return Ok(0) };
        to.copy_from_slice(from);
        Ok(len)
    }
}
