//! What values amount to.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::aggregate::parse_number;
use super::statement::{ArithmeticOperator, CompareOperator, Condition, Value};

/// A value as text; `None` is `NULL`.
pub(super) type Cell<'c> = Option<Cow<'c, str>>;

/// A record or a group, in which values are looked up.
pub(super) trait Cells {
    /// The cell of a column of the statement.
    fn column(&self, at: usize) -> Cell<'_>;

    /// An aggregate of the statement.
    fn aggregate(&self, at: usize) -> Cell<'_>;
}

pub(super) fn evaluate<'c>(value: &'c Value, cells: &'c dyn Cells) -> Cell<'c> {
    match value {
        Value::Null => None,
        Value::Text(text) => Some(Cow::Borrowed(text)),
        Value::Column(at) => cells.column(*at).filter(|it| !it.is_empty()),
        Value::Aggregate(at) => cells.aggregate(*at),
        Value::Arithmetic(left, operator, right) => {
            let left = parse_number(evaluate(left, cells)?.as_bytes())?;
            let right = parse_number(evaluate(right, cells)?.as_bytes())?;
            let result = match operator {
                ArithmeticOperator::Add => left + right,
                ArithmeticOperator::Subtract => left - right,
                ArithmeticOperator::Multiply => left * right,
                ArithmeticOperator::Divide => left / right,
            };
            result.is_finite().then(|| Cow::Owned(format_number(result)))
        }
    }
}

/// A number without the noise of binary fractions: rounded to fifteen significant digits.
pub(super) fn format_number(number: f64) -> String {
    let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    rounded.to_string()
}

/// Whether a condition holds. A comparison with `NULL` does not.
pub(super) fn holds(condition: &Condition, cells: &dyn Cells) -> bool {
    match condition {
        Condition::And(left, right) => holds(left, cells) && holds(right, cells),
        Condition::Or(left, right) => holds(left, cells) || holds(right, cells),
        Condition::Not(inner) => !holds(inner, cells),
        Condition::IsNull(value) => evaluate(value, cells).is_none(),
        Condition::Like(value, pattern) => {
            let text = evaluate(value, cells).map(|it| it.to_lowercase());
            text.is_some_and(|text| is_like(&text, pattern))
        }
        Condition::In(value, values) => {
            let Some(value) = evaluate(value, cells) else { return false };
            let mut values = values.iter().filter_map(|it| evaluate(it, cells));
            values.any(|it| compare(&value, &it) == Ordering::Equal)
        }
        Condition::Compare(left, operator, right) => {
            let (left, right) = (evaluate(left, cells), evaluate(right, cells));
            let (Some(left), Some(right)) = (left, right) else { return false };
            let order = compare(&left, &right);
            match operator {
                CompareOperator::Equal => order.is_eq(),
                CompareOperator::NotEqual => order.is_ne(),
                CompareOperator::Less => order.is_lt(),
                CompareOperator::LessOrEqual => order.is_le(),
                CompareOperator::Greater => order.is_gt(),
                CompareOperator::GreaterOrEqual => order.is_ge(),
            }
        }
    }
}

/// Two numbers by their values, everything else by its text.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    if let (Ok(left), Ok(right)) = (left.parse::<i128>(), right.parse::<i128>()) {
        return left.cmp(&right);
    }
    match (parse_number(left.as_bytes()), parse_number(right.as_bytes())) {
        (Some(left), Some(right)) => left.total_cmp(&right),
        _ => left.cmp(right),
    }
}

/// `NULL` comes first.
pub(super) fn compare_cells(left: Option<&str>, right: Option<&str>) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => compare(left, right),
        (left, right) => left.is_some().cmp(&right.is_some()),
    }
}

/// Whether a text matches a pattern in which `%` is any text and `_` any character.
fn is_like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut place) = (0, 0);
    // Where to go on if the part after the last `%` does not match.
    let mut retry = None;
    while let Some(character) = text.get(at) {
        match pattern.get(place) {
            Some('%') => {
                place += 1;
                retry = Some((place, at));
            }
            Some(it) if it == character || *it == '_' => {
                at += 1;
                place += 1;
            }
            _ => match retry {
                Some((after, from)) => {
                    (place, at) = (after, from + 1);
                    retry = Some((after, at));
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(place).all(|it| *it == '%')
}
