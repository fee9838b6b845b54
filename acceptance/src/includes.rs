//! Inserts what a page of the book takes from other files, as `mdbook` does, and fails where that would be nothing.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// What an include begins with.
const MARK: &str = "{{#";

/// A line of a page after its includes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Line {
    /// The text without its end.
    pub text: String,
    /// The line of the page, from 1: that of the include for lines from another file.
    pub number: usize,
    /// Whether another file contains it.
    pub is_included: bool,
}

/// The lines of a page with every `{{#include}}` and `{{#rustdoc_include}}` replaced by what it names. `file` is the page.
///
/// # Errors
///
/// A file or an anchor does not exist, or is empty.
pub fn expand(file: &Path, text: &str) -> Result<Vec<Line>> {
    let mut expanded = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let place = || format!("{}:{number}", file.display());
        let (content, is_included) = match target(line) {
            Some(target) => (included(file, target).with_context(place)?, true),
            None => (line.to_owned(), false),
        };
        // A line that is empty has no lines of its own.
        let lines = if content.is_empty() { vec![""] } else { content.lines().collect() };
        let lines = lines.into_iter().map(str::to_owned);
        expanded.extend(lines.map(|text| Line { text, number, is_included }));
    }
    Ok(expanded)
}

/// What the include of a line names.
fn target(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(MARK)?;
    let (what, _) = rest.split_once("}}")?;
    let target = ["include ", "rustdoc_include "].into_iter().find_map(|it| what.strip_prefix(it));
    target.map(str::trim)
}

fn included(file: &Path, target: &str) -> Result<String> {
    let (path, part) = target.split_once(':').unwrap_or((target, ""));
    let path = file.parent().unwrap_or(file).join(path);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let part = match part.split(':').map(str::parse).collect::<Result<Vec<usize>, _>>() {
        _ if part.is_empty() => text,
        Ok(bounds) => lines_between(&text, &bounds),
        Err(_) => anchored(&text, part),
    };
    if part.trim().is_empty() {
        bail!("`{target}` includes nothing");
    }
    Ok(part.trim_end().to_owned())
}

/// The lines from the first bound to the second; one bound is one line.
fn lines_between(text: &str, bounds: &[usize]) -> String {
    let (first, last) = match bounds {
        [line] => (*line, *line),
        [first, last] => (*first, *last),
        _ => return String::new(),
    };
    let lines = (1..).zip(text.lines()).filter(|(number, _)| (first..=last).contains(number));
    lines.flat_map(|(_, line)| [line, "\n"]).collect()
}

/// The lines between the comments `ANCHOR: name` and `ANCHOR_END: name`, without other such comments.
fn anchored(text: &str, name: &str) -> String {
    let mut is_inside = false;
    let mut found = String::new();
    for line in text.lines() {
        let of =
            |mark: &str| line.split_once(mark).map(|(_, it)| it.trim_end_matches("-->").trim());
        match (of("ANCHOR: "), of("ANCHOR_END: ")) {
            (Some(it), _) => is_inside |= it == name,
            (_, Some(it)) => is_inside &= it != name,
            _ if is_inside => found.extend([line, "\n"]),
            _ => {}
        }
    }
    found
}
