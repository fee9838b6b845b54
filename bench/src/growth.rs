//! How costs grow: each row is measured at four sizes, and the exponent of the growth is fitted.
//!
//! Times are CPU times of this process, the smallest of three runs, so that what else the machine does counts little;
//! sizes of stores are bytes. A cost of `a * n^b` has the exponent `b`: 1 is linear, and 0 is constant. What must not
//! grow is also held by tests that count operations (`haft::it::growth`), because times are no test.

mod requests;
mod stores;
#[cfg(test)]
mod tests;
mod turns;

use crate::Sink;
use crate::turns::table::{Bound, Entry, Table};

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Whether only small sizes are measured.
    pub(crate) quick: bool,
    /// Whether a store of a million turns and the garbage of a hundred thousand are measured, which takes long.
    pub(crate) full: bool,
}

/// Something whose cost may grow.
#[derive(Clone, Copy)]
struct Growth {
    name: &'static str,
    unit: &'static str,
    /// What the sizes are.
    of: &'static str,
    sizes: [usize; 4],
    /// The largest exponent that is not a mistake: a fit of four noisy figures is a little off.
    exponent: f64,
    /// What the cost at the largest size should be at most.
    most: Option<f64>,
    /// The sizes with `--full`, and what the cost at the largest of them should be at most.
    full: Option<([usize; 4], Option<f64>)>,
    cost: fn(usize) -> Result<f64, String>,
}

const ROWS: &[Growth] = &[
    Growth {
        name: "growth/artifacts of one turn",
        unit: "µs of CPU time per turn",
        of: "calls that leave an artifact",
        sizes: [63, 125, 250, 500],
        exponent: 1.25,
        most: Some(50_000.0),
        full: None,
        cost: turns::with_artifacts,
    },
    Growth {
        name: "growth/tools with artifacts",
        unit: "µs of CPU time per iteration",
        of: "tools",
        sizes: [50, 200, 800, 3200],
        exponent: 0.25,
        most: None,
        full: None,
        cost: turns::with_tools,
    },
    Growth {
        name: "growth/iterations in memory",
        unit: "µs of CPU time per turn",
        of: "iterations",
        sizes: [500, 1000, 2000, 4000],
        exponent: 1.25,
        most: None,
        full: None,
        cost: turns::with_iterations,
    },
    Growth {
        name: "growth/stash with a new key per iteration",
        unit: "bytes of the journal",
        of: "iterations",
        sizes: [250, 500, 1000, 2000],
        exponent: 1.15,
        most: None,
        full: None,
        cost: turns::with_stash,
    },
    Growth {
        name: "growth/request without a window",
        unit: "µs of CPU time per request",
        of: "exchanges",
        sizes: [200, 400, 800, 1600],
        exponent: 1.25,
        most: None,
        full: None,
        cost: requests::whole,
    },
    Growth {
        name: "growth/request that is made to fit",
        unit: "µs of CPU time per request",
        of: "exchanges",
        sizes: [200, 400, 800, 1600],
        exponent: 1.25,
        most: None,
        full: None,
        cost: requests::shed,
    },
    Growth {
        name: "growth/records rendered for a later request",
        unit: "records",
        of: "exchanges",
        sizes: [200, 400, 800, 1600],
        exponent: 0.1,
        most: Some(2.0),
        full: None,
        cost: requests::rendered_later,
    },
    Growth {
        name: "growth/later request of a turn",
        unit: "µs of CPU time per iteration, its request written as a whole",
        of: "exchanges",
        sizes: [200, 400, 800, 1600],
        exponent: 1.25,
        most: None,
        full: None,
        cost: requests::later,
    },
    Growth {
        name: "growth/conversation of short exchanges",
        unit: "bytes of the store",
        of: "turns",
        sizes: [50, 100, 200, 400],
        exponent: 1.1,
        most: Some(400.0 * 2048.0),
        full: None,
        cost: stores::conversation,
    },
    Growth {
        name: "growth/garbage collection in memory",
        unit: "µs of CPU time",
        of: "turns with an artifact",
        sizes: [1000, 2000, 4000, 8000],
        exponent: 1.25,
        most: None,
        full: Some(LARGE_GARBAGE),
        cost: stores::garbage_in_memory,
    },
    Growth {
        name: "growth/garbage collection in a directory",
        unit: "µs of CPU time",
        of: "turns with an artifact",
        sizes: [500, 1000, 2000, 4000],
        exponent: 1.25,
        most: None,
        full: Some(LARGE_GARBAGE),
        cost: stores::garbage_in_dir,
    },
    Growth {
        name: "growth/SQLite: list, search, load and claim",
        unit: "µs of CPU time for the four",
        of: "turns in the store",
        sizes: [1000, 3000, 9000, 27_000],
        exponent: 0.25,
        most: None,
        full: Some(([1000, 10_000, 100_000, 1_000_000], None)),
        cost: stores::lookups,
    },
];

/// The sizes of garbage with `--full`: a second for a hundred thousand turns.
const LARGE_GARBAGE: ([usize; 4], Option<f64>) = ([12_500, 25_000, 50_000, 100_000], Some(1e6));

/// Measures every row.
///
/// # Errors
///
/// When a turn does not end as it should, or a row cannot be printed.
pub(crate) fn run(options: Options, print: Sink<'_>) -> Result<(), String> {
    for row in ROWS {
        let mut row = *row;
        if let Some((sizes, most)) = row.full.filter(|_| options.full) {
            (row.sizes, row.most) = (sizes, most);
        }
        if options.quick {
            (row.sizes, row.most) = (row.sizes.map(|size| (size / 5).max(5)), None);
        }
        crate::note(row.name);
        print(&measure(&row)?)?;
    }
    Ok(())
}

fn measure(row: &Growth) -> Result<Table, String> {
    let mut costs = Vec::new();
    for size in row.sizes {
        costs.push((size as f64, (row.cost)(size)?));
    }
    let mut entries: Vec<Entry> = Vec::new();
    for (at, (size, cost)) in costs.iter().enumerate() {
        let entry = Entry::new(format!("haft, {size} {}", row.of), *cost);
        let is_last = at + 1 == costs.len();
        entries.push(match row.most.filter(|_| is_last) {
            Some(most) => entry.aim(Bound::AtMost(most)),
            None => entry,
        });
    }
    let exponent = Entry::new("haft, exponent", growth_exponent(costs.into_iter()));
    entries.push(exponent.unit("").aim(Bound::AtMost(row.exponent)));
    Ok(Table::new(row.name, row.unit, entries))
}

/// The exponent `b` for which `a * n^b` fits best: the slope of the logarithms.
pub(crate) fn growth_exponent(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let points: Vec<(f64, f64)> = points.map(|(n, value)| (n.ln(), value.max(1.0).ln())).collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let x = mean(|it| it.0);
    let y = mean(|it| it.1);
    let covariance: f64 = points.iter().map(|it| (it.0 - x) * (it.1 - y)).sum();
    let variance: f64 = points.iter().map(|it| (it.0 - x).powi(2)).sum();
    covariance / variance
}

/// The CPU time of this process for some work, in microseconds: the smallest of three runs.
fn cpu_time(mut work: impl FnMut() -> Result<(), String>) -> Result<f64, String> {
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let before = cpu_time::ProcessTime::now();
        work()?;
        least = least.min(before.elapsed().as_secs_f64() * 1e6);
    }
    Ok(least)
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
