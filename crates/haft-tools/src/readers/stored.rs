//! Reads media from a spool store.

use haft_core::error::codes;
use std::fmt;
use std::sync::{Arc, OnceLock};

use haft_core::error::{Coded, ErrorCode};
use haft_core::media::{Media, MediaReader, ReaderDescriptor};
use haft_core::spool::{SpoolError, SpoolKey, SpoolPayload, SpoolReader, SpoolStore};
use haft_core::tool::{ByteStream, ToolFailure};
use serde_json::{Value, json};

use super::chunk_source::{ChunkSource, NextChunk, byte_stream};
use super::{CHUNK_BYTES, locator_field, stream_failure};

/// Reads the content of a key in chunks. Each stream opens the content again, so nothing stays open between streams.
///
/// Use each key for one content only. If the length of the content changes, streams end with
/// [`StoredError::Changed`].
///
/// ```
/// use std::sync::Arc;
/// use haft_core::media::MediaReader as _;
/// use haft_stores::MemorySpoolStore;
/// use haft_tools::readers::StoredReader;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Arc::new(MemorySpoolStore::new());
/// let reader = StoredReader::write(store, "media/1", "hello").await?;
/// assert_eq!(reader.byte_length(), Some(5));
/// assert_eq!(reader.key().as_str(), "media/1");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct StoredReader {
    store: Arc<dyn SpoolStore>,
    key: SpoolKey,
    /// Known after a write or after the first stream.
    length: Arc<OnceLock<u64>>,
}

impl StoredReader {
    /// The tag of its descriptors. The locator is `{"key": "…"}`.
    pub const TAG: &'static str = "media:stored";

    /// Creates a reader of the content of a key. The store is not accessed yet, and the length is unknown before the
    /// first stream.
    #[must_use]
    pub fn new(store: Arc<dyn SpoolStore>, key: impl Into<SpoolKey>) -> Self {
        Self { store, key: key.into(), length: Arc::default() }
    }

    /// Writes bytes to a store, and creates a reader of them. A stream is never collected in memory, unless the store is
    /// in memory. The store limits the size.
    ///
    /// # Errors
    ///
    /// Fails if the stream or the store fails. Nothing is stored then.
    pub async fn write(
        store: Arc<dyn SpoolStore>,
        key: impl Into<SpoolKey> + Send,
        bytes: impl Into<SpoolPayload> + Send,
    ) -> Result<Self, SpoolError> {
        let (key, payload) = (key.into(), bytes.into());
        let written = store.write(key.clone(), payload).await?;
        let length = Arc::new(OnceLock::from(written.byte_length()));
        Ok(Self { store, key, length })
    }

    /// The key.
    #[must_use]
    pub const fn key(&self) -> &SpoolKey {
        &self.key
    }

    /// A function for [`ReaderResolvers::with`](haft_core::media::ReaderResolvers::with), under [`StoredReader::TAG`].
    /// A descriptor can then open every key of the store, so use a separate store for media.
    pub fn resolver(
        store: Arc<dyn SpoolStore>,
    ) -> impl Fn(&Value) -> Result<Self, ToolFailure> + use<> {
        move |locator| {
            let key = locator_field(locator, "key")
                .ok_or_else(|| stream_failure(StoredError::Locator))?;
            Ok(Self::new(Arc::clone(&store), key))
        }
    }
}

/// Streams the bytes of a media object into a store. Returns the same media object with a reader of the stored bytes.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_core::media::{Media, MediaFile, MediaKind, ReaderResolvers};
/// use haft_tools::readers::{StoredReader, store_media};
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store: Arc<dyn SpoolStore> = Arc::new(MemorySpoolStore::new());
/// let file = MediaFile::new("a.png", "image/png", &b"\x89PNG"[..]);
/// let media = Media::user_attachment(MediaKind::Image, file);
/// let stored = store_media(&media, Arc::clone(&store), "attachments/1").await?;
///
/// let record = serde_json::to_value(stored)?;
/// assert_eq!(record["reader"], serde_json::json!({"tag": "media:stored", "locator": {"key": "attachments/1"}}));
/// let resolvers = ReaderResolvers::empty().with(StoredReader::TAG, StoredReader::resolver(store));
/// let mut media: Media = serde_json::from_value(record)?;
/// media.open(&resolvers)?;
/// assert_eq!(media.bytes(100).await?, &b"\x89PNG"[..]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Fails if the media cannot be read or the store fails. Nothing is stored then.
pub async fn store_media(
    media: &Media,
    store: Arc<dyn SpoolStore>,
    key: impl Into<SpoolKey> + Send,
) -> Result<Media, SpoolError> {
    let reader = StoredReader::write(store, key, media.stream()).await?;
    Ok(media.clone().with_reader(Arc::new(reader)))
}

impl MediaReader for StoredReader {
    fn open(&self) -> ByteStream {
        byte_stream(StoredChunks { from: self.clone(), opened: None, offset: 0 })
    }

    fn byte_length(&self) -> Option<u64> {
        self.length.get().copied()
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        Some(ReaderDescriptor::new(Self::TAG, json!({ "key": self.key })))
    }
}

impl fmt::Debug for StoredReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredReader({})", self.key)
    }
}

/// Stored content could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoredError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] SpoolError),
    /// The store has no content under the key.
    #[error("nothing is stored under `{key}`; it was removed, or this is another store")]
    Missing {
        /// The key.
        key: SpoolKey,
    },
    /// The length of the content has changed.
    #[error("what is stored under `{key}` had {before} bytes and has {now} now")]
    Changed {
        /// The key.
        key: SpoolKey,
        /// The former number of bytes.
        before: u64,
        /// The present number of bytes.
        now: u64,
    },
    /// A stored locator does not name stored content.
    #[error("the locator of stored content is {{\"key\": \"…\"}} and nothing else")]
    Locator,
}

impl Coded for StoredError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Store(error) => error.code(),
            Self::Missing { .. } | Self::Changed { .. } => codes::STORE,
            Self::Locator => codes::NOT_A_MEDIA_READER,
        }
    }

    fn retryable(&self) -> bool {
        match self {
            Self::Store(error) => error.retryable(),
            Self::Missing { .. } | Self::Changed { .. } | Self::Locator => false,
        }
    }
}

/// Content that is read from an offset. It is opened with the first chunk.
struct StoredChunks {
    from: StoredReader,
    opened: Option<Arc<dyn SpoolReader>>,
    offset: u64,
}

impl ChunkSource for StoredChunks {
    type Error = StoredError;

    async fn next_chunk(self) -> NextChunk<Self> {
        let Self { from, opened, offset } = self;
        let reader = match opened {
            Some(reader) => reader,
            None => from.open_content().await?,
        };
        if offset == reader.byte_length() {
            return Ok(None);
        }
        let bytes = reader.read_at(offset, CHUNK_BYTES).await?;
        if bytes.is_empty() {
            return Err(from.changed_error(reader.byte_length(), offset));
        }
        let offset = offset.saturating_add(bytes.len() as u64);
        Ok(Some((bytes, Self { from, opened: Some(reader), offset })))
    }
}

impl StoredReader {
    async fn open_content(&self) -> Result<Arc<dyn SpoolReader>, StoredError> {
        let found = self.store.read(self.key.clone()).await?;
        let found = found.ok_or_else(|| StoredError::Missing { key: self.key.clone() })?;
        let now = found.byte_length();
        let before = *self.length.get_or_init(|| now);
        if before == now { Ok(found) } else { Err(self.changed_error(before, now)) }
    }

    fn changed_error(&self, before: u64, now: u64) -> StoredError {
        StoredError::Changed { key: self.key.clone(), before, now }
    }
}
