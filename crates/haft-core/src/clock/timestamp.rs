//! A moment in time and its text.

use std::fmt;
use std::iter;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// Years of the calendar repeat every 400 years, which is this many days.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_FROM_YEAR_ZERO: i64 = 719_468;

/// A moment: microseconds since the Unix epoch, from the year 0000 to the end of the year 9999.
///
/// Its text, in `Display` and in serde, is RFC 3339 in UTC with six digits of fraction:
/// `2026-01-31T12:00:00.000000Z`. Only that form is read back, so equal moments have equal texts
/// and texts sort as moments do. Leap seconds do not exist, as in Unix time.
///
/// ```
/// use haft_core::clock::Timestamp;
///
/// let noon: Timestamp = "2026-01-31T12:00:00.000000Z".parse()?;
/// assert_eq!(noon.to_string(), "2026-01-31T12:00:00.000000Z");
/// assert!("2026-01-31 12:00".parse::<Timestamp>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text or number that is not a [`Timestamp`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a time of the form `2026-01-31T12:00:00.000000Z`")]
#[non_exhaustive]
pub struct InvalidTimestamp;

impl Timestamp {
    /// `1970-01-01T00:00:00.000000Z`
    pub const EPOCH: Self = Self(0);
    /// `0000-01-01T00:00:00.000000Z`
    pub const MIN: Self = Self(-62_167_219_200_000_000);
    /// `9999-12-31T23:59:59.999999Z`
    pub const MAX: Self = Self(253_402_300_799_999_999);

    /// The moment that many microseconds after (or before) the Unix epoch.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    ///
    /// let moment = Timestamp::from_micros(1_500_000)?;
    /// assert_eq!(moment.to_string(), "1970-01-01T00:00:01.500000Z");
    /// assert!(Timestamp::from_micros(i64::MAX).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A moment outside [`Timestamp::MIN`] to [`Timestamp::MAX`].
    pub const fn from_micros(micros: i64) -> Result<Self, InvalidTimestamp> {
        if micros < Self::MIN.0 || micros > Self::MAX.0 {
            return Err(InvalidTimestamp);
        }
        Ok(Self(micros))
    }

    /// Parses a time of RFC 3339 as people and other programs write it: with any fraction or none, and in UTC or with an
    /// offset. Digits below a microsecond are dropped.
    ///
    /// ```
    /// use haft_core::clock::Timestamp;
    ///
    /// let noon: Timestamp = "2026-01-31T12:00:00.000000Z".parse()?;
    /// assert_eq!(Timestamp::parse_rfc3339("2026-01-31T12:00:00Z")?, noon);
    /// assert_eq!(Timestamp::parse_rfc3339("2026-01-31T14:00:00.000+02:00")?, noon);
    /// assert!(Timestamp::parse_rfc3339("2026-01-31").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Another text, or a moment outside [`Timestamp::MIN`] to [`Timestamp::MAX`].
    pub fn parse_rfc3339(text: &str) -> Result<Self, InvalidTimestamp> {
        parse_any(text).ok_or(InvalidTimestamp)
    }

    /// Microseconds since the Unix epoch; negative before it.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is before.
    ///
    /// ```
    /// use std::time::Duration;
    /// use haft_core::clock::Timestamp;
    ///
    /// let later = Timestamp::EPOCH.saturating_add(Duration::from_secs(90));
    /// assert_eq!(later.duration_since(Timestamp::EPOCH), Duration::from_secs(90));
    /// assert_eq!(Timestamp::EPOCH.duration_since(later), Duration::ZERO);
    /// ```
    #[must_use]
    pub fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0).max(0).unsigned_abs())
    }

    /// This much later, at most [`Timestamp::MAX`]. Fractions of a microsecond are dropped.
    ///
    /// ```
    /// use std::time::Duration;
    /// use haft_core::clock::Timestamp;
    ///
    /// assert_eq!(Timestamp::MAX.saturating_add(Duration::from_secs(1)), Timestamp::MAX);
    /// assert_eq!(Timestamp::EPOCH.saturating_add(Duration::from_millis(1)).as_micros(), 1_000);
    /// ```
    #[must_use]
    pub fn saturating_add(self, by: Duration) -> Self {
        self.moved(by.as_micros().min(i64::MAX.unsigned_abs().into()) as i64)
    }

    /// This much earlier, at least [`Timestamp::MIN`]. Fractions of a microsecond are dropped.
    #[must_use]
    pub fn saturating_sub(self, by: Duration) -> Self {
        self.moved(i64::try_from(by.as_micros()).map_or(i64::MIN, |micros| -micros))
    }

    fn moved(self, micros: i64) -> Self {
        Self(self.0.saturating_add(micros)).clamp(Self::MIN, Self::MAX)
    }
}

/// Year, month and day of a day counted from the Unix epoch.
///
/// Counting years from March puts the leap day last, and then the months' lengths follow one line:
/// day `n` of such a year is in month `(5n + 2) / 153`.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_FROM_YEAR_ZERO;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    // Take out the leap days (every 4 years, not every 100, every 400), then years have 365 days.
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// The inverse of [`civil_from_days`]. A day that its month does not have runs into the next one.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - EPOCH_FROM_YEAR_ZERO
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(MICROS_PER_SECOND);
        let micros = self.0.rem_euclid(MICROS_PER_SECOND);
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let second = seconds.rem_euclid(SECONDS_PER_DAY);
        let hour = second / 3600;
        let minute = second / 60 % 60;
        let second = second % 60;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timestamp({self})")
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        parse_canonical(text).ok_or(InvalidTimestamp)
    }
}

/// Parses the only form that is written.
fn parse_canonical(text: &str) -> Option<Timestamp> {
    let mut rest = text.as_bytes();
    let seconds = parse_seconds(&mut rest, b"T")?;
    skip_one_of(&mut rest, b".")?;
    let micros = parse_digits(&mut rest, 6)?;
    skip_one_of(&mut rest, b"Z")?;
    rest.is_empty().then_some(())?;
    Timestamp::from_micros(seconds * MICROS_PER_SECOND + micros).ok()
}

/// Parses every form of RFC 3339.
fn parse_any(text: &str) -> Option<Timestamp> {
    let mut rest = text.as_bytes();
    let seconds = parse_seconds(&mut rest, b"Tt ")?;
    let micros =
        if skip_one_of(&mut rest, b".").is_some() { parse_fraction(&mut rest)? } else { 0 };
    let offset = parse_offset(&mut rest)?;
    rest.is_empty().then_some(())?;
    Timestamp::from_micros((seconds - offset) * MICROS_PER_SECOND + micros).ok()
}

/// Parses a date and a time without a fraction, as seconds since the Unix epoch. One of the separators is between them.
fn parse_seconds(rest: &mut &[u8], separators: &[u8]) -> Option<i64> {
    let year = parse_digits(rest, 4)?;
    skip_one_of(rest, b"-")?;
    let month = parse_digits(rest, 2).filter(|month| (1..=12).contains(month))?;
    skip_one_of(rest, b"-")?;
    let day = parse_digits(rest, 2)?;
    skip_one_of(rest, separators)?;
    let minutes = parse_hours_and_minutes(rest)?;
    skip_one_of(rest, b":")?;
    let second = parse_digits(rest, 2).filter(|second| *second < 60)?;
    let days = days_from_civil(year, month, day);
    // A day that the month does not have comes back as another one.
    (civil_from_days(days) == (year, month, day)).then_some(())?;
    Some(days * SECONDS_PER_DAY + minutes * 60 + second)
}

/// Parses `hh:mm`, as minutes.
fn parse_hours_and_minutes(rest: &mut &[u8]) -> Option<i64> {
    let hour = parse_digits(rest, 2).filter(|hour| *hour < 24)?;
    skip_one_of(rest, b":")?;
    let minute = parse_digits(rest, 2).filter(|minute| *minute < 60)?;
    Some(hour * 60 + minute)
}

/// Parses the digits of a fraction, as microseconds.
fn parse_fraction(rest: &mut &[u8]) -> Option<i64> {
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, tail) = rest.split_at_checked(count).filter(|(digits, _)| !digits.is_empty())?;
    *rest = tail;
    let digits = digits.iter().map(|digit| i64::from(digit - b'0')).chain(iter::repeat(0));
    Some(digits.take(6).fold(0, |sum, digit| sum * 10 + digit))
}

/// Parses how much a time is ahead of UTC, as seconds.
fn parse_offset(rest: &mut &[u8]) -> Option<i64> {
    if skip_one_of(rest, b"Zz").is_some() {
        return Some(0);
    }
    let sign = if skip_one_of(rest, b"-").is_some() {
        -1
    } else {
        skip_one_of(rest, b"+")?;
        1
    };
    Some(sign * parse_hours_and_minutes(rest)? * 60)
}

/// Parses exactly this many digits.
fn parse_digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (digits, tail) = rest.split_at_checked(count)?;
    digits.iter().all(u8::is_ascii_digit).then_some(())?;
    *rest = tail;
    Some(digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

/// Skips the next byte if it is one of these.
fn skip_one_of(rest: &mut &[u8], bytes: &[u8]) -> Option<()> {
    let (first, tail) = rest.split_first()?;
    bytes.contains(first).then_some(())?;
    *rest = tail;
    Some(())
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time of the form `2026-01-31T12:00:00.000000Z`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}
