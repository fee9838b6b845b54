//! The constraints of a shape, each checked by itself.

use std::cmp::Ordering;

use serde_json::Value;

use super::problem::Rule;
use super::{IntegerRules, NumberRules, Shape, StringRules};
use crate::json::{Number, ValueKind, ValueRef};

/// The rules of a shape that a value breaks; no shape has more than two that are checked together.
pub(super) type BrokenRules = [Option<Rule>; 2];

/// No rule is broken.
pub(super) const NONE_BROKEN: BrokenRules = [None, None];

impl Shape {
    /// The one kind of JSON value that fits, or `None` where several do.
    pub(super) const fn kind(&self) -> Option<ValueKind> {
        match self {
            Self::Boolean => Some(ValueKind::Boolean),
            Self::String(_) => Some(ValueKind::String),
            Self::Integer(_) | Self::Number(_) => Some(ValueKind::Number),
            Self::Array(_) | Self::Tuple(_) => Some(ValueKind::Array),
            Self::Object(_) | Self::Map(_) | Self::Union(_) => Some(ValueKind::Object),
            Self::Any | Self::Enum(_) | Self::Ref(_) => None,
        }
    }
}

impl StringRules {
    pub(super) fn broken_by(&self, view: ValueRef<'_>) -> BrokenRules {
        let text = view.as_str().unwrap_or_default();
        if !has_length(text, self.min_length, self.max_length) {
            return [Some(Rule::Length), None];
        }
        match &self.pattern {
            Some(pattern) if !pattern.is_match(text) => [Some(Rule::Pattern), None],
            _ => NONE_BROKEN,
        }
    }
}

impl IntegerRules {
    pub(super) fn broken_by(&self, view: ValueRef<'_>) -> BrokenRules {
        let number = match view.as_number() {
            Some(number) if number.is_integer() => number,
            _ => return [Some(Rule::Type), None],
        };
        let value = to_whole_number(number, view);
        let in_range = self.min.is_none_or(|min| value >= min)
            && self.max.is_none_or(|max| value <= max)
            && self.multiple_of.is_none_or(|step| is_multiple(number, step));
        [(!in_range).then_some(Rule::Range), None]
    }
}

impl NumberRules {
    pub(super) fn broken_by(&self, view: ValueRef<'_>) -> BrokenRules {
        let Some(value) = view.as_number() else { return [Some(Rule::Type), None] };
        let in_range = self.min.is_none_or(|min| compare_to_bound(value, min).is_ge())
            && self.max.is_none_or(|max| compare_to_bound(value, max).is_le())
            && self.above.is_none_or(|bound| compare_to_bound(value, bound).is_gt())
            && self.below.is_none_or(|bound| compare_to_bound(value, bound).is_lt());
        [(!in_range).then_some(Rule::Range), None]
    }
}

/// How many elements or members a list or an object may have.
pub(super) fn broken_length(
    view: ValueRef<'_>,
    min: Option<usize>,
    max: Option<usize>,
) -> Option<Rule> {
    (!is_within(view.len(), min, max)).then_some(Rule::Length)
}

/// Whether a string has a length in characters within the bounds. A character has one to four bytes,
/// which mostly tells without counting.
fn has_length(text: &str, min: Option<usize>, max: Option<usize>) -> bool {
    let certain = min.is_none_or(|min| text.len().div_ceil(4) >= min)
        && max.is_none_or(|max| text.len() <= max);
    certain || is_within(text.chars().count(), min, max)
}

fn is_within(count: usize, min: Option<usize>, max: Option<usize>) -> bool {
    min.is_none_or(|min| count >= min) && max.is_none_or(|max| count <= max)
}

/// An integer-valued number in 128 bits. One beyond 64 bits is read digit by digit, because the double
/// next to it may lie within; values beyond 128 bits saturate, as no bound lies there.
#[expect(clippy::cast_possible_truncation, reason = "saturating is what is wanted")]
fn to_whole_number(number: Number, view: ValueRef<'_>) -> i128 {
    match number {
        Number::Int(value) => i128::from(value),
        Number::Uint(value) => i128::from(value),
        Number::Float(value) => view.to_string().parse().unwrap_or(value as i128),
    }
}

/// Whether a number is a multiple of the step. Beyond 64 bits it is compared as a double.
#[expect(clippy::cast_precision_loss, reason = "construction keeps steps within 2^53")]
fn is_multiple(number: Number, step: u64) -> bool {
    match number {
        _ if step == 0 => false,
        Number::Int(value) => value.unsigned_abs() % step == 0,
        Number::Uint(value) => value % step == 0,
        Number::Float(value) => value % (step as f64) == 0.0,
    }
}

/// Compares a number with a finite bound, exactly: a large integer is not rounded to a double.
fn compare_to_bound(number: Number, bound: f64) -> Ordering {
    match (number, to_spelled_number(bound)) {
        (Number::Float(value), _) => value.partial_cmp(&bound).unwrap_or(Ordering::Equal),
        (Number::Int(value), Number::Int(bound)) => value.cmp(&bound),
        (Number::Int(value), Number::Uint(bound)) => i128::from(value).cmp(&i128::from(bound)),
        (Number::Uint(value), Number::Int(bound)) => i128::from(value).cmp(&i128::from(bound)),
        (Number::Uint(value), Number::Uint(bound)) => value.cmp(&bound),
        // A fraction, which is below 2^53, or a number beyond 64 bits.
        (integer, Number::Float(bound)) => {
            integer.to_f64().partial_cmp(&bound).unwrap_or(Ordering::Equal)
        }
    }
}

/// Whether a value is one of the scalars of an enumeration.
pub(super) fn is_listed(view: ValueRef<'_>, values: &[Value]) -> bool {
    match view.as_str() {
        Some(text) => values.iter().any(|value| value.as_str() == Some(text)),
        None => values.iter().any(|value| same_scalar(view, value)),
    }
}

/// A finite double as the number that its text says, which is what the model reads: from 2^53 on,
/// the shortest text of a double can be another integer than the double itself.
#[expect(clippy::cast_possible_truncation, reason = "checked to be within 2^53")]
fn to_spelled_number(value: f64) -> Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() != 0.0 {
        return Number::Float(value);
    }
    if value.abs() <= EXACT {
        return Number::Int(value as i64);
    }
    let mut buffer = ryu_js::Buffer::new();
    let text = buffer.format(value);
    let signed = text.parse().map(Number::Int);
    signed.or_else(|_| text.parse().map(Number::Uint)).unwrap_or(Number::Float(value))
}

/// Whether a value equals a scalar of an enumeration.
pub(super) fn same_scalar(view: ValueRef<'_>, value: &Value) -> bool {
    match value {
        Value::Null => view.is_null(),
        Value::Bool(value) => view.as_bool() == Some(*value),
        Value::String(value) => view.as_str() == Some(value),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), _, _) => view.as_i64() == Some(value),
            (None, Some(value), _) => view.as_u64() == Some(value),
            (None, None, value) => {
                value.is_some_and(|it| view.as_number() == Some(to_spelled_number(it)))
            }
        },
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether two elements of a list are equal.
pub(super) fn has_repeats(list: ValueRef<'_>) -> bool {
    // Canonical texts are equal exactly when the values are; sorting keeps long lists fast.
    if list.len() < 2 {
        return false;
    }
    let mut texts: Vec<_> = list.elements().map(crate::json::canonical_text).collect();
    texts.sort_unstable();
    texts.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
}
