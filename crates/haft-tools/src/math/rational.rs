//! Numbers that stay exact as long as possible.

use std::fmt;

/// A fraction of two integers, or a double if the integers would overflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// In lowest terms, with a denominator above zero.
    Exact {
        numerator: i128,
        denominator: i128,
    },
    Float(f64),
}

impl Number {
    pub(super) const ZERO: Self = Self::whole(0);

    pub(super) const fn whole(value: i128) -> Self {
        Self::Exact { numerator: value, denominator: 1 }
    }

    /// `numerator / denominator`; `None` if a part overflows or the denominator is zero.
    pub(super) fn ratio(numerator: i128, denominator: i128) -> Option<Self> {
        let divisor = gcd(numerator.unsigned_abs(), denominator.unsigned_abs());
        let divisor = i128::try_from(divisor).ok().filter(|it| *it != 0)?;
        let numerator = numerator / divisor;
        let denominator = denominator / divisor;
        match denominator {
            0 => None,
            denominator if denominator < 0 => Some(Self::Exact {
                numerator: numerator.checked_neg()?,
                denominator: denominator.checked_neg()?,
            }),
            denominator => Some(Self::Exact { numerator, denominator }),
        }
    }

    /// Parses a decimal number with an optional exponent.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let float = || text.parse().ok().filter(|it: &f64| it.is_finite()).map(Self::Float);
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all: String = [whole, fraction].concat();
        if all.is_empty() || !all.bytes().all(|it| it.is_ascii_digit()) {
            return None;
        }
        let places = i32::try_from(fraction.len()).ok()?;
        let shift = exponent.checked_sub(places)?;
        let power = || 10_i128.checked_pow(shift.unsigned_abs());
        let exact = all.parse::<i128>().ok().and_then(|digits| match shift {
            0.. => Some(Self::whole(digits.checked_mul(power()?)?)),
            _ => Self::ratio(digits, power()?),
        });
        exact.or_else(float)
    }

    #[expect(clippy::cast_precision_loss, reason = "a double is asked for")]
    pub(super) fn to_f64(self) -> f64 {
        match self {
            Self::Exact { numerator, denominator: 1 } => numerator as f64,
            Self::Exact { numerator, denominator } => numerator as f64 / denominator as f64,
            Self::Float(value) => value,
        }
    }

    /// Whether its text has all digits of the value.
    pub(super) fn is_shown_exactly(self) -> bool {
        matches!(self, Self::Exact { numerator, denominator } if decimal(numerator, denominator).is_some())
    }

    pub(super) fn is_zero(self) -> bool {
        match self {
            Self::Exact { numerator, .. } => numerator == 0,
            Self::Float(value) => value == 0.0,
        }
    }

    /// The value, if it is an integer.
    pub(super) fn as_whole(self) -> Option<i128> {
        match self {
            Self::Exact { numerator, denominator: 1 } => Some(numerator),
            _ => None,
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.by(
            other,
            |a, b| a + b,
            |(a, b), (c, d)| {
                let numerator = a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?;
                Self::ratio(numerator, b.checked_mul(d)?)
            },
        )
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.plus(other.negated())
    }

    pub(super) fn times(self, other: Self) -> Self {
        self.by(
            other,
            |a, b| a * b,
            |(a, b), (c, d)| Self::ratio(a.checked_mul(c)?, b.checked_mul(d)?),
        )
    }

    /// `None` if the divisor is zero.
    pub(super) fn divided_by(self, other: Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        Some(self.by(
            other,
            |a, b| a / b,
            |(a, b), (c, d)| Self::ratio(a.checked_mul(d)?, b.checked_mul(c)?),
        ))
    }

    /// The remainder of a division that rounds down, which has the sign of the divisor; `None` if the divisor is zero.
    pub(super) fn modulo(self, other: Self) -> Option<Self> {
        if let (Some(a), Some(b)) = (self.as_whole(), other.as_whole()) {
            let left = a.checked_rem(b)?;
            let left = if left != 0 && (left < 0) != (b < 0) { left + b } else { left };
            return Some(Self::whole(left));
        }
        let whole = self.divided_by(other)?.floor();
        Some(self.minus(other.times(whole)))
    }

    /// Exact for integer exponents; `None` if the result is not a real number.
    pub(super) fn power(self, exponent: Self) -> Option<Self> {
        let float = Self::Float(self.to_f64().powf(exponent.to_f64())).finite();
        let (Self::Exact { numerator, denominator }, Some(times)) = (self, exponent.as_whole())
        else {
            return float;
        };
        if numerator == 0 && times < 0 {
            return None;
        }
        let power = u32::try_from(times.unsigned_abs())
            .ok()
            .and_then(|it| Some((numerator.checked_pow(it)?, denominator.checked_pow(it)?)));
        match power {
            Some((numerator, denominator)) if times < 0 => {
                Self::ratio(denominator, numerator).or(float)
            }
            Some((numerator, denominator)) => Self::ratio(numerator, denominator).or(float),
            None => float,
        }
    }

    pub(super) fn negated(self) -> Self {
        match self {
            Self::Exact { numerator, denominator } => match numerator.checked_neg() {
                Some(numerator) => Self::Exact { numerator, denominator },
                None => Self::Float(-self.to_f64()),
            },
            Self::Float(value) => Self::Float(-value),
        }
    }

    pub(super) fn absolute(self) -> Self {
        if self.to_f64() < 0.0 { self.negated() } else { self }
    }

    pub(super) fn floor(self) -> Self {
        match self {
            Self::Exact { numerator, denominator } => {
                Self::whole(numerator.div_euclid(denominator))
            }
            Self::Float(value) => Self::Float(value.floor()),
        }
    }

    pub(super) fn ceiling(self) -> Self {
        self.negated().floor().negated()
    }

    /// Rounds to decimal places; halves are rounded away from zero.
    pub(super) fn rounded(self, places: u32) -> Self {
        let Some(scale) = 10_i128.checked_pow(places) else { return self };
        let half = Self::Exact { numerator: 1, denominator: 2 };
        let size = self.absolute().times(Self::whole(scale)).plus(half).floor();
        let size = size.divided_by(Self::whole(scale)).unwrap_or(size);
        if self.to_f64() < 0.0 { size.negated() } else { size }
    }

    /// The square root, which is exact if both parts are squares.
    pub(super) fn root(self) -> Option<Self> {
        if self.to_f64() < 0.0 {
            return None;
        }
        let exact = match self {
            Self::Exact { numerator, denominator } => {
                whole_root(numerator).zip(whole_root(denominator))
            }
            Self::Float(_) => None,
        };
        let exact = exact.and_then(|(numerator, denominator)| Self::ratio(numerator, denominator));
        exact.or_else(|| Self::Float(self.to_f64().sqrt()).finite())
    }

    /// `None` if the value is infinite or not a number.
    pub(super) fn finite(self) -> Option<Self> {
        Some(self).filter(|it| it.to_f64().is_finite())
    }

    pub(super) fn is_below(self, other: Self) -> bool {
        match (self, other) {
            (
                Self::Exact { numerator: a, denominator: 1 },
                Self::Exact { numerator: b, denominator: 1 },
            ) => a < b,
            _ => self.to_f64() < other.to_f64(),
        }
    }

    fn by(
        self,
        other: Self,
        float: impl Fn(f64, f64) -> f64,
        exact: impl Fn((i128, i128), (i128, i128)) -> Option<Self>,
    ) -> Self {
        let found = match (self, other) {
            (
                Self::Exact { numerator: a, denominator: b },
                Self::Exact { numerator: c, denominator: d },
            ) => exact((a, b), (c, d)),
            _ => None,
        };
        found.unwrap_or_else(|| Self::Float(float(self.to_f64(), other.to_f64())))
    }
}

/// All digits, if there are at most 28 decimal places; otherwise the digits of a double.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Exact { numerator, denominator } = *self
            && let Some(text) = decimal(numerator, denominator)
        {
            return f.write_str(&text);
        }
        match self.to_f64() {
            0.0 => f.write_str("0"),
            value if (1e-6..1e16).contains(&value.abs()) => write!(f, "{value}"),
            value => write!(f, "{value:e}"),
        }
    }
}

/// The decimal text of a fraction, if it terminates.
fn decimal(numerator: i128, denominator: i128) -> Option<String> {
    let numerator_abs = numerator.unsigned_abs();
    let denominator = denominator.unsigned_abs();
    let mut rest = numerator_abs.checked_rem(denominator)?;
    let mut text = format!(
        "{}{}",
        if numerator < 0 { "-" } else { "" },
        numerator_abs.checked_div(denominator)?
    );
    for place in 0..PLACES {
        if rest == 0 {
            return Some(text);
        }
        if place == 0 {
            text.push('.');
        }
        rest = rest.checked_mul(10)?;
        let digit = u32::try_from(rest.checked_div(denominator)?).ok()?;
        text.push(char::from_digit(digit, 10)?);
        rest = rest.checked_rem(denominator)?;
    }
    (rest == 0).then_some(text)
}

const PLACES: u32 = 28;

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a.checked_rem(b).unwrap_or(0));
    }
    a
}

fn whole_root(value: i128) -> Option<i128> {
    let root = value.checked_isqrt()?;
    (root.checked_mul(root) == Some(value)).then_some(root)
}
