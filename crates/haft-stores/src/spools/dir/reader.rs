//! Reads one stored result.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use haft_core::spool::{
    LineIndex, LineIndexBuilder, LocalRead, ReaderDescriptor, SpoolError, SpoolFuture, SpoolKey,
    SpoolReader,
};
use serde_json::json;

use super::disk::Disk;
use super::name::Paths;
use super::{FolderSpoolStore, Shared};
use crate::blocking::run_blocking;
use haft_core::spool::AlignedBuffer;

/// Reads any file as an artifact: a log, an export, a book.
///
/// The file is not copied and stays where it is. It is kept open, so that the content outlives its replacement and its
/// removal. If it changes while it is read, the answer is an error, never a mixture.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_artifacts::text::TextView;
/// use haft_stores::FileSpoolReader;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.log");
/// std::fs::write(&path, "one\ntwo\nthree")?;
/// let view = TextView::new(Arc::new(FileSpoolReader::open(&path)?));
/// assert_eq!(view.tail(1).await?.text(), "three");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FileSpoolReader {
    content: Arc<Content>,
}

struct Content {
    key: SpoolKey,
    /// Whether a store has it under its key, so that it can be found again.
    is_stored: bool,
    /// Where the index of lines is kept; nowhere if it is built anew every time.
    index_file: Option<PathBuf>,
    file: File,
    stamp: Stamp,
    block_size: NonZeroU32,
    index: OnceLock<Arc<LineIndex>>,
}

/// What a file looks like as long as nobody changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) len: u64,
    /// Of the last change, since 1970.
    nanoseconds: u128,
}

impl Stamp {
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let changed = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        Ok(Self { len: metadata.len(), nanoseconds: changed.map_or(0, |it| it.as_nanos()) })
    }
}

impl FileSpoolReader {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// It cannot be opened, or is no regular file.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_indexed(path, None)
    }

    /// Opens a file whose index of lines is kept in another one, so that it is built once: a gigabyte costs a
    /// fifth of a second. An index that does not belong to the file is built anew.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open). An index that cannot be written is none.
    pub fn open_indexed(path: impl AsRef<Path>, index_file: Option<PathBuf>) -> io::Result<Self> {
        let path = path.as_ref();
        // A pipe would be waited for, and a device never ends.
        if !fs::metadata(path)?.is_file() {
            let what = format!("`{}` is no regular file", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let file = File::open(path)?;
        let (stamp, block_size) = (Stamp::of(&file)?, LineIndex::BLOCK_SIZE);
        let (key, index) = (SpoolKey::new(path.to_string_lossy()), OnceLock::new());
        let is_stored = false;
        let content = Content { key, is_stored, index_file, file, stamp, block_size, index };
        Ok(Self { content: Arc::new(content) })
    }

    /// The reader of content that was just stored.
    pub(super) fn written(
        key: SpoolKey,
        paths: Paths,
        file: File,
        (stamp, index): (Stamp, LineIndex),
    ) -> Self {
        let block_size = index.block_size();
        let (index, index_file) = (OnceLock::from(Arc::new(index)), Some(paths.index));
        let is_stored = true;
        let content = Content { key, is_stored, index_file, file, stamp, block_size, index };
        Self { content: Arc::new(content) }
    }

    /// The reader of content that is stored; nothing if there is none.
    pub(super) fn stored(key: SpoolKey, paths: Paths, shared: &Shared) -> io::Result<Option<Self>> {
        let file = match File::open(&paths.data) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let (stamp, block_size) = (Stamp::of(&file)?, shared.block_size);
        let (index, index_file) = (OnceLock::new(), Some(paths.index));
        let is_stored = true;
        let content = Content { key, is_stored, index_file, file, stamp, block_size, index };
        Ok(Some(Self { content: Arc::new(content) }))
    }
}

impl SpoolReader for FileSpoolReader {
    fn byte_length(&self) -> u64 {
        self.content.stamp.len
    }

    fn read_at(&self, offset: u64, len: usize) -> SpoolFuture<'_, Bytes> {
        Content::read_off(&self.content, offset, len)
    }

    fn index(&self) -> SpoolFuture<'_, Arc<LineIndex>> {
        Content::index_off(&self.content)
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        let Content { key, is_stored, .. } = &*self.content;
        is_stored.then(|| ReaderDescriptor::new(FolderSpoolStore::TAG, json!({"key": key})))
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

impl LocalRead for Content {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        // A system may refuse an offset far past the end.
        let read = match offset < self.stamp.len {
            true => read_file_at(&self.file, buffer, offset)?,
            false => 0,
        };
        // Afterwards: what was read before this moment is what the stamp stands for.
        let stamp = Stamp::of(&self.file)?;
        if stamp == self.stamp { Ok(read) } else { Err(self.changed(stamp).into()) }
    }
}

impl Content {
    /// Reads off the async workers.
    fn read_off<'r>(this: &Arc<Self>, offset: u64, len: usize) -> SpoolFuture<'r, Bytes> {
        let content = Arc::clone(this);
        Box::pin(async move {
            let (read, key) = (Arc::clone(&content), &content.key);
            let read = run_blocking(move || read.read(offset, len)).await;
            read.map_err(|source| SpoolError::io(key, "read", source))
        })
    }

    /// The index, loaded or built off the async workers.
    fn index_off<'r>(this: &Arc<Self>) -> SpoolFuture<'r, Arc<LineIndex>> {
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
        let left = usize::try_from(self.stamp.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len.min(left)];
        let mut filled = 0;
        while let Some(buffer) = bytes.get_mut(filled..).filter(|buffer| !buffer.is_empty()) {
            match self.read_at(offset + filled as u64, buffer)? {
                0 => return Err(self.changed(Stamp { len: offset, ..self.stamp }).into()),
                read => filled += read,
            }
        }
        Ok(bytes.into())
    }

    fn changed(&self, stamp: Stamp) -> SpoolError {
        let how = if stamp.len == self.stamp.len {
            "its time of change differs".to_owned()
        } else {
            format!("it had {} bytes and has {} now", self.stamp.len, stamp.len)
        };
        SpoolError::Changed { key: self.key.clone(), how }
    }

    /// The index from beside the data, or from the data if that one does not belong to it.
    fn load_index(&self) -> io::Result<Arc<LineIndex>> {
        let index = match self.stored_index() {
            Some(index) => index,
            None => self.build_index()?,
        };
        Ok(Arc::clone(self.index.get_or_init(|| Arc::new(index))))
    }

    fn stored_index(&self) -> Option<LineIndex> {
        let blocks = self.stamp.len.div_ceil(u64::from(self.block_size.get()));
        // Not read at all if it cannot be the one: a file of any size may lie there.
        let longest = blocks.checked_mul(4)?.checked_add(256)?;
        let file = self.index_file.as_ref()?;
        if fs::metadata(file).ok()?.len() > longest {
            return None;
        }
        let bytes = fs::read(file).ok()?;
        let (stamp, index) = bytes.split_first_chunk::<16>()?;
        let index = LineIndex::decode(index).ok()?;
        let fits = u128::from_le_bytes(*stamp) == self.stamp.nanoseconds
            && index.byte_length() == self.stamp.len
            && index.block_size() == self.block_size;
        fits.then_some(index)
    }

    fn build_index(&self) -> io::Result<LineIndex> {
        let mut builder = LineIndexBuilder::new(self.block_size);
        let mut window = AlignedBuffer::default();
        while builder.byte_length() < self.stamp.len {
            let buffer = window.next(0, WINDOW);
            let read = self.read_at(builder.byte_length(), buffer)?;
            if read == 0 {
                return Err(self
                    .changed(Stamp { len: builder.byte_length(), ..self.stamp })
                    .into());
            }
            builder.push(buffer.get(..read).unwrap_or_default());
        }
        let index = builder.finish();
        if index.byte_length() > u64::from(self.block_size.get())
            && let Some(file) = &self.index_file
        {
            let bytes = encode_index(&index, self.stamp);
            // It saves time, no more.
            let _ = Disk::default().note_index(file, &bytes);
        }
        Ok(index)
    }
}

/// The bytes of an index file: when the data was last changed, and the index.
pub(super) fn encode_index(index: &LineIndex, stamp: Stamp) -> Vec<u8> {
    let mut bytes = stamp.nanoseconds.to_le_bytes().to_vec();
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

const WINDOW: usize = 256 * 1024;
