//! Regular expressions with linear time and bounded size.

use haft_core::tool::ToolFailure;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use haft_artifacts::text::{GrepOptions, check_pattern};

/// Compiles a pattern.
pub(super) fn compile_pattern(pattern: &str, ignore_case: bool) -> Result<Regex, ToolFailure> {
    // Its message explains the mistake.
    check_pattern(pattern, &GrepOptions::new())?;
    let syntax = syntax::Config::new().case_insensitive(ignore_case).multi_line(true);
    let config = Regex::config().nfa_size_limit(Some(MAX_PATTERN_BYTES));
    Regex::builder().syntax(syntax).configure(config).build(pattern).map_err(|error| {
        ToolFailure::new("the pattern is too large; use smaller counts in its repetitions")
            .with_source(error)
    })
}

const MAX_PATTERN_BYTES: usize = 512 * 1024;
