//! Turns: how many, how much each of them costs, and what they leave on the disk.
//!
//! The turn has three iterations; the first two ask for one call each, the third answers. Ours keeps the whole
//! contract (a journal before every effect, records, leases, deadlines, cancellation, events), the floor is the
//! same turn on bare Tokio (see [`workload`]), and peers run the same job by their own loops (see [`peers`]). All run on
//! a runtime of two workers, whose times are *CPU time of the process*, because turns of one batch run on both; the
//! ratio is the median of the ratios per round.
//!
//! What a waiting turn holds is the growth of the resident set of a process of its own (see [`job`]). Calls of
//! `fsync` are counted by `strace`, from outside of such a process.

mod alone;
mod durable;
mod idle;
pub(crate) mod job;
mod overhead;
#[cfg(feature = "peers")]
mod peers;
pub(crate) mod table;
mod workload;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::runtime::Runtime;

use self::table::{Bound, Entry, Table};
use self::workload::{Floor, Listening, Turns};
use crate::{Sink, report::FLOOR, report::OURS};

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) rounds: usize,
    /// Whether as many wait as the aim says, and not only a tenth.
    pub(crate) full: bool,
}

/// Measures every row.
///
/// # Errors
///
/// When a turn does not end as it should, or a row cannot be printed.
pub(crate) fn run(options: Options, print: Sink<'_>) -> Result<(), String> {
    let runtime = runtime()?;
    crate::note(&format!("{BATCH} turns at once, {} rounds", options.rounds));
    for table in in_memory(&runtime, options.rounds)? {
        print(&table)?;
    }
    if cfg!(feature = "allocations") {
        return Ok(());
    }
    crate::note("one turn at a time");
    print(&overhead::measure(&runtime)?)?;
    drop(runtime);
    crate::note("what one turn costs");
    match alone::measure()? {
        Some(table) => print(&table)?,
        None => crate::note("valgrind is not installed: instructions are not counted"),
    }
    crate::note("turns that wait");
    print(&idle::measure(options.full)?)?;
    crate::note("turns on the disk");
    print(&durable::measure(options.rounds)?)
}

/// What runs turns: two workers, as the aims have it.
fn runtime() -> Result<Runtime, String> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().map_err(|error| error.to_string())
}

/// One way of running turns.
type Variant = (&'static str, fn() -> Result<Arc<dyn Turns>, String>);

/// The floor is written by hand; the peers run the same job by their own loops.
const VARIANTS: &[Variant] = &[
    (FLOOR, || Ok(Arc::new(Floor))),
    (OURS, || workload::in_memory(Listening::Counting)),
    (UNOBSERVED, || workload::in_memory(Listening::Nobody)),
    #[cfg(feature = "peers")]
    (peers::RIG, || Ok(peers::rig())),
    #[cfg(feature = "peers")]
    (peers::ADK, peers::adk),
];

const UNOBSERVED: &str = "haft, nobody listens";

/// Whether the aims are about a row.
fn is_ours(name: &str) -> bool {
    [OURS, UNOBSERVED].contains(&name)
}

#[cfg(not(feature = "allocations"))]
fn in_memory(runtime: &Runtime, rounds: usize) -> Result<Vec<Table>, String> {
    use crate::measure::median;
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); VARIANTS.len()];
    for round in 0..=rounds {
        for ((_, make), samples) in VARIANTS.iter().zip(&mut samples) {
            // A store of its own each time: what is kept of earlier turns is no part of the cost.
            let sample = Sample::take(runtime, &make()?, BATCH)?;
            // The first round warms up.
            if round > 0 {
                samples.push(sample);
            }
        }
    }
    let per_turn = |samples: &[Sample], what: fn(&Sample) -> f64| {
        median(samples.iter().map(what)) / BATCH as f64
    };
    let floor = samples.first().map(Vec::as_slice).unwrap_or_default();
    let ratio = |samples: &[Sample], what: fn(&Sample) -> f64| {
        median(samples.iter().zip(floor).map(|(it, floor)| what(it) / what(floor)))
    };
    let rows = || VARIANTS.iter().map(|(name, _)| *name).zip(&samples);
    let speed = rows().map(|(name, samples)| {
        let entry = Entry::new(name, 1.0 / per_turn(samples, |it| it.wall));
        let entry = entry.ratio(1.0 / ratio(samples, |it| it.wall));
        if is_ours(name) { entry.ratio_aim(Bound::AtLeast(0.25)) } else { entry }
    });
    let cpu = rows().map(|(name, samples)| {
        let entry = Entry::new(name, per_turn(samples, |it| it.cpu) * 1e6);
        let entry = entry.ratio(ratio(samples, |it| it.cpu));
        if is_ours(name) { entry.ratio_aim(Bound::AtMost(5.0)) } else { entry }
    });
    Ok(vec![
        Table::new("turns/memory", "turns/s", speed.collect()),
        Table::new("turns/memory/cpu", "µs of CPU time per turn", cpu.collect()),
    ])
}

/// Allocations do not vary once warm.
#[cfg(feature = "allocations")]
fn in_memory(runtime: &Runtime, _rounds: usize) -> Result<Vec<Table>, String> {
    let mut entries: Vec<Entry> = Vec::new();
    for &(name, make) in VARIANTS {
        workload::batch(runtime, &make()?, BATCH)?;
        let turns = make()?;
        let mut ran = Ok(());
        let counted = crate::allocations::during(|| ran = workload::batch(runtime, &turns, BATCH));
        ran?;
        let value = counted / BATCH as f64;
        let floor = entries.first().map_or(value, |floor| floor.value);
        let entry = Entry::new(name, value).ratio(value / floor);
        entries.push(if is_ours(name) { entry.aim(Bound::AtMost(80.0)) } else { entry });
    }
    Ok(vec![Table::new("turns/memory", "allocations per turn", entries)])
}

/// One batch, in seconds.
#[cfg(not(feature = "allocations"))]
#[derive(Clone, Copy, Debug)]
struct Sample {
    wall: f64,
    cpu: f64,
}

#[cfg(not(feature = "allocations"))]
impl Sample {
    fn take(runtime: &Runtime, turns: &Arc<dyn Turns>, count: usize) -> Result<Self, String> {
        let wall = workload::now();
        let cpu = cpu_time::ProcessTime::now();
        workload::batch(runtime, turns, count)?;
        Ok(Self { wall: wall.elapsed().as_secs_f64(), cpu: cpu.elapsed().as_secs_f64() })
    }
}

const BATCH: usize = 10_000;
