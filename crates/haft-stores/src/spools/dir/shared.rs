//! Content that several keys have is stored once.
//!
//! Large content has a second name in the directory, which follows from its length and its ends. A writer that finds
//! content under that name compares all bytes, and if they are equal it links the file to its key and stores no other one.
//! The links of a file count the keys that have it: when the last key goes, so does the second name. On a system without
//! links every key has a file of its own.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::disk::{Disk, remove_if_exists};
use super::paths::LINKING;
use crate::private_file::open_regular_file;

/// The second name of content, if it is large enough to be shared.
pub(super) fn shared_path(dir: &Path, content: &File, len: u64) -> io::Result<Option<PathBuf>> {
    if !cfg!(unix) || len < MIN_SHARED_BYTES {
        return Ok(None);
    }
    let mut hash = Sha256::new_with_prefix(len.to_le_bytes());
    let mut piece = Vec::new();
    for start in [0, len - HASHED_BYTES] {
        read_piece(content, SeekFrom::Start(start), HASHED_BYTES, &mut piece)?;
        hash.update(&piece);
    }
    let name = hex::encode(hash.finalize());
    Ok(Some(dir.join(format!("{SHARED_PREFIX}{name}.{SHARED}"))))
}

/// A further link to content that is stored already, under a temporary name. It is removed on drop.
pub(super) struct SharedLink {
    pub(super) file: File,
    path: PathBuf,
}

impl SharedLink {
    /// Links the content of a second name, if it has exactly the bytes of the file at `written`. Content that was changed
    /// since it was stored has others, and is not shared.
    pub(super) fn create(shared: &Path, content: &File, written: &Path) -> Option<Self> {
        let path = written.with_extension(LINKING);
        fs::hard_link(shared, &path).ok()?;
        let link = match open_regular_file(&path) {
            Ok(file) => Self { file, path },
            Err(_) => {
                let _ = fs::remove_file(&path);
                return None;
            }
        };
        have_equal_bytes(&link.file, content).is_ok_and(|is_equal| is_equal).then_some(link)
    }

    /// Gives the content another name, and returns it.
    pub(super) fn replace(self, to: &Path, disk: &Disk) -> io::Result<File> {
        disk.replace(&self.path, to)?;
        self.file.try_clone()
    }
}

impl Drop for SharedLink {
    fn drop(&mut self) {
        // Also after it was renamed: a link that replaces another link of its file stays.
        let _ = fs::remove_file(&self.path);
    }
}

fn have_equal_bytes(one: &File, other: &File) -> io::Result<bool> {
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let mut left = Vec::new();
    let mut right = Vec::new();
    let mut from = SeekFrom::Start(0);
    loop {
        read_piece(one, from, PIECE_BYTES, &mut left)?;
        read_piece(other, from, PIECE_BYTES, &mut right)?;
        if left != right {
            return Ok(false);
        }
        if left.is_empty() {
            return Ok(true);
        }
        from = SeekFrom::Current(0);
    }
}

fn read_piece(mut file: &File, from: SeekFrom, len: u64, piece: &mut Vec<u8>) -> io::Result<()> {
    file.seek(from)?;
    piece.clear();
    file.take(len).read_to_end(piece)?;
    Ok(())
}

/// Gives content that was just stored its second name. Other content that had the name keeps its keys.
pub(super) fn name_shared(content: &Path, shared: &Path) -> io::Result<()> {
    remove_if_exists(shared)?;
    fs::hard_link(content, shared)
}

/// Removes the second name of content of which a key was just removed, if that was the last one.
pub(super) fn remove_unused(dir: &Path, content: &File) -> io::Result<()> {
    if count_links(content)? == 1
        && let Some(shared) = shared_path(dir, content, content.metadata()?.len())?
        && is_unused(&shared)?
    {
        remove_if_exists(&shared)?;
    }
    Ok(())
}

/// Whether a file is the second name of content that no key has.
pub(super) fn is_unused(path: &Path) -> io::Result<bool> {
    let name = path.file_name().and_then(OsStr::to_str);
    if !name.is_some_and(|it| it.starts_with(SHARED_PREFIX) && it.ends_with(SHARED)) {
        return Ok(false);
    }
    match open_regular_file(path) {
        Ok(content) => Ok(count_links(&content)? == 1),
        // Something else is in its place, or nothing.
        Err(_) => Ok(false),
    }
}

#[cfg(unix)]
fn count_links(content: &File) -> io::Result<u64> {
    Ok(std::os::unix::fs::MetadataExt::nlink(&content.metadata()?))
}

/// No content is shared.
#[cfg(not(unix))]
fn count_links(_: &File) -> io::Result<u64> {
    Ok(0)
}

/// Smaller content is not worth a second name.
const MIN_SHARED_BYTES: u64 = 64 * 1024;
/// How many bytes of each end the second name follows from.
const HASHED_BYTES: u64 = 32 * 1024;
const PIECE_BYTES: u64 = 128 * 1024;
const SHARED_PREFIX: &str = "c-";
pub(super) const SHARED: &str = "shared";
