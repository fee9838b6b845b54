//! Results of queries: text for the model, within a budget, that says what it left out.

use std::fmt;
use std::ops::ControlFlow;

use super::Budget;
use crate::invariant::OrReport as _;
use crate::json::{ValueRef, pretty_start};

/// The result of a query.
///
/// How values become text, so that a model can tell them apart:
///
/// | value | text |
/// |---|---|
/// | nothing there | `(undefined)` |
/// | an empty list | `(empty list)` |
/// | an empty text | `(empty text)` |
/// | a list of strings, none of them empty or of several lines | one string a line |
/// | a number | its decimal digits |
/// | everything else | JSON, indented by two spaces |
///
/// The last line says in square brackets what was left out, and how to ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct QueryOutput(String);

impl QueryOutput {
    /// The result of a query that has no value, such as one for the keys of a value without keys.
    ///
    /// ```
    /// use haft_core::artifact::QueryOutput;
    ///
    /// assert_eq!(QueryOutput::undefined().as_str(), "(undefined)");
    /// ```
    pub fn undefined() -> Self {
        Self::sentinel("undefined")
    }

    /// A word for a value that has no text of its own, shown in parentheses.
    pub fn sentinel(what: impl fmt::Display) -> Self {
        Self(format!("({what})"))
    }

    /// A text that is known to be within the budget.
    pub fn whole(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A number.
    pub fn number(value: u64) -> Self {
        Self(value.to_string())
    }

    /// A text. If it does not fit into the budget, it is truncated at the end of a line.
    ///
    /// ```
    /// use haft_core::artifact::{Budget, QueryOutput};
    ///
    /// let budget = Budget::new().bytes(8);
    /// let output = QueryOutput::text("first\nsecond\n", budget);
    /// assert!(output.as_str().starts_with("first\n[cut after "));
    /// assert_eq!(QueryOutput::text("", budget).as_str(), "(empty text)");
    /// ```
    pub fn text(text: impl Into<String>, budget: Budget) -> Self {
        let text = text.into();
        let size = text.len();
        Self::start_of_text(text, size, budget)
    }

    /// A text of `size` bytes, of which `text` contains at least as much as the budget has room for.
    fn start_of_text(text: String, size: usize, budget: Budget) -> Self {
        if text.is_empty() {
            return Self::sentinel("empty text");
        }
        match cut_to_budget(&text, budget) {
            None => Self(text),
            Some(kept) => {
                let shown = kept.len();
                Self(kept.to_owned())
                    .noted(format_args!("cut after {shown} of {size} bytes; ask for less at once"))
            }
        }
    }

    /// One value: a string as its text, everything else as JSON.
    ///
    /// ```
    /// use haft_core::artifact::{Budget, QueryOutput};
    /// use haft_core::json::Document;
    ///
    /// let document = Document::parse(r#"{"name": "Ada", "tags": ["dev"]}"#)?;
    /// let name = document.root().get("name").ok_or("no name")?;
    /// assert_eq!(QueryOutput::value(name, Budget::new()).as_str(), "Ada");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn value(value: ValueRef<'_>, budget: Budget) -> Self {
        match value.as_str() {
            Some(text) => Self::text(text, budget),
            None => {
                let (text, size) = pretty_start(value, budget.bytes.saturating_add(1));
                Self::start_of_text(text, size, budget)
            }
        }
    }

    /// A list of values that are all in memory, without the first `skip`. Use [`QueryListBuilder`] for values that have
    /// to be searched for.
    ///
    /// ```
    /// use haft_core::artifact::{Budget, QueryOutput};
    /// use haft_core::json::Document;
    ///
    /// let document = Document::parse(r#"["dev", "admin", "guest"]"#)?;
    /// let output = QueryOutput::list(document.root().elements(), Budget::new(), 1);
    /// assert_eq!(output.as_str(), "admin\nguest");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list<'v>(
        values: impl IntoIterator<Item = ValueRef<'v>>,
        budget: Budget,
        skip: u64,
    ) -> Self {
        let mut listing = QueryListBuilder::new(budget, skip);
        let mut values = values.into_iter();
        let stopped = values.try_for_each(|value| listing.push(value));
        match stopped {
            ControlFlow::Continue(()) => listing.finish(),
            // The one that found no room is counted already.
            ControlFlow::Break(()) => {
                let total = listing.seen() + values.count() as u64;
                listing.finish_of(total)
            }
        }
    }

    /// Adds a note about the result on a last line of its own, in square brackets.
    ///
    /// ```
    /// use haft_core::artifact::QueryOutput;
    ///
    /// let output = QueryOutput::number(3).noted("the file is still growing");
    /// assert_eq!(output.as_str(), "3\n[the file is still growing]");
    /// ```
    pub fn noted(mut self, note: impl fmt::Display) -> Self {
        self.0.push_str(&format!("\n[{note}]"));
        self
    }

    /// The text for the model.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text for the model.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

/// A list of values that grows until the budget is full.
///
/// The caller offers values one after the other and stops when there is no more room. The first `skip` values are
/// skipped, so that the next query can continue where this one stopped.
///
/// ```
/// use haft_core::artifact::{Budget, QueryListBuilder};
/// use haft_core::json::Document;
///
/// let found = Document::parse(r#"["dev", "admin", "guest"]"#)?;
/// let mut list = QueryListBuilder::new(Budget::new().bytes(12), 0);
/// for value in found.root().elements() {
///     if list.push(value).is_break() {
///         break;
///     }
/// }
/// assert_eq!(list.finish().as_str(), "dev\nadmin\n[there is more; go on with skip 2]");
/// # Ok::<(), haft_core::json::ParseError>(())
/// ```
#[derive(Debug)]
pub struct QueryListBuilder {
    budget: Budget,
    skip: u64,
    seen: u64,
    items: Vec<ListItem>,
    /// Whether all values that are shown are strings of one line.
    all_bare: bool,
    lines: usize,
    /// The bytes of the result as one string per line.
    line_bytes: usize,
    /// The bytes of the result as a JSON list.
    json_bytes: usize,
    full: bool,
    /// The size of a single value that did not fit into the result.
    cut_from: Option<u64>,
}

/// A value of the list as text.
#[derive(Debug)]
struct ListItem {
    /// A string's own text if it is one line, else JSON.
    text: String,
    bare: bool,
}

impl QueryListBuilder {
    /// An empty list that skips the first `skip` values.
    #[must_use]
    pub fn new(budget: Budget, skip: u64) -> Self {
        let seen = 0;
        let items = Vec::new();
        let all_bare = true;
        let lines = 0;
        let line_bytes = 0;
        let json_bytes = 0;
        let full = false;
        let cut_from = None;
        Self { budget, skip, seen, items, all_bare, lines, line_bytes, json_bytes, full, cut_from }
    }

    /// Offers the next value; `Break` if it and everything after it has no room.
    pub fn push(&mut self, value: ValueRef<'_>) -> ControlFlow<()> {
        if self.passes_over() {
            return ControlFlow::Continue(());
        }
        let bare = value.as_str().filter(|text| !text.is_empty() && !text.contains(['\n', '\r']));
        match bare {
            Some(text) => self.push_item(ListItem { text: text.to_owned(), bare: true }, None),
            None => {
                let (text, size) = pretty_start(value, self.budget.bytes.saturating_add(1));
                let cut_from = (size > text.len()).then_some(size as u64);
                self.push_item(ListItem { text, bare: false }, cut_from)
            }
        }
    }

    /// Offers the next value when it is too large to be held: its first bytes as JSON text, and how
    /// many it has in all.
    pub fn push_start_of(&mut self, start: &str, bytes: u64) -> ControlFlow<()> {
        if self.passes_over() {
            return ControlFlow::Continue(());
        }
        self.push_item(ListItem { text: start.to_owned(), bare: false }, Some(bytes))
    }

    /// Whether the next value will be skipped, so that it need not be read.
    #[must_use]
    pub fn skips_next(&self) -> bool {
        self.seen < self.skip
    }

    /// How many values were offered.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    fn passes_over(&mut self) -> bool {
        self.seen += 1;
        self.seen <= self.skip
    }

    fn push_item(&mut self, item: ListItem, size: Option<u64>) -> ControlFlow<()> {
        let lines = 1 + item.text.matches('\n').count();
        let line_bytes = self.line_bytes + item.text.len() + 1;
        // In a JSON list every line is indented by two and ends with a comma and an LF.
        let json = if item.bare { quote_text(&item.text).len() } else { item.text.len() };
        let json_bytes = self.json_bytes + json + 2 * lines + 2;
        // One value that is not a string of one line shows the whole list as JSON.
        let is_bare = item.bare && self.all_bare;
        let bytes = if is_bare { line_bytes } else { json_bytes };
        let fits = self.lines + lines <= self.budget.lines.get()
            && bytes <= self.budget.bytes
            && size.is_none();
        if self.full || !fits && !self.items.is_empty() {
            self.full = true;
            return ControlFlow::Break(());
        }
        if fits {
            self.lines += lines;
            (self.line_bytes, self.json_bytes) = (line_bytes, json_bytes);
            self.all_bare = is_bare;
            self.items.push(item);
            return ControlFlow::Continue(());
        }
        // Alone and still too large: its start is shown.
        self.full = true;
        self.cut_from = Some(size.unwrap_or(item.text.len() as u64));
        let text = cut_to_budget(&item.text, self.budget).unwrap_or(&item.text).to_owned();
        self.all_bare = is_bare;
        self.items.push(ListItem { text, bare: item.bare });
        ControlFlow::Continue(())
    }

    /// The result, after all values were offered or `push` reported that there is no room.
    pub fn finish(self) -> QueryOutput {
        let more = self.seen > self.shown_until();
        self.into_output(if more { Some(ListRest::Unknown) } else { None })
    }

    /// The result, when the total number of values is known.
    pub fn finish_of(self, total: u64) -> QueryOutput {
        let rest = total.saturating_sub(self.shown_until());
        self.into_output((rest > 0).then_some(ListRest::Known(rest)))
    }

    /// How many of the values are shown or were passed over.
    fn shown_until(&self) -> u64 {
        self.seen.min(self.skip) + self.items.len() as u64
    }

    fn into_output(self, rest: Option<ListRest>) -> QueryOutput {
        let next = self.shown_until();
        let text = if self.items.is_empty() {
            "(empty list)".to_owned()
        } else if self.cut_from.is_some() {
            self.items.into_iter().map(|item| item.text).collect()
        } else if self.all_bare {
            let lines: Vec<String> = self.items.into_iter().map(|item| item.text).collect();
            lines.join("\n")
        } else {
            json_list(&self.items)
        };
        let mut answer = QueryOutput(text);
        if let Some(bytes) = self.cut_from {
            answer = answer.noted(format_args!(
                "this value has {bytes} bytes and was cut; ask for a part of it"
            ));
        }
        match rest {
            None if self.skip > 0 && next == self.seen && self.seen <= self.skip => {
                answer.noted(format_args!("there are only {}", self.seen))
            }
            None => answer,
            Some(ListRest::Unknown) => {
                answer.noted(format_args!("there is more; go on with skip {next}"))
            }
            Some(ListRest::Known(count)) => {
                answer.noted(format_args!("{count} more; go on with skip {next}"))
            }
        }
    }
}

#[derive(Clone, Copy)]
enum ListRest {
    Unknown,
    Known(u64),
}

fn json_list(items: &[ListItem]) -> String {
    let mut out = "[\n".to_owned();
    for (at, item) in items.iter().enumerate() {
        let text = if item.bare { quote_text(&item.text) } else { item.text.replace('\n', "\n  ") };
        let comma = if at + 1 < items.len() { "," } else { "" };
        out.push_str(&format!("  {text}{comma}\n"));
    }
    out.push(']');
    out
}

fn quote_text(text: &str) -> String {
    let mut out = Vec::new();
    crate::json::write_string(text, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// The start of a text that is too long: whole lines if possible, whole characters in any case.
pub(crate) fn cut_to_budget(text: &str, budget: Budget) -> Option<&str> {
    let lines = text.match_indices('\n').nth(budget.lines.get() - 1).map(|(at, _)| at);
    let by_lines =
        lines.map_or(text, |at| text.get(..at).or_report("a line ends at a boundary", text));
    if by_lines.len() <= budget.bytes {
        return lines.map(|_| by_lines);
    }
    let end = (0..=budget.bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let start = by_lines.get(..end).or_report("`end` is a boundary", by_lines);
    Some(
        start
            .rfind('\n')
            .and_then(|at| start.get(..at))
            .filter(|it| !it.is_empty())
            .unwrap_or(start),
    )
}
