//! A row with aims.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::report::{FLOOR, Format, Print, grouped, print_line};

/// One measured thing.
#[derive(Debug)]
pub(crate) struct Table {
    name: &'static str,
    unit: &'static str,
    entries: Vec<Entry>,
}

/// One line of it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) value: f64,
    /// To the floor, where there is one.
    ratio: Option<f64>,
    /// The unit, where it is not that of the table.
    unit: Option<&'static str>,
    aim: Option<Bound>,
    /// What the ratio should be.
    ratio_aim: Option<Bound>,
}

/// What a figure should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(bound) => format!("at least {}", grouped(bound)),
            Self::AtMost(bound) => format!("at most {}", grouped(bound)),
        }
    }

    fn ratio_text(self) -> String {
        match self {
            Self::AtLeast(bound) => format!("at least {bound:.2} x the floor"),
            Self::AtMost(bound) => format!("at most {bound:.2} x the floor"),
        }
    }
}

impl Entry {
    pub(crate) fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value, ratio: None, unit: None, aim: None, ratio_aim: None }
    }

    pub(crate) fn ratio(self, ratio: f64) -> Self {
        Self { ratio: Some(ratio), ..self }
    }

    pub(crate) fn unit(self, unit: &'static str) -> Self {
        Self { unit: Some(unit), ..self }
    }

    pub(crate) fn aim(self, aim: Bound) -> Self {
        Self { aim: Some(aim), ..self }
    }

    #[cfg(any(not(feature = "allocations"), test))]
    pub(crate) fn ratio_aim(self, aim: Bound) -> Self {
        Self { ratio_aim: Some(aim), ..self }
    }

    /// The aims with what they are about, in words.
    fn aims(&self) -> impl Iterator<Item = (String, bool)> {
        let value = self.aim.map(|aim| (aim.text(), aim.is_met(self.value)));
        let of_floor = self.ratio_aim.zip(self.ratio);
        let of_floor = of_floor.map(|(aim, ratio)| (aim.ratio_text(), aim.is_met(ratio)));
        value.into_iter().chain(of_floor)
    }
}

impl Table {
    pub(crate) fn new(name: &'static str, unit: &'static str, entries: Vec<Entry>) -> Self {
        Self { name, unit, entries }
    }

    fn print_table(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} ({})", self.name, self.unit)?;
        for entry in &self.entries {
            write!(out, "  {:<44} {:>14}", entry.name, grouped(entry.value))?;
            match entry.ratio {
                Some(ratio) => write!(out, " {ratio:>8.2} x")?,
                None => write!(out, "           ")?,
            }
            if let Some(unit) = entry.unit {
                write!(out, "  {unit}")?;
            }
            for (aim, is_met) in entry.aims() {
                let met = if is_met { "met" } else { "MISSED" };
                write!(out, "  (aim: {aim}: {met})")?;
            }
            writeln!(out)?;
        }
        writeln!(out)
    }

    fn print_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let (floor, ours): (Vec<_>, Vec<_>) = self.entries.iter().partition(|it| it.name == FLOOR);
        let peers: Map<_, _> =
            floor.iter().map(|it| (it.name.clone(), json!(rounded(it.value)))).collect();
        for entry in ours {
            print_line(
                out,
                &Line {
                    name: format!("{}/{}", self.name, entry.name),
                    ours: rounded(entry.value),
                    unit: entry.unit.unwrap_or(self.unit),
                    peers: &peers,
                    ratio: entry.ratio.map(rounded),
                    target: entry.aims().map(|(aim, _)| aim).next(),
                    met: entry.aims().map(|(_, is_met)| is_met).next(),
                },
            )?;
        }
        Ok(())
    }
}

impl Print for Table {
    fn print(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.print_table(out),
            Format::JsonLines => self.print_json(out),
        }
    }
}

/// The JSON form, in the manner of the other benchmarks.
#[derive(Serialize)]
struct Line<'a> {
    name: String,
    ours: f64,
    unit: &'a str,
    peers: &'a Map<String, Value>,
    ratio: Option<f64>,
    target: Option<String>,
    met: Option<bool>,
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
