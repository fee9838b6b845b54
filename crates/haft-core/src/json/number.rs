//! Number literals: one node per number, however it was spelled.

use super::Node;
use super::writer::{offset, store};

use crate::invariant::OrReport as _;

/// Every power of ten that a double holds exactly.
#[rustfmt::skip]
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Largest integer below which a double skips none.
const EXACT: u64 = 1 << 53;

/// The node of a literal that the grammar has already accepted, or nothing if it is beyond the range
/// of a double. Digits of long integers go to the end of `buf`, which stands at `base` in the
/// finished document.
pub(super) fn literal_node(literal: &str, buf: &mut String, base: usize) -> Option<Node> {
    let decimal = DecimalLiteral::parse(literal);
    let nearest: f64 = literal.parse().ok().filter(|it: &f64| it.is_finite())?;
    if decimal.is_zero() {
        return Some(Node::Int(0));
    }
    let Ok(zeros) = usize::try_from(decimal.exponent) else {
        return Some(float_node(nearest));
    };
    if let Some(node) = decimal.in_64_bits(zeros) {
        return Some(node);
    }
    if DecimalLiteral::parse(ryu_js::Buffer::new().format_finite(nearest)) == decimal {
        return Some(Node::Float(nearest));
    }
    let start = buf.len();
    buf.push_str(if decimal.negative { "-" } else { "" });
    buf.extend(decimal.digits().map(char::from));
    // At most 308, because the number is within the range of a double.
    buf.extend(std::iter::repeat_n('0', zeros));
    Some(Node::Big { start: offset(base + start), len: offset(buf.len() - start) })
}

/// The node of `significand` / 10^`places`, if a single division gives the nearest double.
#[expect(clippy::cast_precision_loss, reason = "the significand is below 2^53")]
pub(super) fn short_fraction(significand: u64, places: usize, negative: bool) -> Option<Node> {
    if significand > EXACT {
        return None;
    }
    // Both operands are exact, so the quotient is correctly rounded.
    let value = significand as f64 / POWERS.get(places)?;
    Some(float_node(if negative { -value } else { value }))
}

/// The node of a finite double: the same as that of the number ECMAScript prints for it, so that
/// `1.0` is `1`, and `1.2345678901234567e18` is `1234567890123456800`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the range is checked first"
)]
pub(super) fn float_node(value: f64) -> Node {
    const BEYOND_64_BITS: f64 = 18_446_744_073_709_551_616.0;
    if value.fract() != 0.0 {
        return Node::Float(value);
    }
    if value.abs() <= EXACT as f64 {
        return Node::Int(value as i64);
    }
    if value.abs() >= BEYOND_64_BITS {
        return Node::Float(value);
    }
    let mut buffer = ryu_js::Buffer::new();
    let text = buffer.format_finite(value);
    text.parse()
        .map(Node::Int)
        .or_else(|_| text.parse().map(Node::Uint))
        .unwrap_or(Node::Float(value))
}

/// Copies the digits of a long integer into another buffer.
pub(super) fn copy_big(digits: &str, buf: &mut String) -> Node {
    let (start, len) = store(digits, buf);
    Node::Big { start, len }
}

/// A literal as digits times a power of ten, without zeros at either end: equal if and only if
/// the numbers are.
struct DecimalLiteral<'a> {
    negative: bool,
    /// Digits before and behind the decimal point.
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

impl<'a> DecimalLiteral<'a> {
    fn parse(literal: &'a str) -> Self {
        let (negative, literal) =
            literal.strip_prefix('-').map_or((false, literal), |it| (true, it));
        let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut whole = whole.trim_start_matches('0');
        let mut fraction = fraction.trim_end_matches('0');
        let mut shift = -digit_count(fraction);
        if fraction.is_empty() {
            shift = digit_count(whole);
            whole = whole.trim_end_matches('0');
            shift -= digit_count(whole);
        }
        if whole.is_empty() {
            fraction = fraction.trim_start_matches('0');
        }
        let exponent = exponent.parse().unwrap_or_else(|_| {
            // Too many digits for an exponent that leaves anything in range.
            if exponent.starts_with('-') { i64::MIN } else { i64::MAX }
        });
        Self { negative, whole, fraction, exponent: exponent.saturating_add(shift) }
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        self.whole.bytes().chain(self.fraction.bytes())
    }

    /// The integer with `zeros` zeros appended, if it fits.
    fn in_64_bits(&self, zeros: usize) -> Option<Node> {
        let zeros = std::iter::repeat_n(b'0', zeros);
        let magnitude = self.digits().chain(zeros).try_fold(0_u64, |value, digit| {
            value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        })?;
        if self.negative {
            return 0_i64.checked_sub_unsigned(magnitude).map(Node::Int);
        }
        Some(i64::try_from(magnitude).map_or(Node::Uint(magnitude), Node::Int))
    }
}

impl PartialEq for DecimalLiteral<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.negative == other.negative
            && self.exponent == other.exponent
            && self.digits().eq(other.digits())
    }
}

fn digit_count(digits: &str) -> i64 {
    i64::try_from(digits.len()).or_report("a length fits `i64`", i64::MAX)
}
