//! The directories below which files can be read.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use haft_core::tool::ToolFailure;
use serde_json::Value;

use super::{FileError, FileReader};
use crate::readers::{MAX_BYTES, locator_field, stream_failure};

/// The directories below which files can be read.
///
/// A path has to be absolute and without `..`, and has to lead to a file below one of the directories after all links
/// are resolved. Each stream checks that again for the file that it opened. A process that can write into a root can
/// create hard links there, which cannot be distinguished from files.
///
/// ```
/// use haft_tools::readers::FileRoots;
///
/// # let (allowed, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// # std::fs::write(allowed.path().join("a.txt"), "a")?;
/// # std::fs::write(other.path().join("b.txt"), "b")?;
/// let roots = FileRoots::new([allowed.path()])?;
/// assert!(roots.reader(allowed.path().join("a.txt")).is_ok());
/// assert!(roots.reader(other.path().join("b.txt")).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// Allows everything below these directories. Without a directory nothing is allowed.
    ///
    /// # Errors
    ///
    /// Fails if a path does not exist or is not a directory.
    pub fn new<P: AsRef<Path>>(dirs: impl IntoIterator<Item = P>) -> Result<Self, FileError> {
        let root = |dir: P| {
            let dir = dir.as_ref();
            let io = |source| FileError::io(dir, "find", source);
            let given = std::path::absolute(dir).map_err(io)?;
            let real = fs::canonicalize(dir).map_err(io)?;
            fs::read_dir(&real).map_err(|source| FileError::io(dir, "list", source))?;
            Ok(AllowedRoot { given, real })
        };
        let roots: Result<Arc<[AllowedRoot]>, FileError> = dirs.into_iter().map(root).collect();
        Ok(Self { roots: roots?, max_bytes: MAX_BYTES })
    }

    /// Sets the maximum size of a file. The default is [`MAX_BYTES`](crate::readers::MAX_BYTES).
    ///
    /// ```
    /// use haft_tools::readers::FileRoots;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let path = dir.path().join("note.txt");
    /// std::fs::write(&path, "hello")?;
    /// let roots = FileRoots::new([dir.path()])?;
    /// assert!(roots.clone().max_bytes(5).reader(&path).is_ok());
    /// assert!(roots.max_bytes(4).reader(&path).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = limit;
        self
    }

    /// Creates a reader of a file below one of the directories.
    ///
    /// # Errors
    ///
    /// Fails if the file is outside the directories, does not exist, is too large, or is not a regular file.
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

    /// A function for [`ReaderResolvers::with`](haft_core::media::ReaderResolvers::with), under [`FileReader::TAG`].
    ///
    /// ```
    /// use haft_core::media::{MediaReader as _, ReaderResolvers};
    /// use haft_tools::readers::{FileReader, FileRoots};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("note.txt");
    /// # std::fs::write(&path, "hello")?;
    /// let roots = FileRoots::new([dir.path()])?;
    /// let resolvers = ReaderResolvers::empty().with(FileReader::TAG, roots.resolver());
    /// let described = roots.reader(&path)?.describe().ok_or("the path is Unicode")?;
    /// assert_eq!(resolvers.resolve(&described)?.byte_length(), Some(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resolver(&self) -> impl Fn(&Value) -> Result<FileReader, ToolFailure> + use<> {
        let roots = self.clone();
        move |locator| {
            let path =
                locator_field(locator, "path").ok_or_else(|| stream_failure(FileError::Locator))?;
            roots.reader(path).map_err(stream_failure)
        }
    }

    /// Resolves a path that leads below a root. A path that is not written below a root is refused without access to the
    /// file system.
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
