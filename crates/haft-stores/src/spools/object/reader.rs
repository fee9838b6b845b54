//! Reads one object.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::{Bytes, BytesMut};
use haft_core::BoxFuture;
use haft_core::spool::{
    LineIndex, LineIndexBuilder, ReaderDescriptor, SpoolError, SpoolKey, SpoolReader,
};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::block_cache::BlockCache;
use super::{ObjectSpoolStore, object_error};
use crate::blocking::run_blocking;

/// Reads an object in blocks, bound to its ETag.
pub(super) struct ObjectReader {
    parts: ReaderParts,
    /// Whether the reader was opened by the ETag that a record has.
    pub(super) is_bound: bool,
    index: OnceLock<Arc<LineIndex>>,
    /// The blocks that were read last.
    recent: Mutex<RecentBlocks>,
}

/// The parts of a reader.
pub(super) struct ReaderParts {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) data: Path,
    pub(super) index_object: Path,
    pub(super) key: SpoolKey,
    pub(super) size: u64,
    pub(super) e_tag: Option<String>,
    pub(super) block_size: NonZeroU32,
    pub(super) cache: Option<Arc<BlockCache>>,
}

#[derive(Default)]
struct RecentBlocks {
    blocks: VecDeque<(u64, Bytes)>,
    /// The block behind the last one that was fetched.
    next: u64,
}

impl ObjectReader {
    pub(super) fn new(parts: ReaderParts) -> Self {
        Self { parts, is_bound: false, index: OnceLock::new(), recent: Mutex::default() }
    }

    /// Stores the index next to the object. It only saves time: without it, it is built when it is needed.
    pub(super) async fn store_index(&self, index: LineIndex) {
        let header = json!({"key": self.parts.key, "etag": self.parts.e_tag}).to_string();
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.into_bytes());
        bytes.extend(index.encode());
        let _ = self.parts.store.put(&self.parts.index_object, bytes.into()).await;
        let _ = self.index.set(Arc::new(index));
    }

    async fn read(&self, offset: u64, len: usize) -> Result<Bytes, SpoolError> {
        let end = offset.saturating_add(len as u64).min(self.parts.size);
        if offset >= end {
            return Ok(Bytes::new());
        }
        let mut block = offset / BLOCK_BYTES;
        let first = self.block(block).await?;
        let piece = slice(&first, offset - block * BLOCK_BYTES, end - block * BLOCK_BYTES);
        if offset + piece.len() as u64 == end {
            return Ok(piece);
        }
        let mut bytes = BytesMut::from(&*piece);
        while offset + (bytes.len() as u64) < end {
            block += 1;
            let next = self.block(block).await?;
            bytes.extend_from_slice(&slice(&next, 0, end - block * BLOCK_BYTES));
        }
        Ok(bytes.freeze())
    }

    /// A block: from memory, from the disk, or from the store with some that follow it.
    async fn block(&self, number: u64) -> Result<Bytes, SpoolError> {
        let is_sequential = {
            let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, block)) = recent.blocks.iter().find(|(it, _)| *it == number) {
                return Ok(block.clone());
            }
            recent.next == number && number > 0
        };
        if let Some(block) = self.read_cached(number).await {
            self.remember(number, std::slice::from_ref(&block));
            return Ok(block);
        }
        let count = if is_sequential { READ_AHEAD } else { 1 };
        let blocks = self.fetch(number, count).await?;
        self.remember(number, &blocks);
        self.write_cached(number, &blocks).await;
        let missing = || {
            let how = "it has fewer bytes than before".to_owned();
            SpoolError::Changed { key: self.parts.key.clone(), how }
        };
        blocks.into_iter().next().ok_or_else(missing)
    }

    /// Fetches blocks with one request.
    async fn fetch(&self, first: u64, count: u64) -> Result<Vec<Bytes>, SpoolError> {
        let ReaderParts { store, data, key, size, e_tag, .. } = &self.parts;
        let start = first * BLOCK_BYTES;
        let end = (start + count * BLOCK_BYTES).min(*size);
        let failed = |error| match error {
            object_store::Error::NotFound { .. } => {
                let how = "its object was deleted".to_owned();
                SpoolError::Changed { key: key.clone(), how }
            }
            error => object_error(key, "read", error),
        };
        let range = Some(GetRange::Bounded(start..end));
        let if_match = e_tag.clone();
        let options = GetOptions { range, if_match, ..GetOptions::default() };
        let found = store.get_opts(data, options).await.map_err(failed)?;
        if found.meta.size != *size || (e_tag.is_some() && found.meta.e_tag != *e_tag) {
            let how = "its object was replaced".to_owned();
            return Err(SpoolError::Changed { key: key.clone(), how });
        }
        let mut bytes = found.bytes().await.map_err(failed)?;
        #[cfg(test)]
        FETCHED_BYTES.fetch_add(bytes.len() as u64, std::sync::atomic::Ordering::SeqCst);
        if bytes.len() as u64 != end - start {
            let how = "it has fewer bytes than before".to_owned();
            return Err(SpoolError::Changed { key: key.clone(), how });
        }
        let mut blocks = Vec::new();
        while !bytes.is_empty() {
            let len = bytes.len().min(BLOCK_BYTES as usize);
            blocks.push(bytes.split_to(len));
        }
        Ok(blocks)
    }

    fn remember(&self, first: u64, blocks: &[Bytes]) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, block) in (first..).zip(blocks) {
            recent.blocks.push_back((number, block.clone()));
            recent.next = number + 1;
        }
        while recent.blocks.len() > MAX_RECENT {
            recent.blocks.pop_front();
        }
    }

    async fn read_cached(&self, number: u64) -> Option<Bytes> {
        let cache = Arc::clone(self.parts.cache.as_ref()?);
        let name = self.cache_name(number)?;
        run_blocking(move || Ok(cache.read(&name))).await.ok().flatten()
    }

    async fn write_cached(&self, first: u64, blocks: &[Bytes]) {
        let Some(cache) = &self.parts.cache else { return };
        for (number, block) in (first..).zip(blocks) {
            let Some(name) = self.cache_name(number) else { return };
            let cache = Arc::clone(cache);
            let block = block.clone();
            let _ = run_blocking(move || {
                cache.write(&name, &block);
                Ok(())
            })
            .await;
        }
    }

    /// The name of a block in the cache, which contains the ETag of the content. Without an ETag nothing is cached.
    fn cache_name(&self, number: u64) -> Option<String> {
        let e_tag = self.parts.e_tag.as_ref()?;
        let digest = Sha256::digest(format!("{}\n{e_tag}", self.parts.data));
        Some(format!("{}-{number}", hex::encode(digest)))
    }

    async fn load_index(&self) -> Result<Arc<LineIndex>, SpoolError> {
        if let Some(index) = self.index.get() {
            return Ok(Arc::clone(index));
        }
        let index = match self.read_index_object().await {
            Some(index) => index,
            None => self.build_index().await?,
        };
        Ok(Arc::clone(self.index.get_or_init(|| Arc::new(index))))
    }

    /// Reads the index that is stored next to the object, if it belongs to this version of it.
    async fn read_index_object(&self) -> Option<LineIndex> {
        let blocks = self.parts.size.div_ceil(u64::from(self.parts.block_size.get()));
        let max_bytes = blocks.checked_mul(4)?.checked_add(MAX_HEADER_BYTES)?;
        let found = self.parts.store.get(&self.parts.index_object).await.ok()?;
        if found.meta.size > max_bytes {
            return None;
        }
        let bytes = found.bytes().await.ok()?;
        let (header, index) = parse_index(&bytes)?;
        let e_tag = header.get("etag").and_then(Value::as_str);
        let index = LineIndex::decode(index).ok()?;
        let is_current = e_tag == self.parts.e_tag.as_deref()
            && e_tag.is_some()
            && index.byte_length() == self.parts.size
            && index.block_size() == self.parts.block_size;
        is_current.then_some(index)
    }

    async fn build_index(&self) -> Result<LineIndex, SpoolError> {
        let mut builder = LineIndexBuilder::new(self.parts.block_size);
        while builder.byte_length() < self.parts.size {
            let block = self.block(builder.byte_length() / BLOCK_BYTES).await?;
            builder.push(&block);
        }
        Ok(builder.finish())
    }
}

impl SpoolReader for ObjectReader {
    fn byte_length(&self) -> u64 {
        self.parts.size
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        Box::pin(self.read(offset, len))
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        Box::pin(self.load_index())
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        let mut locator = json!({"key": self.parts.key});
        if let (Some(e_tag), Some(members)) = (&self.parts.e_tag, locator.as_object_mut()) {
            members.insert("etag".to_owned(), e_tag.as_str().into());
        }
        Some(ReaderDescriptor::new(ObjectSpoolStore::TAG, locator))
    }

    fn is_content_bound(&self) -> bool {
        self.is_bound
    }
}

impl fmt::Debug for ObjectReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectReader({}, {} bytes)", self.parts.key, self.parts.size)
    }
}

/// The key in the header of an index.
pub(super) fn parse_index_key(bytes: &[u8]) -> Option<SpoolKey> {
    let (header, _) = parse_index(bytes)?;
    header.get("key").and_then(Value::as_str).map(SpoolKey::from)
}

/// Splits the bytes of an index object: the length of the header, the header, the index.
fn parse_index(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (header, index) = rest.split_at_checked(length)?;
    Some((serde_json::from_slice(header).ok()?, index))
}

/// A part of a block, cut at its end.
fn slice(block: &Bytes, start: u64, end: u64) -> Bytes {
    let cut = |at: u64| usize::try_from(at).map_or(block.len(), |at| at.min(block.len()));
    block.slice(cut(start)..cut(end.max(start)))
}

/// How many bytes the tests of this process have fetched.
#[cfg(test)]
pub(super) static FETCHED_BYTES: std::sync::atomic::AtomicU64 =
    std::sync::atomic::AtomicU64::new(0);
/// How much is fetched and cached as one.
const BLOCK_BYTES: u64 = 1 << 20;
/// How many blocks one request fetches when content is read from front to back.
const READ_AHEAD: u64 = 8;
/// How many blocks a reader keeps in memory.
const MAX_RECENT: usize = 10;
/// Keys can have any length, but hardly one is longer.
const MAX_HEADER_BYTES: u64 = 1 << 20;
