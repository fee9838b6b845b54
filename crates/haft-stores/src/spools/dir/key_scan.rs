//! Lists the keys of a directory in one reading of it.

use std::io;
use std::path::PathBuf;

use haft_core::BoxFuture;
use haft_core::spool::{KeyScan, SpoolError, SpoolKey};

use super::paths::DirKeys;
use crate::blocking::run_blocking;

/// A scan that holds the directory open between two lists of keys.
pub(super) struct DirKeyScan {
    prefix: String,
    reading: Reading,
}

/// The progress of reading the directory.
enum Reading {
    NotBegun(PathBuf),
    Open(DirKeys),
    Ended,
}

impl DirKeyScan {
    pub(super) fn new(dir: PathBuf, prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), reading: Reading::NotBegun(dir) }
    }
}

impl KeyScan for DirKeyScan {
    fn next_keys(&mut self) -> BoxFuture<'_, Result<Option<Vec<SpoolKey>>, SpoolError>> {
        Box::pin(async move {
            // A scan whose future is dropped ends.
            let reading = std::mem::replace(&mut self.reading, Reading::Ended);
            let prefix = std::mem::take(&mut self.prefix);
            let read = run_blocking(move || {
                let mut open = match reading {
                    Reading::NotBegun(dir) => DirKeys::open(&dir)?,
                    Reading::Open(open) => open,
                    Reading::Ended => return Ok(None),
                };
                let keys = read_keys(&mut open, &prefix)?;
                Ok(Some((keys, open, prefix)))
            });
            let read = read.await.map_err(|source| SpoolError::Store { doing: "list", source })?;
            let Some((keys, open, prefix)) = read.filter(|(keys, ..)| !keys.is_empty()) else {
                return Ok(None);
            };
            (self.reading, self.prefix) = (Reading::Open(open), prefix);
            Ok(Some(keys))
        })
    }
}

/// Reads the next keys with the prefix; none at the end of the directory. They are sorted, because stores find keys
/// faster that are near each other.
fn read_keys(open: &mut DirKeys, prefix: &str) -> io::Result<Vec<SpoolKey>> {
    let is_wanted = |key: &io::Result<SpoolKey>| match key {
        Ok(key) => key.as_str().starts_with(prefix),
        Err(_) => true,
    };
    let keys = open.filter(is_wanted).take(LISTED_TOGETHER);
    let mut keys = keys.collect::<io::Result<Vec<_>>>()?;
    keys.sort_unstable();
    Ok(keys)
}

/// How many keys are listed together.
pub(super) const LISTED_TOGETHER: usize = 10_000;
