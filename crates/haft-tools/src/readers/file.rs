//! Reads media from files.

mod access;
mod error;
mod roots;

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use haft_core::invariant::OrReport as _;
use haft_core::media::{MediaReader, ReaderDescriptor};
use haft_core::tool::ByteStream;
use serde_json::json;

use self::access::FileStamp;
use super::chunk_source::{ChunkSource, NextChunk, byte_stream};
use super::{CHUNK_BYTES, MAX_BYTES};
use haft_artifacts::run_blocking;

pub use self::error::FileError;
pub use self::roots::FileRoots;

/// Reads a file. Each stream opens the file again and reads it in chunks on blocking threads.
///
/// If the file is replaced or changed after the reader was created (judged by its length, modification time and
/// identity), streams end with [`FileError::Changed`] instead of returning other bytes; create a new reader then. A
/// change that keeps the length and happens within one tick of the file system's clock is not detected.
///
/// This type reads every file that the process can read. Use [`FileRoots`] for paths from untrusted sources, including
/// stored descriptors.
///
/// ```
/// use haft_core::media::MediaReader as _;
/// use haft_tools::readers::FileReader;
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("note.txt");
/// std::fs::write(&path, "hello")?;
/// let reader = FileReader::open(&path)?;
/// assert_eq!(reader.byte_length(), Some(5));
/// assert!(FileReader::open(dir.path()).is_err(), "a directory is not a regular file");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FileReader {
    source: Arc<FileSource>,
}

#[derive(Clone)]
struct FileSource {
    path: PathBuf,
    roots: Option<FileRoots>,
    stamp: FileStamp,
    max_bytes: u64,
}

impl FileReader {
    /// The tag of its descriptors. The locator is `{"path": "…"}`.
    pub const TAG: &'static str = "media:file";

    /// Creates a reader of a file. The file is opened and not read.
    ///
    /// # Errors
    ///
    /// Fails if the file does not exist, cannot be opened, or is not a regular file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let absolute = std::path::absolute(path);
        let path = absolute.map_err(|source| FileError::io(path, "find", source))?;
        Self::open_within(path, None, MAX_BYTES)
    }

    fn open_within(
        path: PathBuf,
        roots: Option<FileRoots>,
        max_bytes: u64,
    ) -> Result<Self, FileError> {
        let (_, stamp) = access::open_regular(&path, roots.as_ref())?;
        Ok(Self { source: Arc::new(FileSource { path, roots, stamp, max_bytes }) })
    }

    /// Sets the maximum size of the file. The default is [`MAX_BYTES`](super::MAX_BYTES). The stream of a larger file
    /// fails.
    #[must_use]
    pub fn max_bytes(mut self, limit: u64) -> Self {
        Arc::make_mut(&mut self.source).max_bytes = limit;
        self
    }

    /// Whether this is the file that is read.
    #[cfg(feature = "packs")]
    pub(crate) fn reads_file(&self, metadata: &std::fs::Metadata) -> bool {
        self.source.stamp == FileStamp::of(metadata)
    }

    /// The absolute path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.source.path
    }
}

impl MediaReader for FileReader {
    fn open(&self) -> ByteStream {
        byte_stream(FileChunks { source: Arc::clone(&self.source), file: None, offset: 0 })
    }

    fn byte_length(&self) -> Option<u64> {
        Some(self.source.stamp.len)
    }

    /// `None` if the path is not Unicode.
    fn describe(&self) -> Option<ReaderDescriptor> {
        let path = self.source.path.to_str()?;
        Some(ReaderDescriptor::new(Self::TAG, json!({ "path": path })))
    }
}

impl fmt::Debug for FileReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileReader({:?}, {} bytes)", self.source.path, self.source.stamp.len)
    }
}

/// A file that is read from an offset. It is opened with the first chunk.
struct FileChunks {
    source: Arc<FileSource>,
    file: Option<File>,
    offset: u64,
}

impl ChunkSource for FileChunks {
    type Error = FileError;

    async fn next_chunk(self) -> NextChunk<Self> {
        if self.file.is_some() && self.offset == self.source.stamp.len {
            return Ok(None);
        }
        let path = self.source.path.clone();
        let read = run_blocking(move || Ok(self.read_chunk()));
        read.await.map_err(|source| FileError::io(&path, "read", source))?.map(Some)
    }
}

impl FileChunks {
    /// Reads the next chunk. The last chunk includes an attempt to read past the end, so that additional bytes are
    /// detected.
    fn read_chunk(self) -> Result<(Bytes, Self), FileError> {
        let Self { source, file, offset } = self;
        let file = match file {
            Some(file) => file,
            None => source.reopen()?,
        };
        let left = source.stamp.len.saturating_sub(offset);
        let wanted = left.min(CHUNK_BYTES as u64);
        let limit = if wanted == left { wanted + 1 } else { wanted };
        let capacity = usize::try_from(limit).or_report("a chunk fits into memory", CHUNK_BYTES);
        let mut bytes = Vec::with_capacity(capacity);
        let io = |error| FileError::io(&source.path, "read", error);
        (&file).take(limit).read_to_end(&mut bytes).map_err(io)?;
        // After the read: if the stamp is unchanged now, the bytes are those of the file that was opened.
        source.check_unchanged(FileStamp::of(&file.metadata().map_err(io)?))?;
        if bytes.len() as u64 != wanted {
            let how = "it has more or fewer bytes than the file system says";
            return Err(source.changed_error(how));
        }
        Ok((bytes.into(), Self { source, file: Some(file), offset: offset + wanted }))
    }
}

impl FileSource {
    fn reopen(&self) -> Result<File, FileError> {
        let (file, stamp) = access::open_regular(&self.path, self.roots.as_ref())?;
        self.check_unchanged(stamp)?;
        if stamp.len > self.max_bytes {
            return Err(FileError::TooLarge { path: self.path.clone(), limit: self.max_bytes });
        }
        Ok(file)
    }

    fn check_unchanged(&self, found: FileStamp) -> Result<(), FileError> {
        if found == self.stamp {
            return Ok(());
        }
        Err(if found.len == self.stamp.len {
            self.changed_error("it was written again")
        } else {
            self.changed_error("its length is another one")
        })
    }

    fn changed_error(&self, how: &'static str) -> FileError {
        FileError::Changed { path: self.path.clone(), how }
    }
}
