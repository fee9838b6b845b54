//! Opens files, and detects changes.

use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{FileError, FileRoots};

/// The properties of a file that differ after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) len: u64,
    /// The time of the last change, since 1970.
    modified_nanos: u128,
    /// Device and inode, if the system provides them.
    identity: Option<(u64, u64)>,
}

impl FileStamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        Self {
            len: metadata.len(),
            modified_nanos: modified.map_or(0, |it| it.as_nanos()),
            identity: file_identity(metadata),
        }
    }
}

/// Opens a regular file. If there are roots, it has to be below one of them.
///
/// Anything else is refused before it is opened, because opening a pipe would wait for its other end.
pub(super) fn open_regular(
    path: &Path,
    roots: Option<&FileRoots>,
) -> Result<(File, FileStamp), FileError> {
    let io = |source| FileError::io(path, "open", source);
    let resolved = roots.map(|roots| roots.resolve(path)).transpose()?;
    let target = resolved.as_deref().unwrap_or(path);
    check_regular(path, &fs::metadata(target).map_err(io)?)?;
    let file = File::open(target).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    check_regular(path, &metadata)?;
    let stamp = FileStamp::of(&metadata);
    if let (Some(roots), Some(resolved)) = (roots, resolved) {
        // A link may have been created in between: the open file has to be the one below the root.
        let found = FileStamp::of(&fs::symlink_metadata(&resolved).map_err(io)?);
        let same = found == stamp && roots.resolve(path)? == resolved;
        if !same || opened_path(&file).is_some_and(|it| !roots.contain(&it)) {
            return Err(FileError::OutsideRoots { path: path.to_owned() });
        }
    }
    Ok((file, stamp))
}

/// The real path of an open file, if the system provides it.
#[cfg(target_os = "linux")]
fn opened_path(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

#[cfg(not(target_os = "linux"))]
fn opened_path(_: &File) -> Option<PathBuf> {
    None
}

fn check_regular(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    if metadata.is_file() { Ok(()) } else { Err(FileError::NotAFile { path: path.to_owned() }) }
}

#[cfg(unix)]
fn file_identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}
