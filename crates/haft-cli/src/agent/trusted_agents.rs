//! Agents that the user trusts to run programs before a turn.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::state_dir::state_dir;

/// An agent by its directory and the text of its file. A changed file is another agent.
#[derive(Debug)]
pub(super) struct AgentIdentity {
    dir: PathBuf,
    hash: String,
}

impl AgentIdentity {
    pub(super) fn new(dir: &Path, text: &str) -> io::Result<Self> {
        let dir = dir.canonicalize()?;
        let mut hash = Sha256::new();
        hash.update(dir.as_os_str().as_bytes());
        hash.update([0]);
        hash.update(text);
        let hash = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { dir, hash })
    }

    /// Whether the user has trusted the agent before.
    pub(super) fn is_trusted(&self) -> bool {
        trust_dir().is_some_and(|dir| dir.join(&self.hash).is_file())
    }

    /// Remembers that the user trusts the agent.
    pub(super) fn remember(&self) -> Result<()> {
        let Some(dir) = trust_dir() else { return Ok(()) };
        self.remember_in(&dir).with_context(|| format!("cannot write to `{}`", dir.display()))
    }

    fn remember_in(&self, dir: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600);
        // The name is what counts; the content tells a reader which agent it is.
        writeln!(file.open(dir.join(&self.hash))?, "{}", self.dir.display())
    }
}

fn trust_dir() -> Option<PathBuf> {
    Some(state_dir()?.join("trusted-agents"))
}
