//! File names for keys of any text.
//!
//! Letters and digits of lower case, `-` and `_` stand for themselves; any other byte is written as `%`
//! and two digits, so names differ also where case does not count, and none is special to a system. A
//! key that gets too long that way is cut and told apart by its hash; its text is kept in a file of its
//! own, so that it can be listed.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haft_core::spool::SpoolKey;
use sha2::{Digest, Sha256};

/// The files of one key.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    pub(super) data: PathBuf,
    pub(super) index: PathBuf,
    /// Holds the key itself, if the file name cannot.
    pub(super) key: PathBuf,
    pub(super) needs_key: bool,
}

impl Paths {
    pub(super) fn of(folder: &Path, key: &SpoolKey) -> Self {
        let stem = stem(key.as_str());
        Self {
            data: folder.join(format!("{stem}.{DATA}")),
            index: folder.join(format!("{stem}.{INDEX}")),
            key: folder.join(format!("{stem}.{KEY}")),
            needs_key: stem.starts_with(HASHED),
        }
    }
}

/// The keys of all content in a folder, sorted. Files of others are passed over, and so is content whose
/// key was too long for a name when the file with the key is gone.
pub(super) fn keys(folder: &Path) -> io::Result<Vec<SpoolKey>> {
    let mut keys = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() != Some(OsStr::new(DATA)) {
            continue;
        }
        let Some(stem_found) = path.file_stem().and_then(OsStr::to_str) else { continue };
        let key = match stem_found.strip_prefix(PLAIN) {
            Some(escaped) => unescape(escaped),
            None => fs::read_to_string(path.with_extension(KEY)).ok(),
        };
        keys.extend(key.filter(|key| stem(key) == stem_found).map(SpoolKey::from));
    }
    keys.sort();
    Ok(keys)
}

pub(super) fn is_temporary(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(TEMPORARY) && name.ends_with(".tmp"))
}

fn stem(key: &str) -> String {
    let escaped = escape(key);
    if escaped.len() <= LONGEST {
        return format!("{PLAIN}{escaped}");
    }
    let mut stem = format!("{HASHED}{}-", escaped.get(..SHOWN).unwrap_or_default());
    for byte in Sha256::digest(key.as_bytes()) {
        // Writing to a string cannot fail.
        let _ = write!(stem, "{byte:02x}");
    }
    stem
}

fn escape(key: &str) -> String {
    let mut escaped = String::with_capacity(key.len());
    for byte in key.bytes() {
        if matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_') {
            escaped.push(char::from(byte));
        } else {
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
            b'%' => (digit(rest.next()?)? << 4) | digit(rest.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

pub(super) const DATA: &str = "spool";
pub(super) const INDEX: &str = "idx";
pub(super) const KEY: &str = "key";
pub(super) const TEMPORARY: &str = ".writing-";
const PLAIN: &str = "k-";
const HASHED: &str = "h-";
/// With prefix and extension well below 255, the limit of most systems, and 143, that of some.
const LONGEST: usize = 120;
const SHOWN: usize = 40;
