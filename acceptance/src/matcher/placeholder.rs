//! What stands for a value that varies, with its unit and its plausible size.
//!
//! | placeholder | stands for |
//! |---|---|
//! | `[DURATION<=5s]` | a duration in one of our forms (`12 ms`, `1.2 s`, `3 min 4 s`, `1 h 2 min`), more than 0 and at most this |
//! | `[DURATION 0s..5s]` | the same with a lower bound of its own |
//! | `[AGE]`, `[AGE<=2h]` | how long ago something was, in one unit; at most 90 s unless it is said |
//! | `[TIME]` | a time in UTC such as `2026-11-17T23:40:40Z` or `2026-11-17 23:40:40`, less than an hour from now |
//! | `[SIZE~1000±10%]` | a number of bytes near this, with separators or in a larger unit |
//! | `[INT<=9]`, `[INT 1..9]`, `[INT]` | a whole number, with separators or without |
//! | `[COST<=0.01]` | an amount such as `$0.0012`, more than 0 and at most this |
//! | `[TURN]`, `[UUID]` | the id of a turn, which is a UUID |
//! | `[HEX8]`, `[HEX64]` … | so many hexadecimal digits |
//! | `[PORT]` | a port from 1024 on |
//! | `[WORD]` | text without white space |
//! | `[$NAME]` | the value of an environment variable of the scenario, such as `[$PROVIDER_URL]` or `[$PWD]` |

use std::collections::BTreeMap;

/// What the placeholders of a scenario refer to.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Values {
    /// The environment of the scenario.
    pub env: BTreeMap<String, String>,
    /// The present time, in seconds since 1970.
    pub now: u64,
    /// Whether ids, times and durations in the expected output are samples, as on a page for readers.
    pub samples_vary: bool,
}

/// A placeholder without its brackets.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Placeholder<'a> {
    /// A duration in seconds between these.
    Duration(f64, f64),
    /// An age of at most so many seconds.
    Age(f64),
    /// A time near the present.
    Time,
    /// A number of bytes, and the share by which it may differ.
    Size(f64, f64),
    /// A whole number.
    Int(u64, u64),
    /// An amount of US dollars up to this.
    Cost(f64),
    /// A UUID.
    Uuid,
    /// So many hexadecimal digits.
    Hex(usize),
    /// A port that a server listens on.
    Port,
    /// Text without white space.
    Word,
    /// The value of a variable.
    Variable(&'a str),
}

/// Marks the lower bound of a duration as one that is not reached.
const MORE_THAN_ZERO: f64 = f64::MIN_POSITIVE;

impl<'a> Placeholder<'a> {
    /// Reads the text between brackets; `None` if it is ordinary text.
    ///
    /// # Errors
    ///
    /// The text begins like a placeholder, and its bounds cannot be read.
    pub fn parse(text: &'a str) -> Result<Option<Self>, String> {
        if let Some(name) = text.strip_prefix('$') {
            return Ok(Some(Self::Variable(name)));
        }
        let end = text.find(|it: char| !it.is_ascii_uppercase()).unwrap_or(text.len());
        let Some((name, bounds)) = text.split_at_checked(end) else { return Ok(None) };
        let found = match (name, bounds) {
            ("TIME", "") => Some(Self::Time),
            ("TURN" | "UUID", "") => Some(Self::Uuid),
            ("PORT", "") => Some(Self::Port),
            ("WORD", "") => Some(Self::Word),
            ("AGE", "") => Some(Self::Age(90.0)),
            ("INT", "") => Some(Self::Int(0, u64::MAX)),
            ("AGE", _) => upper(bounds).and_then(seconds).map(Self::Age),
            ("DURATION", _) => duration(bounds),
            ("INT", _) => int(bounds),
            ("COST", _) => upper(bounds).and_then(|it| it.parse().ok()).map(Self::Cost),
            ("SIZE", _) => size(bounds),
            ("HEX", digits) => digits.parse().ok().map(Self::Hex),
            _ => return Ok(None),
        };
        found.map(Some).ok_or_else(|| format!("`[{text}]` is no placeholder; see placeholder.rs"))
    }

    /// Whether the placeholder stands for this text.
    #[must_use]
    pub fn accepts(&self, text: &str, values: &Values) -> bool {
        match *self {
            Self::Duration(low, high) => {
                shown_duration(text).is_some_and(|it| low <= it && it <= high)
            }
            Self::Age(high) => shown_age(text).is_some_and(|it| it <= high),
            Self::Time => unix_time(text).is_some_and(|it| it.abs_diff(values.now) < 3600),
            Self::Size(bytes, share) => {
                shown_size(text).is_some_and(|it| (it - bytes).abs() <= bytes * share)
            }
            Self::Int(low, high) => whole_number(text).is_some_and(|it| low <= it && it <= high),
            Self::Cost(high) => text
                .strip_prefix('$')
                .filter(|it| it.split_once('.').is_some_and(|(_, it)| it.len() >= 2))
                .and_then(|it| it.parse().ok())
                .is_some_and(|it: f64| it > 0.0 && it <= high),
            Self::Uuid => is_uuid(text),
            Self::Hex(digits) => text.len() == digits && is_hex(text),
            Self::Port => text.len() <= 5 && text.parse().is_ok_and(|it: u16| it >= 1024),
            Self::Word => !text.is_empty() && !text.contains(char::is_whitespace),
            Self::Variable(name) => values.env.get(name).is_some_and(|it| it == text),
        }
    }
}

fn upper(bounds: &str) -> Option<&str> {
    bounds.strip_prefix("<=")
}

fn range(bounds: &str) -> Option<(&str, &str)> {
    bounds.strip_prefix(' ')?.split_once("..")
}

fn duration<'a>(bounds: &str) -> Option<Placeholder<'a>> {
    if let Some((low, high)) = range(bounds) {
        return Some(Placeholder::Duration(seconds(low)?, seconds(high)?));
    }
    Some(Placeholder::Duration(MORE_THAN_ZERO, seconds(upper(bounds)?)?))
}

fn int<'a>(bounds: &str) -> Option<Placeholder<'a>> {
    if let Some((low, high)) = range(bounds) {
        return Some(Placeholder::Int(low.parse().ok()?, high.parse().ok()?));
    }
    Some(Placeholder::Int(0, upper(bounds)?.parse().ok()?))
}

fn size<'a>(bounds: &str) -> Option<Placeholder<'a>> {
    let (bytes, share) = bounds.strip_prefix('~')?.split_once('±')?;
    let share: f64 = share.strip_suffix('%')?.parse().ok()?;
    Some(Placeholder::Size(bytes.parse().ok()?, share / 100.0))
}

/// A bound such as `5s`, `200ms`, `2min` or `1h`.
fn seconds(text: &str) -> Option<f64> {
    let at = text.find(|it: char| it.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at_checked(at)?;
    Some(number.trim_end().parse::<f64>().ok()? * factor(unit)?)
}

fn factor(unit: &str) -> Option<f64> {
    match unit {
        "µs" | "us" => Some(0.000_001),
        "ms" => Some(0.001),
        "s" => Some(1.0),
        "min" => Some(60.0),
        "h" => Some(3600.0),
        "d" => Some(86_400.0),
        _ => None,
    }
}

/// A duration as the product prints it: one value with its unit, or two of which the second is smaller than one of the first.
fn shown_duration(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split(' ').collect();
    match words.as_slice() {
        [value, unit @ ("µs" | "ms" | "s" | "min" | "h")] => {
            Some(plain_number(value)? * factor(unit)?)
        }
        [minutes, "min", seconds, "s"] => two_parts(minutes, seconds, 60.0),
        [hours, "h", minutes, "min"] => two_parts(hours, minutes, 60.0).map(|it| it * 60.0),
        _ => None,
    }
}

fn two_parts(large: &str, small: &str, parts: f64) -> Option<f64> {
    let large = plain_number(large)?;
    let small = plain_number(small)?;
    (large > 0.0 && small < parts).then_some(large * parts + small)
}

/// An age as the product prints it: a whole number in one unit.
fn shown_age(text: &str) -> Option<f64> {
    let (value, unit) = text.split_once(' ')?;
    let is_age = matches!(unit, "s" | "min" | "h" | "d");
    let value = whole_number(value).filter(|_| is_age)?;
    Some(u32::try_from(value).ok().map(f64::from)? * factor(unit)?)
}

/// A number of bytes, with or without a unit.
fn shown_size(text: &str) -> Option<f64> {
    let (value, unit) = text.split_once(' ').unwrap_or((text, "bytes"));
    let factor = match unit {
        "byte" | "bytes" | "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    let value = value.replace([',', '_'], "");
    Some(plain_number(&value)? * factor)
}

/// Digits with at most one point between them: no sign and no exponent.
fn plain_number(text: &str) -> Option<f64> {
    let is_plain = text.starts_with(|it: char| it.is_ascii_digit())
        && text.ends_with(|it: char| it.is_ascii_digit())
        && text.chars().all(|it| it.is_ascii_digit() || it == '.');
    text.parse().ok().filter(|_| is_plain)
}

fn whole_number(text: &str) -> Option<u64> {
    let digits = text.replace(',', "");
    let is_grouped = !text.contains(',')
        || text
            .split(',')
            .enumerate()
            .all(|(at, it)| if at == 0 { it.len() <= 3 } else { it.len() == 3 });
    let is_plain = !digits.is_empty() && digits.chars().all(|it| it.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain && is_grouped)
}

fn is_hex(text: &str) -> bool {
    text.chars().all(|it| matches!(it, '0'..='9' | 'a'..='f'))
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|it| it.len()).eq([8, 4, 4, 4, 12]) && groups.iter().all(|it| is_hex(it))
}

/// The seconds since 1970 of a time in UTC, such as `2026-11-17T23:40:40.8Z` or `2026-11-17 23:40:40`.
fn unix_time(text: &str) -> Option<u64> {
    let with_zone = text.strip_suffix('Z').and_then(|it| it.split_once('T'));
    let (date, time) = with_zone.or_else(|| text.split_once(' '))?;
    let date: Vec<u64> = date.split('-').map(str::parse).collect::<Result<_, _>>().ok()?;
    let time = time.split_once('.').map_or(time, |(seconds, _)| seconds);
    let time: Vec<u64> = time.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let ([year, month @ 1..=12, day @ 1..=31], [hour, minute, second]) =
        (date.as_slice(), time.as_slice())
    else {
        return None;
    };
    // The years begin in March, so that a leap day is the last of its year.
    let (year, month) =
        if *month > 2 { (*year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    let days = days.checked_sub(719_469)?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}
