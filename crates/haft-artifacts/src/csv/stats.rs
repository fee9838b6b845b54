//! Statistics of a column.

use std::collections::HashSet;
use std::ops::ControlFlow;

use haft_core::json::{Document, JsonWriter};

use super::columns::Columns;
use super::error::CsvError;
use super::scan::{CsvRecord, RowVisitor};
use crate::invariant;

/// Collects statistics of one column.
#[derive(Debug, Default)]
pub(super) struct ColumnStats {
    column: String,
    place: usize,
    rows: u64,
    empty: u64,
    distinct: HashSet<Box<[u8]>>,
    distinct_bytes: usize,
    /// Whether there are more different values than are counted.
    many: bool,
    numbers: NumberStats,
    /// How many fields are neither empty nor numbers, and the first and last of them by byte order.
    texts: u64,
    first_text: Option<Vec<u8>>,
    last_text: Option<Vec<u8>>,
}

/// The fields that are numbers.
#[derive(Debug, Default)]
pub(super) struct NumberStats {
    count: u64,
    min: Option<ColumnNumber>,
    max: Option<ColumnNumber>,
    /// In billionths, as long as every number is a whole number of them.
    exact: i128,
    inexact: bool,
    sum: f64,
    /// The rounding error of the sum.
    lost: f64,
}

/// A number, exact if possible.
#[derive(Clone, Copy, Debug)]
struct ColumnNumber {
    value: f64,
    billionths: Option<i128>,
}

impl ColumnStats {
    pub(super) fn new(column: String) -> Self {
        Self { column, ..Self::default() }
    }

    /// The statistics as a JSON object.
    pub(super) fn document(&self) -> Document {
        let mut out = JsonWriter::new();
        out.object(|out| {
            out.key("column").string(&self.column);
            out.key("rows").unsigned(self.rows);
            out.key("empty").unsigned(self.empty);
            out.key("distinct");
            if self.many {
                out.string(&format!("more than {}", self.distinct.len()));
            } else {
                out.unsigned(self.distinct.len() as u64);
            }
            if self.numbers.count > 0 {
                out.key("numbers").object(|out| self.numbers.write(out));
            }
            if self.texts > 0 {
                out.key("texts").object(|out| {
                    out.key("count").unsigned(self.texts);
                    out.key("min").string(&lossy_text(self.first_text.as_deref()));
                    out.key("max").string(&lossy_text(self.last_text.as_deref()));
                });
            }
        });
        out.finish()
    }

    fn count_distinct(&mut self, field: &[u8]) {
        if self.many || self.distinct.contains(field) {
            return;
        }
        self.distinct_bytes += field.len();
        if self.distinct.len() == DISTINCT || self.distinct_bytes > DISTINCT_BYTES {
            self.many = true;
        } else {
            self.distinct.insert(field.into());
        }
    }

    fn text(&mut self, field: &[u8]) {
        self.texts += 1;
        let field = field.get(..TEXT_BYTES).unwrap_or(field);
        if self.first_text.as_deref().is_none_or(|it| field < it) {
            self.first_text = Some(field.to_vec());
        }
        if self.last_text.as_deref().is_none_or(|it| field > it) {
            self.last_text = Some(field.to_vec());
        }
    }
}

impl RowVisitor for ColumnStats {
    fn visit_columns(&mut self, columns: &Columns) -> Result<ControlFlow<()>, CsvError> {
        self.place = columns.find(&self.column)?;
        Ok(ControlFlow::Continue(()))
    }

    fn visit_row(&mut self, _: &Columns, row: CsvRecord<'_>) -> ControlFlow<()> {
        self.rows += 1;
        let field = row.field(self.place).unwrap_or_default();
        if field.is_empty() {
            self.empty += 1;
            return ControlFlow::Continue(());
        }
        self.count_distinct(field);
        match parse_number(field) {
            Some(value) => self.numbers.add(value, field),
            None => self.text(field),
        }
        ControlFlow::Continue(())
    }
}

impl NumberStats {
    pub(super) fn add(&mut self, value: f64, field: &[u8]) {
        self.count += 1;
        let number = ColumnNumber { value, billionths: parse_billionths(field) };
        self.min = Some(self.min.filter(|it| !number.is_below(it)).unwrap_or(number));
        self.max = Some(self.max.filter(|it| !it.is_below(&number)).unwrap_or(number));
        match number.billionths.and_then(|it| self.exact.checked_add(it)) {
            Some(sum) if !self.inexact => self.exact = sum,
            _ => self.inexact = true,
        }
        let sum = self.sum + value;
        let (large, small) =
            if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        self.lost += (large - sum) + small;
        self.sum = sum;
    }

    /// The sum, which is rounded.
    #[expect(clippy::cast_precision_loss, reason = "the sum is rounded")]
    pub(super) fn total(&self) -> f64 {
        if self.inexact { self.sum + self.lost } else { self.exact as f64 / BILLION }
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean is rounded")]
    pub(super) fn write(&self, out: &mut JsonWriter) {
        let value = self.total();
        let sum = ColumnNumber { value, billionths: (!self.inexact).then_some(self.exact) };
        out.key("count").unsigned(self.count);
        for (key, number) in [("min", self.min), ("max", self.max), ("sum", Some(sum))] {
            out.key(key);
            match number {
                Some(number) => number.write(out),
                None => {
                    out.null();
                }
            }
        }
        out.key("mean");
        match self.count {
            0 => {
                out.null();
            }
            count => ColumnNumber { value: value / count as f64, billionths: None }.write(out),
        }
    }
}

impl ColumnNumber {
    fn is_below(&self, other: &Self) -> bool {
        match (self.billionths, other.billionths) {
            (Some(this), Some(other)) => this < other,
            _ => self.value < other.value,
        }
    }

    fn write(self, out: &mut JsonWriter) {
        let exact =
            self.billionths.and_then(|it| Document::parse_owned(format_billionths(it)).ok());
        match exact {
            Some(exact) => {
                out.view(exact.root());
            }
            None if out.float(self.value).is_ok() => {}
            // A sum can be out of range.
            None => {
                out.null();
            }
        }
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
fn parse_billionths(field: &[u8]) -> Option<i128> {
    let text = str::from_utf8(field).ok()?.trim();
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

fn lossy_text(text: Option<&[u8]>) -> String {
    let text = invariant::or_default(text, "a column that counts texts has a first and a last one");
    String::from_utf8_lossy(text).into_owned()
}

const BILLION: f64 = 1e9;
/// How many different values are distinguished, and how many bytes they may have together.
const DISTINCT: usize = 10_000;
const DISTINCT_BYTES: usize = 4 * 1024 * 1024;
/// How much of the first and last text is shown.
const TEXT_BYTES: usize = 200;
