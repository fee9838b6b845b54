//! Readers that notice content which is not the one that was stored.

use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{LineIndex, LocalRead, ReaderDescriptor, SpoolError, SpoolKey, SpoolReader};
use crate::BoxFuture;

/// The length and the SHA-256 of stored content, computed while it was written.
///
/// ```
/// use haft_core::spool::{ContentDigest, ContentHasher};
///
/// let mut hasher = ContentHasher::new();
/// hasher.update(b"one\n");
/// hasher.update(b"two\n");
/// let digest = hasher.finish();
/// assert_eq!((digest.byte_length(), digest), (8, ContentDigest::of(b"one\ntwo\n")));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentDigest {
    bytes: u64,
    #[serde(with = "hex")]
    sha256: [u8; 32],
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

    /// The hash of the content.
    #[must_use]
    pub const fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentDigest({} bytes, ", self.bytes)?;
        self.sha256.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("…)")
    }
}

/// Computes a [`ContentDigest`] of content that arrives in chunks.
#[derive(Clone, Debug, Default)]
pub struct ContentHasher {
    bytes: u64,
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
        self.hash.update(chunk);
    }

    /// The digest of all chunks.
    #[must_use]
    pub fn finish(self) -> ContentDigest {
        ContentDigest { bytes: self.bytes, sha256: self.hash.finalize().into() }
    }
}

/// A reader of content that another process may have changed since it was stored.
///
/// The length is compared at once. The hash is compared before the first read, which therefore reads everything once; from
/// then on the reader below answers for its snapshot. A reader that is bound to its content needs neither.
pub(crate) struct VerifiedReader {
    reader: Arc<dyn SpoolReader>,
    expected: ContentDigest,
    /// Whether the content is the one that was stored; nothing before the first read.
    verdict: Arc<OnceLock<bool>>,
}

impl VerifiedReader {
    /// Compares a reader with the digest of what was stored.
    pub(crate) fn open(
        reader: Arc<dyn SpoolReader>,
        expected: ContentDigest,
    ) -> Arc<dyn SpoolReader> {
        if reader.byte_length() != expected.bytes {
            let how = format!(
                "it has {} bytes, and {} were stored",
                reader.byte_length(),
                expected.bytes
            );
            return LostReader::open(reader.describe(), expected.bytes, how);
        }
        if reader.is_content_bound() {
            return reader;
        }
        Arc::new(Self { reader, expected, verdict: Arc::default() })
    }

    fn judge(&self, found: ContentDigest) -> Result<(), SpoolError> {
        if *self.verdict.get_or_init(|| found == self.expected) {
            Ok(())
        } else {
            Err(changed(self.reader.describe().as_ref()))
        }
    }

    async fn verify(&self) -> Result<(), SpoolError> {
        match self.verdict.get() {
            Some(true) => return Ok(()),
            Some(false) => return Err(changed(self.reader.describe().as_ref())),
            None => {}
        }
        let mut hasher = ContentHasher::new();
        while hasher.bytes < self.expected.bytes {
            let chunk = self.reader.read_at(hasher.bytes, CHUNK).await?;
            if chunk.is_empty() {
                break;
            }
            hasher.update(&chunk);
        }
        self.judge(hasher.finish())
    }
}

impl SpoolReader for VerifiedReader {
    fn byte_length(&self) -> u64 {
        self.expected.bytes
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        Box::pin(async move {
            self.verify().await?;
            self.reader.read_at(offset, len).await
        })
    }

    /// The index does not wait for the verification: it is asked for with every prompt, and what it leads to is verified
    /// when it is read.
    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        self.reader.index()
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        self.reader.describe()
    }

    fn local(&self) -> Option<Arc<dyn LocalRead>> {
        let local = self.reader.local()?;
        let (expected, verdict) = (self.expected, Arc::clone(&self.verdict));
        let key = key_of(self.reader.describe().as_ref());
        Some(Arc::new(VerifiedLocal { local, expected, verdict, key }))
    }
}

impl fmt::Debug for VerifiedReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VerifiedReader").field(&self.reader).finish()
    }
}

/// The same for reads that block.
struct VerifiedLocal {
    local: Arc<dyn LocalRead>,
    expected: ContentDigest,
    verdict: Arc<OnceLock<bool>>,
    key: SpoolKey,
}

impl VerifiedLocal {
    fn changed_error(&self) -> io::Error {
        SpoolError::Changed { key: self.key.clone(), how: OTHER_BYTES.to_owned() }.into()
    }
}

impl LocalRead for VerifiedLocal {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let is_unchanged = match self.verdict.get() {
            Some(verdict) => *verdict,
            None => {
                let found = self.hash_content()?;
                *self.verdict.get_or_init(|| found == self.expected)
            }
        };
        if is_unchanged { self.local.read_at(offset, buffer) } else { Err(self.changed_error()) }
    }

    /// Content that was not verified yet is read as a whole first, which is waited for.
    fn read_at_without_waiting(&self, offset: u64, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        match *self.verdict.get()? {
            true => self.local.read_at_without_waiting(offset, buffer),
            false => Some(Err(self.changed_error())),
        }
    }
}

impl VerifiedLocal {
    fn hash_content(&self) -> io::Result<ContentDigest> {
        let mut hasher = ContentHasher::new();
        let mut buffer = vec![0; CHUNK];
        while hasher.bytes < self.expected.bytes {
            let count = self.local.read_at(hasher.bytes, &mut buffer)?;
            match buffer.get(..count) {
                Some(chunk) if !chunk.is_empty() => hasher.update(chunk),
                _ => break,
            }
        }
        Ok(hasher.finish())
    }
}

/// A reader of content that is not there any more. Every query fails and says so; the turn goes on.
#[derive(Debug)]
pub(crate) struct LostReader {
    descriptor: Option<ReaderDescriptor>,
    bytes: u64,
    how: String,
}

impl LostReader {
    /// Stands for content of this length.
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

fn changed(descriptor: Option<&ReaderDescriptor>) -> SpoolError {
    SpoolError::Changed { key: key_of(descriptor), how: OTHER_BYTES.to_owned() }
}

/// The key of what a descriptor describes, as far as an error needs it.
fn key_of(descriptor: Option<&ReaderDescriptor>) -> SpoolKey {
    let key = descriptor.and_then(|it| it.locator.get("key")).and_then(|it| it.as_str());
    SpoolKey::from(key.unwrap_or("an artifact"))
}

const OTHER_BYTES: &str = "its bytes are not the ones that were stored";

/// How much is hashed at once.
const CHUNK: usize = 1024 * 1024;

/// Hashes as hexadecimal digits.
mod hex {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::id::CallId;

    pub(super) fn serialize<S: Serializer>(
        hash: &[u8; 32],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[u8; 32], D::Error> {
        // The text of a call id has the same form.
        let text = String::deserialize(deserializer)?;
        let id: CallId = text.parse().map_err(D::Error::custom)?;
        Ok(*id.as_bytes())
    }
}
