//! The paths of this program, which belong to no agent.

use std::path::{Path, PathBuf};

/// Paths of this program that no tool for files may touch, in addition to the agent file and the default store.
#[derive(Debug, Default)]
pub(crate) struct OwnPaths<'p> {
    /// What the selected store consists of; nothing if none is selected, or if it is not on this machine.
    pub(crate) store: Vec<PathBuf>,
    /// The selected directory of large results.
    pub(crate) spool: Option<PathBuf>,
    /// Other files, such as recordings.
    pub(crate) files: Vec<&'p Path>,
}
