//! The tool `stats_describe`.

use haft_core::tool::ToolFailure;
use serde::Serialize;

use haft_core::tool::Json;
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct StatsDescribeArgs {
    /// The numbers
    #[arg(min_len = 1, max_len = 20000, example = vec![3.0, 1.5, 4.0, 1.5])]
    numbers: Vec<f64>,
}

#[derive(Serialize)]
pub(super) struct Description {
    count: usize,
    sum: f64,
    mean: f64,
    min: f64,
    q1: f64,
    median: f64,
    q3: f64,
    max: f64,
    range: f64,
    iqr: f64,
    /// The most frequent numbers; none if all are different.
    mode: Vec<f64>,
    /// Of a sample, by n - 1; 0 for one number.
    variance: f64,
    std_dev: f64,
    /// Of the whole population, by n.
    population_variance: f64,
    population_std_dev: f64,
    p5: f64,
    p10: f64,
    p90: f64,
    p95: f64,
    p99: f64,
}

/// Describes a list of numbers: count, sum, mean, minimum, quartiles, median, maximum, mode, variance, standard
/// deviation and percentiles (linear between neighbours). Use it instead of computing in your head.
///
/// Returns JSON.
#[tool(read_only, artifact = Json)]
pub(super) fn stats_describe(args: StatsDescribeArgs) -> Result<Json<Description>, ToolFailure> {
    let mut numbers = args.numbers;
    numbers.sort_by(f64::total_cmp);
    let description = describe(&numbers);
    let facts = [description.sum, description.range, description.variance, description.mean];
    if facts.iter().any(|it| !it.is_finite()) {
        return Err(ToolFailure::new("the numbers are too large to be summed up; scale them down"));
    }
    Ok(Json(description))
}

#[expect(clippy::cast_precision_loss, reason = "there are few numbers")]
fn describe(sorted: &[f64]) -> Description {
    let count = sorted.len();
    let total = sum(sorted.iter().copied());
    let mean = total / count as f64;
    let squares = sum(sorted.iter().map(|it| (it - mean) * (it - mean)));
    let variance = squares / count.saturating_sub(1).max(1) as f64;
    let population = squares / count as f64;
    let at = |part| quantile(sorted, part);
    Description {
        count,
        sum: total,
        mean,
        min: at(0.0),
        q1: at(0.25),
        median: at(0.5),
        q3: at(0.75),
        max: at(1.0),
        range: at(1.0) - at(0.0),
        iqr: at(0.75) - at(0.25),
        mode: mode(sorted),
        variance,
        std_dev: variance.sqrt(),
        population_variance: population,
        population_std_dev: population.sqrt(),
        p5: at(0.05),
        p10: at(0.1),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
    }
}

/// A sum that keeps what rounding would lose.
pub(super) fn sum(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut sum = 0.0_f64;
    let mut lost = 0.0_f64;
    for it in numbers {
        let next = sum + it;
        lost += if sum.abs() >= it.abs() { (sum - next) + it } else { (it - next) + sum };
        sum = next;
    }
    sum + lost
}

/// The number below which this part of all numbers lies.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place within a short list"
)]
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * sorted.len().saturating_sub(1) as f64;
    let below = place.floor();
    let at = |place: f64| sorted.get(place as usize).copied().unwrap_or(0.0);
    let low = at(below);
    let high = at(place.ceil());
    if low == high { low } else { low + (high - low) * (place - below) }
}

fn mode(sorted: &[f64]) -> Vec<f64> {
    let runs = || sorted.chunk_by(|a, b| a == b);
    let most = runs().map(<[f64]>::len).max().unwrap_or(0);
    if most < 2 {
        return Vec::new();
    }
    let frequent = runs().filter(|run| run.len() == most);
    frequent.filter_map(|run| run.first().copied()).take(MODES).collect()
}

const MODES: usize = 20;
