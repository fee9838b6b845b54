//! One row per measured thing, as a table for people or as JSON lines for programs.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::measure::Figure;

/// The name under which Haft's own variant runs.
pub(crate) const OURS: &str = "haft";
/// What the names of its further variants begin with. Each gets a JSON line of its own.
pub(crate) const OURS_BESIDE: &str = "haft, ";
/// The name of the floor, where a benchmark has one.
pub(crate) const FLOOR: &str = "floor";

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Table,
    JsonLines,
}

/// One measured thing: ours, the floor and the peers.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) entries: Vec<Entry>,
}

/// One line of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    /// Ratio to the floor; `None` where there is no floor.
    pub(crate) ratio: Option<f64>,
}

impl From<&Figure> for Entry {
    fn from(it: &Figure) -> Self {
        Self { name: it.name, value: it.value, ratio: Some(it.ratio) }
    }
}

/// The JSON form. `ratio` is ours to the floor, `null` while there is no such pair.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    ours: Option<f64>,
    unit: &'a str,
    peers: Map<String, Value>,
    ratio: Option<f64>,
}

/// Something with both forms.
pub(crate) trait Print {
    /// Prints it to `out`.
    ///
    /// # Errors
    ///
    /// When `out` cannot be written.
    fn print(&self, format: Format, out: &mut dyn Write) -> io::Result<()>;
}

impl Print for Row {
    fn print(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.print_table(out),
            Format::JsonLines => self.print_json(out),
        }
    }
}

impl Row {
    fn print_table(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} ({})", self.name, self.unit)?;
        for entry in &self.entries {
            write!(out, "  {:<44} {:>14}", entry.name, grouped(entry.value))?;
            match entry.ratio {
                Some(ratio) => writeln!(out, " {ratio:>8.2} x")?,
                None => writeln!(out)?,
            }
        }
        writeln!(out)
    }

    fn print_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let is_ours = |it: &&Entry| it.name == OURS || it.name.starts_with(OURS_BESIDE);
        let peers = self.entries.iter().filter(|it| !is_ours(it));
        let peers: Map<_, _> =
            peers.map(|it| (it.name.to_owned(), rounded(it.value).into())).collect();
        let floor: Map<_, _> =
            peers.get(FLOOR).map(|it| (FLOOR.to_owned(), it.clone())).into_iter().collect();
        let ours = self.entries.iter().find(|it| it.name == OURS);
        print_line(out, &self.line(&self.name, ours, peers))?;
        for entry in &self.entries {
            if let Some(way) = entry.name.strip_prefix(OURS_BESIDE) {
                let name = format!("{}/{way}", self.name);
                print_line(out, &self.line(&name, Some(entry), floor.clone()))?;
            }
        }
        Ok(())
    }

    fn line<'a>(
        &'a self,
        name: &'a str,
        ours: Option<&Entry>,
        peers: Map<String, Value>,
    ) -> Line<'a> {
        let ratio = ours.and_then(|it| it.ratio).map(rounded);
        Line { name, ours: ours.map(|it| rounded(it.value)), unit: self.unit, peers, ratio }
    }
}

/// One JSON object on a line of its own.
pub(crate) fn print_line(out: &mut dyn Write, line: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", serde_json::to_string(line)?)
}

/// Three decimals: more would only be noise.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// `12345.6` as `12,346`; small values keep one decimal unless they are whole.
pub(crate) fn grouped(value: f64) -> String {
    if value < 100.0 && value.fract() != 0.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
