//! Applies the hunks of a patch to the text of a file.

use super::patch_text::{Hunk, HunkLine};

/// The text after the changes. A text that has them already stays as it is. The error is for the model.
pub(super) fn apply_hunks(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    if hunks.is_empty() {
        return Ok(text.to_owned());
    }
    // Applied backwards and forwards again, such a text is the same. A hunk that leaves no lines does not show whether it was
    // applied.
    let leaves_lines =
        |hunk: &Hunk| hunk.lines.iter().any(|it| !matches!(it, HunkLine::Removed(_)));
    let is_applied = hunks.iter().all(leaves_lines)
        && replace_parts(text, hunks, Direction::Backward)
            .and_then(|before| replace_parts(&before, hunks, Direction::Forward))
            .is_ok_and(|after| after == text);
    if is_applied {
        return Ok(text.to_owned());
    }
    replace_parts(text, hunks, Direction::Forward)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

fn replace_parts(text: &str, hunks: &[Hunk], direction: Direction) -> Result<String, String> {
    let ends_with_newline = text.is_empty() || text.ends_with('\n');
    let return_character = if text.contains("\r\n") { "\r" } else { "" };
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    if ends_with_newline {
        lines.pop();
    }
    let mut from = 0;
    for (number, hunk) in (1..).zip(hunks) {
        let (old, new) = sides(hunk, direction);
        let missing = |what: &str| {
            format!(
                "has no {what} of hunk {number}; read the file again and copy its lines exactly"
            )
        };
        if let Some(anchor) = &hunk.anchor {
            let rest = lines.get(from..).unwrap_or_default();
            let at = rest.iter().position(|it| it.trim() == anchor);
            from += at.ok_or_else(|| missing("line that follows `@@`"))? + 1;
        }
        let start = find_lines(&lines, &old, from, hunk.is_at_end);
        let start = start.ok_or_else(|| missing("place with the lines"))?;
        let end = start + old.len();
        let replaced = new.iter().map(|(line, is_kept)| {
            // What stays keeps its spaces at the end.
            let kept = is_kept.and_then(|at| lines.get(start + at));
            kept.cloned().unwrap_or_else(|| format!("{line}{return_character}"))
        });
        let replaced: Vec<String> = replaced.collect();
        from = start + replaced.len();
        lines.splice(start..end, replaced);
    }
    let mut text = lines.join("\n");
    if ends_with_newline && !lines.is_empty() {
        text.push('\n');
    }
    Ok(text)
}

/// The lines of a hunk before the change and after it. Of those after it, the position among those before it, if they stay.
type Sides<'h> = (Vec<&'h str>, Vec<(&'h str, Option<usize>)>);

fn sides(hunk: &Hunk, direction: Direction) -> Sides<'_> {
    let mut old = Vec::new();
    let mut new = Vec::new();
    for line in &hunk.lines {
        match (line, direction) {
            (HunkLine::Kept(line), _) => {
                new.push((line.as_str(), Some(old.len())));
                old.push(line.as_str());
            }
            (HunkLine::Removed(line), Direction::Forward)
            | (HunkLine::Added(line), Direction::Backward) => old.push(line.as_str()),
            (HunkLine::Added(line), Direction::Forward)
            | (HunkLine::Removed(line), Direction::Backward) => new.push((line.as_str(), None)),
        }
    }
    (old, new)
}

/// Where the lines stand: exactly, or else without regard to spaces at their ends.
fn find_lines(lines: &[String], wanted: &[&str], from: usize, is_at_end: bool) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    // Lines that only come are put at the end, unless a line before them is named.
    let is_insertion = wanted.is_empty() && from == 0;
    let first = if is_at_end || is_insertion { last } else { from };
    let matches = |at: &usize, is_equal: fn(&str, &str) -> bool| {
        let found = lines.iter().skip(*at);
        found.zip(wanted).all(|(line, wanted)| is_equal(line, wanted))
    };
    let exactly = (first..=last).find(|at| matches(at, |line, wanted| line == wanted));
    exactly.or_else(|| {
        (first..=last).find(|at| matches(at, |line, wanted| line.trim_end() == wanted.trim_end()))
    })
}
