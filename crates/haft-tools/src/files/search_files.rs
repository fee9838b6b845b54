//! `search_files`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::ops::ControlFlow;

use globset::GlobMatcher;
use haft_core::artifact::ArtifactKind;
use haft_core::tool::{InvalidTool, Tool, ToolFailure, ToolOutput};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use super::find_files::{below, matcher};
use super::root::Links;
use super::walk::{DEEPEST, Effort, Found, Rules, slashed, walk};
use super::{FilesOptions, answer, root};
use haft_artifacts::text::{GrepOptions, check_pattern};
use haft_core::DispatchContext;
use haft_macros::ToolArgs;

#[derive(ToolArgs)]
pub(crate) struct Search {
    /// A regular expression that is looked for in each line; there is no look-around and there are no
    /// back-references
    #[arg(min_len = 1, max_len = 1000, example = r"fn \w+_files")]
    pattern: String,
    /// The folder or file to look in, below the root; the root itself if not given
    #[arg(default = ".", max_len = 4096, example = "src")]
    path: String,
    /// Only files whose names or paths fit this pattern
    #[arg(max_len = 500, example = "*.rs")]
    files: Option<String>,
    #[arg(default = false)]
    ignore_case: bool,
    /// Whether to look at names that begin with a point
    #[arg(default = false)]
    hidden: bool,
    /// The most lines to return
    #[arg(default = 100, min = 1, max = 1000)]
    limit: usize,
}

const DESCRIPTION: &str = "Searches the lines of all files of a folder for a regular expression. Files that are \
not text, and links, are passed over.\n\
Returns a line for each match, `path:line: text`, sorted by path, and at the end in brackets how much was searched \
and whether something was left out.";

pub(super) fn search_files(options: &FilesOptions) -> Result<Tool, InvalidTool> {
    let own = options.clone();
    let search = move |args: Search, ctx: &DispatchContext| search(&own, &args, ctx);
    options.reading("search_files").description(DESCRIPTION).handler(search).build()
}

fn search(
    options: &FilesOptions,
    args: &Search,
    ctx: &DispatchContext,
) -> Result<ToolOutput, ToolFailure> {
    let files = args.files.as_deref().filter(|it| !it.is_empty()).map(matcher).transpose()?;
    let mut matches = Matches::new(regex(args)?, args.limit);
    let mut effort = Effort::new(ctx);
    match options.root.folder(&args.path) {
        Ok((dir, path)) => {
            let (rules, folder) = (Rules { depth: DEEPEST, hidden: args.hidden }, slashed(&path));
            let mut visit = |found: &Found<'_>, effort: &mut Effort<'_>| {
                matches.visit(found, files.as_ref(), &folder, effort)
            };
            walk(dir, &path, rules, &mut effort, &mut visit)
                .map_err(|error| root::failure(&args.path, "folder", error))?;
        }
        // Not a folder, so it is to be a file.
        Err(_) => {
            let (file, _) = options.root.file(&args.path)?;
            let _ = matches.search(file, &args.path, &mut effort);
        }
    }
    Ok(answer::text(matches.finish(&effort), ArtifactKind::TEXT, options.label()))
}

fn regex(args: &Search) -> Result<Regex, ToolFailure> {
    // Says what is wrong in words that help.
    check_pattern(&args.pattern, &GrepOptions::new())?;
    let syntax = syntax::Config::new().case_insensitive(args.ignore_case).utf8(false);
    let config = Regex::config().nfa_size_limit(Some(COMPILED)).utf8_empty(false);
    Regex::builder().syntax(syntax).configure(config).build(&args.pattern).map_err(|error| {
        ToolFailure::new("the pattern is too large; use smaller counts in its repetitions")
            .with_source(error)
    })
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
    full: Option<&'static str>,
}

impl Matches {
    fn new(regex: Regex, limit: usize) -> Self {
        Self { regex, limit, lines: Vec::new(), files: 0, passed_over: 0, bytes: 0, full: None }
    }

    fn visit(
        &mut self,
        found: &Found<'_>,
        files: Option<&GlobMatcher>,
        folder: &str,
        effort: &mut Effort<'_>,
    ) -> ControlFlow<()> {
        let fits = files.is_none_or(|it| it.is_match(below(found.path, folder)));
        if !found.kind.is_file() || !fits {
            return ControlFlow::Continue(());
        }
        match root::open(found.dir, found.name, Links::Refuse) {
            Ok((file, _)) => self.search(file, found.path, effort),
            Err(_) => {
                self.passed_over += 1;
                ControlFlow::Continue(())
            }
        }
    }

    /// Searches one file, a line at a time. Only the start of a very long line is searched.
    fn search(&mut self, file: File, path: &str, effort: &mut Effort<'_>) -> ControlFlow<()> {
        let mut reader = BufReader::with_capacity(BUFFER, file);
        if reader.fill_buf().map_or(true, |start| memchr::memchr(0, start).is_some()) {
            self.passed_over += 1;
            return ControlFlow::Continue(());
        }
        self.files += 1;
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            // A file that stops being readable ends there.
            let read = (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line).unwrap_or(0);
            if read == 0 {
                break;
            }
            self.bytes = self.bytes.saturating_add(read as u64);
            if read as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
                let skipped = reader.skip_until(b'\n').unwrap_or(0);
                self.bytes = self.bytes.saturating_add(skipped as u64);
            }
            self.line(&line, path, number)?;
            if number % 1024 == 0 && effort.is_spent() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn line(&mut self, line: &[u8], path: &str, number: u64) -> ControlFlow<()> {
        if self.bytes > MOST_BYTES {
            self.full = Some("more than 1 GiB was searched; search a smaller folder");
            return ControlFlow::Break(());
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !self.regex.is_match(line) {
            return ControlFlow::Continue(());
        }
        if self.lines.len() == self.limit {
            self.full =
                Some("there are more matches; narrow the pattern or the files, or raise `limit`");
            return ControlFlow::Break(());
        }
        let text = String::from_utf8_lossy(line.get(..SHOWN * 4).unwrap_or(line));
        let mut shown: String = text.chars().take(SHOWN).collect();
        if shown.len() < line.len() && shown.chars().count() == SHOWN {
            shown.push('…');
        }
        self.lines.push(format!("{path}:{number}: {shown}"));
        ControlFlow::Continue(())
    }

    fn finish(self, effort: &Effort<'_>) -> String {
        let mut out = self.lines;
        let count = out.len();
        out.push(format!(
            "[{count} matches in {} files; {} were passed over as not text]",
            self.files, self.passed_over
        ));
        out.extend(
            self.full.or(effort.why()).map(|why| format!("[not everything was searched: {why}]")),
        );
        out.join("\n")
    }
}

const COMPILED: usize = 1024 * 1024;
const BUFFER: usize = 64 * 1024;
const LONGEST_LINE: u64 = 1024 * 1024;
const MOST_BYTES: u64 = 1024 * 1024 * 1024;
/// How many characters of a line are shown.
const SHOWN: usize = 300;
