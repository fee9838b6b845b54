//! The tool `string_extract`.

use haft_core::tool::ToolFailure;
use serde::Serialize;

use super::pattern;
use haft_core::tool::Json;
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct StringExtractArgs {
    /// The text
    #[arg(max_len = 500000, example = "mail ann@example.com or bob@example.com")]
    text: String,
    /// A regular expression; `^` and `$` match at lines; there is no look-around and there are no back-references
    #[arg(min_len = 1, max_len = 1000, example = r"([\w.]+)@example\.com")]
    pattern: String,
    /// The group to return: 0 for the whole match, 1 for the first group and so on
    #[arg(default = 0, max = 50)]
    group: usize,
    #[arg(default = false)]
    ignore_case: bool,
    /// The most matches to return
    #[arg(default = 100, min = 1, max = 1000)]
    limit: usize,
}

#[derive(Serialize)]
pub(super) struct ExtractedMatches {
    matches: Vec<Match>,
    /// Whether there are more.
    truncated: bool,
}

#[derive(Serialize)]
struct Match {
    text: String,
    /// Counted from 1.
    line: usize,
}

/// Finds everything in a text that matches a regular expression.
///
/// Returns JSON: `matches`, each with its `text` and `line`, in the order of the text; and `truncated`, which is
/// true if there are more than `limit`. A match in which the group takes no part is left out.
#[tool(read_only, artifact = Json)]
pub(super) fn string_extract(
    args: StringExtractArgs,
) -> Result<Json<ExtractedMatches>, ToolFailure> {
    let regex = pattern::compile_pattern(&args.pattern, args.ignore_case)?;
    let groups = regex.captures_len() - 1;
    if args.group > groups {
        return Err(ToolFailure::new(format!(
            "the pattern has {groups} groups; `group` is at most that, and 0 is the whole match"
        )));
    }
    let mut matches = Vec::new();
    let mut line = 1;
    let mut end = 0;
    for captures in regex.captures_iter(&args.text) {
        let Some(span) = captures.get_group(args.group) else { continue };
        if matches.len() == args.limit {
            return Ok(Json(ExtractedMatches { matches, truncated: true }));
        }
        let text = args.text.get(span.range()).unwrap_or_default().to_owned();
        let between = args.text.bytes().skip(end).take(span.start.saturating_sub(end));
        line += between.filter(|it| *it == b'\n').count();
        end = span.start.max(end);
        matches.push(Match { text, line });
    }
    Ok(Json(ExtractedMatches { matches, truncated: false }))
}
