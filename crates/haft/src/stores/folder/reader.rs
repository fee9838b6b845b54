//! Reads one stored result.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU32;
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
use crate::spool::window::Window;
use crate::stores::blocking;

/// Reads a file that it keeps open, so that the content outlives its replacement and its removal.
pub(super) struct FolderReader {
    content: Arc<Content>,
}

struct Content {
    key: SpoolKey,
    paths: Paths,
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

impl FolderReader {
    /// The reader of content that was just written.
    pub(super) fn written(
        key: SpoolKey,
        paths: Paths,
        file: File,
        (stamp, index): (Stamp, LineIndex),
    ) -> Self {
        let block_size = index.block_size();
        let index = OnceLock::from(Arc::new(index));
        Self { content: Arc::new(Content { key, paths, file, stamp, block_size, index }) }
    }

    /// The reader of content that is there; nothing if there is none.
    pub(super) fn open(key: SpoolKey, paths: Paths, shared: &Shared) -> io::Result<Option<Self>> {
        let file = match File::open(&paths.data) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let (stamp, block_size) = (Stamp::of(&file)?, shared.block_size);
        let index = OnceLock::new();
        Ok(Some(Self { content: Arc::new(Content { key, paths, file, stamp, block_size, index }) }))
    }

    fn error(&self, source: io::Error) -> SpoolError {
        SpoolError::io(&self.content.key, "read", source)
    }
}

impl SpoolReader for FolderReader {
    fn byte_length(&self) -> u64 {
        self.content.stamp.len
    }

    fn read_at(&self, offset: u64, len: usize) -> SpoolFuture<'_, Bytes> {
        let content = Arc::clone(&self.content);
        Box::pin(async move {
            let read = blocking(move || content.read(offset, len)).await;
            read.map_err(|source| self.error(source))
        })
    }

    fn index(&self) -> SpoolFuture<'_, Arc<LineIndex>> {
        if let Some(index) = self.content.index.get() {
            return Box::pin(std::future::ready(Ok(Arc::clone(index))));
        }
        let content = Arc::clone(&self.content);
        Box::pin(async move {
            let index = blocking(move || content.load_index()).await;
            index.map_err(|source| self.error(source))
        })
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        Some(ReaderDescriptor::new(FolderSpoolStore::TAG, json!({"key": self.content.key})))
    }

    fn local(&self) -> Option<Arc<dyn LocalRead>> {
        Some(Arc::clone(&self.content) as Arc<dyn LocalRead>)
    }
}

impl fmt::Debug for FolderReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FolderReader({}, {} bytes)", self.content.key, self.content.stamp.len)
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
        if fs::metadata(&self.paths.index).ok()?.len() > longest {
            return None;
        }
        let bytes = fs::read(&self.paths.index).ok()?;
        let (stamp, index) = bytes.split_first_chunk::<16>()?;
        let index = LineIndex::decode(index).ok()?;
        let fits = u128::from_le_bytes(*stamp) == self.stamp.nanoseconds
            && index.byte_length() == self.stamp.len
            && index.block_size() == self.block_size;
        fits.then_some(index)
    }

    fn build_index(&self) -> io::Result<LineIndex> {
        let mut builder = LineIndexBuilder::new(self.block_size);
        let mut window = Window::default();
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
        if index.byte_length() > u64::from(self.block_size.get()) {
            let bytes = encode_index(&index, self.stamp);
            // It saves time, no more.
            let _ = Disk::default().note_index(&self.paths.index, &bytes);
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
