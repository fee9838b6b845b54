//! The tool `string_transform`.

use std::collections::HashSet;

use haft_core::invariant::OrReport as _;
use haft_core::tool::ToolFailure;

use super::{MAX_TEXT_BYTES, cases, pattern};
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct StringTransformArgs {
    /// The text
    #[arg(max_len = 200000, example = "Hello, World")]
    text: String,
    /// What to do with it, one step after the other
    #[arg(min_len = 1, max_len = 20)]
    steps: Vec<StepArgs>,
}

// One step as the model writes it. The options of all operations are fields of one object, because a schema with one
// branch per operation is six times as long and goes into every request.
#[derive(ToolArgs)]
pub(crate) struct StepArgs {
    #[arg(rename = "do")]
    operation: Operation,
    /// replace, regex_replace: the new text (`$1`, `${name}`, `$$`); indent: the prefix
    with: Option<String>,
    /// replace
    find: Option<String>,
    /// regex_replace
    #[arg(max_len = 1000)]
    pattern: Option<String>,
    /// regex_replace
    ignore_case: Option<bool>,
    /// split, join_lines
    separator: Option<String>,
    /// sort_lines
    descending: Option<bool>,
    /// slice; negative: from the end
    #[arg(min = -9999999, max = 9999999)]
    start: Option<i64>,
    /// slice: not included
    #[arg(min = -9999999, max = 9999999)]
    end: Option<i64>,
    /// truncate
    #[arg(min = 1, max = 9999999)]
    characters: Option<u32>,
}

#[derive(ToolArgs)]
pub(crate) enum Operation {
    Uppercase,
    Lowercase,
    TitleCase,
    Capitalize,
    CamelCase,
    PascalCase,
    SnakeCase,
    KebabCase,
    ConstantCase,
    Slug,
    Trim,
    TrimLines,
    NormalizeWhitespace,
    Reverse,
    SortLines,
    UniqueLines,
    RemoveEmptyLines,
    NumberLines,
    ReverseLines,
    Indent,
    Dedent,
    Replace,
    RegexReplace,
    Split,
    JoinLines,
    Slice,
    Truncate,
}

/// One step with the options of its operation.
enum Step {
    Uppercase,
    Lowercase,
    TitleCase,
    Capitalize,
    CamelCase,
    PascalCase,
    SnakeCase,
    KebabCase,
    ConstantCase,
    Slug,
    Trim,
    TrimLines,
    NormalizeWhitespace,
    Reverse,
    SortLines { descending: bool },
    UniqueLines,
    RemoveEmptyLines,
    NumberLines,
    ReverseLines,
    Indent { with: String },
    Dedent,
    Replace { find: String, with: String },
    RegexReplace { pattern: String, with: String, ignore_case: bool },
    Split { separator: String },
    JoinLines { separator: String },
    Slice { start: i64, end: Option<i64> },
    Truncate { characters: usize },
}

impl StepArgs {
    /// The step, unless an option that its operation needs is missing.
    fn into_step(self) -> Result<Step, ToolFailure> {
        let needed = |name: &str, value: Option<String>| match value {
            Some(value) if !value.is_empty() => Ok(value),
            _ => Err(ToolFailure::new(format!("`{name}` is missing or empty"))),
        };
        let with = |value: Option<String>| value.unwrap_or_default();
        Ok(match self.operation {
            Operation::Uppercase => Step::Uppercase,
            Operation::Lowercase => Step::Lowercase,
            Operation::TitleCase => Step::TitleCase,
            Operation::Capitalize => Step::Capitalize,
            Operation::CamelCase => Step::CamelCase,
            Operation::PascalCase => Step::PascalCase,
            Operation::SnakeCase => Step::SnakeCase,
            Operation::KebabCase => Step::KebabCase,
            Operation::ConstantCase => Step::ConstantCase,
            Operation::Slug => Step::Slug,
            Operation::Trim => Step::Trim,
            Operation::TrimLines => Step::TrimLines,
            Operation::NormalizeWhitespace => Step::NormalizeWhitespace,
            Operation::Reverse => Step::Reverse,
            Operation::SortLines => {
                Step::SortLines { descending: self.descending.unwrap_or_default() }
            }
            Operation::UniqueLines => Step::UniqueLines,
            Operation::RemoveEmptyLines => Step::RemoveEmptyLines,
            Operation::NumberLines => Step::NumberLines,
            Operation::ReverseLines => Step::ReverseLines,
            Operation::Indent => Step::Indent { with: needed("with", self.with)? },
            Operation::Dedent => Step::Dedent,
            Operation::Replace => {
                Step::Replace { find: needed("find", self.find)?, with: with(self.with) }
            }
            Operation::RegexReplace => Step::RegexReplace {
                pattern: needed("pattern", self.pattern)?,
                with: with(self.with),
                ignore_case: self.ignore_case.unwrap_or_default(),
            },
            Operation::Split => Step::Split { separator: needed("separator", self.separator)? },
            Operation::JoinLines => Step::JoinLines { separator: with(self.separator) },
            Operation::Slice => {
                Step::Slice { start: self.start.unwrap_or_default(), end: self.end }
            }
            Operation::Truncate => match self.characters {
                Some(characters) => Step::Truncate { characters: characters as usize },
                None => return Err(ToolFailure::new("`characters` is missing")),
            },
        })
    }
}

/// Changes a text by one step or several: case, white space, lines, replacing, cutting, splitting. Use it
/// for exact work on text that is too long or too delicate to retype.
///
/// `slug` keeps letters and digits in lower case, parted by `-`; `dedent` removes the indent that all lines share;
/// `number_lines` writes `1: ` before the first line; `truncate` ends a cut text with `…`. Characters are Unicode scalar
/// values. Returns the text.
#[tool(read_only)]
pub(super) fn string_transform(args: StringTransformArgs) -> Result<String, ToolFailure> {
    let mut text = args.text;
    for (at, step) in (1..).zip(args.steps) {
        text = step
            .into_step()
            .and_then(|step| apply(step, text))
            .map_err(|failure| ToolFailure::new(format!("step {at}: {failure}")))?;
        if text.len() > MAX_TEXT_BYTES {
            return Err(ToolFailure::new(format!("step {at}: {TOO_LONG}")));
        }
    }
    Ok(text)
}

fn apply(step: Step, text: String) -> Result<String, ToolFailure> {
    Ok(match step {
        Step::Uppercase => text.to_uppercase(),
        Step::Lowercase => text.to_lowercase(),
        Step::TitleCase => cases::title_case(&text),
        Step::Capitalize => cases::capitalize(&text),
        Step::CamelCase => cases::camel_case(&text),
        Step::PascalCase => cases::pascal_case(&text),
        Step::SnakeCase => cases::join_words(&text, "_"),
        Step::KebabCase => cases::join_words(&text, "-"),
        Step::ConstantCase => cases::join_words(&text, "_").to_uppercase(),
        Step::Slug => slug(&text),
        Step::Trim => text.trim().to_owned(),
        Step::NormalizeWhitespace => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Step::Reverse => text.chars().rev().collect(),
        Step::Replace { find, with } => replace(&text, &find, &with)?,
        Step::RegexReplace { pattern, with, ignore_case } => {
            regex_replace(&text, &pattern, &with, ignore_case)?
        }
        Step::Split { separator } => text.split(&separator).collect::<Vec<_>>().join("\n"),
        Step::Slice { start, end } => slice(&text, start, end),
        Step::Truncate { characters } => truncate(text, characters),
        step => apply_to_lines(step, &text)?,
    })
}

/// The steps that work on lines.
fn apply_to_lines(step: Step, text: &str) -> Result<String, ToolFailure> {
    let mut lines: Vec<&str> = text.lines().collect();
    let room = |each: usize, lines: &[&str]| {
        let all = each.saturating_mul(lines.len()).saturating_add(text.len());
        if all > MAX_TEXT_BYTES { Err(ToolFailure::new(TOO_LONG)) } else { Ok(()) }
    };
    match step {
        Step::TrimLines => lines.iter_mut().for_each(|line| *line = line.trim()),
        Step::SortLines { descending: false } => lines.sort_unstable(),
        Step::SortLines { descending: true } => lines.sort_unstable_by(|a, b| b.cmp(a)),
        Step::UniqueLines => {
            let mut seen = HashSet::new();
            lines.retain(|line| seen.insert(*line));
        }
        Step::RemoveEmptyLines => lines.retain(|line| !line.trim().is_empty()),
        Step::ReverseLines => lines.reverse(),
        Step::Dedent => {
            let indent = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
            let full = lines.iter().filter(|line| !line.trim().is_empty());
            let least = full.map(indent).min().unwrap_or(0);
            // A blank line may be shorter than the indent. It becomes empty.
            for line in &mut lines {
                *line = line.split_at_checked(least).map_or("", |(_, rest)| rest);
            }
        }
        Step::NumberLines => {
            room(24, &lines)?;
            let numbered = (1..).zip(&lines).map(|(at, line)| format!("{at}: {line}"));
            return Ok(numbered.collect::<Vec<_>>().join("\n"));
        }
        Step::Indent { with } => {
            room(with.len(), &lines)?;
            let indented = lines.iter().map(|line| format!("{with}{line}"));
            return Ok(indented.collect::<Vec<_>>().join("\n"));
        }
        Step::JoinLines { separator } => {
            room(separator.len(), &lines)?;
            return Ok(lines.join(&separator));
        }
        _ => {}
    }
    Ok(lines.join("\n"))
}

fn slug(text: &str) -> String {
    let parts = text.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty());
    parts.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

fn replace(text: &str, find: &str, with: &str) -> Result<String, ToolFailure> {
    let grown = text.matches(find).count().saturating_mul(with.len());
    if grown.saturating_add(text.len()) > MAX_TEXT_BYTES {
        return Err(ToolFailure::new(TOO_LONG));
    }
    Ok(text.replace(find, with))
}

fn regex_replace(
    text: &str,
    pattern: &str,
    with: &str,
    ignore_case: bool,
) -> Result<String, ToolFailure> {
    let regex = pattern::compile_pattern(pattern, ignore_case)?;
    let mut out = String::new();
    let mut end = 0;
    for (count, captures) in regex.captures_iter(text).enumerate() {
        if count == REPLACEMENTS {
            return Err(ToolFailure::new(format!(
                "the pattern matches more than {REPLACEMENTS} times; use a shorter text"
            )));
        }
        let Some(found) = captures.get_match() else { continue };
        out.push_str(text.get(end..found.start()).or_report_default(ORDERED_MATCHES));
        captures.interpolate_string_into(text, with, &mut out);
        end = found.end();
        if out.len() > MAX_TEXT_BYTES {
            return Err(ToolFailure::new(TOO_LONG));
        }
    }
    out.push_str(text.get(end..).or_report_default(ORDERED_MATCHES));
    Ok(out)
}

fn slice(text: &str, start: i64, end: Option<i64>) -> String {
    let length = text.chars().count();
    // A distance beyond the text leads to its edge.
    let place = |at: i64| {
        let distance = usize::try_from(at.unsigned_abs()).map_or(length, |it| it.min(length));
        if at < 0 { length - distance } else { distance }
    };
    let start = place(start);
    let end = end.map_or(length, place);
    text.chars().skip(start).take(end.saturating_sub(start)).collect()
}

fn truncate(text: String, characters: usize) -> String {
    if text.chars().nth(characters).is_none() {
        return text;
    }
    let mut kept: String = text.chars().take(characters.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

const ORDERED_MATCHES: &str = "matches lie at boundaries of characters, in order";
const TOO_LONG: &str = "the text gets longer than 4 MiB; work on a part of it";
const REPLACEMENTS: usize = 10_000;
