//! The folder that no path leads out of.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use haft_core::tool::ToolFailure;

use crate::preview;
use crate::readers::{FileError, FileReader, FileRoots};

/// The folder, by its handle and by its name.
#[derive(Debug)]
pub(super) struct RootDir {
    path: PathBuf,
    dir: Dir,
    roots: FileRoots,
}

/// Whether a link at the end of a path is followed, inside the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymlinkPolicy {
    Follow,
    Refuse,
}

impl RootDir {
    pub(super) fn new(folder: &Path) -> Result<Self, FileError> {
        let roots = FileRoots::new([folder])?;
        let io = |source| FileError::Io { path: folder.to_owned(), doing: "open", source };
        let path = fs::canonicalize(folder).map_err(io)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(io)?;
        Ok(Self { path, dir, roots })
    }

    /// The folder at a path; the root itself for `.` and nothing.
    pub(super) fn open_dir(&self, path: &str) -> Result<(Dir, PathBuf), ToolFailure> {
        let relative = relative_path(path)?;
        let at = if relative.as_os_str().is_empty() { Path::new(".") } else { &relative };
        let dir = self.dir.open_dir(at).map_err(|error| io_failure(path, "folder", error))?;
        Ok((dir, relative))
    }

    /// The open file at a path, which is a regular one, and its length.
    pub(super) fn open_file(&self, path: &str) -> Result<(fs::File, u64), ToolFailure> {
        let relative = file_path(path)?;
        open_regular(&self.dir, &relative, SymlinkPolicy::Follow)
            .map_err(|error| io_failure(path, "file", error))
    }

    /// A reader of the file at a path, for content that is read later and bit by bit.
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

    /// The folder that a file is in, made if need be, and the name of the file in it.
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

/// Opens a regular file. Opening a pipe does not wait for its other end, and then it is refused.
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

/// A path below the folder, as it is written; empty for the folder itself.
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

/// The path of a file below the folder.
fn file_path(path: &str) -> Result<PathBuf, ToolFailure> {
    // `notes/` is a folder, whatever its components are.
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

/// What the model is told when the file system fails.
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
