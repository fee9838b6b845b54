//! Walks a directory by handles, in order and within limits. Symbolic links are visited and not followed.

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, FileType};
use haft_core::CallContext;

use super::protected_paths::ProtectedSet;
use super::root_dir::OpenedDir;

/// An entry of a directory.
pub(super) struct FoundEntry<'d> {
    pub(super) dir: &'d Dir,
    pub(super) name: &'d Path,
    /// The path below the root, with `/` between its parts.
    pub(super) path: &'d str,
    pub(super) kind: FileType,
}

/// Which entries a walk visits.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkOptions {
    /// The number of levels; 1 is the directory itself.
    pub(super) depth: usize,
    /// Whether names that begin with a dot are visited.
    pub(super) hidden: bool,
}

/// The limits of a call. A call that reaches one stops and reports the reason.
pub(super) struct WalkBudget<'c> {
    ctx: &'c CallContext,
    until: Duration,
    entries: usize,
    stop_reason: Option<&'static str>,
}

impl<'c> WalkBudget<'c> {
    pub(super) fn new(ctx: &'c CallContext) -> Self {
        let until = ctx.clock().monotonic().saturating_add(MAX_DURATION);
        Self { ctx, until, entries: MAX_ENTRIES, stop_reason: None }
    }

    /// Whether the call has to stop. Checked before each entry and between pieces of a file.
    pub(super) fn is_spent(&mut self) -> bool {
        if self.stop_reason.is_none() && self.ctx.cancellation().is_cancelled() {
            self.stop_reason = Some("the call was cancelled");
        }
        if self.stop_reason.is_none() && self.ctx.clock().monotonic() > self.until {
            self.stop_reason = Some("it took too long; search a smaller folder");
        }
        self.stop_reason.is_some()
    }

    /// Why the walk is incomplete; `None` if it is complete.
    pub(super) fn stop_reason(&self) -> Option<&'static str> {
        self.stop_reason
    }

    fn take_entry(&mut self) -> bool {
        match self.entries.checked_sub(1) {
            Some(left) => self.entries = left,
            None => self.stop_reason = Some("there are too many files; search a smaller folder"),
        }
        !self.is_spent()
    }
}

/// Visits everything below a directory, each directory before its entries. Protected paths, and directories that cannot
/// be opened, are skipped.
pub(super) fn walk_dir(
    opened: &OpenedDir,
    walk_options: WalkOptions,
    budget: &mut WalkBudget<'_>,
    visit: &mut dyn FnMut(&FoundEntry<'_>, &mut WalkBudget<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let OpenedDir { dir, path, protected } = opened;
    let list = |dir, path, budget: &mut WalkBudget<'_>| {
        LevelDir::new((dir, path), protected, walk_options, budget)
    };
    let mut open = vec![list(dir.try_clone()?, path.clone(), budget)?];
    while let Some(level) = open.last_mut() {
        let Some((name, kind)) = level.entries.next() else {
            open.pop();
            continue;
        };
        let path = level.path.join(&name);
        let found =
            FoundEntry { dir: &level.dir, name: Path::new(&name), path: &slash_path(&path), kind };
        if budget.is_spent() || visit(&found, budget).is_break() {
            return Ok(());
        }
        if kind.is_dir()
            && open.len() < walk_options.depth
            && let Some(level) = open.last()
            && let Ok(inner) = level.dir.open_dir_nofollow(&name)
            && protected.check_dir(&inner).is_ok()
            && let Ok(inner) = list(inner, path, budget)
        {
            open.push(inner);
        }
    }
    Ok(())
}

/// A directory of the walk, and the entries in it that were not visited yet.
struct LevelDir {
    dir: Dir,
    path: PathBuf,
    entries: std::vec::IntoIter<(OsString, FileType)>,
}

impl LevelDir {
    fn new(
        (dir, path): (Dir, PathBuf),
        protected: &ProtectedSet,
        walk_options: WalkOptions,
        budget: &mut WalkBudget<'_>,
    ) -> io::Result<Self> {
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            if !budget.take_entry() {
                break;
            }
            let entry = entry?;
            let name = entry.file_name();
            let hidden = name.as_encoded_bytes().starts_with(b".");
            if (walk_options.hidden || !hidden)
                && let Ok(kind) = entry.file_type()
                && !protected.has_entry(&dir, Path::new(&name), kind)
            {
                entries.push((name, kind));
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Self { dir, path, entries: entries.into_iter() })
    }
}

/// A path as the model reads and writes it: with `/` between its parts.
pub(super) fn slash_path(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|it| it.to_string_lossy()).collect();
    parts.join("/")
}

/// The maximum number of entries that one call visits.
const MAX_ENTRIES: usize = 200_000;
const MAX_DURATION: Duration = Duration::from_secs(20);
/// The maximum depth of directories.
pub(super) const MAX_DEPTH: usize = 64;
