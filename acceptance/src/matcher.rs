//! Compares output with expected output that has placeholders for what varies.
//!
//! A placeholder stands for a value with a unit and a plausible size, so that a wrong unit is a difference:
//! [`placeholder`] lists them. `[..]` stands for any text within a line, and a line `...` for any number of lines.
//! A page for readers shows a sample instead, which `sample` turns into the placeholder of its kind.

pub mod placeholder;
mod sample;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use similar::{ChangeTag, TextDiff};

use placeholder::{Placeholder, Values};

/// A piece of an expected line.
#[derive(Debug)]
enum Piece<'a> {
    Text(&'a str),
    Any,
    Value(Placeholder<'a>),
}

/// Compares `actual` with `expected`. The error shows the difference.
///
/// # Errors
///
/// The texts differ, or `expected` has a placeholder that does not exist.
pub fn compare(expected: &str, actual: &str, values: &Values) -> Result<(), String> {
    let wanted = lines_of(expected);
    let lines = lines_of(actual);
    let generalized = generalize(&wanted, values);
    let patterns = parse_lines(&generalized)?;
    let pairs = align(&wanted, &patterns, &lines, values);
    let is_equal = pairs.iter().all(|it| matches!(it, Aligned::Matching(..)));
    if is_equal { Ok(()) } else { Err(difference(&rewrite_lines(&wanted, &pairs, &lines), &lines)) }
}

/// The expected output with every line replaced that differs from `actual`. Lines that match keep their placeholders.
///
/// # Errors
///
/// `expected` has a placeholder that does not exist.
pub fn rewrite(expected: &str, actual: &str, values: &Values) -> Result<String, String> {
    let wanted = lines_of(expected);
    let lines = lines_of(actual);
    let generalized = generalize(&wanted, values);
    let patterns = parse_lines(&generalized)?;
    let pairs = align(&wanted, &patterns, &lines, values);
    let mut text = String::new();
    let mut last = None;
    for pair in pairs {
        let line = match pair {
            Aligned::Matching(wanted_at, _) if last == Some(wanted_at) => continue,
            Aligned::Matching(wanted_at, _) => {
                last = Some(wanted_at);
                wanted.get(wanted_at)
            }
            Aligned::New(at) => lines.get(at),
            Aligned::Missing(_) => None,
        };
        if let Some(line) = line {
            text.push_str(line);
            text.push('\n');
        }
    }
    Ok(text)
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Aligned {
    /// The expected line of the first index matches the line of the second, if it stands for one.
    Matching(usize, Option<usize>),
    /// An expected line that is not there.
    Missing(usize),
    /// A line that is not expected.
    New(usize),
}

fn lines_of(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    while lines.last().is_some_and(|it| it.is_empty()) {
        lines.pop();
    }
    lines
}

/// The alignment with the fewest differences.
fn align(
    wanted: &[&str],
    patterns: &[Vec<Piece<'_>>],
    lines: &[&str],
    values: &Values,
) -> Vec<Aligned> {
    let width = lines.len() + 1;
    // The costs of the rests of both texts, by row of expected lines and column of lines.
    let mut costs = vec![0_usize; (wanted.len() + 1) * width];
    let cost = |costs: &[usize], i: usize, j: usize| costs.get(i * width + j).copied();
    let matching = |i: usize, j: usize| match (patterns.get(i), lines.get(j)) {
        (Some(pattern), Some(line)) => matches_line(pattern, line, values),
        _ => false,
    };
    let is_elision = |i: usize| wanted.get(i).is_some_and(|it| *it == "...");
    for i in (0..=wanted.len()).rev() {
        for j in (0..=lines.len()).rev() {
            let mut best = match (i == wanted.len(), j == lines.len()) {
                (true, true) => 0,
                (true, false) => cost(&costs, i, j + 1).map_or(usize::MAX, |it| it + 1),
                (false, true) if is_elision(i) => cost(&costs, i + 1, j).unwrap_or(usize::MAX),
                (false, true) => cost(&costs, i + 1, j).map_or(usize::MAX, |it| it + 1),
                (false, false) => usize::MAX,
            };
            if i < wanted.len() && j < lines.len() {
                let skip_wanted = cost(&costs, i + 1, j).unwrap_or(usize::MAX);
                let skip_line = cost(&costs, i, j + 1).unwrap_or(usize::MAX);
                best = if is_elision(i) {
                    skip_wanted.min(skip_line)
                } else {
                    let both = cost(&costs, i + 1, j + 1).unwrap_or(usize::MAX);
                    let both = if matching(i, j) { both } else { usize::MAX };
                    both.min(skip_wanted.saturating_add(1)).min(skip_line.saturating_add(1))
                };
            }
            if let Some(cell) = costs.get_mut(i * width + j) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < wanted.len() || j < lines.len() {
        let here = cost(&costs, i, j).unwrap_or(usize::MAX);
        let at = |i, j| cost(&costs, i, j).unwrap_or(usize::MAX);
        if is_elision(i) && here == at(i + 1, j) {
            pairs.push(Aligned::Matching(i, None));
            i += 1;
        } else if is_elision(i) {
            pairs.push(Aligned::Matching(i, Some(j)));
            j += 1;
        } else if i < wanted.len() && j < lines.len() && matching(i, j) && here == at(i + 1, j + 1)
        {
            pairs.push(Aligned::Matching(i, Some(j)));
            (i, j) = (i + 1, j + 1);
        } else if i < wanted.len() && here == at(i + 1, j).saturating_add(1) {
            pairs.push(Aligned::Missing(i));
            i += 1;
        } else {
            pairs.push(Aligned::New(j));
            j += 1;
        }
    }
    pairs
}

/// The expected lines, where a line that matches is the line itself: a difference shows only what differs.
fn rewrite_lines<'a>(wanted: &[&'a str], pairs: &[Aligned], lines: &[&'a str]) -> Vec<&'a str> {
    let line = |pair: &Aligned| match pair {
        Aligned::Matching(_, Some(at)) => lines.get(*at).copied(),
        Aligned::Missing(at) => wanted.get(*at).copied(),
        Aligned::Matching(_, None) | Aligned::New(_) => None,
    };
    pairs.iter().filter_map(line).collect()
}

fn difference(wanted: &[&str], lines: &[&str]) -> String {
    let mut text = String::new();
    for change in TextDiff::from_slices(wanted, lines).iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => "-",
            ChangeTag::Insert => "+",
            ChangeTag::Equal => " ",
        };
        text.push_str(&format!("    {sign} {}\n", change.value()));
    }
    text
}

/// The expected lines with placeholders where they have samples, if samples vary.
fn generalize<'a>(wanted: &[&'a str], values: &Values) -> Vec<Cow<'a, str>> {
    let line = |it: &&'a str| match values.samples_vary {
        true => Cow::Owned(sample::generalize(it)),
        false => Cow::Borrowed(*it),
    };
    wanted.iter().map(line).collect()
}

fn parse_lines<'a>(lines: &'a [Cow<'_, str>]) -> Result<Vec<Vec<Piece<'a>>>, String> {
    lines.iter().map(|line| parse_line(line)).collect()
}

/// Splits an expected line at its placeholders. Brackets around other text are text.
fn parse_line(line: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = line;
    let mut from = 0;
    while let Some(open) = rest.get(from..).and_then(|it| it.find('[')).map(|it| it + from) {
        let Some((before, after)) = rest.split_at_checked(open) else { break };
        let Some((name, behind)) = after.get(1..).and_then(|it| it.split_once(']')) else { break };
        let piece = match name {
            ".." => Some(Piece::Any),
            _ => {
                Placeholder::parse(name).map_err(|it| format!("`{line}`: {it}"))?.map(Piece::Value)
            }
        };
        let Some(piece) = piece else {
            from = open + 1;
            continue;
        };
        pieces.extend([Piece::Text(before), piece]);
        (rest, from) = (behind, 0);
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

fn matches_line(pieces: &[Piece<'_>], line: &str, values: &Values) -> bool {
    match_start(pieces, line, values, true).is_some()
}

/// What follows the pieces at the start of a text; `None` if it does not start with them. With `is_whole`, nothing may.
fn match_start<'t>(
    pieces: &[Piece<'_>],
    text: &'t str,
    values: &Values,
    is_whole: bool,
) -> Option<&'t str> {
    let Some((first, others)) = pieces.split_first() else {
        return (!is_whole || text.is_empty()).then_some(text);
    };
    let is_candidate = |part: &str| match first {
        Piece::Text(_) => false,
        Piece::Any => true,
        Piece::Value(value) => value.accepts(part, values),
    };
    if let Piece::Text(wanted) = first {
        return match_start(others, text.strip_prefix(wanted)?, values, is_whole);
    }
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.find_map(|end| {
        let (part, rest) = text.split_at_checked(end)?;
        if is_candidate(part) { match_start(others, rest, values, is_whole) } else { None }
    })
}

/// Where the first text that matches `expected` within a line ends.
///
/// # Errors
///
/// `expected` has a placeholder that does not exist.
pub fn find(expected: &str, text: &str, values: &Values) -> Result<Option<usize>, String> {
    let pieces = parse_line(expected)?;
    let mut start_of_line = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches('\n');
        let starts = content.char_indices().filter_map(|(at, _)| content.get(at..));
        let rest = starts.into_iter().find_map(|it| match_start(&pieces, it, values, false));
        if let Some(rest) = rest {
            return Ok(Some(start_of_line + content.len() - rest.len()));
        }
        start_of_line += line.len();
    }
    Ok(None)
}
