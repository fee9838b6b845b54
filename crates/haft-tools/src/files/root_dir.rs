//! The directory that no path can leave.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use haft_core::tool::ToolFailure;

use crate::preview;
use crate::readers::{FileError, FileReader, FileRoots};

/// The directory, by its handle and by its path.
#[derive(Debug)]
pub(super) struct RootDir {
    path: PathBuf,
    dir: Dir,
    roots: FileRoots,
}

/// Whether a symbolic link at the end of a path is followed inside the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymlinkPolicy {
    Follow,
    Refuse,
}

impl RootDir {
    pub(super) fn new(dir: &Path) -> Result<Self, FileError> {
        let roots = FileRoots::new([dir])?;
        let io = |source| FileError::Io { path: dir.to_owned(), doing: "open", source };
        let path = fs::canonicalize(dir).map_err(io)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(io)?;
        Ok(Self { path, dir, roots })
    }

    /// Opens the directory at a path. `.` and the empty path are the root itself.
    pub(super) fn open_dir(&self, path: &str) -> Result<(Dir, PathBuf), ToolFailure> {
        let relative = relative_path(path)?;
        let at = if relative.as_os_str().is_empty() { Path::new(".") } else { &relative };
        let dir = self.dir.open_dir(at).map_err(|error| io_failure(path, "folder", error))?;
        Ok((dir, relative))
    }

    /// Opens the regular file at a path, and returns its length too.
    pub(super) fn open_file(&self, path: &str) -> Result<(fs::File, u64), ToolFailure> {
        let relative = file_path(path)?;
        open_regular(&self.dir, &relative, SymlinkPolicy::Follow)
            .map_err(|error| io_failure(path, "file", error))
    }

    /// Creates a reader of the file at a path, for content that is read later and in chunks.
    pub(super) fn media_reader(
        &self,
        path: &str,
        max_bytes: u64,
    ) -> Result<FileReader, ToolFailure> {
        let full = self.path.join(file_path(path)?);
        let reader = self.roots.clone().max_bytes(max_bytes).reader(full);
        reader.map_err(|error| match error {
            FileError::Io { source, .. } => io_failure(path, "file", source),
            FileError::TooLarge { limit, .. } => ToolFailure::new(format!(
                "`{}` has more than {limit} bytes; `search_files` finds lines in it",
                preview(path)
            )),
            other => path_error(path).with_source(other),
        })
    }

    /// Opens the parent directory of a file, creating it if necessary, and returns the name of the file too.
    pub(super) fn open_parent(&self, path: &str) -> Result<(Dir, PathBuf), ToolFailure> {
        let relative = file_path(path)?;
        let name = relative.file_name().map(PathBuf::from).ok_or_else(|| path_error(path))?;
        let io = |error| io_failure(path, "folder", error);
        let dir = match relative.parent().filter(|it| !it.as_os_str().is_empty()) {
            Some(parent) => {
                self.dir.create_dir_all(parent).map_err(io)?;
                self.dir.open_dir(parent).map_err(io)?
            }
            None => self.dir.try_clone().map_err(io)?,
        };
        Ok((dir, name))
    }
}

/// Opens a regular file. Anything else is refused; opening a pipe does not wait for its other end.
pub(super) fn open_regular(
    dir: &Dir,
    path: &Path,
    links: SymlinkPolicy,
) -> io::Result<(fs::File, u64)> {
    let follow = match links {
        SymlinkPolicy::Follow => cap_fs_ext::FollowSymlinks::Yes,
        SymlinkPolicy::Refuse => cap_fs_ext::FollowSymlinks::No,
    };
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(follow);
    let file = dir.open_with(path, &options)?.into_std();
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
