//! Stores each result as an object: in S3 and compatible services, in a directory, or in memory.

mod block_cache;
mod names;
mod reader;
mod signing;
mod upload;

#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use haft_core::BoxFuture;
use haft_core::spool::{
    LineIndex, LineIndexBuilder, ReaderDescriptor, SpoolError, SpoolKey, SpoolPage, SpoolPayload,
    SpoolReader, SpoolStore,
};
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as ObjectPath;
use object_store::{
    BackoffConfig, ObjectStore, ObjectStoreExt as _, ObjectStoreScheme, RetryConfig,
};
use serde_json::Value;
use url::Url;

use self::block_cache::BlockCache;
use self::names::ObjectNames;
use self::reader::{ObjectReader, ReaderParts};
use self::signing::Sha256Hashes;
use self::upload::Upload;
use super::chunk_batches::ChunkBatches;
use super::unknown_payload;

/// Options of an object store.
///
/// ```
/// use haft_stores::ObjectOptions;
///
/// let options = ObjectOptions::default()
///     .setting("aws_endpoint", "http://127.0.0.1:9000")
///     .setting("aws_allow_http", "true")
///     .cache("/var/cache/haft", 1 << 30);
/// assert_eq!(options.cache_bytes, 1 << 30);
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectOptions {
    /// Settings of the backend by their names, as the crate `object_store` has them: `aws_region`, `aws_access_key_id`,
    /// `aws_secret_access_key`, `aws_endpoint`, `aws_allow_http` and others. Unknown names are ignored.
    pub settings: Vec<(String, String)>,
    /// The directory in which parts of large results are cached, so that they are not fetched twice; none by default.
    pub cache_dir: Option<PathBuf>,
    /// The size of the cache in bytes: 2 GiB.
    pub cache_bytes: u64,
    /// The maximum size of a result. There is no limit by default.
    pub max_bytes: Option<u64>,
    /// The block size of the line index: [`LineIndex::BLOCK_SIZE`].
    pub block_size: NonZeroU32,
}

impl Default for ObjectOptions {
    fn default() -> Self {
        Self {
            settings: Vec::new(),
            cache_dir: None,
            cache_bytes: 2 << 30,
            max_bytes: None,
            block_size: LineIndex::BLOCK_SIZE,
        }
    }
}

impl ObjectOptions {
    /// Adds a setting of the backend.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Caches parts of large results in a directory, up to this many bytes.
    #[must_use]
    pub fn cache(mut self, dir: impl Into<PathBuf>, bytes: u64) -> Self {
        (self.cache_dir, self.cache_bytes) = (Some(dir.into()), bytes);
        self
    }

    /// Sets the maximum size of a result. A larger one is refused with [`SpoolError::TooLarge`].
    #[must_use]
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = Some(limit);
        self
    }
}

/// The values of settings are secrets.
impl fmt::Debug for ObjectOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.settings.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ObjectOptions")
            .field("settings", &names)
            .field("cache_dir", &self.cache_dir)
            .field("cache_bytes", &self.cache_bytes)
            .finish_non_exhaustive()
    }
}

/// Stores results as objects that processes on many machines share.
///
/// A result is uploaded in parts while it arrives, so that it need not fit into memory; an upload whose future is
/// dropped is aborted. The line index of an object is stored next to it. A reader is bound to the ETag of its object:
/// if the object is replaced, reads fail with [`SpoolError::Changed`]. Content is fetched in blocks, ahead of
/// sequential reads, and cached on the disk if [`ObjectOptions::cache_dir`] is set.
///
/// ```
/// use haft_core::spool::{SpoolReader as _, SpoolStore as _};
/// use haft_stores::{ObjectOptions, ObjectSpoolStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = ObjectSpoolStore::open("memory:///", ObjectOptions::default())?;
/// store.write("report".into(), "one\ntwo\n".into()).await?;
/// let report = store.read("report".into()).await?.ok_or("the report is missing")?;
/// assert_eq!(report.read_at(4, 3).await?, "two");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ObjectSpoolStore {
    store: Arc<dyn ObjectStore>,
    names: Arc<ObjectNames>,
    cache: Option<Arc<BlockCache>>,
    max_bytes: Option<u64>,
    block_size: NonZeroU32,
}

impl ObjectSpoolStore {
    /// The tag in the descriptors of its readers.
    pub const TAG: &'static str = "spool:object";

    /// Opens the store at an address: `s3://bucket/prefix`, `file:///directory` or `memory:///`. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// Fails if the address is not valid, or the directory of the cache cannot be used.
    pub fn open(url: &str, options: ObjectOptions) -> Result<Self, SpoolError> {
        let failed = |source| SpoolError::Store { doing: "open", source };
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
        let url = Url::parse(url).map_err(|error| failed(invalid(error.to_string())))?;
        let opened = open_backend(&url, &options.settings);
        let (store, prefix) = opened.map_err(|error| failed(invalid(error.to_string())))?;
        Self::with_store(store, prefix.as_ref(), options)
    }

    /// Stores results in a store that the program has built, with its own credentials or client, below a prefix. The
    /// settings of the backend in the options are not used.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use haft_stores::object_store::memory::InMemory;
    /// use haft_stores::{ObjectOptions, ObjectSpoolStore};
    ///
    /// let objects = Arc::new(InMemory::new());
    /// let store = ObjectSpoolStore::with_store(objects, "results", ObjectOptions::default());
    /// assert!(store.is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the directory of the cache cannot be used.
    pub fn with_store(
        store: Arc<dyn ObjectStore>,
        prefix: &str,
        options: ObjectOptions,
    ) -> Result<Self, SpoolError> {
        let ObjectOptions { cache_dir, cache_bytes, max_bytes, block_size, .. } = options;
        let cache = cache_dir.map(|dir| BlockCache::open(&dir, cache_bytes)).transpose();
        let cache = cache.map_err(|source| SpoolError::Store { doing: "open", source })?;
        let names = Arc::new(ObjectNames::new(prefix));
        Ok(Self { store, names, cache: cache.map(Arc::new), max_bytes, block_size })
    }

    async fn store_payload(
        &self,
        key: &SpoolKey,
        payload: SpoolPayload,
    ) -> Result<ObjectReader, SpoolError> {
        let mut upload = Upload::new(Arc::clone(&self.store), self.names.data(key), key.clone());
        let mut index = LineIndexBuilder::new(self.block_size);
        let mut push = async |chunk: bytes::Bytes| {
            self.check_size(key, index.byte_length() + chunk.len() as u64)?;
            index.push(&chunk);
            upload.push(chunk).await
        };
        match payload {
            SpoolPayload::Text(text) => push(text.into()).await?,
            SpoolPayload::Bytes(bytes) => push(bytes).await?,
            SpoolPayload::Stream(stream) => {
                let mut batches = ChunkBatches::new(stream);
                loop {
                    let chunks = batches.next_batch(key).await?;
                    if chunks.is_empty() {
                        break;
                    }
                    for chunk in chunks {
                        push(chunk).await?;
                    }
                }
            }
            other => return Err(SpoolError::io(key, "write", unknown_payload(&other))),
        }
        let index = index.finish();
        let size = index.byte_length();
        let e_tag = upload.finish().await?;
        let reader = self.reader(key, size, e_tag);
        reader.store_index(index).await;
        Ok(reader)
    }

    fn check_size(&self, key: &SpoolKey, len: u64) -> Result<(), SpoolError> {
        match self.max_bytes {
            Some(limit) if len > limit => Err(SpoolError::TooLarge { key: key.clone(), limit }),
            _ => Ok(()),
        }
    }

    fn reader(&self, key: &SpoolKey, size: u64, e_tag: Option<String>) -> ObjectReader {
        ObjectReader::new(ReaderParts {
            store: Arc::clone(&self.store),
            data: self.names.data(key),
            index_object: self.names.index(key),
            key: key.clone(),
            size,
            e_tag,
            block_size: self.block_size,
            cache: self.cache.clone(),
        })
    }

    /// Opens the object of a key; with an ETag, only that version of it.
    async fn open_object(
        &self,
        key: SpoolKey,
        e_tag: Option<&str>,
    ) -> Result<Option<ObjectReader>, SpoolError> {
        let found = match self.store.head(&self.names.data(&key)).await {
            Ok(meta) => meta,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(object_error(&key, "open", error)),
        };
        if e_tag.is_some_and(|it| found.e_tag.as_deref() != Some(it)) {
            let how = "another object has its name".to_owned();
            return Err(SpoolError::Changed { key, how });
        }
        let mut reader = self.reader(&key, found.size, found.e_tag);
        // The ETag of a file is its time of change, which the content does not follow.
        reader.is_bound = e_tag.is_some() && !self.store.to_string().starts_with(LOCAL_FILES);
        Ok(Some(reader))
    }

    /// Lists the names of objects behind an offset, and reads the keys behind them.
    async fn list_keys(&self, page: &SpoolPage) -> Result<Vec<SpoolKey>, SpoolError> {
        let failed = |error: object_store::Error| SpoolError::Store {
            doing: "list",
            source: io::Error::other(error),
        };
        let root = self.names.data_root();
        let mut objects = match &page.after {
            Some(after) => self.store.list_with_offset(Some(&root), &self.names.data(after)),
            None => self.store.list(Some(&root)),
        };
        let mut keys = Vec::new();
        while let Some(object) = poll_fn(|ctx| objects.as_mut().poll_next(ctx)).await {
            let object = object.map_err(failed)?;
            let Some(name) = object.location.filename() else { continue };
            let key = match ObjectNames::parse(name) {
                Some(key) => Some(key),
                None => self.read_long_key(name).await?,
            };
            keys.extend(key.filter(|key| page.selects(key)));
            // Most backends list in the order of names; all that is listed is needed to sort for the others.
            if self.lists_in_order() && keys.len() >= page.limit {
                break;
            }
        }
        keys.sort();
        keys.truncate(page.limit);
        Ok(keys)
    }

    /// S3 lists names in their order. Directories do not.
    fn lists_in_order(&self) -> bool {
        self.store.to_string().starts_with("AmazonS3")
    }

    /// Reads a key that is too long for a name from the object of its index.
    async fn read_long_key(&self, name: &str) -> Result<Option<SpoolKey>, SpoolError> {
        let key = SpoolKey::from(name);
        match self.store.get(&self.names.index_named(name)).await {
            Ok(found) => {
                let bytes = found.bytes().await;
                let bytes = bytes.map_err(|error| object_error(&key, "list", error))?;
                Ok(reader::parse_index_key(&bytes))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(object_error(&key, "list", error)),
        }
    }
}

impl SpoolStore for ObjectSpoolStore {
    fn write(
        &self,
        key: SpoolKey,
        payload: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>> {
        Box::pin(async move {
            let reader = self.store_payload(&key, payload).await?;
            Ok(Arc::new(reader) as Arc<dyn SpoolReader>)
        })
    }

    fn read(
        &self,
        key: SpoolKey,
    ) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        Box::pin(async move {
            let reader = self.open_object(key, None).await?;
            Ok(reader.map(|reader| Arc::new(reader) as Arc<dyn SpoolReader>))
        })
    }

    /// Opens what any object store wrote, but in the bucket of this one: a descriptor does not name a bucket. With the ETag
    /// of the descriptor, content that was replaced since is noticed without reading it.
    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        Box::pin(async move {
            let text = |name: &str| reader.locator.get(name).and_then(Value::as_str);
            let key = text("key").filter(|_| reader.tag == Self::TAG).map(SpoolKey::from);
            let Some(key) = key else { return Ok(None) };
            let found = self.open_object(key, text("etag")).await?;
            Ok(found.map(|reader| Arc::new(reader) as Arc<dyn SpoolReader>))
        })
    }

    fn delete(&self, key: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>> {
        Box::pin(async move {
            let failed = |error| object_error(&key, "delete", error);
            let data = self.names.data(&key);
            match self.store.head(&data).await {
                Ok(_) => {}
                Err(object_store::Error::NotFound { .. }) => return Ok(false),
                Err(error) => return Err(failed(error)),
            }
            for object in [data, self.names.index(&key)] {
                match self.store.delete(&object).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            Ok(true)
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        Box::pin(async move { self.list_keys(&SpoolPage::new(usize::MAX)).await })
    }

    fn list_page(&self, page: SpoolPage) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        Box::pin(async move { self.list_keys(&page).await })
    }
}

impl fmt::Debug for ObjectSpoolStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectSpoolStore({})", self.store)
    }
}

/// The store at an address, and the prefix in it. Requests to S3 are signed here.
fn open_backend(
    url: &Url,
    settings: &[(String, String)],
) -> object_store::Result<(Arc<dyn ObjectStore>, ObjectPath)> {
    let (ObjectStoreScheme::AmazonS3, path) = ObjectStoreScheme::parse(url)? else {
        let (store, prefix) = object_store::parse_url_opts(url, settings.iter().cloned())?;
        return Ok((store.into(), prefix));
    };
    let mut builder = AmazonS3Builder::new().with_url(url.as_str()).with_retry(outage_retries());
    for (name, value) in settings {
        if let Ok(key) = name.to_ascii_lowercase().parse() {
            builder = builder.with_config(key, value);
        }
    }
    let store = builder.with_crypto_provider(Arc::new(Sha256Hashes)).build()?;
    Ok((Arc::new(store), path))
}

/// How long a server that is away is waited for: a restart of it or of what stands before it must not fail a call that has
/// had its effect already. Time is the limit, not the number of attempts, which a port that refuses uses up at once.
fn outage_retries() -> RetryConfig {
    let backoff = BackoffConfig { max_backoff: MAX_BACKOFF, ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: usize::MAX, retry_timeout: MAX_OUTAGE }
}

/// The error for a request that failed. An object that is not what it was has changed.
fn object_error(key: &SpoolKey, doing: &'static str, error: object_store::Error) -> SpoolError {
    match error {
        object_store::Error::Precondition { .. } => {
            let how = "its object was replaced".to_owned();
            SpoolError::Changed { key: key.clone(), how }
        }
        error => SpoolError::io(key, doing, io::Error::other(error)),
    }
}

/// The longest outage that a write or a read waits for.
const MAX_OUTAGE: Duration = Duration::from_secs(30);
/// The longest pause between two attempts.
const MAX_BACKOFF: Duration = Duration::from_millis(500);
/// How the name of a backend begins that stores objects as files.
const LOCAL_FILES: &str = "LocalFileSystem";
