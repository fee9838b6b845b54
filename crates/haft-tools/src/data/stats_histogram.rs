//! The tool `stats_histogram`.

use haft_core::tool::ToolFailure;
use serde::Serialize;

use haft_core::tool::Json;
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct StatsHistogramArgs {
    /// The numbers
    #[arg(min_len = 1, max_len = 20000, example = vec![3.0, 1.5, 4.0, 1.5])]
    numbers: Vec<f64>,
    /// How many ranges of the same width
    #[arg(default = 10, min = 1, max = 100)]
    bins: u32,
}

#[derive(Serialize)]
pub(super) struct Histogram {
    bins: Vec<Bin>,
    count: usize,
    min: f64,
    max: f64,
}

#[derive(Serialize)]
struct Bin {
    from: f64,
    to: f64,
    count: usize,
    percent: f64,
}

/// Counts how a list of numbers is distributed over ranges of the same width.
///
/// Returns JSON: `bins`, each with `from`, `to`, `count` and `percent`. A number belongs to the bin that begins
/// with it; the last bin has its end too. If all numbers are equal there is one bin.
#[tool(read_only, artifact = Json)]
pub(super) fn stats_histogram(args: StatsHistogramArgs) -> Result<Json<Histogram>, ToolFailure> {
    let numbers = args.numbers;
    let min = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let max = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = (max - min) / f64::from(args.bins);
    if !width.is_finite() {
        return Err(ToolFailure::new("the numbers are too far apart; scale them down"));
    }
    let bins = if width > 0.0 { args.bins } else { 1 };
    let edge = |at: u32| if at == bins { max } else { width.mul_add(f64::from(at), min) };
    let edges: Vec<f64> = (0..=bins).map(edge).collect();
    let mut counts = vec![0_usize; edges.len() - 1];
    for number in &numbers {
        let place = edges.partition_point(|edge| edge <= number).saturating_sub(1);
        if let Some(count) = counts.get_mut(place.min(edges.len() - 2)) {
            *count += 1;
        }
    }
    let ranges = edges.iter().zip(edges.iter().skip(1)).zip(&counts);
    let bins = ranges.map(|((from, to), count)| new_bin(*from, *to, *count, numbers.len()));
    Ok(Json(Histogram { bins: bins.collect(), count: numbers.len(), min, max }))
}

#[expect(clippy::cast_precision_loss, reason = "a percentage is rounded")]
fn new_bin(from: f64, to: f64, count: usize, all: usize) -> Bin {
    let percent = (count as f64 * 10_000.0 / all as f64).round() / 100.0;
    Bin { from, to, count, percent }
}
