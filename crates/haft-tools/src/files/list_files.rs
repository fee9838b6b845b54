//! The tool `list_files`.

use std::ops::ControlFlow;

use haft_core::tool::{InvalidTool, Tool, ToolFailure, ToolOutput};
use serde::Serialize;

use super::walk_dir::{FoundEntry, WalkBudget, WalkOptions, walk_dir};
use super::{FilesOptions, root_dir};
use crate::output::json_output;
use haft_core::CallContext;
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct ListFilesArgs {
    /// Folder below the root
    #[arg(default = ".", max_len = 4096, example = "notes")]
    path: String,
    /// 2: the folders in it, too
    #[arg(default = 1, min = 1, max = 10)]
    depth: usize,
    /// Names that begin with a point, too
    #[arg(default = false)]
    hidden: bool,
    #[arg(default = 200, min = 1, max = 2000)]
    limit: usize,
    /// Entries to leave out
    #[arg(default = 0, max = 1000000)]
    skip: usize,
}

#[derive(Serialize)]
struct FileList {
    entries: Vec<ListedEntry>,
    /// Whether there are more.
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
}

#[derive(Serialize)]
struct ListedEntry {
    path: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

const DESCRIPTION: &str = "Lists a folder as JSON: `entries` with `path`, `kind` and `bytes`; if `truncated`, go on \
with `skip`.";

pub(super) fn list_files(options: &FilesOptions) -> Result<Tool, InvalidTool> {
    let shared = options.clone();
    let list = move |args: ListFilesArgs, ctx: &CallContext| list(&shared, &args, ctx);
    options
        .read_only_tool("list_files")
        .description(DESCRIPTION)
        .artifact(haft_core::artifact::ArtifactKind::JSON)
        .handler(list)
        .build()
}

fn list(
    options: &FilesOptions,
    args: &ListFilesArgs,
    ctx: &CallContext,
) -> Result<ToolOutput, ToolFailure> {
    let dir = options.root.open_dir(&args.path)?;
    let (mut entries, mut seen, mut truncated) = (Vec::new(), 0, false);
    let mut budget = WalkBudget::new(ctx);
    let walk_options = WalkOptions { depth: args.depth, hidden: args.hidden };
    let mut visit = |found: &FoundEntry<'_>, _: &mut WalkBudget<'_>| {
        seen += 1;
        if seen <= args.skip {
            return ControlFlow::Continue(());
        }
        if entries.len() == args.limit {
            truncated = true;
            return ControlFlow::Break(());
        }
        entries.push(ListedEntry::from(found));
        ControlFlow::Continue(())
    };
    walk_dir(&dir, walk_options, &mut budget, &mut visit)
        .map_err(|error| root_dir::io_failure(&args.path, "folder", error))?;
    let warning = budget.stop_reason();
    let truncated = truncated || warning.is_some();
    json_output(&FileList { entries, truncated, warning }, options.label())
}

impl From<&FoundEntry<'_>> for ListedEntry {
    fn from(found: &FoundEntry<'_>) -> Self {
        let kind = match found.kind {
            it if it.is_file() => "file",
            it if it.is_dir() => "folder",
            it if it.is_symlink() => "link",
            _ => "other",
        };
        let metadata = found.kind.is_file().then(|| found.dir.symlink_metadata(found.name).ok());
        let bytes = metadata.flatten().map(|it| it.len());
        Self { path: found.path.to_owned(), kind, bytes }
    }
}
