//! Files below one folder, which no path leads out of.
//!
//! Folders are walked by handles, not by names, so that no `..`, no absolute path and no link gets out, also
//! not a link that is put there in between. What is not a regular file (a device, a pipe, a socket) is never
//! opened for long enough to wait for it. Whoever can write into the folder can put hard links there, which no
//! check tells from files.

pub(super) mod edit_file;
pub(super) mod find_files;
pub(super) mod list_files;
pub(super) mod read_file;
mod replace_file;
mod root_dir;
pub(super) mod search_files;
mod walk_dir;
pub(super) mod write_file;

use std::path::Path;
use std::sync::Arc;

use haft_core::tool::{InvalidTool, Tool, ToolBuilder};
use haft_core::trust::{TrustLabel, TrustTier};

use self::root_dir::RootDir;
use crate::readers::FileError;

/// What the tools may do, and where.
#[derive(Clone, Debug)]
#[must_use]
pub struct FilesOptions {
    root: Arc<RootDir>,
    tier: TrustTier,
    allows_writing: bool,
    max_bytes: u64,
}

impl FilesOptions {
    /// Tools for what is below this folder.
    ///
    /// # Errors
    ///
    /// The folder is not there, or cannot be opened.
    pub fn new(folder: impl AsRef<Path>) -> Result<Self, FileError> {
        let root = Arc::new(RootDir::new(folder.as_ref())?);
        let (tier, allows_writing, max_bytes) = (TrustTier::ThirdPartyPublic, true, MAX_BYTES);
        Ok(Self { root, tier, allows_writing, max_bytes })
    }

    /// Leaves out the tools that write. Those that are there ask for leave each time.
    pub fn read_only(mut self) -> Self {
        self.allows_writing = false;
        self
    }

    /// Says where the files come from, and so how far they may be trusted. Nobody vouches for them if not
    /// said. Only say first-party of a folder that nobody but the application and its developers writes into.
    pub fn trust(mut self, tier: TrustTier) -> Self {
        self.tier = tier;
        self
    }

    /// Refuses to read files of more than this many bytes; 256 MiB if not said.
    pub fn max_bytes(mut self, limit: u64) -> Self {
        self.max_bytes = limit;
        self
    }

    fn label(&self) -> TrustLabel {
        TrustLabel::declared(self.tier)
    }

    /// A definition whose text may be trusted as far as the files are: the label of each answer says how far
    /// that is.
    fn read_only_tool(&self, name: &str) -> ToolBuilder {
        let tool = Tool::builder(name).effect(haft_core::tool::Effect::ReadOnly);
        if self.tier == TrustTier::ThirdPartyPublic { tool } else { tool.trusted() }
    }
}

/// `read_file`, `list_files`, `find_files` and `search_files`; unless the options say
/// [`read_only`](FilesOptions::read_only) also `write_file` and `edit_file`.
///
/// # Errors
///
/// None is expected: the definitions are fixed.
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

const MAX_BYTES: u64 = 256 * 1024 * 1024;
