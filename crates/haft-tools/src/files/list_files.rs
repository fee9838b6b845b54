//! `list_files`.

use std::ops::ControlFlow;

use haft_core::tool::{InvalidTool, Tool, ToolFailure, ToolOutput};
use serde::Serialize;

use super::walk::{Effort, Found, Rules, walk};
use super::{FilesOptions, answer, root};
use haft_core::DispatchContext;
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct Listing {
    /// The folder, below the root; the root itself if not given
    #[arg(default = ".", max_len = 4096, example = "notes")]
    path: String,
    /// How deep to look: 1 for the folder itself, 2 for the folders in it too
    #[arg(default = 1, min = 1, max = 10)]
    depth: usize,
    /// Whether to list names that begin with a point
    #[arg(default = false)]
    hidden: bool,
    /// The most entries to list
    #[arg(default = 200, min = 1, max = 2000)]
    limit: usize,
    /// How many entries to leave out, to go on after a listing that was truncated
    #[arg(default = 0)]
    skip: usize,
}

#[derive(Serialize)]
struct Listed {
    entries: Vec<Entry>,
    /// Whether there are more.
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
}

#[derive(Serialize)]
struct Entry {
    path: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

const DESCRIPTION: &str = "Lists the files and folders of a folder, sorted by name.\n\
Returns JSON: `entries`, each with `path` (for the other file tools), `kind` (file, folder, link or other) and the \
`bytes` of files; `truncated`, which is true if there are more: go on with `skip`.";

pub(super) fn list_files(options: &FilesOptions) -> Result<Tool, InvalidTool> {
    let own = options.clone();
    let list = move |args: Listing, ctx: &DispatchContext| list(&own, &args, ctx);
    options
        .reading("list_files")
        .description(DESCRIPTION)
        .artifact(haft_core::artifact::ArtifactKind::JSON)
        .handler(list)
        .build()
}

fn list(
    options: &FilesOptions,
    args: &Listing,
    ctx: &DispatchContext,
) -> Result<ToolOutput, ToolFailure> {
    let (dir, path) = options.root.folder(&args.path)?;
    let (mut entries, mut seen, mut truncated) = (Vec::new(), 0, false);
    let mut effort = Effort::new(ctx);
    let rules = Rules { depth: args.depth, hidden: args.hidden };
    let mut visit = |found: &Found<'_>, _: &mut Effort<'_>| {
        seen += 1;
        if seen <= args.skip {
            return ControlFlow::Continue(());
        }
        if entries.len() == args.limit {
            truncated = true;
            return ControlFlow::Break(());
        }
        entries.push(Entry::from(found));
        ControlFlow::Continue(())
    };
    walk(dir, &path, rules, &mut effort, &mut visit)
        .map_err(|error| root::failure(&args.path, "folder", error))?;
    let warning = effort.why();
    let truncated = truncated || warning.is_some();
    answer::json(&Listed { entries, truncated, warning }, options.label())
}

impl From<&Found<'_>> for Entry {
    fn from(found: &Found<'_>) -> Self {
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
