//! The names of objects.

use haft_core::spool::SpoolKey;
use object_store::path::Path;
use sha2::{Digest as _, Sha256};

/// Gives the objects of a key their names, below a prefix: `data/…` for the content, `index/…` for the line index.
///
/// A key is written in hexadecimal digits, which every backend takes and which sort as the keys do. A key that is too
/// long for that is truncated and followed by its hash; the object of its index has the whole key.
pub(super) struct ObjectNames {
    prefix: String,
}

impl ObjectNames {
    pub(super) fn new(prefix: &str) -> Self {
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Self { prefix }
    }

    pub(super) fn data_root(&self) -> Path {
        Path::from(format!("{}data", self.prefix))
    }

    pub(super) fn data(&self, key: &SpoolKey) -> Path {
        Path::from(format!("{}data/{}", self.prefix, name_of(key)))
    }

    pub(super) fn index(&self, key: &SpoolKey) -> Path {
        self.index_named(&name_of(key))
    }

    pub(super) fn index_named(&self, name: &str) -> Path {
        Path::from(format!("{}index/{name}", self.prefix))
    }

    /// The key of a name, or `None` for one that does not have the whole key.
    pub(super) fn parse(name: &str) -> Option<SpoolKey> {
        let digits = name.strip_prefix('k')?;
        let bytes = hex::decode(digits).ok()?;
        Some(SpoolKey::new(String::from_utf8(bytes).ok()?))
    }
}

fn name_of(key: &SpoolKey) -> String {
    let bytes = key.as_str().as_bytes();
    match bytes.get(..MAX_KEY_BYTES) {
        Some(start) if bytes.len() > MAX_KEY_BYTES => {
            format!("k{}-{}", hex::encode(start), hex::encode(Sha256::digest(bytes)))
        }
        _ => format!("k{}", hex::encode(bytes)),
    }
}

/// Names of files have at most 255 bytes, of which the hash and a temporary ending need some.
const MAX_KEY_BYTES: usize = 80;
