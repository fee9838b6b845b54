//! Checks that links to headings lead to a heading.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::includes;

/// Checks the links of a page to headings, of its own and of other pages.
///
/// # Errors
///
/// A heading does not exist.
pub fn check(file: &Path, text: &str) -> Result<()> {
    let mut problems = Vec::new();
    for (line, target) in links(text) {
        let Some((path, anchor)) = target.split_once('#') else { continue };
        if path.contains("://") || path.contains("::") {
            continue;
        }
        let other = file.parent().unwrap_or(file).join(path);
        let page = if path.is_empty() { Ok(text.to_owned()) } else { fs::read_to_string(&other) };
        let other = if path.is_empty() { file } else { &other };
        // Files that are no pages have no headings.
        let is_page = path.is_empty() || path.ends_with(".md");
        if is_page && !page.is_ok_and(|it| anchors(&with_includes(other, it)).contains(anchor)) {
            problems.push(format!("{}:{line}: `{target}` leads to no heading", file.display()));
        }
    }
    if problems.is_empty() { Ok(()) } else { bail!("{}", problems.join("\n")) }
}

/// The page with what it includes. A page whose includes are wrong fails elsewhere.
fn with_includes(file: &Path, text: String) -> String {
    match includes::expand(file, &text) {
        Ok(lines) => lines.into_iter().map(|it| it.text + "\n").collect(),
        Err(_) => text,
    }
}

/// The lines outside of fences, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_inside = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_inside ^= is_fence;
        !is_inside && !is_fence
    })
}

/// The targets of links, with their lines. Code spans are no links.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line: String = line.split('`').step_by(2).collect();
        let rests = line.match_indices("](").filter_map(|(at, sign)| line.get(at + sign.len()..));
        let targets = rests.filter_map(|it| it.split([')', ' ']).next());
        found.extend(targets.map(|it| (number, it.to_owned())));
    }
    found
}

/// The names under which headings can be reached, as `mdbook` and code hosts make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        let Some(heading) = heading(line) else { continue };
        let name = match heading.rsplit_once("{#") {
            Some((_, name)) => name.trim_end_matches('}').to_owned(),
            None => slug(heading),
        };
        let repeated = (1..).map(|it| format!("{name}-{it}"));
        let free = std::iter::once(name.clone()).chain(repeated).find(|it| !found.contains(it));
        found.extend(free);
    }
    found
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    text.strip_prefix(' ').filter(|_| (1..=6).contains(&level)).map(str::trim)
}

fn slug(heading: &str) -> String {
    // Of a link, only the text is part of the name.
    let text: String = heading
        .split("](")
        .enumerate()
        .map(|(at, it)| if at == 0 { it } else { it.split_once(')').map_or("", |(_, rest)| rest) })
        .collect();
    let kept = text.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    kept.map(|it| if it == ' ' { '-' } else { it }).flat_map(char::to_lowercase).collect()
}
