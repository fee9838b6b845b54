//! Interleaved measurement: every variant is sampled once per round, so that what the machine does
//! meanwhile touches all of them alike.
//!
//! Times are *thread CPU time*. The figure of a variant is the median of its samples; its ratio is
//! the median of the per-round ratios to the floor, which moves far less than the times do.

#[cfg(test)]
mod tests;

use std::{fmt, hint::black_box, time::Duration};

#[cfg(not(feature = "allocations"))]
use cpu_time::ThreadTime;

/// How long and how often to sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    pub(crate) sample: Duration,
    /// How many calls are counted where allocations are.
    #[cfg_attr(not(feature = "allocations"), expect(dead_code, reason = "times are taken here"))]
    pub(crate) counted: u64,
}

impl Plan {
    /// The default: 31 rounds of 6 ms.
    pub(crate) const FULL: Self =
        Self { rounds: 31, sample: Duration::from_millis(6), counted: 100 };
    /// A look in passing: 5 rounds of 2 ms.
    pub(crate) const QUICK: Self =
        Self { rounds: 5, sample: Duration::from_millis(2), counted: 100 };
}

/// One way of doing the work.
pub(crate) struct Variant {
    name: &'static str,
    /// Whether the answer must equal the floor's or only be produced.
    answer: Answer,
    work: Box<dyn Work>,
}

/// What a variant's answer is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Must be the expected text.
    Expected,
    /// Differs by nature, such as the hash of a text that is not canonical.
    Differs,
}

impl Variant {
    /// A variant that does `work`; `show` turns its result into the text that is compared, and is
    /// never timed.
    pub(crate) fn new<T: 'static>(
        name: &'static str,
        work: impl FnMut() -> T + 'static,
        show: fn(T) -> String,
    ) -> Self {
        Self { name, answer: Answer::Expected, work: Box::new(Closure { work, show }) }
    }

    /// The same variant, whose answer is allowed to differ.
    pub(crate) fn differing(self) -> Self {
        Self { answer: Answer::Differs, ..self }
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variant").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The figures of one variant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    /// Nanoseconds of CPU time per call, or allocations per call.
    pub(crate) value: f64,
    /// Ratio to the floor, which is the first variant.
    pub(crate) ratio: f64,
}

/// The unit of [`Figure::value`] in this build.
pub(crate) const UNIT: &str = if cfg!(feature = "allocations") { "allocations" } else { "ns" };

/// Checks that all variants answer alike, then measures them. The first one is the floor.
///
/// # Errors
///
/// A message that names the variant whose answer is not `expected`.
pub(crate) fn compare(
    expected: &str,
    mut variants: Vec<Variant>,
    plan: Plan,
) -> Result<Vec<Figure>, String> {
    for variant in &mut variants {
        let answer = variant.work.answer();
        if variant.answer == Answer::Expected && answer != expected {
            let name = variant.name;
            return Err(format!("`{name}` answers `{answer}` where `{expected}` is expected"));
        }
    }
    Ok(figures(&variants.iter().map(|it| it.name).collect::<Vec<_>>(), &sample(variants, plan)))
}

/// Samples per variant (outer) and round (inner), per call.
#[cfg(not(feature = "allocations"))]
fn sample(mut variants: Vec<Variant>, plan: Plan) -> Vec<Vec<f64>> {
    let calls: Vec<u64> = variants.iter_mut().map(|it| calibrate(it, plan.sample)).collect();
    let mut samples = vec![Vec::with_capacity(plan.rounds); variants.len()];
    for round in 0..plan.rounds {
        // Each round starts with another variant, so that none always follows the same neighbour.
        for offset in 0..variants.len() {
            let index = (round + offset) % variants.len();
            let (Some(variant), Some(&calls), Some(samples)) =
                (variants.get_mut(index), calls.get(index), samples.get_mut(index))
            else {
                continue;
            };
            samples.push(time(variant, calls).as_nanos() as f64 / calls as f64);
        }
    }
    samples
}

/// Allocations per call, which do not vary once warm.
#[cfg(feature = "allocations")]
fn sample(mut variants: Vec<Variant>, plan: Plan) -> Vec<Vec<f64>> {
    let calls = plan.counted;
    let mut counted = Vec::new();
    for variant in &mut variants {
        variant.work.run(calls);
        counted.push(vec![crate::allocations::during(|| variant.work.run(calls)) / calls as f64]);
    }
    counted
}

/// How many calls fill one sample; warms the variant up on the way.
#[cfg(not(feature = "allocations"))]
fn calibrate(variant: &mut Variant, sample: Duration) -> u64 {
    let mut calls = 1;
    loop {
        let spent = time(variant, calls);
        if spent >= sample / 2 {
            let per_call = spent.as_nanos() as f64 / calls as f64;
            return ((sample.as_nanos() as f64 / per_call) as u64).max(1);
        }
        calls *= 2;
    }
}

#[cfg(not(feature = "allocations"))]
fn time(variant: &mut Variant, calls: u64) -> Duration {
    let start = ThreadTime::now();
    variant.work.run(calls);
    start.elapsed()
}

/// Medians of the samples and of the per-round ratios to the first variant.
fn figures(names: &[&'static str], samples: &[Vec<f64>]) -> Vec<Figure> {
    let Some(floor) = samples.first() else { return Vec::new() };
    let figure = |(&name, samples): (&&'static str, &Vec<f64>)| Figure {
        name,
        value: median(samples.iter().copied()),
        ratio: median(samples.iter().zip(floor).map(|(it, floor)| it / floor)),
    };
    names.iter().zip(samples).map(figure).collect()
}

/// The median; for an even number of values the mean of the two in the middle.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = values.get(half).copied().unwrap_or(f64::NAN);
    if values.len().is_multiple_of(2) {
        let lower = half.checked_sub(1).and_then(|it| values.get(it)).copied();
        return lower.map_or(f64::NAN, |lower| (lower + upper) / 2.0);
    }
    upper
}

/// Work whose result type is erased outside of the timed loop, not inside it.
trait Work {
    fn run(&mut self, calls: u64);
    fn answer(&mut self) -> String;
}

struct Closure<F, T> {
    work: F,
    show: fn(T) -> String,
}

impl<T, F: FnMut() -> T> Work for Closure<F, T> {
    fn run(&mut self, calls: u64) {
        for _ in 0..calls {
            black_box((self.work)());
        }
    }

    fn answer(&mut self) -> String {
        (self.show)((self.work)())
    }
}
