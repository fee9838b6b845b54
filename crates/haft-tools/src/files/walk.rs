//! Walks a folder by handles, in order, within limits. Links are seen and not followed.

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_std::fs::{Dir, FileType};
use haft_core::DispatchContext;

/// Something in a folder.
pub(super) struct Found<'d> {
    pub(super) dir: &'d Dir,
    pub(super) name: &'d Path,
    /// Below the root, parted by `/`.
    pub(super) path: &'d str,
    pub(super) kind: FileType,
}

/// What a walk looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// How many folders deep; 1 is the folder itself.
    pub(super) depth: usize,
    /// Whether names that begin with a point count.
    pub(super) hidden: bool,
}

/// How much is done before a call gives up, and says so.
pub(super) struct Effort<'c> {
    ctx: &'c DispatchContext,
    until: Duration,
    entries: usize,
    why: Option<&'static str>,
}

impl<'c> Effort<'c> {
    pub(super) fn new(ctx: &'c DispatchContext) -> Self {
        let until = ctx.clock().monotonic().saturating_add(LONGEST);
        Self { ctx, until, entries: ENTRIES, why: None }
    }

    /// Whether it is enough. Asked before each entry and each piece of a file.
    pub(super) fn is_spent(&mut self) -> bool {
        if self.why.is_none() && self.ctx.cancellation().is_cancelled() {
            self.why = Some("the call was cancelled");
        }
        if self.why.is_none() && self.ctx.clock().monotonic() > self.until {
            self.why = Some("it took too long; search a smaller folder");
        }
        self.why.is_some()
    }

    /// Why not everything was looked at.
    pub(super) fn why(&self) -> Option<&'static str> {
        self.why
    }

    fn entry(&mut self) -> bool {
        match self.entries.checked_sub(1) {
            Some(left) => self.entries = left,
            None => self.why = Some("there are too many files; search a smaller folder"),
        }
        !self.is_spent()
    }
}

/// Shows everything below a folder, a folder before what is in it. Folders that cannot be opened are passed
/// over.
pub(super) fn walk(
    dir: Dir,
    path: &Path,
    rules: Rules,
    effort: &mut Effort<'_>,
    visit: &mut dyn FnMut(&Found<'_>, &mut Effort<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut open = vec![Level::new(dir, path.to_owned(), rules, effort)?];
    while let Some(level) = open.last_mut() {
        let Some((name, kind)) = level.entries.next() else {
            open.pop();
            continue;
        };
        let path = level.path.join(&name);
        let found = Found { dir: &level.dir, name: Path::new(&name), path: &slashed(&path), kind };
        if effort.is_spent() || visit(&found, effort).is_break() {
            return Ok(());
        }
        if kind.is_dir()
            && open.len() < rules.depth
            && let Some(level) = open.last()
            && let Ok(inner) = level.dir.open_dir(&name)
            && let Ok(inner) = Level::new(inner, path, rules, effort)
        {
            open.push(inner);
        }
    }
    Ok(())
}

struct Level {
    dir: Dir,
    path: PathBuf,
    entries: std::vec::IntoIter<(OsString, FileType)>,
}

impl Level {
    fn new(dir: Dir, path: PathBuf, rules: Rules, effort: &mut Effort<'_>) -> io::Result<Self> {
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            if !effort.entry() {
                break;
            }
            let entry = entry?;
            let name = entry.file_name();
            let hidden = name.as_encoded_bytes().starts_with(b".");
            if (rules.hidden || !hidden)
                && let Ok(kind) = entry.file_type()
            {
                entries.push((name, kind));
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Self { dir, path, entries: entries.into_iter() })
    }
}

/// A path as the model reads and writes it.
pub(super) fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|it| it.to_string_lossy()).collect();
    parts.join("/")
}

/// The most entries that one call looks at.
const ENTRIES: usize = 200_000;
const LONGEST: Duration = Duration::from_secs(20);
/// The deepest that folders are followed.
pub(super) const DEEPEST: usize = 64;
