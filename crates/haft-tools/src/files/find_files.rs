//! The tool `find_files`.

use std::ops::ControlFlow;

use globset::{GlobBuilder, GlobMatcher};
use haft_core::tool::{InvalidTool, Tool, ToolFailure, ToolOutput};
use serde::Serialize;

use super::walk_dir::{FoundEntry, MAX_DEPTH, WalkBudget, WalkOptions, slash_path, walk_dir};
use super::{FilesOptions, root_dir};
use crate::output::json_output;
use haft_core::CallContext;
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct FindFilesArgs {
    /// A glob
    #[arg(min_len = 1, max_len = 500, example = "src/**/*.{rs,toml}")]
    pattern: String,
    /// Folder below the root
    #[arg(default = ".", max_len = 4096)]
    path: String,
    /// Names that begin with a point, too
    #[arg(default = false)]
    hidden: bool,
    #[arg(default = 200, min = 1, max = 2000)]
    limit: usize,
}

#[derive(Serialize)]
struct FoundFiles {
    files: Vec<String>,
    /// Whether there are more.
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
}

const DESCRIPTION: &str =
    "Finds files by name in a folder and all folders in it. Returns JSON: `files`, `truncated`.";

pub(super) fn find_files(options: &FilesOptions) -> Result<Tool, InvalidTool> {
    let shared = options.clone();
    let find = move |args: FindFilesArgs, ctx: &CallContext| find(&shared, &args, ctx);
    options
        .read_only_tool("find_files")
        .description(DESCRIPTION)
        .artifact(haft_core::artifact::ArtifactKind::JSON)
        .handler(find)
        .build()
}

fn find(
    options: &FilesOptions,
    args: &FindFilesArgs,
    ctx: &CallContext,
) -> Result<ToolOutput, ToolFailure> {
    let matcher = compile_glob(&args.pattern)?;
    let dir = options.root.open_dir(&args.path)?;
    let start = slash_path(&dir.path);
    let (mut files, mut truncated) = (Vec::new(), false);
    let mut budget = WalkBudget::new(ctx);
    let walk_options = WalkOptions { depth: MAX_DEPTH, hidden: args.hidden };
    let mut visit = |found: &FoundEntry<'_>, _: &mut WalkBudget<'_>| {
        let fits = found.kind.is_file() && matcher.is_match(relative_to(found.path, &start));
        if fits && files.len() == args.limit {
            truncated = true;
            return ControlFlow::Break(());
        }
        if fits {
            files.push(found.path.to_owned());
        }
        ControlFlow::Continue(())
    };
    walk_dir(&dir, walk_options, &mut budget, &mut visit)
        .map_err(|error| root_dir::io_failure(&args.path, "folder", error))?;
    let warning = budget.stop_reason();
    let truncated = truncated || warning.is_some();
    json_output(&FoundFiles { files, truncated, warning }, options.label())
}

/// The path relative to the directory that is searched, for patterns with directories.
pub(super) fn relative_to<'p>(path: &'p str, start: &str) -> &'p str {
    let rest = path.strip_prefix(start).and_then(|it| it.strip_prefix('/'));
    rest.unwrap_or(path)
}

/// Compiles a glob. A pattern without `/` matches in all directories.
pub(super) fn compile_glob(pattern: &str) -> Result<GlobMatcher, ToolFailure> {
    let pattern = pattern.trim_start_matches("./");
    let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    let glob = GlobBuilder::new(&anywhere).literal_separator(true).backslash_escape(true).build();
    match glob {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(ToolFailure::new(format!(
            "`{}` is not a pattern of paths: {}; write such as `*.md` or `src/**/*.rs`",
            crate::preview(pattern),
            error.kind()
        ))),
    }
}
