//! Bounded answers.

use std::fmt;

use haft_core::artifact::Budget;

/// Some lines of the content, and where to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The lines, in the order of the content.
    pub lines: Vec<Line>,
    /// How to get what was left out; nothing if this is all.
    pub more: Option<Continuation>,
    /// How many lines the content has.
    pub total_lines: u64,
    /// How many bytes the content has.
    pub total_bytes: u64,
    /// How many lines were too long to be searched. The rest of a page holds for the others.
    pub unsearched_lines: u64,
    /// The number of the first of them.
    pub first_unsearched: Option<u64>,
}

impl Page {
    /// The text of the lines, with an LF between them.
    #[must_use]
    pub fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
        lines.join("\n")
    }
}

/// A line of the content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// Its number; the first line has 0.
    pub number: u64,
    /// Its text, without LF, final CR or byte order mark.
    pub text: String,
    /// Whether the text was cut because the line is too long. The rest of it is read by
    /// [`TextView::line_part`](super::TextView::line_part).
    pub truncated: bool,
    /// How many bytes the whole line has in the content, without its LF.
    pub bytes: u64,
    /// Whether it is there because of a line near it, and does not match itself.
    pub context: bool,
}

/// Where an answer broke off.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Continuation {
    /// The line to begin with next time.
    pub start: u64,
    /// The line before which to stop next time; the end of the content if nothing.
    pub end: Option<u64>,
    /// How many lines that were asked for are not in the answer, if that is known.
    pub left_out: Option<u64>,
    /// Why it broke off.
    pub reason: Stopped,
}

/// In words for a model.
impl fmt::Display for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.left_out {
            Some(1) => f.write_str("1 line was left out")?,
            Some(count) => write!(f, "{count} lines were left out")?,
            None => f.write_str("there may be more")?,
        }
        write!(f, " ({}); go on with start {}", self.reason, self.start)?;
        self.end.map_or(Ok(()), |end| write!(f, " and end {end}"))
    }
}

/// Why an answer broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stopped {
    /// It has as many lines as an answer may have.
    Lines,
    /// It has as many bytes as an answer may have.
    Bytes,
    /// It has as many matches as were asked for.
    Limit,
    /// As much was searched as one query may search.
    Work,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lines => "an answer has a limited number of lines",
            Self::Bytes => "an answer has a limited number of bytes",
            Self::Limit => "as many matches as were asked for",
            Self::Work => "one search reads a limited number of bytes",
        })
    }
}

/// Lines within a budget.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) lines: Vec<Line>,
    pub(super) stopped: Option<Stopped>,
    budget: Budget,
    bytes: usize,
}

impl Shown {
    pub(super) fn new(budget: Budget) -> Self {
        Self { lines: Vec::new(), stopped: None, budget, bytes: 0 }
    }

    /// Adds a line, or says that there is no room for it, nor for any after it.
    pub(super) fn push(&mut self, line: Line) -> bool {
        let bytes = self.bytes.saturating_add(line.text.len() + 1);
        if self.stopped.is_some() {
            return false;
        }
        if self.lines.len() >= self.budget.lines.get() {
            self.stopped = Some(Stopped::Lines);
        } else if bytes > self.budget.bytes && !self.lines.is_empty() {
            self.stopped = Some(Stopped::Bytes);
        } else {
            self.bytes = bytes;
            self.lines.push(line);
        }
        self.stopped.is_none()
    }
}
