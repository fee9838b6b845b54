//! Aggregates over the records of a group.

use std::collections::HashSet;

use super::statement::{Aggregate, AggregateFunction};
use super::value::{compare, format_number};

/// What an aggregate has found so far.
#[derive(Debug, Default)]
pub(super) struct AggregateState {
    count: u64,
    sum: NumberSum,
    min: Option<String>,
    max: Option<String>,
    distinct: HashSet<Box<str>>,
    distinct_bytes: usize,
    /// Whether there are more different values than are held.
    has_more: bool,
}

impl AggregateState {
    /// Takes the value of a record.
    pub(super) fn add(&mut self, aggregate: &Aggregate, text: &str) {
        if aggregate.is_distinct && !self.is_new(text) {
            return;
        }
        self.count += 1;
        match aggregate.function {
            AggregateFunction::Count => {}
            AggregateFunction::Sum | AggregateFunction::Avg => self.sum.add(text),
            AggregateFunction::Min => {
                if self.min.as_deref().is_none_or(|it| compare(text, it).is_lt()) {
                    self.min = Some(text.to_owned());
                }
            }
            AggregateFunction::Max => {
                if self.max.as_deref().is_none_or(|it| compare(text, it).is_gt()) {
                    self.max = Some(text.to_owned());
                }
            }
        }
    }

    /// Takes a record, whatever its values.
    pub(super) fn add_record(&mut self) {
        self.count += 1;
    }

    /// The result; `None` if there was no value.
    pub(super) fn result(&self, aggregate: &Aggregate) -> Option<String> {
        match aggregate.function {
            AggregateFunction::Count if self.has_more => Some(format!("more than {}", self.count)),
            AggregateFunction::Count => Some(self.count.to_string()),
            AggregateFunction::Sum => self.sum.total(),
            AggregateFunction::Avg => self.sum.mean(),
            AggregateFunction::Min => self.min.clone(),
            AggregateFunction::Max => self.max.clone(),
        }
    }

    /// Whether a value was not there before.
    fn is_new(&mut self, text: &str) -> bool {
        if self.has_more || self.distinct.contains(text) {
            return false;
        }
        self.distinct_bytes += text.len();
        if self.distinct.len() == MAX_DISTINCT || self.distinct_bytes > MAX_DISTINCT_BYTES {
            self.has_more = true;
            return false;
        }
        self.distinct.insert(text.into())
    }
}

/// The sum of the values that are numbers.
#[derive(Debug, Default)]
struct NumberSum {
    count: u64,
    /// In billionths, as long as every number is a whole number of them.
    exact: i128,
    is_inexact: bool,
    sum: f64,
    /// The rounding error of the sum.
    lost: f64,
}

impl NumberSum {
    fn add(&mut self, text: &str) {
        let Some(value) = parse_number(text.as_bytes()) else { return };
        self.count += 1;
        match parse_billionths(text).and_then(|it| self.exact.checked_add(it)) {
            Some(sum) if !self.is_inexact => self.exact = sum,
            _ => self.is_inexact = true,
        }
        let sum = self.sum + value;
        let (large, small) =
            if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        self.lost += (large - sum) + small;
        self.sum = sum;
    }

    fn total(&self) -> Option<String> {
        match (self.count, self.is_inexact) {
            (0, _) => None,
            (_, false) => Some(format_billionths(self.exact)),
            (_, true) => Some(self.rounded()).filter(|it| it.is_finite()).map(format_number),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean is rounded")]
    fn mean(&self) -> Option<String> {
        let mean = self.rounded() / self.count as f64;
        mean.is_finite().then(|| format_number(mean))
    }

    #[expect(clippy::cast_precision_loss, reason = "the sum is rounded")]
    fn rounded(&self) -> f64 {
        if self.is_inexact { self.sum + self.lost } else { self.exact as f64 / BILLION }
    }
}

/// Parses a field as a number: decimal digits with an optional sign, point and exponent.
pub(super) fn parse_number(field: &[u8]) -> Option<f64> {
    let text = str::from_utf8(field).ok()?.trim();
    let plain = |it: u8| it.is_ascii_digit() || matches!(it, b'+' | b'-' | b'.' | b'e' | b'E');
    // Excludes `inf` and `nan`.
    if !text.bytes().all(plain) {
        return None;
    }
    text.parse().ok().filter(|it: &f64| it.is_finite())
}

/// A number in billionths, if it is a whole number of them.
fn parse_billionths(text: &str) -> Option<i128> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 9 || !fraction.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    // `.5` and `-.5` have no digit before the point.
    let whole = if matches!(whole, "" | "+" | "-") { 0 } else { whole.parse::<i128>().ok()? };
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    let fraction = digits.fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0'));
    let fraction = if text.starts_with('-') { -fraction } else { fraction };
    whole.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Billionths as a decimal number.
fn format_billionths(billionths: i128) -> String {
    let sign = if billionths < 0 { "-" } else { "" };
    let magnitude = billionths.unsigned_abs();
    let text = format!("{}.{:09}", magnitude / 1_000_000_000, magnitude % 1_000_000_000);
    format!("{sign}{}", text.trim_end_matches('0').trim_end_matches('.'))
}

const BILLION: f64 = 1e9;
/// How many different values are distinguished, and how many bytes they may have together.
const MAX_DISTINCT: usize = 10_000;
const MAX_DISTINCT_BYTES: usize = 4 * 1024 * 1024;
