//! Stores for large results, and readers that know where lines begin.
//!
//! A [`SpoolStore`] stores the bytes of a result unchanged. A [`SpoolReader`] reads them by position and has a
//! [`LineIndex`], so that a line in the middle of gigabytes costs one small read. Custom stores implement these two
//! traits; everything that queries text works on any of them.
//!
//! # Lines
//!
//! Content is split on LF alone. Empty content has no lines; `a\nb\n` has three, the last of them empty. The text of a
//! line is a view: bytes that are not UTF-8 become U+FFFD, a byte order mark at the very start is left out, and so is
//! one CR at the end of a line. The stored bytes keep all of it.

mod buffer;
mod error;
mod index;
mod key;
mod key_scan;
mod verified;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::{fmt, io};

use bytes::Bytes;

use self::key_scan::PagedScan;
use crate::BoxFuture;
use crate::byte_stream::ByteStream;

pub use crate::descriptor::ReaderDescriptor;

pub use self::buffer::AlignedBuffer;
pub use self::error::SpoolError;
pub use self::index::{BlockStart, LineIndex, LineIndexBuilder, count_newlines};
pub use self::key::SpoolKey;
pub use self::key_scan::KeyScan;
pub(crate) use self::verified::{ComparedReader, LostReader, Verification, VerifiedReader};
pub use self::verified::{ContentDigest, ContentHasher, ContentState};

/// Reads one stored result by position.
///
/// A reader is a snapshot: its length and its bytes do not change during its lifetime, even if its key is written again
/// or deleted. A reader that cannot keep that promise fails with [`SpoolError::Changed`] and never returns other bytes.
pub trait SpoolReader: fmt::Debug + Send + Sync {
    /// How many bytes there are.
    fn byte_length(&self) -> u64;

    /// The bytes from `offset` on: `len` of them, or fewer where the content ends.
    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>>;

    /// Where the lines begin. Built once and shared.
    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>>;

    /// How to find this content again in another process, or `None` if that cannot be done.
    fn describe(&self) -> Option<ReaderDescriptor> {
        None
    }

    /// Whether the reader was opened by an identity of the content that a record has and that changes with the content,
    /// such as the ETag of an object. Then the hash in the record need not be compared, which would read everything
    /// once.
    fn is_content_bound(&self) -> bool {
        false
    }

    /// The same bytes without a future, for content that is on this machine. Queries then read on one
    /// blocking thread, without a hop per read.
    fn local(&self) -> Option<Arc<dyn LocalRead>> {
        None
    }
}

/// Positioned reads that block.
pub trait LocalRead: Send + Sync {
    /// Reads from `offset` into `buffer` and returns the number of bytes, which is zero only at the end of the content.
    /// It may block, so it is never called on an async worker.
    ///
    /// # Errors
    ///
    /// When the read fails. An error that wraps a [`SpoolError`] is passed on as that.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Reads as [`read_at`](Self::read_at) does if that does not have to wait, for example because the bytes are in
    /// memory. Returns `None` if it has to, or if that is not known, which is the default. Called on async workers.
    fn read_at_without_waiting(&self, offset: u64, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        let _ = (offset, buffer);
        None
    }
}

/// Stores results by key.
///
/// `haft_conformance::spool_store` checks that a store keeps this contract.
pub trait SpoolStore: fmt::Debug + Send + Sync {
    /// Stores content under a key and gives a reader of it. Content that was there is replaced, in one
    /// step: until then the old content is read.
    ///
    /// A write that fails, or whose future is dropped, leaves the old content or none; a write that is
    /// dropped in its very last step may have taken effect, then wholly.
    fn write(
        &self,
        key: SpoolKey,
        payload: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>>;

    /// Opens the content of a key. Returns `None` if there is none.
    fn read(
        &self,
        key: SpoolKey,
    ) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>>;

    /// Opens the content that a stored record describes. Returns `None` if it is gone, and for a descriptor that this store
    /// did not write: it opens nothing else.
    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>>;

    /// Removes what is stored under a key and says whether there was something.
    fn delete(&self, key: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>>;

    /// The keys that have content, sorted.
    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>>;

    /// A page of the keys that have content, sorted. The default implementation takes the page from
    /// [`list`](Self::list); a store that can list only a page overrides it.
    fn list_page(&self, page: SpoolPage) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        Box::pin(async move {
            let keys = self.list().await?.into_iter().filter(|key| page.selects(key));
            Ok(keys.take(page.limit).collect())
        })
    }

    /// Lists the keys that begin with a prefix, in any order and some at a time, for work on all of them. A key that is
    /// there from the beginning to the end is listed once, also if others are deleted meanwhile. By default one page
    /// follows the other; a store that reads everything for each page, and can read it bit by bit, does so.
    fn scan_keys<'s>(&'s self, prefix: &str) -> Box<dyn KeyScan + 's> {
        Box::new(PagedScan::new(self, SpoolPage::new(SCANNED_PAGE).prefix(prefix)))
    }

    /// Removes what crashed writers left behind, and returns how many pieces there were. By default there are none.
    fn remove_orphans(&self) -> BoxFuture<'_, Result<usize, SpoolError>> {
        Box::pin(std::future::ready(Ok(0)))
    }
}

/// How many keys a scan lists together by default.
const SCANNED_PAGE: usize = 10_000;

/// Which keys to list.
///
/// ```
/// use haft_core::spool::{SpoolKey, SpoolPage};
///
/// let page = SpoolPage::new(100).prefix("turn/").after("turn/a".into());
/// assert!(page.selects(&"turn/b".into()) && !page.selects(&"turn/a".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpoolPage {
    /// Only keys that begin with this text.
    pub prefix: String,
    /// Only keys after this one, to continue where a page ended.
    pub after: Option<SpoolKey>,
    /// At most this many.
    pub limit: usize,
}

impl SpoolPage {
    /// The first page of all keys.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { prefix: String::new(), after: None, limit }
    }

    /// Only keys that begin with this text.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Only keys behind this one.
    #[must_use]
    pub fn after(mut self, key: SpoolKey) -> Self {
        self.after = Some(key);
        self
    }

    /// Whether a key is one of them.
    #[must_use]
    pub fn selects(&self, key: &SpoolKey) -> bool {
        key.as_str().starts_with(&self.prefix) && self.after.as_ref().is_none_or(|it| it < key)
    }
}

/// What is to be stored.
#[derive(Debug)]
#[non_exhaustive]
pub enum SpoolPayload {
    /// Text; stored as UTF-8.
    Text(String),
    /// Bytes; stored as they are.
    Bytes(Bytes),
    /// Bytes that come bit by bit; never whole in memory unless the store itself is memory.
    Stream(ByteStream),
}

impl From<String> for SpoolPayload {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for SpoolPayload {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Bytes> for SpoolPayload {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Vec<u8>> for SpoolPayload {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<ByteStream> for SpoolPayload {
    fn from(stream: ByteStream) -> Self {
        Self::Stream(stream)
    }
}
