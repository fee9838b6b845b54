//! Readers that notice content that differs from what was stored.

use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    LineIndex, LineIndexBuilder, LocalRead, ReaderDescriptor, SpoolError, SpoolKey, SpoolReader,
    count_newlines,
};
use crate::BoxFuture;
use crate::id::Digest;

/// The length, the number of lines and the SHA-256 of stored content, computed while it was written.
///
/// ```
/// use haft_core::spool::{ContentDigest, ContentHasher};
///
/// let mut hasher = ContentHasher::new();
/// hasher.update(b"one\n");
/// hasher.update(b"two\n");
/// let digest = hasher.finish();
/// assert_eq!((digest.byte_length(), digest.line_count()), (8, 3));
/// assert_eq!(digest, ContentDigest::of(b"one\ntwo\n"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentDigest {
    bytes: u64,
    newlines: u64,
    sha256: Digest,
}

impl ContentDigest {
    /// The digest of content that is in memory.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        let mut hasher = ContentHasher::new();
        hasher.update(content);
        hasher.finish()
    }

    /// How many bytes the content has.
    #[must_use]
    pub const fn byte_length(&self) -> u64 {
        self.bytes
    }

    /// How many lines the content has, as [`LineIndex::line_count`] counts them.
    #[must_use]
    pub const fn line_count(&self) -> u64 {
        if self.bytes == 0 { 0 } else { self.newlines.saturating_add(1) }
    }

    /// The hash of the content.
    #[must_use]
    pub const fn sha256(&self) -> Digest {
        self.sha256
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentDigest({} bytes, {:?})", self.bytes, self.sha256)
    }
}

/// Computes a [`ContentDigest`] of content that arrives in chunks.
#[derive(Clone, Debug, Default)]
pub struct ContentHasher {
    bytes: u64,
    newlines: u64,
    hash: Sha256,
}

impl ContentHasher {
    /// Starts with empty content.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a chunk.
    pub fn update(&mut self, chunk: &[u8]) {
        self.bytes = self.bytes.saturating_add(chunk.len() as u64);
        self.newlines = self.newlines.saturating_add(count_newlines(chunk));
        self.hash.update(chunk);
    }

    /// The digest of all chunks.
    #[must_use]
    pub fn finish(self) -> ContentDigest {
        let sha256 = Digest::from_bytes(self.hash.finalize().into());
        ContentDigest { bytes: self.bytes, newlines: self.newlines, sha256 }
    }
}

/// Whether stored content is the content whose digest its record has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentState {
    /// It is: the hashes were compared, this process wrote it, or its reader is bound to it.
    Verified,
    /// It has the right length, and its hash has not been compared yet.
    Unverified,
    /// It is not: it was changed, truncated or removed. Every read of it fails.
    Changed,
    /// Its record has no digest, so that nothing can be compared: a program gave the content by a reader of its own.
    NoDigest,
}

/// Stored content and the digest that it is compared with.
pub(crate) struct Verification {
    reader: Arc<dyn SpoolReader>,
    expected: ContentDigest,
    /// Where the lines of the content begin, or `None` if it is not the one that was stored; nothing until its hash was
    /// compared.
    verdict: OnceLock<Option<Arc<LineIndex>>>,
}

impl Verification {
    /// The content, also while its hash has not been compared.
    pub(crate) const fn unverified_reader(&self) -> &Arc<dyn SpoolReader> {
        &self.reader
    }

    pub(crate) fn state(&self) -> ContentState {
        match self.verdict.get() {
            Some(Some(_)) => ContentState::Verified,
            Some(None) => ContentState::Changed,
            None => ContentState::Unverified,
        }
    }

    /// Compares the hash, unless that was done before. A verification that runs elsewhere at the same time ends this one.
    pub(crate) async fn verify(&self) -> Result<(), SpoolError> {
        let mut content = ReadContent::new();
        while self.verdict.get().is_none() {
            let at = content.byte_length();
            let chunk = match at < self.expected.bytes {
                true => self.reader.read_at(at, CHUNK).await?,
                false => Bytes::new(),
            };
            if chunk.is_empty() {
                self.set_verdict(std::mem::replace(&mut content, ReadContent::new()));
            }
            content.push(&chunk);
        }
        self.check()
    }

    /// Compares the hash with reads that block.
    fn verify_blocking(&self, local: &dyn LocalRead) -> io::Result<()> {
        let mut content = ReadContent::new();
        let mut buffer = Vec::new();
        while self.verdict.get().is_none() {
            buffer.resize(CHUNK, 0);
            let at = content.byte_length();
            let count = match at < self.expected.bytes {
                true => local.read_at(at, &mut buffer)?,
                false => 0,
            };
            match buffer.get(..count) {
                Some(chunk) if !chunk.is_empty() => content.push(chunk),
                _ => self.set_verdict(std::mem::replace(&mut content, ReadContent::new())),
            }
        }
        self.check().map_err(io::Error::from)
    }

    fn set_verdict(&self, content: ReadContent) {
        let is_equal = content.hasher.finish() == self.expected;
        let _ = self.verdict.set(is_equal.then(|| Arc::new(content.lines.finish())));
    }

    /// Where the lines begin, of content that is verified first.
    async fn index(&self) -> Result<Arc<LineIndex>, SpoolError> {
        self.verify().await?;
        match self.verdict.get() {
            Some(Some(index)) => Ok(Arc::clone(index)),
            _ => Err(self.changed_error()),
        }
    }

    fn check(&self) -> Result<(), SpoolError> {
        match self.state() {
            ContentState::Changed => Err(self.changed_error()),
            _ => Ok(()),
        }
    }

    fn changed_error(&self) -> SpoolError {
        let key = key_of(self.reader.describe().as_ref());
        SpoolError::Changed { key, how: OTHER_BYTES.to_owned() }
    }
}

/// Content that is read from front to back: its hash, and where its lines begin.
struct ReadContent {
    hasher: ContentHasher,
    lines: LineIndexBuilder,
}

impl ReadContent {
    fn new() -> Self {
        Self { hasher: ContentHasher::new(), lines: LineIndexBuilder::new(LineIndex::BLOCK_SIZE) }
    }

    fn byte_length(&self) -> u64 {
        self.lines.byte_length()
    }

    fn push(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
        self.lines.push(chunk);
    }
}

/// The result of comparing a reader with the digest of the stored content.
pub(crate) enum ComparedReader {
    /// It is bound to the content, so that nothing needs to be compared.
    Bound(Arc<dyn SpoolReader>),
    /// The length is right, and the hash is still to be compared.
    Unverified(Arc<Verification>),
    /// The length is wrong. Every read fails.
    Changed(Arc<dyn SpoolReader>),
}

impl ComparedReader {
    /// Compares a reader with the digest of what was stored, as far as that needs no reading.
    pub(crate) fn new(reader: Arc<dyn SpoolReader>, expected: ContentDigest) -> Self {
        if reader.byte_length() != expected.bytes {
            let how = format!(
                "it has {} bytes, and {} were stored",
                reader.byte_length(),
                expected.bytes
            );
            return Self::Changed(LostReader::open(reader.describe(), expected.bytes, how));
        }
        if reader.is_content_bound() {
            return Self::Bound(reader);
        }
        let verdict = OnceLock::new();
        Self::Unverified(Arc::new(Verification { reader, expected, verdict }))
    }
}

/// A reader of content that another process may have changed since it was stored.
///
/// The hash is compared before the first read, and before the index is given. That reads everything once; from then on the
/// reader below answers for its snapshot.
pub(crate) struct VerifiedReader(pub(crate) Arc<Verification>);

impl SpoolReader for VerifiedReader {
    fn byte_length(&self) -> u64 {
        self.0.expected.bytes
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        Box::pin(async move {
            self.0.verify().await?;
            self.0.reader.read_at(offset, len).await
        })
    }

    /// The index is built from the bytes that are verified. One that is stored beside them proves nothing.
    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        Box::pin(self.0.index())
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        self.0.reader.describe()
    }

    fn local(&self) -> Option<Arc<dyn LocalRead>> {
        let local = self.0.reader.local()?;
        Some(Arc::new(VerifiedLocal { local, verification: Arc::clone(&self.0) }))
    }
}

impl fmt::Debug for VerifiedReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VerifiedReader").field(&self.0.reader).finish()
    }
}

/// The same for reads that block.
struct VerifiedLocal {
    local: Arc<dyn LocalRead>,
    verification: Arc<Verification>,
}

impl LocalRead for VerifiedLocal {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.verification.verify_blocking(&*self.local)?;
        self.local.read_at(offset, buffer)
    }

    /// Content that was not verified yet is read as a whole first, which is waited for.
    fn read_at_without_waiting(&self, offset: u64, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        match self.verification.state() {
            ContentState::Verified => self.local.read_at_without_waiting(offset, buffer),
            ContentState::Changed => Some(Err(self.verification.check().err()?.into())),
            _ => None,
        }
    }
}

/// A reader of content that no longer exists. Every query fails with that reason; the turn continues.
#[derive(Debug)]
pub(crate) struct LostReader {
    descriptor: Option<ReaderDescriptor>,
    bytes: u64,
    how: String,
}

impl LostReader {
    /// A reader for missing content of this length.
    pub(crate) fn open(
        descriptor: Option<ReaderDescriptor>,
        bytes: u64,
        how: String,
    ) -> Arc<dyn SpoolReader> {
        Arc::new(Self { descriptor, bytes, how })
    }

    fn error(&self) -> SpoolError {
        SpoolError::Changed { key: key_of(self.descriptor.as_ref()), how: self.how.clone() }
    }
}

impl SpoolReader for LostReader {
    fn byte_length(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, _: u64, _: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        Box::pin(async { Err(self.error()) })
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        Box::pin(async { Err(self.error()) })
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        self.descriptor.clone()
    }
}

/// The key of what a descriptor describes, as far as an error needs it.
fn key_of(descriptor: Option<&ReaderDescriptor>) -> SpoolKey {
    let key = descriptor.and_then(|it| it.locator.get("key")).and_then(|it| it.as_str());
    SpoolKey::from(key.unwrap_or("an artifact"))
}

const OTHER_BYTES: &str = "its bytes are not the ones that were stored";

/// How much is hashed at once: little enough that a task which verifies lets others run.
const CHUNK: usize = 256 * 1024;
