//! Where the bytes of a media item come from, and how a stored media item finds them again.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use serde_json::{Value, json};

use super::base64::{decode_base64, encode_base64};
use super::{MediaError, ReaderDescriptor};
use crate::artifact::SpooledArtifact;
use crate::byte_stream::ByteStream;
use crate::failure::ToolFailure;
use crate::spool::{SpoolError, SpoolStore};

/// A source of bytes that can be read again and again.
pub trait MediaReader: Send + Sync {
    /// Opens a new stream of the bytes, from the start. Errors are reported by the stream.
    fn open(&self) -> ByteStream;

    /// How many bytes there are. Nothing means that it is not known, not that there are none.
    fn byte_length(&self) -> Option<u64>;

    /// How to find the bytes again after a restart, if that is possible. It is stored: no secrets in
    /// it.
    fn describe(&self) -> Option<ReaderDescriptor>;
}

/// Bytes that are at hand.
///
/// ```
/// use haft_core::media::{MediaReader, MemoryReader};
///
/// let reader = MemoryReader::new("hello");
/// assert_eq!(reader.byte_length(), Some(5));
/// let described = reader.describe().ok_or("a reader in memory describes itself")?;
/// assert_eq!(described.tag, MemoryReader::TAG);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct MemoryReader(Bytes);

impl MemoryReader {
    /// The tag of its descriptor.
    pub const TAG: &'static str = "media:in-memory";

    /// Reads these bytes.
    #[must_use]
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    /// Makes the reader that a locator describes.
    ///
    /// # Errors
    ///
    /// The locator is not `{"bytesBase64": "…"}`.
    pub fn from_locator(locator: &Value) -> Result<Self, ToolFailure> {
        let text = locator.get("bytesBase64").and_then(Value::as_str);
        let bytes = text.and_then(|text| decode_base64(text.as_bytes()));
        let bytes = bytes.ok_or_else(|| ToolFailure::new("`bytesBase64` is not base64"))?;
        Ok(Self(bytes.into()))
    }
}

/// Returns all bytes in one piece, without a copy, or no piece if there are none.
impl MediaReader for MemoryReader {
    fn open(&self) -> ByteStream {
        ByteStream::new(Once(Some(self.0.clone()).filter(|bytes| !bytes.is_empty())))
    }

    fn byte_length(&self) -> Option<u64> {
        u64::try_from(self.0.len()).ok()
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        Some(ReaderDescriptor::new(Self::TAG, json!({ "bytesBase64": encode_base64(&self.0) })))
    }
}

impl fmt::Debug for MemoryReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryReader({} bytes)", self.0.len())
    }
}

/// One piece of bytes.
struct Once(Option<Bytes>);

impl Stream for Once {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.take().map(Ok))
    }
}

/// Bytes that are described and not opened yet.
struct UnopenedReader(ReaderDescriptor);

impl MediaReader for UnopenedReader {
    fn open(&self) -> ByteStream {
        let failure = ToolFailure::new(format!("the reader `{}` was not opened", self.0.tag));
        ByteStream::new(Failed(Some(failure)))
    }

    fn byte_length(&self) -> Option<u64> {
        None
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        Some(self.0.clone())
    }
}

/// One failure.
struct Failed(Option<ToolFailure>);

impl Stream for Failed {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.take().map(Err))
    }
}

/// The stored form of a reader: its descriptor.
pub(super) mod described {
    use std::sync::Arc;

    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{MediaReader, ReaderDescriptor, UnopenedReader};

    pub(in crate::media) fn serialize<S: Serializer>(
        reader: &Arc<dyn MediaReader>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let descriptor = reader
            .describe()
            .ok_or_else(|| S::Error::custom("the reader of a media item has no descriptor"))?;
        descriptor.serialize(serializer)
    }

    pub(in crate::media) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<dyn MediaReader>, D::Error> {
        Ok(Arc::new(UnopenedReader(ReaderDescriptor::deserialize(deserializer)?)))
    }
}

type Resolver = dyn Fn(&Value) -> Result<Arc<dyn MediaReader>, ToolFailure> + Send + Sync;

/// How stored descriptors become readers again: a function per tag for media, and a spool store for artifacts. The
/// application owns it, and so decides what a stored record can make it open.
///
/// ```
/// use haft_core::media::{MediaReader, MemoryReader, ReaderResolvers};
///
/// let resolvers =
///     ReaderResolvers::empty().with(MemoryReader::TAG, |it| MemoryReader::from_locator(it));
/// let described = MemoryReader::new("hello").describe().ok_or("no descriptor")?;
/// assert_eq!(resolvers.resolve(&described)?.byte_length(), Some(5));
/// assert!(ReaderResolvers::empty().resolve(&described).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ReaderResolvers {
    media: BTreeMap<String, Arc<Resolver>>,
    spools: Option<Arc<dyn SpoolStore>>,
}

impl ReaderResolvers {
    /// No resolvers at all.
    #[must_use]
    pub const fn empty() -> Self {
        Self { media: BTreeMap::new(), spools: None }
    }

    /// Finds artifacts in this store.
    #[must_use]
    pub fn with_spools(mut self, spools: Arc<dyn SpoolStore>) -> Self {
        self.spools = Some(spools);
        self
    }

    /// Adds a resolver, in place of one that the tag may have.
    #[must_use]
    pub fn with<R: MediaReader + 'static>(
        mut self,
        tag: impl Into<String>,
        resolve: impl Fn(&Value) -> Result<R, ToolFailure> + Send + Sync + 'static,
    ) -> Self {
        let resolve = move |locator: &Value| -> Result<Arc<dyn MediaReader>, ToolFailure> {
            Ok(Arc::new(resolve(locator)?))
        };
        self.media.insert(tag.into(), Arc::new(resolve));
        self
    }

    /// Makes the reader that a descriptor describes.
    ///
    /// # Errors
    ///
    /// The tag has no resolver, or the resolver refused the locator.
    pub fn resolve(&self, of: &ReaderDescriptor) -> Result<Arc<dyn MediaReader>, MediaError> {
        let resolve = self.media.get(&of.tag);
        let resolve = resolve.ok_or_else(|| MediaError::NoResolver { tag: of.tag.clone() })?;
        resolve(&of.locator).map_err(|failure| MediaError::Unresolvable {
            tag: of.tag.clone(),
            failure: failure.into(),
        })
    }

    /// The artifact of a record that was read, with its content. If there is none, queries fail with that reason.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn open_artifact(
        &self,
        artifact: &SpooledArtifact,
    ) -> Result<SpooledArtifact, SpoolError> {
        match &self.spools {
            Some(spools) => artifact.opened_in(&**spools).await,
            None => {
                Ok(artifact.lost(artifact.reader().describe(), "there is no store to find it in"))
            }
        }
    }
}

/// Resolves the readers that need nothing from the application: [`MemoryReader`].
impl Default for ReaderResolvers {
    fn default() -> Self {
        Self::empty().with(MemoryReader::TAG, MemoryReader::from_locator)
    }
}

impl fmt::Debug for ReaderResolvers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.media.keys()).finish()
    }
}

/// Reads everything, if it is not more than `limit` bytes. Stops at the first byte too many.
pub(super) async fn drain(
    reader: &dyn MediaReader,
    filename: &str,
    limit: u64,
) -> Result<Bytes, MediaError> {
    let too_large = || MediaError::TooLarge { filename: filename.to_owned(), limit };
    if reader.byte_length().is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let mut stream = reader.open();
    let mut only = Bytes::new();
    let mut all = Vec::new();
    while let Some(chunk) = std::future::poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
        let chunk = chunk.map_err(|failure| MediaError::Read {
            filename: filename.to_owned(),
            failure: failure.into(),
        })?;
        if chunk.len() as u64 > limit.saturating_sub(only.len().max(all.len()) as u64) {
            return Err(too_large());
        }
        if only.is_empty() && all.is_empty() {
            only = chunk;
            continue;
        }
        all.extend_from_slice(&std::mem::take(&mut only));
        all.extend_from_slice(&chunk);
    }
    Ok(if all.is_empty() { only } else { all.into() })
}
