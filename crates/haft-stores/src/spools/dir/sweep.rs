//! Clears up after writers that died.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use fs4::FileExt;

use super::disk::remove;
use super::name::{DATA, INDEX, KEY, is_temporary};

/// Removes temporary files that no writer holds a lock on, and side files without content.
pub(super) fn sweep(folder: &Path) -> io::Result<usize> {
    let (mut removed, mut live) = (0, false);
    let mut sides = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(is_temporary) {
            match File::open(&path) {
                Ok(file) if FileExt::try_lock(&file).is_ok() => {
                    removed += usize::from(remove(&path)?);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                _ => live = true,
            }
        } else if [INDEX, KEY].iter().any(|it| path.extension() == Some(OsStr::new(it))) {
            sides.push(path);
        }
    }
    // A live writer may be about to put content beside its side files.
    for side in sides.into_iter().filter(|_| !live) {
        let ours = side.file_name().and_then(OsStr::to_str);
        let ours = ours.is_some_and(|name| name.starts_with("k-") || name.starts_with("h-"));
        if ours && !fs::exists(side.with_extension(DATA))? {
            removed += usize::from(remove(&side)?);
        }
    }
    Ok(removed)
}
