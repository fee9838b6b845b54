//! A copy of an agent's directory, so that the effects of its tests do not reach the directory itself.

use std::fs::{self, File, FileType};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::agent::AgentDir;
use crate::user_error::UserError;

/// A directory with a copy of an agent. It is removed when this is dropped.
pub(super) struct AgentCopy {
    pub(super) agent: AgentDir,
    _dir: TempDir,
}

impl AgentCopy {
    /// Copies the directory of an agent, lays the files of `tests/files` over it, and loads the agent from there.
    pub(super) fn create(original: &AgentDir) -> Result<Self> {
        let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
        let from = original.dir.canonicalize();
        let from = from.with_context(|| format!("cannot read `{}`", original.dir.display()))?;
        // The name of the directory is the name of an agent that sets none.
        let to = dir.path().join(from.file_name().unwrap_or("agent".as_ref()));
        let mut copier = Copier { root: from.clone(), store: original.local_store(), left: LIMIT };
        copier.copy_dir(&from, &to)?;
        let fixture = from.join(FIXTURE_DIR);
        if fixture.is_dir() {
            copier.copy_dir(&fixture, &to)?;
        }
        let agent = AgentDir::load(&to.join(original.file_name()))?;
        if agent.text() != original.text() {
            let error = UserError::new("the agent file was changed while its tests ran");
            return Err(error.hint("run the tests again").into());
        }
        Ok(Self { agent, _dir: dir })
    }
}

/// The files that are laid over the copy, so that tests begin with what they need.
const FIXTURE_DIR: &str = "tests/files";

/// How much is copied at most.
const LIMIT: Amount = Amount { files: 50_000, bytes: 512 << 20 };

#[derive(Clone, Copy)]
struct Amount {
    files: u64,
    bytes: u64,
}

/// Copies directories with what is in them.
struct Copier {
    /// The directory of the agent, without links.
    root: PathBuf,
    /// The store of the agent, which is not copied.
    store: Option<PathBuf>,
    /// How much may still be copied.
    left: Amount,
}

impl Copier {
    fn copy_dir(&mut self, from: &Path, to: &Path) -> Result<()> {
        let mut pending = vec![(from.to_owned(), to.to_owned())];
        while let Some((from, to)) = pending.pop() {
            let cannot_copy = || format!("cannot copy `{}`", from.display());
            fs::create_dir_all(&to).with_context(cannot_copy)?;
            for entry in fs::read_dir(&from).with_context(cannot_copy)? {
                let entry = entry.with_context(cannot_copy)?;
                let path = entry.path();
                let target = to.join(entry.file_name());
                let kind = entry.file_type().with_context(cannot_copy)?;
                if self.is_left_out(&path, kind) {
                    continue;
                }
                if kind.is_dir() && !is_cache(&path) {
                    pending.push((path, target));
                    continue;
                }
                let copied = self.copy_entry(&path, &target, kind);
                copied.with_context(|| format!("cannot copy `{}`", path.display()))?;
            }
        }
        Ok(())
    }

    /// Whether an entry belongs to what happened, and not to the agent: stores of turns. A file `.git` leads to the
    /// repository of somebody else, which tests in a copy would change.
    fn is_left_out(&self, path: &Path, kind: FileType) -> bool {
        let name = path.file_name().unwrap_or_default();
        let is_store = self.store.as_deref().is_some_and(|store| {
            path == store || store.canonicalize().is_ok_and(|store| path == store)
        });
        is_store || kind.is_dir() && name == ".haft" || kind.is_file() && name == ".git"
    }

    fn copy_entry(&mut self, from: &Path, to: &Path, kind: FileType) -> Result<()> {
        if kind.is_dir() {
            // What is in a cache can be made again, and it may be large.
            return Ok(replace_link(from, to)?);
        }
        if kind.is_symlink() {
            return Ok(self.copy_link(from, to)?);
        }
        if !kind.is_file() {
            // A pipe or a socket is of no use without the process at its other end.
            return Ok(());
        }
        let metadata = fs::metadata(from)?;
        self.spend(metadata.len())?;
        fs::copy(from, to)?;
        // The time matters to tools that list or build files. Some file systems store none.
        let modified = metadata.modified();
        let _ = modified.and_then(|time| File::open(to)?.set_modified(time));
        Ok(())
    }

    /// Copies a link within the directory as it is. One that leads out of it leads to the same place from the copy.
    fn copy_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let target = fs::read_link(from)?;
        let stays = from.canonicalize().is_ok_and(|it| it.starts_with(&self.root));
        if stays && target.is_relative() {
            return replace_link(&target, to);
        }
        match from.parent() {
            Some(parent) if target.is_relative() => replace_link(&parent.join(target), to),
            _ => replace_link(&target, to),
        }
    }

    /// Counts a file, and fails if there are too many of them.
    fn spend(&mut self, bytes: u64) -> Result<()> {
        let files = self.left.files.checked_sub(1);
        let bytes = self.left.bytes.checked_sub(bytes);
        let (Some(files), Some(bytes)) = (files, bytes) else {
            let mebibytes = LIMIT.bytes >> 20;
            let text = format!(
                "`{}` has more than {mebibytes} MiB or {} files to copy for its tests",
                self.root.display(),
                LIMIT.files
            );
            let hint = "--in-place runs the tests on the directory itself; a directory with a CACHEDIR.TAG is not copied";
            return Err(UserError::new(text).hint(hint).into());
        };
        self.left = Amount { files, bytes };
        Ok(())
    }
}

/// Makes a link, in place of a file that an earlier directory has put there.
fn replace_link(target: &Path, link: &Path) -> io::Result<()> {
    match symlink(target, link) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(link)?;
            symlink(target, link)
        }
        made => made,
    }
}

/// Whether a directory has the tag of caches, as the directory `target` of Cargo has.
fn is_cache(dir: &Path) -> bool {
    dir.join("CACHEDIR.TAG").is_file()
}
