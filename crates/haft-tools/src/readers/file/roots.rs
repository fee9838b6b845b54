//! Which files may be read.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use haft_core::tool::ToolFailure;
use serde_json::Value;

use super::{FileError, FileReader};
use crate::readers::{MAX_BYTES, locator_field, stream_failure};

/// The folders below which files may be read.
///
/// A path has to be absolute and without `..`, and has to lead to a file below one of the folders after
/// every link was followed. That is checked again for each stream, on the file that was opened. Whoever
/// can write into a root can put hard links there, which no check tells from files.
#[derive(Clone, Debug)]
pub struct FileRoots {
    roots: Arc<[AllowedRoot]>,
    max_bytes: u64,
}

#[derive(Debug)]
struct AllowedRoot {
    given: PathBuf,
    real: PathBuf,
}

impl FileRoots {
    /// Allows what is below these folders. With none, nothing is allowed.
    ///
    /// # Errors
    ///
    /// A folder is not there, or is not a folder.
    pub fn new<P: AsRef<Path>>(folders: impl IntoIterator<Item = P>) -> Result<Self, FileError> {
        let root = |folder: P| {
            let folder = folder.as_ref();
            let io = |source| FileError::io(folder, "find", source);
            let given = std::path::absolute(folder).map_err(io)?;
            let real = fs::canonicalize(folder).map_err(io)?;
            fs::read_dir(&real).map_err(|source| FileError::io(folder, "list", source))?;
            Ok(AllowedRoot { given, real })
        };
        let roots: Result<Arc<[AllowedRoot]>, FileError> = folders.into_iter().map(root).collect();
        Ok(Self { roots: roots?, max_bytes: MAX_BYTES })
    }

    /// Refuses files of more than this many bytes, instead of [`MAX_BYTES`](crate::readers::MAX_BYTES).
    #[must_use]
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = limit;
        self
    }

    /// A reader of a file below one of the folders.
    ///
    /// # Errors
    ///
    /// The file is elsewhere, not there, too large or not a regular file.
    pub fn reader(&self, path: impl AsRef<Path>) -> Result<FileReader, FileError> {
        let reader =
            FileReader::open_within(path.as_ref().to_owned(), Some(self.clone()), self.max_bytes)?;
        if reader.source.stamp.len > self.max_bytes {
            return Err(FileError::TooLarge {
                path: reader.source.path.clone(),
                limit: self.max_bytes,
            });
        }
        Ok(reader)
    }

    /// For [`ReaderResolvers::with`](haft_core::media::ReaderResolvers::with), under [`FileReader::TAG`].
    pub fn resolver(&self) -> impl Fn(&Value) -> Result<FileReader, ToolFailure> + use<> {
        let roots = self.clone();
        move |locator| {
            let path =
                locator_field(locator, "path").ok_or_else(|| stream_failure(FileError::Locator))?;
            roots.reader(path).map_err(stream_failure)
        }
    }

    /// Where a path leads, if that is below a root. A path that is not written as one below a root is
    /// refused without a look at the file system.
    pub(super) fn resolve(&self, path: &Path) -> Result<PathBuf, FileError> {
        let outside = || FileError::OutsideRoots { path: path.to_owned() };
        let plain = path.components().all(|it| it != Component::ParentDir);
        let written =
            |root: &AllowedRoot| path.starts_with(&root.given) || path.starts_with(&root.real);
        if !plain || !self.roots.iter().any(written) {
            return Err(outside());
        }
        let real = fs::canonicalize(path).map_err(|source| FileError::io(path, "find", source))?;
        if self.contain(&real) { Ok(real) } else { Err(outside()) }
    }

    /// Whether a path without links is below a root.
    pub(super) fn contain(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| real.starts_with(&root.real))
    }
}
