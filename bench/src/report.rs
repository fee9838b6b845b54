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

/// A row with the ratios to the floor that some of its entries should have at most.
#[derive(Clone, Debug)]
pub(crate) struct AimedRow {
    row: Row,
    /// By the name of the entry.
    aims: Vec<(&'static str, f64)>,
}

/// The JSON form. `ratio` is ours to the floor, `null` while there is no such pair.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    ours: Option<f64>,
    unit: &'a str,
    peers: Map<String, Value>,
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    met: Option<bool>,
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
        self.print_with(&[], format, out)
    }
}

impl Print for AimedRow {
    fn print(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        self.row.print_with(&self.aims, format, out)
    }
}

impl Row {
    /// The same row with the largest ratios to the floor that entries should have, by their names.
    pub(crate) fn aims(self, aims: impl IntoIterator<Item = (&'static str, f64)>) -> AimedRow {
        AimedRow { row: self, aims: aims.into_iter().collect() }
    }

    fn print_with(
        &self,
        aims: &[(&str, f64)],
        format: Format,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match format {
            Format::Table => self.print_table(aims, out),
            Format::JsonLines => self.print_json(aims, out),
        }
    }

    fn print_table(&self, aims: &[(&str, f64)], out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} ({})", self.name, self.unit)?;
        for entry in &self.entries {
            write!(out, "  {:<44} {:>14}", entry.name, grouped(entry.value))?;
            if let Some(ratio) = entry.ratio {
                write!(out, " {ratio:>8.2} x")?;
            }
            if let (Some(aim), Some(ratio)) = (aim_of(aims, entry), entry.ratio) {
                let met = if ratio <= aim { "met" } else { "MISSED" };
                write!(out, "  (aim: at most {aim:.2} x: {met})")?;
            }
            writeln!(out)?;
        }
        writeln!(out)
    }

    fn print_json(&self, aims: &[(&str, f64)], out: &mut dyn Write) -> io::Result<()> {
        let is_ours = |it: &&Entry| it.name == OURS || it.name.starts_with(OURS_BESIDE);
        let peers = self.entries.iter().filter(|it| !is_ours(it));
        let peers: Map<_, _> =
            peers.map(|it| (it.name.to_owned(), rounded(it.value).into())).collect();
        let floor: Map<_, _> =
            peers.get(FLOOR).map(|it| (FLOOR.to_owned(), it.clone())).into_iter().collect();
        let ours = self.entries.iter().find(|it| it.name == OURS);
        print_line(out, &self.line(&self.name, ours, peers).aimed(aims, ours))?;
        for entry in &self.entries {
            if let Some(way) = entry.name.strip_prefix(OURS_BESIDE) {
                let name = format!("{}/{way}", self.name);
                let line = self.line(&name, Some(entry), floor.clone());
                print_line(out, &line.aimed(aims, Some(entry)))?;
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
        let ours = ours.map(|it| rounded(it.value));
        Line { name, ours, unit: self.unit, peers, ratio, target: None, met: None }
    }
}

impl Line<'_> {
    fn aimed(self, aims: &[(&str, f64)], entry: Option<&Entry>) -> Self {
        let target = entry.and_then(|it| aim_of(aims, it));
        let met = target.zip(entry.and_then(|it| it.ratio)).map(|(aim, ratio)| ratio <= aim);
        Self { target, met, ..self }
    }
}

/// The aim of an entry.
fn aim_of(aims: &[(&str, f64)], entry: &Entry) -> Option<f64> {
    aims.iter().find(|(name, _)| *name == entry.name).map(|(_, aim)| *aim)
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
