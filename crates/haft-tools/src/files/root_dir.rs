//! The directory that no path can leave.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{DirExt as _, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use haft_core::tool::ToolFailure;

use super::protected_paths::{ProtectedPaths, ProtectedSet, is_protected_error};
use crate::preview;
use crate::readers::{FileError, FileReader, FileRoots};

/// The directory, by its handle and by its path.
#[derive(Debug)]
pub(super) struct RootDir {
    path: PathBuf,
    dir: Dir,
    roots: FileRoots,
    protected: ProtectedPaths,
}

/// A directory below the root.
pub(super) struct OpenedDir {
    pub(super) dir: Dir,
    /// Its path below the root, as it was given.
    pub(super) path: PathBuf,
    /// What must not be touched in it.
    pub(super) protected: ProtectedSet,
}

impl RootDir {
    pub(super) fn new(dir: &Path) -> Result<Self, FileError> {
        let roots = FileRoots::new([dir])?;
        let io = |source| FileError::Io { path: dir.to_owned(), doing: "open", source };
        let path = fs::canonicalize(dir).map_err(io)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(io)?;
        Ok(Self { path, dir, roots, protected: ProtectedPaths::default() })
    }

    /// A copy of the root that refuses one more path.
    #[cfg(unix)]
    pub(super) fn protect(&self, path: PathBuf) -> io::Result<Self> {
        let mut protected = self.protected.clone();
        protected.push(path);
        let path = self.path.clone();
        let roots = self.roots.clone();
        Ok(Self { path, dir: self.dir.try_clone()?, roots, protected })
    }

    /// Opens the directory at a path. `.` and the empty path are the root itself.
    pub(super) fn open_dir(&self, path: &str) -> Result<OpenedDir, ToolFailure> {
        let relative = relative_path(path)?;
        let protected = self.protected.identify(&self.path);
        let dir = self
            .resolve_links(&relative)
            .and_then(|resolved| self.open_checked_dir(&resolved, &protected))
            .map_err(|error| io_failure(path, "folder", error))?;
        Ok(OpenedDir { dir, path: relative, protected })
    }

    /// Opens the regular file at a path, and returns its length too.
    pub(super) fn open_file(&self, path: &str) -> Result<(fs::File, u64), ToolFailure> {
        let relative = file_path(path)?;
        self.open_checked_file(&relative).map_err(|error| io_failure(path, "file", error))
    }

    /// Whether something is at a path.
    #[cfg(unix)]
    pub(super) fn contains(&self, path: &str) -> Result<bool, ToolFailure> {
        match self.dir.symlink_metadata(file_path(path)?) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io_failure(path, "file", error)),
        }
    }

    /// Whether a path, or a directory on the way to it, is a link.
    #[cfg(unix)]
    pub(super) fn leads_through_link(&self, path: &str) -> Result<bool, ToolFailure> {
        let relative = file_path(path)?;
        let above = relative.ancestors().filter(|it| !it.as_os_str().is_empty());
        let found = above.filter_map(|it| self.dir.symlink_metadata(it).ok());
        Ok(found.into_iter().any(|it| it.is_symlink()))
    }

    fn open_checked_file(&self, relative: &Path) -> io::Result<(fs::File, u64)> {
        let protected = self.protected.identify(&self.path);
        let resolved = self.resolve_links(relative)?;
        let name = resolved.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let parent = resolved.parent().unwrap_or(Path::new(""));
        let dir = self.open_checked_dir(parent, &protected)?;
        let (file, length) = open_regular(&dir, Path::new(name))?;
        protected.check_file(&file)?;
        Ok((file, length))
    }

    /// Resolves all links of an existing path, inside the root. The result is a path below the root.
    fn resolve_links(&self, relative: &Path) -> io::Result<PathBuf> {
        if relative.as_os_str().is_empty() {
            return Ok(PathBuf::new());
        }
        self.dir.canonicalize(relative)
    }

    /// Opens a directory by a path without links, one component after the other, and checks each of them. A link that
    /// takes the place of a component in the meantime is an error.
    fn open_checked_dir(&self, resolved: &Path, protected: &ProtectedSet) -> io::Result<Dir> {
        let mut dir = self.dir.try_clone()?;
        protected.check_dir(&dir)?;
        for component in resolved.components() {
            match component {
                Component::Normal(name) => dir = dir.open_dir_nofollow(name)?,
                Component::CurDir => continue,
                _ => return Err(io::ErrorKind::PermissionDenied.into()),
            }
            protected.check_dir(&dir)?;
        }
        Ok(dir)
    }

    /// Creates a reader of the file at a path, for content that is read later and in chunks. It reads the open file
    /// and no other.
    pub(super) fn media_reader(
        &self,
        path: &str,
        file: &fs::File,
        max_bytes: u64,
    ) -> Result<FileReader, ToolFailure> {
        let full = self.path.join(file_path(path)?);
        let reader = self.roots.clone().max_bytes(max_bytes).reader(full);
        let reader = reader.map_err(|error| match error {
            FileError::Io { source, .. } => io_failure(path, "file", source),
            FileError::TooLarge { limit, .. } => ToolFailure::new(format!(
                "`{}` has more than {limit} bytes; `search_files` finds lines in it",
                preview(path)
            )),
            other => path_error(path).with_source(other),
        })?;
        let metadata = file.metadata().map_err(|error| io_failure(path, "file", error))?;
        if reader.reads_file(&metadata) { Ok(reader) } else { Err(path_error(path)) }
    }

    /// Opens the parent directory of a file that is to be written, creating it if necessary, and returns the name of
    /// the file too.
    pub(super) fn open_parent(&self, path: &str) -> Result<(Dir, PathBuf), ToolFailure> {
        let relative = file_path(path)?;
        let name = relative.file_name().map(PathBuf::from).ok_or_else(|| path_error(path))?;
        let io = |error| io_failure(path, "folder", error);
        let protected = self.protected.identify(&self.path);
        let parent = relative.parent().unwrap_or(Path::new(""));
        let dir = self.open_or_create_dir(parent, &protected).map_err(io)?;
        protected.check_name(&dir, &name).map_err(io)?;
        Ok((dir, name))
    }

    fn open_or_create_dir(&self, path: &Path, protected: &ProtectedSet) -> io::Result<Dir> {
        // The longest part of the path that exists. The empty path is the root, which always does.
        let mut existing = path;
        let resolved = loop {
            match (self.resolve_links(existing), existing.parent()) {
                (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
                    existing = parent;
                }
                (resolved, _) => break resolved?,
            }
        };
        let mut dir = self.open_checked_dir(&resolved, protected)?;
        for name in path.strip_prefix(existing).unwrap_or(Path::new("")) {
            protected.check_name(&dir, Path::new(name))?;
            match dir.create_dir(name) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => dir = dir.open_dir_nofollow(name)?,
            }
            protected.check_dir(&dir)?;
        }
        Ok(dir)
    }
}

/// Opens a regular file. Anything else, and a link, is refused; opening a pipe does not wait for its other end.
pub(super) fn open_regular(dir: &Dir, name: &Path) -> io::Result<(fs::File, u64)> {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(cap_fs_ext::FollowSymlinks::No);
    let file = dir.open_with(name, &options)?.into_std();
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        let kind = if metadata.is_dir() {
            io::ErrorKind::IsADirectory
        } else {
            io::ErrorKind::InvalidInput
        };
        return Err(kind.into());
    }
    Ok((file, metadata.len()))
}

/// The path below the root; empty for the root itself.
fn relative_path(path: &str) -> Result<PathBuf, ToolFailure> {
    if path.contains('\0') || path.len() > MAX_PATH_LENGTH {
        return Err(path_error(path));
    }
    let mut relative = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) if name.len() <= MAX_NAME_LENGTH => relative.push(name),
            Component::CurDir => {}
            _ => return Err(path_error(path)),
        }
    }
    Ok(relative)
}

/// The path of a file below the root.
fn file_path(path: &str) -> Result<PathBuf, ToolFailure> {
    // `notes/` is a directory, whatever its components are.
    let relative = relative_path(path)?;
    if relative.as_os_str().is_empty() || path.ends_with(['/', std::path::MAIN_SEPARATOR]) {
        let text = format!("`{}` is a folder; give the path of a file", preview(path));
        return Err(ToolFailure::new(text));
    }
    Ok(relative)
}

fn path_error(path: &str) -> ToolFailure {
    ToolFailure::new(format!(
        "`{}` is not a path below the folder; use a relative path without `..`, such as `notes/todo.md`, to \
         something that is not a link to the outside",
        preview(path)
    ))
}

/// The failure of a file system operation, as the model reads it.
pub(super) fn io_failure(path: &str, what: &str, error: io::Error) -> ToolFailure {
    let name = preview(path);
    let text = match error.kind() {
        _ if is_protected_error(&error) => {
            format!("`{name}` belongs to the application that runs you; use another path")
        }
        io::ErrorKind::NotFound => {
            format!("there is no {what} `{name}`; `list_files` and `find_files` tell what there is")
        }
        io::ErrorKind::NotADirectory => {
            format!("`{name}` leads through something that is not a folder; see `list_files`")
        }
        io::ErrorKind::IsADirectory => {
            format!("`{name}` is a folder; `list_files` tells what is in it")
        }
        io::ErrorKind::InvalidInput => {
            format!(
                "`{name}` is neither a file nor a folder (a device, a pipe or a socket); leave it alone"
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!("`{name}` leads out of the folder, or may not be read; use another path")
        }
        kind => format!("`{name}` could not be opened ({kind}); use another path"),
    };
    ToolFailure::new(text).with_source(error)
}

const MAX_PATH_LENGTH: usize = 4096;
const MAX_NAME_LENGTH: usize = 255;
