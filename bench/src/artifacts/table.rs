//! A row with times and memory.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::report::{Format, OURS, OURS_BESIDE, Print, print_line};

/// One row, measured.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) target: &'static str,
    pub(crate) entries: Vec<Entry>,
}

/// A variant. Without a time it is not installed.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) milliseconds: Option<f64>,
    /// To the first variant that is installed.
    pub(crate) ratio: Option<f64>,
    pub(crate) peak_kib: Option<u64>,
}

/// The JSON form, in the manner of the other benchmarks; memory in MiB by variant.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    ours: Option<f64>,
    unit: &'a str,
    /// Other ways of our own.
    beside: Map<String, Value>,
    peers: Map<String, Value>,
    ratio: Option<f64>,
    peak_mib: Map<String, Value>,
    target: &'a str,
}

impl Print for Table {
    fn print(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Table => self.print_table(out),
            Format::JsonLines => self.print_json(out),
        }
    }
}

impl Table {
    fn print_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let target = if self.target.is_empty() {
            String::new()
        } else {
            format!("; target {}", self.target)
        };
        writeln!(out, "{} (ms, ratio, peak MiB{target})", self.name)?;
        for entry in &self.entries {
            let (Some(time), Some(ratio)) = (entry.milliseconds, entry.ratio) else {
                writeln!(out, "  {:<24} not installed", entry.name)?;
                continue;
            };
            write!(out, "  {:<24} {time:>10.3} {ratio:>8.2} x", entry.name)?;
            match entry.peak_kib {
                Some(peak) => writeln!(out, " {:>9.1}", mib(peak))?,
                None => writeln!(out, "         -")?,
            }
        }
        writeln!(out)
    }

    fn print_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let ours = self.entries.iter().find(|entry| entry.name == OURS);
        let others = self.entries.iter().filter(|entry| entry.name != OURS);
        let (beside, peers): (Vec<_>, Vec<_>) =
            others.partition(|entry| entry.name.starts_with(OURS_BESIDE));
        let time = |entry: &Entry| {
            let time = entry.milliseconds.map_or(json!("not installed"), |it| json!(rounded(it)));
            (entry.name.to_owned(), time)
        };
        let peak =
            |entry: &Entry| Some((entry.name.to_owned(), json!(rounded(mib(entry.peak_kib?)))));
        let line = Line {
            name: self.name,
            ours: ours.and_then(|entry| entry.milliseconds).map(rounded),
            unit: "ms",
            beside: beside.into_iter().map(time).collect(),
            peers: peers.into_iter().map(time).collect(),
            ratio: ours.and_then(|entry| entry.ratio).map(rounded),
            peak_mib: self.entries.iter().filter_map(peak).collect(),
            target: self.target,
        };
        print_line(out, &line)
    }
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
