//! Comparing values as RFC 9535 does: by kind, exactly, and whatever is absent is equal to whatever
//! else is.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::ast::Operator;
use super::walk::{VisitBudget, VisitsExhausted};
use haft_core::invariant::OrReport as _;
use haft_core::json::{MAX_DEPTH, Number, ValueKind, ValueRef};

/// What an operand of a comparison amounts to.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperandValue<'v> {
    /// No value at all, which is not `null`.
    Nothing,
    Node(ValueRef<'v>),
    /// The result of `length` or `count`.
    Size(usize),
}

pub(super) fn holds(
    left: OperandValue<'_>,
    operator: Operator,
    right: OperandValue<'_>,
    work: &mut VisitBudget,
) -> Result<bool, VisitsExhausted> {
    Ok(match operator {
        Operator::Equal => is_equal(left, right, work)?,
        Operator::NotEqual => !is_equal(left, right, work)?,
        Operator::Less => compare_values(left, right, work)? == Some(Ordering::Less),
        Operator::Greater => compare_values(left, right, work)? == Some(Ordering::Greater),
        Operator::LessOrEqual => {
            compare_values(left, right, work)? == Some(Ordering::Less)
                || is_equal(left, right, work)?
        }
        Operator::GreaterOrEqual => {
            compare_values(left, right, work)? == Some(Ordering::Greater)
                || is_equal(left, right, work)?
        }
    })
}

fn is_equal(
    left: OperandValue<'_>,
    right: OperandValue<'_>,
    work: &mut VisitBudget,
) -> Result<bool, VisitsExhausted> {
    match (left, right) {
        (OperandValue::Nothing, OperandValue::Nothing) => Ok(true),
        (OperandValue::Node(left), OperandValue::Node(right)) => {
            deep_equal(left, right, MAX_DEPTH, work)
        }
        _ => Ok(compare_numbers(left, right) == Some(Ordering::Equal)),
    }
}

/// Only two numbers or two strings have an order.
fn compare_values(
    left: OperandValue<'_>,
    right: OperandValue<'_>,
    work: &mut VisitBudget,
) -> Result<Option<Ordering>, VisitsExhausted> {
    if let (OperandValue::Node(left), OperandValue::Node(right)) = (left, right)
        && let (Some(left), Some(right)) = (left.as_str(), right.as_str())
    {
        work.text(left.len().min(right.len()))?;
        // UTF-8 sorts by code point.
        return Ok(Some(left.cmp(right)));
    }
    Ok(compare_numbers(left, right))
}

fn deep_equal(
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    levels: usize,
    work: &mut VisitBudget,
) -> Result<bool, VisitsExhausted> {
    match (left.kind(), right.kind()) {
        (ValueKind::Array, ValueKind::Array) => {
            let levels = levels.checked_sub(1).ok_or(VisitsExhausted)?;
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.elements().zip(right.elements()) {
                work.values(1)?;
                if !deep_equal(left, right, levels, work)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (ValueKind::Object, ValueKind::Object) => {
            let levels = levels.checked_sub(1).ok_or(VisitsExhausted)?;
            work.values(left.len() + right.len())?;
            // Of members with the same name the last one counts.
            let lefts: BTreeMap<&str, ValueRef<'_>> = left.members().collect();
            let rights: BTreeMap<&str, ValueRef<'_>> = right.members().collect();
            if !lefts.keys().eq(rights.keys()) {
                return Ok(false);
            }
            for (left, right) in lefts.into_values().zip(rights.into_values()) {
                if !deep_equal(left, right, levels, work)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (ValueKind::String, ValueKind::String) => {
            let left = left.as_str();
            let right = right.as_str();
            work.text(left.map_or(0, str::len).min(right.map_or(0, str::len)))?;
            Ok(left == right)
        }
        (one, other) => Ok(one == other && left == right),
    }
}

/// Exact, whatever the two are: rounding keeps the order, so only numbers that round to the same
/// double need a second look.
fn compare_numbers(left: OperandValue<'_>, right: OperandValue<'_>) -> Option<Ordering> {
    let left_number = as_number(left)?;
    let right_number = as_number(right)?;
    match (as_integer(left_number), as_integer(right_number)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => match left_number.to_f64().partial_cmp(&right_number.to_f64())? {
            // At least one is an integer of more than 64 bits; a fraction rounds to none.
            Ordering::Equal => Some(decimal_digits(left).cmp(&decimal_digits(right))),
            order => Some(order),
        },
    }
}

fn as_number(value: OperandValue<'_>) -> Option<Number> {
    match value {
        OperandValue::Nothing => None,
        OperandValue::Node(view) => view.as_number(),
        OperandValue::Size(size) => Some(Number::Uint(size as u64)),
    }
}

fn as_integer(number: Number) -> Option<i128> {
    match number {
        Number::Int(value) => Some(value.into()),
        Number::Uint(value) => Some(value.into()),
        Number::Float(_) => None,
    }
}

/// A key that orders numbers of the same sign and nearly the same size.
#[cold]
fn decimal_digits(value: OperandValue<'_>) -> (i64, Vec<i8>) {
    let text = match value {
        OperandValue::Nothing => String::new(),
        OperandValue::Node(view) => view.to_string(),
        OperandValue::Size(size) => size.to_string(),
    };
    let (sign, text) = text.strip_prefix('-').map_or((1, text.as_str()), |it| (-1, it));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i64 = exponent.trim_start_matches('+').parse().unwrap_or_default();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let size = exponent
        .saturating_add(i64::try_from(whole.len()).or_report("a length fits `i64`", i64::MAX));
    let digit = |byte: u8| byte.wrapping_sub(b'0').cast_signed();
    let mut digits: Vec<i8> =
        whole.bytes().chain(fraction.bytes()).map(|it| sign * digit(it)).collect();
    // Trailing zeros say nothing; a longer list would otherwise win.
    while digits.last() == Some(&0) {
        digits.pop();
    }
    (size.saturating_mul(sign.into()), digits)
}
