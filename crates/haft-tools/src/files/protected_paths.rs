//! Files and directories of the application that no tool may touch.
//!
//! They are recognized by device and inode, so neither another spelling of a path nor a symbolic link nor a hard link
//! leads to them.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, FileType};

/// Device and inode.
type FileIdentity = (u64, u64);

/// The paths that an application protects.
#[derive(Clone, Debug, Default)]
pub(super) struct ProtectedPaths(Vec<PathBuf>);

impl ProtectedPaths {
    pub(super) fn push(&mut self, path: PathBuf) {
        self.0.push(path);
    }

    /// Looks up what the paths name now. A store may be created after the options were made.
    pub(super) fn identify(&self, root: &Path) -> ProtectedSet {
        let mut set = ProtectedSet::default();
        for path in &self.0 {
            set.insert(path);
        }
        set.covers_root = !set.dirs.is_empty()
            && root.ancestors().any(|dir| is_member(&set.dirs, fs::metadata(dir).as_ref()));
        set
    }
}

/// What the protected paths name at the time of a call.
#[derive(Debug, Default)]
pub(super) struct ProtectedSet {
    dirs: HashSet<FileIdentity>,
    files: HashSet<FileIdentity>,
    /// Paths that do not exist yet: the identity of the last directory that exists, and the name that is missing in it.
    names: HashSet<(FileIdentity, OsString)>,
    /// The protected directories by their paths, for the files in them.
    dir_paths: Vec<PathBuf>,
    /// All files in the protected directories; `None` if there are too many. Only files with several names are
    /// compared with them, so the set is rarely made.
    inner_files: OnceCell<Option<HashSet<FileIdentity>>>,
    /// Whether the root itself is protected, or is inside a protected directory.
    covers_root: bool,
}

impl ProtectedSet {
    fn insert(&mut self, path: &Path) {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => {
                self.dirs.extend(file_identity(&metadata));
                self.dir_paths.push(path.to_owned());
            }
            Ok(metadata) => self.files.extend(file_identity(&metadata)),
            Err(_) => self.names.extend(first_missing_name(path)),
        }
    }

    fn is_empty(&self) -> bool {
        self.dirs.is_empty() && self.files.is_empty() && self.names.is_empty()
    }

    /// Refuses an open directory that is protected.
    pub(super) fn check_dir(&self, dir: &Dir) -> io::Result<()> {
        let is_refused = self.covers_root || (!self.dirs.is_empty() && self.has_dir(dir)?);
        if is_refused { Err(protected_error()) } else { Ok(()) }
    }

    /// Refuses an open file that is protected.
    pub(super) fn check_file(&self, file: &fs::File) -> io::Result<()> {
        let is_refused = !self.is_empty() && self.has_file(&file.metadata()?);
        if is_refused { Err(protected_error()) } else { Ok(()) }
    }

    /// Refuses a name in an open directory under which something protected is, or will be.
    pub(super) fn check_name(&self, dir: &Dir, name: &Path) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let reserved = directory_identity(&dir.dir_metadata()?)
            .is_some_and(|id| self.names.contains(&(id, name.as_os_str().to_owned())));
        let kind = dir.symlink_metadata(name).map(|it| it.file_type());
        let is_refused = reserved || kind.is_ok_and(|kind| self.has_entry(dir, name, kind));
        if is_refused { Err(protected_error()) } else { Ok(()) }
    }

    /// Whether an entry of a directory is protected. Links are not followed.
    pub(super) fn has_entry(&self, dir: &Dir, name: &Path, kind: FileType) -> bool {
        if self.is_empty() || !(kind.is_dir() || kind.is_file()) {
            return false;
        }
        let Ok(metadata) = dir.symlink_metadata(name) else { return false };
        match directory_identity(&metadata) {
            Some(id) if kind.is_dir() => self.dirs.contains(&id),
            Some(id) => self.has_file_identity(id, link_count(&metadata)),
            None => false,
        }
    }

    fn has_dir(&self, dir: &Dir) -> io::Result<bool> {
        Ok(directory_identity(&dir.dir_metadata()?).is_some_and(|id| self.dirs.contains(&id)))
    }

    fn has_file(&self, metadata: &Metadata) -> bool {
        file_identity(metadata)
            .is_some_and(|id| self.has_file_identity(id, std_link_count(metadata)))
    }

    fn has_file_identity(&self, id: FileIdentity, links: u64) -> bool {
        if self.files.contains(&id) {
            return true;
        }
        // A file with one name is protected by the directory that it is in.
        if links < 2 || self.dir_paths.is_empty() {
            return false;
        }
        let inner = self.inner_files.get_or_init(|| list_files(&self.dir_paths));
        inner.as_ref().is_none_or(|files| files.contains(&id))
    }
}

/// The first component of a path that does not exist, with the directory in which it will be created. A tool that
/// created it would decide what the rest of the path leads to, so nothing may take its place.
fn first_missing_name(path: &Path) -> Option<(FileIdentity, OsString)> {
    path.ancestors().find_map(|missing| {
        let parent = missing.parent()?;
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let parent = fs::metadata(parent).ok()?;
        Some((file_identity(&parent)?, missing.file_name()?.to_owned()))
    })
}

/// The identities of all files below some directories; `None` if there are too many.
fn list_files(dirs: &[PathBuf]) -> Option<HashSet<FileIdentity>> {
    let mut files = HashSet::new();
    let mut open = dirs.to_vec();
    let mut left = MAX_INNER_FILES;
    while let Some(dir) = open.pop() {
        let Ok(entries) = fs::read_dir(dir) else { continue };
        for entry in entries.flatten() {
            left = left.checked_sub(1)?;
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => open.push(entry.path()),
                Ok(metadata) => files.extend(file_identity(&metadata)),
                Err(_) => {}
            }
        }
    }
    Some(files)
}

fn is_member(set: &HashSet<FileIdentity>, metadata: Result<&Metadata, &io::Error>) -> bool {
    metadata.ok().and_then(file_identity).is_some_and(|id| set.contains(&id))
}

#[cfg(unix)]
fn file_identity(metadata: &Metadata) -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(unix)]
fn std_link_count(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

#[cfg(unix)]
fn directory_identity(metadata: &cap_std::fs::Metadata) -> Option<FileIdentity> {
    use cap_std::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(unix)]
fn link_count(metadata: &cap_std::fs::Metadata) -> u64 {
    cap_std::fs::MetadataExt::nlink(metadata)
}

#[cfg(not(unix))]
fn file_identity(_: &Metadata) -> Option<FileIdentity> {
    None
}

#[cfg(not(unix))]
fn std_link_count(_: &Metadata) -> u64 {
    1
}

#[cfg(not(unix))]
fn directory_identity(_: &cap_std::fs::Metadata) -> Option<FileIdentity> {
    None
}

#[cfg(not(unix))]
fn link_count(_: &cap_std::fs::Metadata) -> u64 {
    1
}

/// The reason why a path is refused.
#[derive(Debug)]
struct ProtectedPathError;

impl fmt::Display for ProtectedPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it belongs to the application")
    }
}

impl std::error::Error for ProtectedPathError {}

fn protected_error() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, ProtectedPathError)
}

/// Whether an error says that a path is protected.
pub(super) fn is_protected_error(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(source) if source.is::<ProtectedPathError>())
}

const MAX_INNER_FILES: usize = 200_000;
