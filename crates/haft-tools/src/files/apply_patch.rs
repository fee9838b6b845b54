//! The tool `apply_patch`.

mod hunk;
mod patch_text;

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use haft_core::tool::{CallPreview, Concurrency, InvalidTool, Tool, ToolEffect, ToolFailure};
use haft_macros::ToolArgs;

use self::hunk::apply_hunks;
use self::patch_text::{FileChange, parse_patch};
use super::FilesOptions;
use super::change_preview::preview_change;
use super::edit_file::content;
use super::replace_file::replace_file;
use super::root_dir::io_failure;
use crate::preview;

#[derive(ToolArgs)]
pub(crate) struct ApplyPatchArgs {
    /// The patch, from `*** Begin Patch` to `*** End Patch`
    #[arg(
        min_len = 1,
        max_len = 1000000,
        example = "*** Begin Patch\n*** Update File: src/a.txt\n@@\n first\n-second\n+2nd\n*** End Patch"
    )]
    patch: String,
}

const DESCRIPTION: &str = "Changes files: all of the patch is applied, or nothing.\n\
A patch begins with `*** Begin Patch` and ends with `*** End Patch`. Between them, `*** Add File: PATH` is followed by the lines of \
the file, each after a `+`; `*** Delete File: PATH` stands alone; `*** Update File: PATH` is followed by `*** Move to: PATH`, if the \
file gets another name, and by hunks. A hunk begins with `@@`, or `@@ ` and a line of the file that stands before it, and has lines \
that stay (after a space), go (after `-`) and come (after `+`), with enough of those that stay to find the place.\n\
Returns a line for each file.";

/// Creates the tool `apply_patch`, which changes files below the root of the options. Only files below one of the directories
/// `writable`, relative to the root, are changed; neither links nor what belongs to git is.
///
/// # Errors
///
/// Does not fail in practice, because the definition is fixed.
pub fn apply_patch(
    options: FilesOptions,
    writable: impl IntoIterator<Item = PathBuf>,
) -> Result<Tool, InvalidTool> {
    let patcher = Patcher { options, writable: writable.into_iter().collect() };
    let previewed = patcher.clone();
    Tool::builder("apply_patch")
        .description(DESCRIPTION)
        // A part that is there already is left as it is.
        .effect(ToolEffect::Idempotent)
        .concurrency(Concurrency::Exclusive)
        .preview(move |args: ApplyPatchArgs| previewed.preview(&args.patch))
        .handler(move |args: ApplyPatchArgs| patcher.apply(&args.patch))
        .build()
}

#[derive(Clone)]
struct Patcher {
    options: FilesOptions,
    writable: Vec<PathBuf>,
}

/// What happens to a file.
struct PlannedWrite {
    path: String,
    before: Option<String>,
    /// Nothing if the file is deleted.
    after: Option<String>,
}

impl PlannedWrite {
    fn is_change(&self) -> bool {
        self.before != self.after
    }
}

impl Patcher {
    fn preview(&self, patch: &str) -> Result<CallPreview, ToolFailure> {
        let mut text = String::new();
        for write in self.plan(patch)? {
            let after = write.after.as_deref();
            if after.is_none() {
                text.push_str(&format!("deletes `{}`:\n", preview(&write.path)));
            }
            let shown =
                preview_change(&write.path, write.before.as_deref(), after.unwrap_or_default());
            text.push_str(&shown.text);
        }
        Ok(CallPreview::diff(text))
    }

    fn apply(&self, patch: &str) -> Result<String, ToolFailure> {
        let writes = self.plan(patch)?;
        let mut done: Vec<&PlannedWrite> = Vec::new();
        for write in writes.iter().filter(|it| it.is_change()) {
            if let Err(failure) = self.write(&write.path, write.after.as_deref()) {
                return Err(self.undo(&done, failure));
            }
            done.push(write);
        }
        let lines = writes.iter().map(|write| {
            let what = match (&write.before, &write.after) {
                _ if !write.is_change() => "has this change already:",
                (None, _) => "added",
                (Some(_), None) => "deleted",
                (Some(_), Some(_)) => "changed",
            };
            format!("{what} {}\n", preview(&write.path))
        });
        Ok(lines.collect())
    }

    /// Puts back what was written before a failure.
    fn undo(&self, done: &[&PlannedWrite], failure: ToolFailure) -> ToolFailure {
        let undone = done.iter().rev().map(|it| self.write(&it.path, it.before.as_deref()));
        match undone.filter(Result::is_err).count() {
            0 => failure,
            _ => failure.outcome_unknown(),
        }
    }

    fn write(&self, path: &str, content: Option<&str>) -> Result<(), ToolFailure> {
        let Some(content) = content else {
            let (dir, name) = self.options.root.open_parent(path)?;
            return match dir.remove_file(name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(io_failure(path, "file", error))
                }
                _ => Ok(()),
            };
        };
        replace_file(&self.options.root, path, content.as_bytes())
    }

    /// Reads every file and computes its new content. Nothing is written.
    fn plan(&self, patch: &str) -> Result<Vec<PlannedWrite>, ToolFailure> {
        let changes = parse_patch(patch).map_err(ToolFailure::new)?;
        let mut seen = BTreeSet::new();
        let mut writes = Vec::new();
        for change in &changes {
            for path in change.paths() {
                self.check_path(path)?;
                if !seen.insert(normalize(path)) {
                    let text =
                        format!("nothing was changed: `{}` is in the patch twice", preview(path));
                    return Err(ToolFailure::new(text));
                }
            }
            self.plan_change(change, &mut writes)?;
        }
        Ok(writes)
    }

    fn plan_change(
        &self,
        change: &FileChange,
        writes: &mut Vec<PlannedWrite>,
    ) -> Result<(), ToolFailure> {
        let refuse = |path: &str, why: &str| {
            Err(ToolFailure::new(format!("nothing was changed: `{}` {why}", preview(path))))
        };
        match change {
            FileChange::Add { path, content: new } => {
                let before = self.read(path)?;
                if before.as_ref().is_some_and(|it| it != new) {
                    return refuse(path, "is there already; update it instead");
                }
                writes.push(PlannedWrite { path: path.clone(), before, after: Some(new.clone()) });
            }
            FileChange::Delete { path } => {
                let before = self.read(path)?;
                if before.is_none() {
                    return refuse(path, "does not exist");
                }
                writes.push(PlannedWrite { path: path.clone(), before, after: None });
            }
            FileChange::Update { path, move_to, hunks } => {
                let Some(before) = self.read(path)? else {
                    return refuse(path, "does not exist; add it instead");
                };
                let after = match apply_hunks(&before, hunks) {
                    Ok(after) => after,
                    Err(why) => return refuse(path, &why),
                };
                let Some(target) = move_to else {
                    let path = path.clone();
                    writes.push(PlannedWrite { path, before: Some(before), after: Some(after) });
                    return Ok(());
                };
                if self.read(target)?.is_some() {
                    return refuse(target, "is there already; move to another path");
                }
                // The new file comes first: a crash in between loses nothing.
                writes.push(PlannedWrite {
                    path: target.clone(),
                    before: None,
                    after: Some(after),
                });
                writes.push(PlannedWrite { path: path.clone(), before: Some(before), after: None });
            }
        }
        Ok(())
    }

    /// The content of a file; nothing if there is none.
    fn read(&self, path: &str) -> Result<Option<String>, ToolFailure> {
        match self.options.root.contains(path)? {
            true => content(&self.options, path).map(Some),
            false => Ok(None),
        }
    }

    /// Refuses what no patch changes.
    fn check_path(&self, path: &str) -> Result<(), ToolFailure> {
        let refuse = |why: &str| {
            Err(ToolFailure::new(format!("nothing was changed: `{}` {why}", preview(path))))
        };
        let relative = Path::new(path);
        let is_below =
            relative.components().all(|it| matches!(it, Component::Normal(_) | Component::CurDir));
        if !is_below {
            return refuse("is not a path below the folder; use a relative path without `..`");
        }
        let normal = normalize(path);
        let names = || normal.iter().map(|it| it.to_string_lossy().to_lowercase());
        if names().any(|it| it == ".git" || it == ".haft") {
            return refuse("belongs to git or to the application that runs you");
        }
        if names().any(|it| is_secret(&it)) {
            return refuse("may have secrets");
        }
        let is_writable =
            self.writable.iter().any(|it| it.as_os_str().is_empty() || normal.starts_with(it));
        if !is_writable {
            return refuse("is not in a folder that you may write");
        }
        if self.options.root.leads_through_link(path)? {
            return refuse("is a link, or leads through one");
        }
        Ok(())
    }
}

fn is_secret(name: &str) -> bool {
    match name.strip_prefix(".env") {
        Some("") => true,
        Some(".example" | ".sample" | ".template") | None => false,
        Some(rest) => rest.starts_with('.'),
    }
}

fn normalize(path: &str) -> PathBuf {
    Path::new(path).components().filter(|it| *it != Component::CurDir).collect()
}

#[cfg(test)]
mod tests;
