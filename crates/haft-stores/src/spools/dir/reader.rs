//! Reads the content of one file.

use std::fs::{self, File};
use std::io::Read as _;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;
use std::{fmt, io};

use super::disk::Disk;
use super::paths::SpoolPaths;
use super::{Access, DirConfig};
use crate::blocking::run_blocking;
use crate::private_file::open_regular_file;
use crate::spools::descriptor::dir_descriptor;
use bytes::Bytes;
use haft_core::BoxFuture;
use haft_core::invariant::OrReport as _;
use haft_core::spool::{
    AlignedBuffer, LineIndex, LineIndexBuilder, LocalRead, ReaderDescriptor, SpoolError, SpoolKey,
    SpoolReader,
};

/// Reads any file as an artifact: a log, an export, a book.
///
/// The file is not copied. It stays open, so the content remains readable after the file is replaced or removed. If
/// the file itself changes, reads fail with [`SpoolError::Changed`]; they never mix old and new bytes.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_artifacts::text::TextView;
/// use haft_stores::FileSpoolReader;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("app.log");
/// std::fs::write(&path, "one\ntwo\nthree")?;
/// let view = TextView::new(Arc::new(FileSpoolReader::open(&path)?));
/// assert_eq!(view.tail(1).await?.text(), "three");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FileSpoolReader {
    content: Arc<FileContent>,
}

struct FileContent {
    key: SpoolKey,
    /// How stored records find the content again; `None` for a file outside of stores.
    descriptor: Option<ReaderDescriptor>,
    /// The file with the line index; without one the index is built for each reader.
    index_file: Option<IndexFile>,
    file: File,
    stamp: FileStamp,
    block_size: NonZeroU32,
    index: OnceLock<Arc<LineIndex>>,
}

/// Where the line index of a file is stored. In a directory that is only read it is not created.
struct IndexFile {
    path: PathBuf,
    access: Access,
    /// The time of the content that the index belongs to.
    content_nanos: u128,
}

/// The properties of a file that differ after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) len: u64,
    /// The time of the last change, since 1970.
    pub(super) modified_nanos: u128,
}

impl FileStamp {
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let modified = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        Ok(Self { len: metadata.len(), modified_nanos: modified.map_or(0, |it| it.as_nanos()) })
    }
}

/// When the system last noted a change of a file. Unlike the time of modification, no program can set it back.
fn changed_nanos(file: &File) -> io::Result<u128> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let metadata = file.metadata()?;
        let seconds = u128::from(metadata.ctime().unsigned_abs());
        Ok(seconds * 1_000_000_000 + u128::from(metadata.ctime_nsec().unsigned_abs()))
    }
    #[cfg(not(unix))]
    Ok(FileStamp::of(file)?.modified_nanos)
}

impl FileSpoolReader {
    /// Opens a file.
    ///
    /// ```
    /// use haft_core::spool::SpoolReader as _;
    /// use haft_stores::FileSpoolReader;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("report.txt");
    /// std::fs::write(&path, "one\ntwo\n")?;
    /// assert_eq!(FileSpoolReader::open(&path)?.byte_length(), 8);
    /// assert!(FileSpoolReader::open(path.with_extension("none")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened or is not a regular file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_regular(path.as_ref(), None)
    }

    /// Opens a file and stores its line index in another file, so that the index is built only once. An index file
    /// that does not fit the file is replaced; one that cannot be written is ignored.
    ///
    /// # Errors
    ///
    /// Fails like [`open`](Self::open).
    pub fn open_with_index(
        path: impl AsRef<Path>,
        index_file: impl Into<PathBuf>,
    ) -> io::Result<Self> {
        Self::open_regular(path.as_ref(), Some(index_file.into()))
    }

    fn open_regular(path: &Path, index_path: Option<PathBuf>) -> io::Result<Self> {
        // Opening a pipe would wait for its other end, and reading a device would never end.
        if !fs::metadata(path)?.is_file() {
            let what = format!("`{}` is no regular file", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let file = File::open(path)?;
        let (stamp, block_size) = (FileStamp::of(&file)?, LineIndex::BLOCK_SIZE);
        let (key, index) = (SpoolKey::new(path.to_string_lossy()), OnceLock::new());
        let index_file = match index_path {
            Some(path) => {
                let content_nanos = changed_nanos(&file)?;
                Some(IndexFile { path, access: Access::ReadWrite, content_nanos })
            }
            None => None,
        };
        let descriptor = None;
        let content = FileContent { key, descriptor, index_file, file, stamp, block_size, index };
        Ok(Self { content: Arc::new(content) })
    }

    /// The reader of content that was just written.
    pub(super) fn from_written(
        key: SpoolKey,
        paths: SpoolPaths,
        file: File,
        (stamp, index): (FileStamp, LineIndex),
    ) -> Self {
        let block_size = index.block_size();
        let content_nanos = stamp.modified_nanos;
        let index_file =
            Some(IndexFile { path: paths.index, access: Access::ReadWrite, content_nanos });
        let index = OnceLock::from(Arc::new(index));
        let descriptor = Some(dir_descriptor(&key));
        let content = FileContent { key, descriptor, index_file, file, stamp, block_size, index };
        Self { content: Arc::new(content) }
    }

    /// Opens the content that a store has under a key; `None` if there is no such content.
    pub(super) fn open_stored(
        key: SpoolKey,
        paths: SpoolPaths,
        config: &DirConfig,
    ) -> io::Result<Option<Self>> {
        let is_gone = |error: &io::Error| {
            // A link or a pipe in its place is not the content.
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData)
        };
        let file = match open_regular_file(&paths.data) {
            Err(error) if is_gone(&error) => return Ok(None),
            opened => opened?,
        };
        let (stamp, descriptor) = (FileStamp::of(&file)?, Some(dir_descriptor(&key)));
        let content_nanos = stamp.modified_nanos;
        let index_file =
            Some(IndexFile { path: paths.index, access: config.access, content_nanos });
        let (index, block_size) = (OnceLock::new(), config.block_size);
        let content = FileContent { key, descriptor, index_file, file, stamp, block_size, index };
        Ok(Some(Self { content: Arc::new(content) }))
    }
}

impl SpoolReader for FileSpoolReader {
    fn byte_length(&self) -> u64 {
        self.content.stamp.len
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        FileContent::spawn_read(&self.content, offset, len)
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        FileContent::spawn_load_index(&self.content)
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        self.content.descriptor.clone()
    }

    fn local(&self) -> Option<Arc<dyn LocalRead>> {
        Some(Arc::clone(&self.content) as Arc<dyn LocalRead>)
    }
}

impl fmt::Debug for FileSpoolReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileSpoolReader({}, {} bytes)", self.content.key, self.content.stamp.len)
    }
}

impl LocalRead for FileContent {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // Some systems refuse an offset far past the end.
        let read = match offset < self.stamp.len {
            true => read_file_at(&self.file, buffer, offset)?,
            false => 0,
        };
        self.check_stamp().map(|()| read)
    }

    fn read_at_without_waiting(&self, offset: u64, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        let read = match offset < self.stamp.len {
            true => read_cached_at(&self.file, buffer, offset)?,
            false => 0,
        };
        Some(self.check_stamp().map(|()| read))
    }
}

/// Reads what the page cache of the system has; `None` if that is nothing.
#[cfg(target_os = "linux")]
fn read_cached_at(file: &File, buffer: &mut [u8], offset: u64) -> Option<usize> {
    use rustix::io::{ReadWriteFlags, preadv2};
    let mut buffers = [io::IoSliceMut::new(buffer)];
    // Some file systems do not know the flag; the read is then made where it may wait, and reports its error there.
    preadv2(file, &mut buffers, offset, ReadWriteFlags::NOWAIT).ok().filter(|read| *read > 0)
}

#[cfg(not(target_os = "linux"))]
fn read_cached_at(_: &File, _: &mut [u8], _: u64) -> Option<usize> {
    None
}

impl FileContent {
    /// Fails if the file has changed. After a read: the bytes are those of the content that was opened.
    fn check_stamp(&self) -> io::Result<()> {
        let stamp = FileStamp::of(&self.file)?;
        if stamp == self.stamp { Ok(()) } else { Err(self.changed_error(stamp).into()) }
    }

    /// Reads on a blocking thread.
    fn spawn_read<'r>(
        this: &Arc<Self>,
        offset: u64,
        len: usize,
    ) -> BoxFuture<'r, Result<Bytes, SpoolError>> {
        let content = Arc::clone(this);
        Box::pin(async move {
            let (read, key) = (Arc::clone(&content), &content.key);
            let read = run_blocking(move || read.read(offset, len)).await;
            read.map_err(|source| SpoolError::io(key, "read", source))
        })
    }

    /// Loads or builds the index on a blocking thread.
    fn spawn_load_index<'r>(this: &Arc<Self>) -> BoxFuture<'r, Result<Arc<LineIndex>, SpoolError>> {
        if let Some(index) = this.index.get() {
            return Box::pin(std::future::ready(Ok(Arc::clone(index))));
        }
        let content = Arc::clone(this);
        Box::pin(async move {
            let (index, key) = (Arc::clone(&content), &content.key);
            let index = run_blocking(move || index.load_index()).await;
            index.map_err(|source| SpoolError::io(key, "read", source))
        })
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let left = self.stamp.len.saturating_sub(offset);
        // If more is left than memory can address, it is more than `len`.
        let mut bytes = vec![0; usize::try_from(left).map_or(len, |left| len.min(left))];
        let mut filled = 0;
        while let Some(buffer) = bytes.get_mut(filled..).filter(|buffer| !buffer.is_empty()) {
            match self.read_at(offset + filled as u64, buffer)? {
                0 => {
                    return Err(self.changed_error(FileStamp { len: offset, ..self.stamp }).into());
                }
                read => filled += read,
            }
        }
        Ok(bytes.into())
    }

    fn changed_error(&self, stamp: FileStamp) -> SpoolError {
        let how = if stamp.len == self.stamp.len {
            "its time of change differs".to_owned()
        } else {
            format!("it had {} bytes and has {} now", self.stamp.len, stamp.len)
        };
        SpoolError::Changed { key: self.key.clone(), how }
    }

    /// Reads the index file, or builds the index if there is no file that fits the content.
    fn load_index(&self) -> io::Result<Arc<LineIndex>> {
        let index = match self.read_index_file() {
            Some(index) => index,
            None => self.build_index()?,
        };
        Ok(Arc::clone(self.index.get_or_init(|| Arc::new(index))))
    }

    fn read_index_file(&self) -> Option<LineIndex> {
        let blocks = self.stamp.len.div_ceil(u64::from(self.block_size.get()));
        // Not read if it is too large to be the index: a file of any size may be in its place.
        let max_bytes = blocks.checked_mul(4)?.checked_add(256)?;
        let index_file = self.index_file.as_ref()?;
        let file = open_regular_file(&index_file.path).ok()?;
        let mut bytes = Vec::new();
        file.take(max_bytes + 1).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 > max_bytes {
            return None;
        }
        let (stamp, index) = bytes.split_first_chunk::<16>()?;
        let index = LineIndex::decode(index).ok()?;
        let is_current = u128::from_le_bytes(*stamp) == index_file.content_nanos
            && index.byte_length() == self.stamp.len
            && index.block_size() == self.block_size;
        is_current.then_some(index)
    }

    fn build_index(&self) -> io::Result<LineIndex> {
        let mut builder = LineIndexBuilder::new(self.block_size);
        let mut window = AlignedBuffer::default();
        while builder.byte_length() < self.stamp.len {
            let buffer = window.next(0, WINDOW_BYTES);
            let read = self.read_at(builder.byte_length(), buffer)?;
            if read == 0 {
                return Err(self
                    .changed_error(FileStamp { len: builder.byte_length(), ..self.stamp })
                    .into());
            }
            let filled = buffer.get(..read);
            builder
                .push(filled.or_report("a read returns at most the length of its buffer", buffer));
        }
        let index = builder.finish();
        if index.byte_length() > u64::from(self.block_size.get())
            && let Some(IndexFile { path, access: Access::ReadWrite, content_nanos }) =
                &self.index_file
        {
            let bytes = encode_index(&index, *content_nanos);
            // The index file only saves time.
            let _ = Disk::default().write_index(path, &bytes);
        }
        Ok(index)
    }
}

/// The bytes of an index file: the time of the last change of the content, and the index.
pub(super) fn encode_index(index: &LineIndex, content_nanos: u128) -> Vec<u8> {
    let mut bytes = content_nanos.to_le_bytes().to_vec();
    bytes.extend(index.encode());
    bytes
}

#[cfg(unix)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_file_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

const WINDOW_BYTES: usize = 256 * 1024;
