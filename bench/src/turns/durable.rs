//! Turns in an SQLite file with default settings: every commit is brought to the disk.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use haft::stores::SqliteStore;
use tempfile::TempDir;

use super::job::{Figures, Job};
use super::runtime;
use super::table::{Bound, Entry, Table};
use super::workload::{self, Ours, Turns, batch, forecast, now};
use crate::measure::median;

/// Runs turns one after the other and many at once, each way in processes of their own.
pub(crate) fn measure(rounds: usize) -> Result<Table, String> {
    let mut entries = Vec::new();
    for (name, turns, at_once) in [("alone", 300, 1), ("1000 at once", 5_000, 1000)] {
        let mut samples: Vec<Figures> = Vec::new();
        for _ in 0..rounds {
            samples.extend(start(turns, at_once, |_| Vec::new())?);
        }
        let get = |what: &str| median(samples.iter().filter_map(|it| it.get(what)).copied());
        let speed = Entry::new(format!("haft, {name}"), get("speed")).unit("turns/s");
        let speed = if at_once > 1 { speed.aim(Bound::AtLeast(5000.0)) } else { speed };
        let transactions = Entry::new(format!("haft, {name}, transactions"), get("transactions"));
        entries.extend([speed, transactions.unit("per turn")]);
        if let Some(syncs) = syncs(turns, at_once)? {
            let per_iteration = syncs / turns as f64 / 3.0;
            let entry = Entry::new(format!("haft, {name}, fsyncs"), per_iteration);
            entries.push(entry.unit("per iteration").aim(Bound::AtMost(2.0)));
        } else {
            crate::note("strace is not installed or not allowed: fsyncs are not counted");
        }
    }
    Ok(Table::new("turns/durable", "SQLite with default settings", entries))
}

/// Runs turns in a process, below another program if `outer` names one.
fn start(
    turns: usize,
    at_once: usize,
    outer: impl FnOnce(&Path) -> Vec<OsString>,
) -> Result<Option<Figures>, String> {
    let folder = TempDir::new().map_err(|error| error.to_string())?;
    let outer = outer(folder.path());
    Job::Durable { folder: folder.path().to_owned(), turns, at_once }.start(&outer)
}

/// How many calls of `fsync` and `fdatasync` turns make, without those that opening and closing an empty
/// store makes.
fn syncs(turns: usize, at_once: usize) -> Result<Option<f64>, String> {
    let counts = TempDir::new().map_err(|error| error.to_string())?;
    let output = counts.path().join("counts");
    let mut found = [0.0; 2];
    for (turns, found) in [turns, 0].into_iter().zip(&mut found) {
        let options = ["-f", "-qq", "-c", "-e", "trace=fsync,fdatasync", "-o"];
        let strace = |_: &Path| {
            let words = ["strace"].into_iter().chain(options).map(OsString::from);
            words.chain([output.clone().into()]).collect()
        };
        match start(turns, at_once, strace) {
            Ok(Some(_)) => *found = counted(&fs::read_to_string(&output).unwrap_or_default()),
            _ => return Ok(None),
        }
    }
    let [all, empty] = found;
    Ok(Some(all - empty))
}

/// The calls in a summary of strace: the fourth column, the last one names them.
pub(crate) fn counted(summary: &str) -> f64 {
    let lines = summary.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let calls = lines.filter_map(|words| match words.last()? {
        &"fsync" | &"fdatasync" => words.get(3)?.parse::<f64>().ok(),
        _ => None,
    });
    calls.sum()
}

/// Runs turns, so many at once, on a store in a folder.
pub(crate) fn run(folder: &Path, turns: usize, at_once: usize) -> Result<Figures, String> {
    let runtime = runtime()?;
    let store = SqliteStore::open(folder).map_err(|error| error.to_string())?;
    let file = store.file().to_owned();
    let agent = workload::agent(Arc::new(store), forecast()?);
    let agent = agent.build().map_err(|error| error.to_string())?;
    let work: Arc<dyn Turns> = Arc::new(Ours(agent));
    let before = transactions(&file);
    let begun = now();
    for _ in 0..turns / at_once {
        batch(&runtime, &work, at_once)?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let after = transactions(&file);
    let count = turns.max(1) as f64;
    let figures = [
        ("speed", count / seconds),
        ("transactions", f64::from(after.wrapping_sub(before)) / count),
    ];
    Ok(figures.map(|(name, value)| (name.to_owned(), value)).into())
}

/// How many transactions have changed the file: a counter in the index of the log, which stands in the file
/// beside it, third of its numbers.
fn transactions(file: &Path) -> u32 {
    let mut index = file.as_os_str().to_owned();
    index.push("-shm");
    let bytes = fs::read(index).unwrap_or_default();
    let counter = bytes.get(8..12).and_then(|it| it.try_into().ok());
    counter.map_or(0, u32::from_ne_bytes)
}
