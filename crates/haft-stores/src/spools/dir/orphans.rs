//! Removes the files that crashed writers left behind.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use fs4::FileExt;

use super::disk::remove_if_exists;
use super::paths::{DATA, INDEX, KEY, LINKING, is_link, is_spool_file, is_temporary};
use super::shared::{SHARED, is_unused};
use crate::private_file::open_regular_file;

/// Removes temporary files that no writer has locked, second names of content that no key has, and index and key files
/// without content.
pub(super) fn remove_orphans(dir: &Path) -> io::Result<usize> {
    let mut removed = 0;
    let mut has_live_writer = false;
    let mut side_files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.file_name().is_some_and(is_temporary) {
            match open_regular_file(&path) {
                Ok(file) if FileExt::try_lock(&file).is_ok() => {
                    removed += usize::from(remove_if_exists(&path)?);
                }
                // Something that is not a file has no writer.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::InvalidData
                    ) => {}
                _ => has_live_writer = true,
            }
        } else if SIDE_FILES.iter().any(|it| path.extension() == Some(OsStr::new(it))) {
            side_files.push(path);
        }
    }
    if has_live_writer {
        // It may be about to add the content of these side files.
        return Ok(removed);
    }
    for side_file in side_files {
        let is_unused = match is_spool_file(&side_file) {
            true => !fs::exists(side_file.with_extension(DATA))?,
            false => is_link(&side_file) || is_unused(&side_file)?,
        };
        if is_unused {
            removed += usize::from(remove_if_exists(&side_file)?);
        }
    }
    Ok(removed)
}

/// The extensions of files that need another one.
const SIDE_FILES: [&str; 4] = [INDEX, KEY, LINKING, SHARED];
