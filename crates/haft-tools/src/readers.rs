//! Readers of media: where the bytes of a [`Media`](haft_core::media::Media) come from when they are not in memory.
//!
//! | reader | bytes | descriptor |
//! |---|---|---|
//! | [`MemoryReader`](haft_core::media::MemoryReader) | in memory | `media:in-memory` |
//! | [`FileReader`] | a file | `media:file` |
//! | `HttpReader` (feature `http`) | the response to a GET request | `media:fetch` |
//! | [`StoredReader`] | a [`SpoolStore`](haft_core::spool::SpoolStore) | `media:stored` |
//!
//! All readers are lazy: nothing is read before a stream is polled, and each stream starts from the beginning. Dropping
//! a stream stops the read.
//!
//! A stored descriptor can be forged. The resolvers that the application registers decide what a descriptor can open:
//! files below [`FileRoots`], URLs within a `UrlPolicy`, keys of one store.
//!
//! ```
//! use std::sync::Arc;
//!
//! use haft_core::media::{Media, MediaFile, MediaKind, ReaderResolvers};
//! use haft_tools::readers::{FileReader, FileRoots};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let uploads = dir.path();
//! # std::fs::write(uploads.join("scan.png"), b"\x89PNG")?;
//! let reader = FileReader::open(uploads.join("scan.png"))?;
//! let file = MediaFile::read_by("scan.png", "image/png", Arc::new(reader));
//! let stored = serde_json::to_string(&Media::user_attachment(MediaKind::Image, file))?;
//!
//! let allowed = FileRoots::new([uploads])?;
//! let resolvers = ReaderResolvers::default().with(FileReader::TAG, allowed.resolver());
//! let mut media: Media = serde_json::from_str(&stored)?;
//! media.open(&resolvers)?;
//! assert_eq!(media.byte_length(), Some(4));
//! # Ok(())
//! # }
//! ```
//!
//! Errors are items of the stream, as [`ToolFailure`]s. Their source is the typed error of the reader:
//!
//! ```
//! # fn is_gone(failure: &haft_core::ToolFailure) -> bool {
//! use haft_tools::readers::FileError;
//!
//! let error = failure.source().and_then(|it| it.downcast_ref::<FileError>());
//! matches!(error, Some(FileError::Changed { .. }))
//! # }
//! ```

mod chunk_source;
mod file;
mod stored;

use haft_core::error::Coded;
use haft_core::tool::ToolFailure;
use serde_json::Value;

pub use self::file::{FileError, FileReader, FileRoots};
pub use self::stored::{StoredError, StoredReader, store_media};
#[cfg(feature = "http")]
pub use haft_http::fetch::{
    ErrorBody, FetchDeadlines, FetchError, FetchRequest, FetchResponse, Fetcher, FetcherBuilder,
    HttpMethod, HttpPhase, HttpReader, UrlPolicy, UrlRefusal,
};

/// The default limit of readers of files: 64 MiB.
pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// An error as the item of a stream, with the error itself as its source.
pub(crate) fn stream_failure<E>(error: E) -> ToolFailure
where
    E: std::error::Error + Coded + Send + Sync + 'static,
{
    let retryable = error.retryable();
    let failure = ToolFailure::from(error);
    if retryable { failure.retryable() } else { failure }
}

/// The value of a locator that has this member and no other.
fn locator_field<'a>(locator: &'a Value, name: &str) -> Option<&'a str> {
    let fields = locator.as_object().filter(|it| it.len() == 1)?;
    fields.get(name)?.as_str()
}

/// The size of a chunk.
const CHUNK_BYTES: usize = 256 * 1024;
