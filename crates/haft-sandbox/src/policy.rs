//! What a program may read, write and reach.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What the names of the variables of a confined program begin with until it starts. A variable such as `LD_PRELOAD` would change
/// the programs that confine it, if they saw it by its own name.
pub const VARIABLE_PREFIX: &str = "HAFT_PROGRAM_";

/// What a program may read, write and reach. Without anything else it can read everything but the private directories `/tmp`,
/// `/var/tmp`, `/run` and `/dev`, and write only into these, which are empty and end with it.
///
/// Paths are absolute, or relative to the working directory of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Policy {
    pub(crate) dir: PathBuf,
    pub(crate) write: Vec<PathBuf>,
    pub(crate) protect: Vec<PathBuf>,
    pub(crate) hide: Vec<PathBuf>,
    pub(crate) reserve: Vec<PathBuf>,
    pub(crate) read: Vec<PathBuf>,
}

impl Policy {
    /// A policy for a program that works in this directory.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            write: Vec::new(),
            protect: Vec::new(),
            hide: Vec::new(),
            reserve: Vec::new(),
            read: Vec::new(),
        }
    }

    /// The program may write this file or below this directory. A directory that does not exist is created. A path below the
    /// working directory must not leave it through a link.
    ///
    /// Below a writable directory, what git would run stays as it is: the configuration and the hooks of its repositories.
    #[must_use]
    pub fn write(mut self, path: impl Into<PathBuf>) -> Self {
        self.write.push(path.into());
        self
    }

    /// This path stays as it is, even in a directory that is writable. Nothing happens if it does not exist.
    #[must_use]
    pub fn protect(mut self, path: impl Into<PathBuf>) -> Self {
        self.protect.push(path.into());
        self
    }

    /// The program sees nothing of this path: a directory is empty, and a file too. Nothing happens if it does not exist.
    #[must_use]
    pub fn hide(mut self, path: impl Into<PathBuf>) -> Self {
        self.hide.push(path.into());
        self
    }

    /// The program sees nothing of this directory, and cannot create it if it does not exist.
    #[must_use]
    pub fn reserve(mut self, path: impl Into<PathBuf>) -> Self {
        self.reserve.push(path.into());
        self
    }

    /// The program can read below this directory, even if a private directory would cover it.
    ///
    /// Here and below the writable directories, the files `.env` and `.env.*` (but not examples, samples and templates) that
    /// exist when the program starts are hidden.
    #[must_use]
    pub fn read(mut self, dir: impl Into<PathBuf>) -> Self {
        self.read.push(dir.into());
        self
    }

    /// The working directory of the program.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The policy as an argument for another process of the same program.
    ///
    /// # Errors
    ///
    /// A path that is not Unicode.
    pub fn to_argument(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// The policy from [`to_argument`](Self::to_argument).
    ///
    /// # Errors
    ///
    /// Text that does not come from there.
    pub fn from_argument(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}
