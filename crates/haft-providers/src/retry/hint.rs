//! What a provider says about trying again.

use std::time::Duration;

use haft_core::clock::Timestamp;

use super::date;
use crate::transport::Headers;

/// What the headers of a response say about trying again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hint {
    /// How long to wait.
    pub(super) after: Option<Duration>,
    /// Whether to try again at all.
    pub(super) again: Option<bool>,
}

impl Hint {
    pub(super) fn read(headers: &Headers, now: Timestamp) -> Self {
        let again = match headers.get("x-should-retry").map(str::trim) {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        Self { after: after(headers, now), again }
    }
}

/// How long to wait. What is zero, negative or not understood says nothing.
fn after(headers: &Headers, now: Timestamp) -> Option<Duration> {
    let precise = headers.get("retry-after-ms").and_then(|text| duration(text, 1e-3));
    let after = precise.or_else(|| {
        let text = headers.get("retry-after")?.trim();
        duration(text, 1.0).or_else(|| {
            // By the provider's own clock if it tells the time, so that ours need not be right.
            let now = headers.get("date").and_then(|it| date::parse(it, now)).unwrap_or(now);
            Some(date::parse(text, now)?.duration_since(now))
        })
    });
    after.filter(|it| !it.is_zero())
}

/// A number of some unit; more than a year counts as a year.
fn duration(text: &str, unit: f64) -> Option<Duration> {
    let text = text.trim();
    let plain = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let seconds = text.parse::<f64>().ok().filter(|_| plain)? * unit;
    Duration::try_from_secs_f64(seconds.min(YEAR)).ok()
}

const YEAR: f64 = 365.0 * 24.0 * 3600.0;
