//! Maps keys to file names.
//!
//! Lower-case ASCII letters, digits, `-` and `_` are kept; every other byte becomes `%` and two hex digits. So the
//! names of two keys differ on file systems that ignore case too, and no name has a special meaning. A key whose
//! escaped form is too long gets a name with its hash; the key itself is then stored in a separate file, so that it
//! can be listed.

use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haft_core::spool::{SpoolKey, SpoolPage};
use sha2::{Digest, Sha256};

use crate::private_file::open_regular_file;

/// The paths of the files that belong to one key.
#[derive(Clone, Debug)]
pub(super) struct SpoolPaths {
    pub(super) data: PathBuf,
    pub(super) index: PathBuf,
    /// The file with the key itself. It exists if the key is too long for a file name.
    pub(super) key: PathBuf,
    pub(super) needs_key_file: bool,
}

impl SpoolPaths {
    pub(super) fn of(dir: &Path, key: &SpoolKey) -> Self {
        let stem = stem(key.as_str());
        Self {
            data: dir.join(format!("{stem}.{DATA}")),
            index: dir.join(format!("{stem}.{INDEX}")),
            key: dir.join(format!("{stem}.{KEY}")),
            needs_key_file: stem.starts_with(HASHED),
        }
    }
}

/// Reads the keys of all content in a directory, in order. Foreign files are skipped, and so is content with a long
/// key whose key file is missing.
pub(super) fn list_keys(dir: &Path) -> io::Result<Vec<SpoolKey>> {
    let mut keys = Vec::new();
    visit_keys(dir, |key| keys.push(key))?;
    keys.sort();
    Ok(keys)
}

/// Reads a page of the keys, in order. The directory is read as a whole, but no more keys are held than the page has.
pub(super) fn list_page(dir: &Path, page: &SpoolPage) -> io::Result<Vec<SpoolKey>> {
    let mut first = BinaryHeap::new();
    visit_keys(dir, |key| {
        let is_full = first.len() >= page.limit;
        if !page.selects(&key) || (is_full && first.peek().is_none_or(|last| *last <= key)) {
            return;
        }
        first.push(key);
        if is_full {
            first.pop();
        }
    })?;
    Ok(first.into_sorted_vec())
}

/// Reads the key of content whose key is too long for a file name.
pub(super) fn read_key_file(path: &Path) -> io::Result<String> {
    io::read_to_string(open_regular_file(path)?)
}

fn visit_keys(dir: &Path, mut visit: impl FnMut(SpoolKey)) -> io::Result<()> {
    for key in DirKeys::open(dir)? {
        visit(key?);
    }
    Ok(())
}

/// The keys of all content in a directory, in the order of the directory, which is read on the way.
pub(super) struct DirKeys {
    dir: PathBuf,
    entries: fs::ReadDir,
}

impl DirKeys {
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        Ok(Self { dir: dir.to_owned(), entries: fs::read_dir(dir)? })
    }

    /// The key of a file, or `None` if the file is not the content of one.
    fn key_of(&self, file_name: &OsStr) -> Option<SpoolKey> {
        let name = Path::new(file_name);
        if name.extension() != Some(OsStr::new(DATA)) {
            return None;
        }
        let file_stem = name.file_stem().and_then(OsStr::to_str)?;
        let key = match file_stem.strip_prefix(PLAIN) {
            Some(escaped) => unescape(escaped),
            None => read_key_file(&self.dir.join(name).with_extension(KEY)).ok(),
        };
        key.filter(|key| stem(key) == file_stem).map(SpoolKey::from)
    }
}

impl Iterator for DirKeys {
    type Item = io::Result<SpoolKey>;

    fn next(&mut self) -> Option<io::Result<SpoolKey>> {
        loop {
            match self.entries.next()? {
                Ok(entry) => {
                    if let Some(key) = self.key_of(&entry.file_name()) {
                        return Some(Ok(key));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

pub(super) fn is_temporary(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(TEMPORARY) && name.ends_with(".tmp"))
}

/// Whether a file is a link of a writer, whose temporary file is there as long as the writer lives.
pub(super) fn is_link(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with(TEMPORARY))
        && path.extension() == Some(OsStr::new(LINKING))
}

/// Whether the name of a file is one that this store gives.
pub(super) fn is_spool_file(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with(PLAIN) || name.starts_with(HASHED))
}

fn stem(key: &str) -> String {
    let escaped = escape(key);
    if escaped.len() <= MAX_ESCAPED_LENGTH {
        return format!("{PLAIN}{escaped}");
    }
    // Escaped text is ASCII.
    let start: String = escaped.chars().take(HASHED_PREFIX_LENGTH).collect();
    format!("{HASHED}{start}-{}", hex::encode(Sha256::digest(key.as_bytes())))
}

fn escape(key: &str) -> String {
    let mut escaped = String::with_capacity(key.len());
    for byte in key.bytes() {
        if matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_') {
            escaped.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "%{byte:02x}");
        }
    }
    escaped
}

fn unescape(escaped: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => (hex_digit(rest.next()?)? << 4) | hex_digit(rest.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

pub(super) const DATA: &str = "spool";
pub(super) const INDEX: &str = "idx";
pub(super) const KEY: &str = "key";
pub(super) const TEMPORARY: &str = ".writing-";
/// The extension of a link that a writer is about to rename.
pub(super) const LINKING: &str = "link";
const PLAIN: &str = "k-";
const HASHED: &str = "h-";
/// With prefix and extension the name stays below 143 bytes, the limit of some encrypted file systems; most others
/// allow 255.
const MAX_ESCAPED_LENGTH: usize = 120;
const HASHED_PREFIX_LENGTH: usize = 40;
