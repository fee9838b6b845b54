//! The tool `search_files`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::ops::ControlFlow;

use globset::GlobMatcher;
use haft_core::artifact::ArtifactKind;
use haft_core::tool::{InvalidTool, Tool, ToolFailure, ToolOutput};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use super::find_files::{compile_glob, relative_to};
use super::protected_paths::ProtectedSet;
use super::walk_dir::{FoundEntry, MAX_DEPTH, WalkBudget, WalkOptions, slash_path, walk_dir};
use super::{FilesOptions, root_dir};
use crate::output::text_output;
use haft_artifacts::text::{GrepOptions, check_pattern};
use haft_core::CallContext;
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct SearchFilesArgs {
    /// A regular expression without look-around
    #[arg(min_len = 1, max_len = 1000)]
    pattern: String,
    /// Folder or file below the root
    #[arg(default = ".", max_len = 4096)]
    path: String,
    /// Only files of this glob
    #[arg(max_len = 500, example = "*.rs")]
    files: Option<String>,
    #[arg(default = false)]
    ignore_case: bool,
    /// Names that begin with a point, too
    #[arg(default = false)]
    hidden: bool,
    #[arg(default = 100, min = 1, max = 1000)]
    limit: usize,
}

const DESCRIPTION: &str =
    "Finds lines in all text files of a folder by a regular expression. Returns `path:line: text`.";

pub(super) fn search_files(options: &FilesOptions) -> Result<Tool, InvalidTool> {
    let shared = options.clone();
    let search = move |args: SearchFilesArgs, ctx: &CallContext| search(&shared, &args, ctx);
    let tool = options.read_only_tool("search_files").description(DESCRIPTION);
    tool.artifact_kinds([ArtifactKind::TEXT]).handler(search).build()
}

fn search(
    options: &FilesOptions,
    args: &SearchFilesArgs,
    ctx: &CallContext,
) -> Result<ToolOutput, ToolFailure> {
    let files = args.files.as_deref().filter(|it| !it.is_empty()).map(compile_glob).transpose()?;
    let mut matches = Matches::new(compile_pattern(args)?, args.limit);
    let mut budget = WalkBudget::new(ctx);
    match options.root.open_dir(&args.path) {
        Ok(dir) => {
            let walk_options = WalkOptions { depth: MAX_DEPTH, hidden: args.hidden };
            let searched = SearchedFiles {
                glob: files.as_ref(),
                start: &slash_path(&dir.path),
                protected: &dir.protected,
            };
            let mut visit = |found: &FoundEntry<'_>, budget: &mut WalkBudget<'_>| {
                matches.visit(found, &searched, budget)
            };
            walk_dir(&dir, walk_options, &mut budget, &mut visit)
                .map_err(|error| root_dir::io_failure(&args.path, "folder", error))?;
        }
        // It is not a directory, so it has to be a file.
        Err(_) => {
            let (file, _) = options.root.open_file(&args.path)?;
            let _ = matches.search_file(file, &args.path, &mut budget);
        }
    }
    Ok(text_output(matches.finish(&budget), ArtifactKind::TEXT, options.label()))
}

fn compile_pattern(args: &SearchFilesArgs) -> Result<Regex, ToolFailure> {
    // Says what is wrong in words that help.
    check_pattern(&args.pattern, &GrepOptions::new())?;
    let syntax = syntax::Config::new().case_insensitive(args.ignore_case).utf8(false);
    let config = Regex::config().nfa_size_limit(Some(MAX_PATTERN_BYTES)).utf8_empty(false);
    Regex::builder().syntax(syntax).configure(config).build(&args.pattern).map_err(|error| {
        ToolFailure::new("the pattern is too large; use smaller counts in its repetitions")
            .with_source(error)
    })
}

/// Which files of a directory are searched.
struct SearchedFiles<'s> {
    glob: Option<&'s GlobMatcher>,
    /// The path of the directory.
    start: &'s str,
    protected: &'s ProtectedSet,
}

/// What was found so far.
struct Matches {
    regex: Regex,
    limit: usize,
    lines: Vec<String>,
    files: usize,
    /// Not text, or not to be opened.
    passed_over: usize,
    bytes: u64,
    stop_reason: Option<&'static str>,
}

impl Matches {
    fn new(regex: Regex, limit: usize) -> Self {
        Self {
            regex,
            limit,
            lines: Vec::new(),
            files: 0,
            passed_over: 0,
            bytes: 0,
            stop_reason: None,
        }
    }

    fn visit(
        &mut self,
        found: &FoundEntry<'_>,
        searched: &SearchedFiles<'_>,
        budget: &mut WalkBudget<'_>,
    ) -> ControlFlow<()> {
        let fits =
            searched.glob.is_none_or(|it| it.is_match(relative_to(found.path, searched.start)));
        if !found.kind.is_file() || !fits {
            return ControlFlow::Continue(());
        }
        let opened = root_dir::open_regular(found.dir, found.name);
        match opened.and_then(|(file, _)| searched.protected.check_file(&file).map(|()| file)) {
            Ok(file) => self.search_file(file, found.path, budget),
            Err(_) => {
                self.passed_over += 1;
                ControlFlow::Continue(())
            }
        }
    }

    /// Searches one file, a line at a time. Only the start of a very long line is searched.
    fn search_file(
        &mut self,
        file: File,
        path: &str,
        budget: &mut WalkBudget<'_>,
    ) -> ControlFlow<()> {
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
        if reader.fill_buf().map_or(true, |start| memchr::memchr(0, start).is_some()) {
            self.passed_over += 1;
            return ControlFlow::Continue(());
        }
        self.files += 1;
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            // A file that stops being readable ends there.
            let read = (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).unwrap_or(0);
            if read == 0 {
                break;
            }
            self.bytes = self.bytes.saturating_add(read as u64);
            if read as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
                let skipped = reader.skip_until(b'\n').unwrap_or(0);
                self.bytes = self.bytes.saturating_add(skipped as u64);
            }
            self.match_line(&line, path, number)?;
            if number % 1024 == 0 && budget.is_spent() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn match_line(&mut self, line: &[u8], path: &str, number: u64) -> ControlFlow<()> {
        if self.bytes > MAX_SEARCHED_BYTES {
            self.stop_reason = Some(
                "more than 1 GiB was searched; search a smaller folder, or read the file and query its artifact",
            );
            return ControlFlow::Break(());
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !self.regex.is_match(line) {
            return ControlFlow::Continue(());
        }
        if self.lines.len() == self.limit {
            self.stop_reason =
                Some("there are more matches; narrow the pattern or the files, or raise `limit`");
            return ControlFlow::Break(());
        }
        let text = String::from_utf8_lossy(line.get(..MAX_SHOWN_CHARACTERS * 4).unwrap_or(line));
        let mut shown: String = text.chars().take(MAX_SHOWN_CHARACTERS).collect();
        if shown.len() < line.len() && shown.chars().count() == MAX_SHOWN_CHARACTERS {
            shown.push('…');
        }
        self.lines.push(format!("{path}:{number}: {shown}"));
        ControlFlow::Continue(())
    }

    fn finish(self, budget: &WalkBudget<'_>) -> String {
        let mut out = self.lines;
        let count = out.len();
        out.push(format!(
            "[{count} matches in {} files; {} were passed over as not text]",
            self.files, self.passed_over
        ));
        out.extend(
            self.stop_reason
                .or(budget.stop_reason())
                .map(|why| format!("[not everything was searched: {why}]")),
        );
        out.join("\n")
    }
}

const MAX_PATTERN_BYTES: usize = 1024 * 1024;
const BUFFER_BYTES: usize = 64 * 1024;
const MAX_LINE_BYTES: u64 = 1024 * 1024;
const MAX_SEARCHED_BYTES: u64 = 1024 * 1024 * 1024;
/// How many characters of a line are shown.
const MAX_SHOWN_CHARACTERS: usize = 300;
