//! What a provider says about a retry: headers, dates, and whether the quota is exhausted.

use std::time::Duration;

use haft_core::clock::Timestamp;
use http::HeaderMap;
use serde_json::Value;

/// What the headers of a response say about a retry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RetryHint {
    /// How long to wait.
    pub(super) after: Option<Duration>,
    /// Whether to retry at all.
    pub(super) should_retry: Option<bool>,
}

impl RetryHint {
    pub(super) fn from_headers(headers: &HeaderMap, now: Timestamp) -> Self {
        let should_retry = match header(headers, "x-should-retry").map(str::trim) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        Self { after: retry_after(headers, now), should_retry }
    }
}

pub(super) fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// How long to wait. A value that is zero, negative or not understood counts as absent.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let precise = header(headers, "retry-after-ms").and_then(|text| parse_duration(text, 1e-3));
    let after = precise.or_else(|| {
        let text = header(headers, "retry-after")?.trim();
        parse_duration(text, 1.0).or_else(|| {
            // By the clock of the provider if it sends the time, so that ours need not be right.
            let now =
                header(headers, "date").and_then(|it| parse_http_date(it, now)).unwrap_or(now);
            Some(parse_http_date(text, now)?.duration_since(now))
        })
    });
    after.filter(|it| !it.is_zero())
}

/// A number of some unit; more than a year counts as a year.
fn parse_duration(text: &str, unit: f64) -> Option<Duration> {
    let text = text.trim();
    let plain = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let seconds = text.parse::<f64>().ok().filter(|_| plain)? * unit;
    Duration::try_from_secs_f64(seconds.min(YEAR)).ok()
}

/// Reads a date in one of the three forms that a recipient must accept (RFC 9110, 5.6.7). `now` decides the century of
/// the form that has two digits for the year. The name of the day is redundant and is not checked.
pub(super) fn parse_http_date(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.trim();
    let (_, rest) = text.split_once(' ')?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    match words.as_slice() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        [day, month, year, time, "GMT"] => {
            timestamp(parse_digits(year, 4)?, month, parse_digits(day, 2)?, time)
        }
        // Sunday, 06-Nov-94 08:49:37 GMT
        [date, time, "GMT"] => {
            let (day, rest) = date.split_once('-')?;
            let (month, year) = rest.split_once('-')?;
            let year = full_year(parse_digits(year, 2)?, now)?;
            timestamp(year, month, parse_digits(day, 2)?, time)
        }
        // Sun Nov  6 08:49:37 1994
        [month, day, time, year] => {
            let day = parse_digits(day, day.len().clamp(1, 2))?;
            timestamp(parse_digits(year, 4)?, month, day, time)
        }
        _ => None,
    }
}

/// The year with these last digits that is at most 50 years in the future, as the standard says.
fn full_year(digits: u32, now: Timestamp) -> Option<u32> {
    let now: u32 = now.to_string().get(..4)?.parse().ok()?;
    let year = now / 100 * 100 + digits;
    Some(if year > now + 50 { year - 100 } else { year })
}

fn timestamp(year: u32, month: &str, day: u32, time: &str) -> Option<Timestamp> {
    let month = MONTHS.iter().position(|it| *it == month)? + 1;
    let (hour, rest) = time.split_once(':')?;
    let (minute, second) = rest.split_once(':')?;
    let [hour, minute, second] =
        [parse_digits(hour, 2)?, parse_digits(minute, 2)?, parse_digits(second, 2)?];
    // A leap second counts as the one before: timestamps have none.
    let second = if second == 60 { 59 } else { second };
    let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000000Z");
    text.parse().ok()
}

/// A number of exactly `digits` digits.
fn parse_digits(text: &str, digits: usize) -> Option<u32> {
    let plain = text.len() == digits && text.bytes().all(|it| it.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

/// Whether the body of an error says that the quota is exhausted, and not that there were too many requests.
pub(super) fn is_quota_exhausted(body: &str) -> bool {
    let Ok(error) = serde_json::from_str::<Value>(body) else { return false };
    let code = |path| error.pointer(path).and_then(Value::as_str);
    CODE_POINTERS.into_iter().filter_map(code).any(|code| QUOTA_CODES.contains(&code))
}

/// Where errors have their codes.
const CODE_POINTERS: [&str; 4] = ["/error/code", "/error/type", "/code", "/type"];

/// Codes that only a payment, or another key, helps against.
const QUOTA_CODES: [&str; 5] = [
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
    "insufficient_quota",
    "insufficient_user_quota",
];

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const YEAR: f64 = 365.0 * 24.0 * 3600.0;
