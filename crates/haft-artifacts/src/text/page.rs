//! Pages of lines.

use std::fmt;
use std::ops::Range;

use haft_core::artifact::Budget;

/// Some lines of the content, and where the next page begins.
///
/// ```
/// use haft_artifacts::text::TextView;
/// use haft_core::artifact::Budget;
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reader = MemorySpoolStore::new().write("k".into(), "one\ntwo\nthree".into()).await?;
/// let page = TextView::new(reader).budget(Budget::new().bytes(8)).cat(..).await?;
/// assert_eq!(page.text(), "one\ntwo");
/// let next = page.next.expect("a line was omitted");
/// assert_eq!((next.start, next.omitted), (2, Some(1)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextPage {
    /// The lines, in the order of the content.
    pub lines: Vec<TextLine>,
    /// How to get the lines that were omitted; `None` if there are none.
    pub next: Option<NextPage>,
    /// How many lines the content has.
    pub total_lines: u64,
    /// How many bytes the content has.
    pub total_bytes: u64,
    /// How many lines were not searched because they are too long.
    pub unsearched_lines: u64,
    /// The number of the first line that was not searched.
    pub first_unsearched_line: Option<u64>,
}

impl TextPage {
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
pub struct TextLine {
    /// Its number; the first line has 0.
    pub number: u64,
    /// Its text, without LF, final CR or byte order mark.
    pub text: String,
    /// Whether the text was cut because the line is too long. The rest of it is read by
    /// [`TextView::read_line_part`](super::TextView::read_line_part).
    pub truncated: bool,
    /// How many bytes the whole line has in the content, without its LF.
    pub bytes: u64,
    /// Whether the line is context of a match and does not match itself.
    pub context: bool,
}

/// The lines that a page does not contain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextPage {
    /// The line to begin with next time, counted from 0.
    pub start: u64,
    /// The line before which to stop next time; `None` for the end of the content.
    pub end: Option<u64>,
    /// How many of the requested lines were omitted, if that is known.
    pub omitted: Option<u64>,
    /// The limit that the page has reached.
    pub limit: PageLimit,
}

impl NextPage {
    /// The lines of a range were omitted.
    pub(super) fn of_lines(lines: Range<u64>, limit: PageLimit) -> Self {
        let omitted = lines.end.saturating_sub(lines.start);
        Self { start: lines.start, end: Some(lines.end), omitted: Some(omitted), limit }
    }

    /// There may be more from this line on.
    pub(super) fn from_line(start: u64, limit: PageLimit) -> Self {
        Self { start, end: None, omitted: None, limit }
    }
}

/// Displays it in words for a model, whose tools count lines from 1 and include the last one.
impl fmt::Display for NextPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.omitted {
            Some(1) => f.write_str("1 line was left out")?,
            Some(count) => write!(f, "{count} lines were left out")?,
            None => f.write_str("there may be more")?,
        }
        write!(f, " ({}); go on with start {}", self.limit, self.start.saturating_add(1))?;
        self.end.map_or(Ok(()), |end| write!(f, " and end {end}"))
    }
}

/// The limit that ended a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PageLimit {
    /// The number of lines of one result.
    Lines,
    /// The number of bytes of one result.
    Bytes,
    /// The number of matches that were requested.
    Matches,
    /// The number of bytes that one query searches.
    SearchedBytes,
}

impl fmt::Display for PageLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lines => "an answer has a limited number of lines",
            Self::Bytes => "an answer has a limited number of bytes",
            Self::Matches => "as many matches as were asked for",
            Self::SearchedBytes => "one search reads a limited number of bytes",
        })
    }
}

/// Lines within a budget.
#[derive(Debug)]
pub(super) struct BudgetedLines {
    pub(super) lines: Vec<TextLine>,
    pub(super) limit_reached: Option<PageLimit>,
    budget: Budget,
    bytes: usize,
}

impl BudgetedLines {
    pub(super) fn new(budget: Budget) -> Self {
        Self { lines: Vec::new(), limit_reached: None, budget, bytes: 0 }
    }

    /// Adds a line. Returns false if there is no room for it, nor for any line after it.
    pub(super) fn push(&mut self, line: TextLine) -> bool {
        let has_room = self.take_room(self.lines.len(), &line);
        if has_room {
            self.lines.push(line);
        }
        has_room
    }

    /// Adds lines as far as there is room for them, without moving them if they are the first. Returns the number of the
    /// first line for which there is no room.
    pub(super) fn append(&mut self, mut lines: Vec<TextLine>) -> Option<u64> {
        let before = self.lines.len();
        let omitted = (before..).zip(&lines).find(|(count, line)| !self.take_room(*count, line));
        let omitted = omitted.map(|(count, line)| (count - before, line.number));
        if let Some((fitting, _)) = omitted {
            lines.truncate(fitting);
        }
        if before == 0 {
            self.lines = lines;
        } else {
            self.lines.append(&mut lines);
        }
        omitted.map(|(_, number)| number)
    }

    /// Reserves the room for a line after `count` others. Returns false if there is none.
    fn take_room(&mut self, count: usize, line: &TextLine) -> bool {
        let bytes = self.bytes.saturating_add(line.text.len() + 1);
        if self.limit_reached.is_some() {
            return false;
        }
        if count >= self.budget.lines.get() {
            self.limit_reached = Some(PageLimit::Lines);
        } else if bytes > self.budget.bytes && count > 0 {
            self.limit_reached = Some(PageLimit::Bytes);
        } else {
            self.bytes = bytes;
        }
        self.limit_reached.is_none()
    }
}
