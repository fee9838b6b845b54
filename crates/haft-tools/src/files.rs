//! Tools for files below one directory, which no path can leave.
//!
//! Directories are opened by handles and not by paths, so neither `..` nor an absolute path nor a symbolic link leads
//! outside, not even a link that is created while a tool runs. A tool never waits for a device, a pipe or a socket. A
//! process that can write into the directory can create hard links there, which cannot be distinguished from files
//! unless they lead to a [protected path](FilesOptions::protect).

#[cfg(unix)]
pub(super) mod apply_patch;
mod change_preview;
pub(super) mod edit_file;
pub(super) mod find_files;
pub(super) mod list_files;
mod protected_paths;
pub(super) mod read_file;
mod replace_file;
mod root_dir;
pub(super) mod search_files;
mod walk_dir;
pub(super) mod write_file;

use std::path::Path;
use std::sync::Arc;

use haft_core::tool::{InvalidTool, Tool, ToolBuilder};
use haft_core::trust::TrustTier;

use self::root_dir::RootDir;
use crate::readers::FileError;

/// Options of the pack `files`.
///
/// ```
/// use haft_tools::{FilesOptions, files};
///
/// # let dir = tempfile::tempdir()?;
/// let tools = files(FilesOptions::new(dir.path())?.read_only())?;
/// let names: Vec<_> = tools.iter().map(|tool| tool.name().as_str()).collect();
/// assert_eq!(names, ["read_file", "list_files", "find_files", "search_files"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct FilesOptions {
    root: Arc<RootDir>,
    tier: TrustTier,
    allows_writing: bool,
    max_bytes: u64,
}

impl FilesOptions {
    /// Allows access to everything below this directory.
    ///
    /// # Errors
    ///
    /// Fails if the directory does not exist or cannot be opened.
    pub fn new(dir: impl AsRef<Path>) -> Result<Self, FileError> {
        let root = Arc::new(RootDir::new(dir.as_ref())?);
        let tier = TrustTier::ThirdPartyPublic;
        let allows_writing = true;
        let max_bytes = u64::MAX;
        Ok(Self { root, tier, allows_writing, max_bytes })
    }

    /// Leaves out the tools that write. Without this option they are included, and every call requires approval.
    pub fn read_only(mut self) -> Self {
        self.allows_writing = false;
        self
    }

    /// Sets how much the files are trusted. The default is untrusted third-party content. Use a first-party tier only
    /// for a directory that only the application and its developers can write to.
    pub fn trust(mut self, tier: TrustTier) -> Self {
        self.tier = tier;
        self
    }

    /// Sets the maximum size of a file that can be read. By default a text can have any size, because a large one is
    /// spooled chunk by chunk and queried there. Pictures, sound, video and PDF have at most 256 MiB in any case, because
    /// they are sent as a whole.
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = limit;
        self
    }

    /// Refuses a file, or a directory with everything in it: no tool reads, lists, searches or writes it. It is
    /// recognized by device and inode, so no other spelling, symbolic link or hard link leads to it. A path that does
    /// not exist cannot be created, and is recognized when another program has created it.
    ///
    /// An application protects its own state in this way: the store of turns, keys, configuration and recordings.
    ///
    /// ```
    /// use haft_tools::{FilesOptions, files};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// let options = FilesOptions::new(dir.path())?.protect(dir.path().join(".haft"))?;
    /// assert_eq!(files(options)?.len(), 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the path cannot be made absolute, or the handle of the directory cannot be duplicated.
    #[cfg(unix)]
    pub fn protect(mut self, path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let io = |source| FileError::Io { path: path.to_owned(), doing: "protect", source };
        let absolute = std::path::absolute(path).map_err(io)?;
        self.root = Arc::new(self.root.protect(absolute).map_err(io)?);
        Ok(self)
    }

    fn label(&self) -> TrustTier {
        self.tier
    }

    /// Starts a tool that only reads. Its results can be as trusted as the files; the label of each result says how
    /// much.
    fn read_only_tool(&self, name: &str) -> ToolBuilder {
        let tool = Tool::builder(name).effect(haft_core::tool::ToolEffect::ReadOnly);
        if self.tier == TrustTier::ThirdPartyPublic { tool } else { tool.trusted() }
    }
}

/// Creates the tools `read_file`, `list_files`, `find_files` and `search_files`, and unless the options are
/// [`read_only`](FilesOptions::read_only) also `write_file` and `edit_file`.
///
/// ```
/// use haft_tools::{FilesOptions, files};
///
/// # let dir = tempfile::tempdir()?;
/// let tools = files(FilesOptions::new(dir.path())?)?;
/// let write = tools.iter().find(|tool| tool.name().as_str() == "write_file");
/// assert!(write.is_some_and(|tool| tool.requires_approval().is_some()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Does not fail in practice, because the definitions are fixed.
#[expect(clippy::needless_pass_by_value, reason = "options are made for one pack")]
pub fn files(options: FilesOptions) -> Result<Vec<Tool>, InvalidTool> {
    let mut tools = vec![
        read_file::read_file(&options)?,
        list_files::list_files(&options)?,
        find_files::find_files(&options)?,
        search_files::search_files(&options)?,
    ];
    if options.allows_writing {
        tools.push(write_file::write_file(&options)?);
        tools.push(edit_file::edit_file(&options)?);
    }
    Ok(tools)
}

/// The maximum size of a picture, a sound, a video or a PDF.
const MAX_MEDIA_BYTES: u64 = 256 * 1024 * 1024;
