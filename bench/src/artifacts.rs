//! Large results beside the programs one would otherwise use on them.
//!
//! Everything runs as a process of its own: the peers, and our side as this binary once more (see
//! [`job`]), so that peak memory is that of the one measurement. A process is warm when it is timed: the
//! data is in the page cache and every variant has run once, which is also when its answer is compared.
//! Rounds are interleaved; a figure is the median, a ratio the median of the ratios of each round to the
//! first variant of the row.

mod data;
pub(crate) mod job;
mod process;
mod rows;
mod table;

#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal};

use self::data::Data;
use self::process::{Measured, Runner};
use self::rows::Spec;
use self::table::{Entry, Table};
use crate::{Sink, measure::median};

/// What to measure with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Bytes of the log.
    pub(crate) bytes: u64,
    pub(crate) rounds: usize,
    /// Whether the data stays when all is done.
    pub(crate) keep: bool,
}

/// Makes the data, measures every row and removes the data.
///
/// # Errors
///
/// When data cannot be written, a variant gives a wrong answer or a row cannot be printed.
pub(crate) fn run(options: Options, print: Sink<'_>) -> Result<(), String> {
    progress(&format!("writing {} MiB of data", options.bytes / MIB));
    let data = Data::make(options.bytes)?;
    warn_if_busy();
    let agent = Runner::new(data.folder())?;
    let specs = rows::all(&data);
    for (number, spec) in (1..).zip(&specs) {
        progress(&format!("{} ({number} of {})", spec.name, specs.len()));
        let row = measure(&agent, spec, options.rounds)?;
        clear_progress();
        print(&row)?;
    }
    if options.keep {
        crate::note(&format!("the data is kept in {}", data.keep().display()));
    }
    Ok(())
}

/// Says so if others work on this machine: figures are rough then.
fn warn_if_busy() {
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.and_then(|it| it.split_whitespace().next()?.parse::<f64>().ok());
    if let Some(load) = load.filter(|load| *load > 1.5) {
        crate::note(&format!("this machine is busy (load {load}): figures are rough"));
    }
}

/// Runs all variants once, to compare answers and to see their memory, then round by round.
fn measure(agent: &Runner, spec: &Spec, rounds: usize) -> Result<Table, String> {
    let mut firsts: Vec<Option<Measured>> = Vec::new();
    for variant in &spec.variants {
        firsts.push(agent.watch(variant).map_err(|error| format!("{}: {error}", variant.name))?);
    }
    let answers = || spec.variants.iter().zip(&firsts).filter(|(variant, _)| variant.compared);
    let mut answers = answers().filter_map(|(it, first)| Some((it.name, &first.as_ref()?.answer)));
    if let Some((base, expected)) = answers.next()
        && let Some((name, answer)) = answers.find(|(_, answer)| *answer != expected)
    {
        let row = spec.name;
        return Err(format!("{row}: `{name}` answers `{answer}` where `{base}` has `{expected}`"));
    }
    let mut samples = vec![Vec::with_capacity(rounds); spec.variants.len()];
    for round in 0..rounds {
        for offset in 0..spec.variants.len() {
            let index = (round + offset) % spec.variants.len();
            let (Some(variant), Some(Some(_)), Some(samples)) =
                (spec.variants.get(index), firsts.get(index), samples.get_mut(index))
            else {
                continue;
            };
            let timed = agent.time(variant)?.ok_or("a program is gone")?;
            samples.push(timed.seconds(spec.clock) * 1000.0);
        }
    }
    let base = samples.iter().find(|samples| !samples.is_empty()).cloned().unwrap_or_default();
    let variants = spec.variants.iter().zip(&firsts).zip(&samples);
    let entries = variants.map(|((variant, first), samples)| Entry {
        name: variant.name,
        milliseconds: first.is_some().then(|| median(samples.iter().copied())),
        ratio: first
            .is_some()
            .then(|| median(samples.iter().zip(&base).map(|(it, base)| it / base))),
        peak_kib: first.as_ref().and_then(|first| first.peak_kib),
    });
    Ok(Table { name: spec.name, target: spec.target, entries: entries.collect() })
}

/// A line of progress; on a terminal it replaces the last one.
#[expect(clippy::print_stderr, reason = "a command-line program")]
fn progress(text: &str) {
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[Khaft-bench: {text}");
    } else {
        crate::note(text);
    }
}

#[expect(clippy::print_stderr, reason = "a command-line program")]
fn clear_progress() {
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

const MIB: u64 = 1024 * 1024;
