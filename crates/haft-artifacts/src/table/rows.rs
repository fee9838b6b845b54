//! Rows of the result: CSV within the budget.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use haft_core::artifact::{Budget, QueryOutput};

use super::value::compare_cells;

/// A row of the result.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// By what it is sorted.
    pub(super) keys: Vec<Option<String>>,
    pub(super) line: String,
}

/// Appends a field of CSV.
pub(super) fn push_field(line: &mut String, field: &str) {
    if !field.contains([',', '"', '\n', '\r']) {
        line.push_str(field);
        return;
    }
    line.push('"');
    line.push_str(&field.replace('"', "\"\""));
    line.push('"');
}

/// Compares two rows by their keys, of which some are in descending order.
pub(super) fn compare_rows(left: &Row, right: &Row, descending: &[bool]) -> Ordering {
    for ((left, right), is_descending) in left.keys.iter().zip(&right.keys).zip(descending) {
        let order = compare_cells(left.as_deref(), right.as_deref());
        let order = if *is_descending { order.reverse() } else { order };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// The rows that are shown, as far as there is room for them.
#[derive(Debug)]
pub(super) struct ShownRows {
    budget: Budget,
    /// How many rows to leave out: those of earlier pages.
    skip: u64,
    seen: u64,
    shown: u64,
    text: String,
    lines: usize,
    is_cut: bool,
    /// Whether there was no room for a row.
    is_full: bool,
}

impl ShownRows {
    pub(super) fn new(budget: Budget, skip: u64) -> Self {
        let text = String::new();
        Self { budget, skip, seen: 0, shown: 0, text, lines: 0, is_cut: false, is_full: false }
    }

    /// Writes the names of the columns.
    pub(super) fn header<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        for (at, name) in names.into_iter().enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            push_field(&mut self.text, name);
        }
        self.lines = 1;
    }

    pub(super) fn has_header(&self) -> bool {
        self.lines > 0
    }

    /// Adds the next row; `Break` if there is no room for it and everything after it.
    pub(super) fn push(&mut self, line: &str) -> ControlFlow<()> {
        self.seen += 1;
        if self.seen <= self.skip {
            return ControlFlow::Continue(());
        }
        let lines = 1 + line.matches('\n').count();
        let bytes = self.text.len() + line.len() + 1;
        let fits = self.lines + lines <= self.budget.lines.get() && bytes <= self.budget.bytes;
        if self.is_full || !fits && self.shown > 0 {
            self.is_full = true;
            return ControlFlow::Break(());
        }
        self.shown += 1;
        self.lines += lines;
        self.text.push('\n');
        if fits {
            self.text.push_str(line);
        } else {
            // The first row is shown in any case, as far as there is room.
            let room = self.budget.bytes.saturating_sub(self.text.len());
            let end = (0..=room.min(line.len())).rev().find(|at| line.is_char_boundary(*at));
            let start = line.get(..end.unwrap_or(0)).unwrap_or_default();
            let kept = start.lines().take(self.budget.lines.get()).collect::<Vec<_>>();
            self.text.push_str(&kept.join("\n"));
            self.is_cut = true;
        }
        ControlFlow::Continue(())
    }

    /// The result. `total` is the number of rows, if it is known.
    pub(super) fn finish(self, total: Option<u64>) -> QueryOutput {
        let next = self.skip + self.shown;
        if self.shown == 0 {
            let what = if self.seen > 0 { "no more rows" } else { "no rows" };
            return QueryOutput::sentinel(what);
        }
        let mut output = QueryOutput::whole(self.text);
        if self.is_cut {
            output = output.noted("the row is too long and was cut; select fewer columns");
        }
        match total.map(|total| total.saturating_sub(next)) {
            None if self.is_full => {
                output.noted(format_args!("there is more; go on with skip {next}"))
            }
            None | Some(0) => output,
            Some(rest) => output.noted(format_args!("{rest} more; go on with skip {next}")),
        }
    }
}
