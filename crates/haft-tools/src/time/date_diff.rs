//! The tool `date_diff`.

use jiff::civil::{Date, Weekday};
use jiff::{Unit, Zoned};
use serde::Serialize;

use super::moment;
use haft_core::{CallContext, ToolFailure, tool::Json};
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct DateDiffArgs {
    /// The first time in ISO 8601, or `now`
    #[arg(min_len = 1, max_len = 80, example = "2026-01-31")]
    from: String,
    /// The second time in ISO 8601, or `now`
    #[arg(min_len = 1, max_len = 80, example = "2026-03-01T12:00")]
    to: String,
    /// The time zone of times that have no offset of their own; UTC if not given
    #[arg(max_len = 60, example = "Europe/Paris")]
    timezone: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Between {
    /// `earlier`, `later` or `equal`: where `to` stands.
    to_is: &'static str,
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    seconds: i64,
    total_seconds: i64,
    /// Between the two dates, whatever the time of day.
    calendar_days: i64,
    /// Those from Monday to Friday, the later date not counted.
    weekdays: i64,
}

/// Tells how much time lies between two times: in years, months, days, hours, minutes and seconds, and in all
/// as seconds, as days of the calendar and as weekdays (Monday to Friday, holidays not known).
///
/// Returns JSON. `to_is` says whether `to` is later or earlier than `from`; the numbers are never negative.
#[tool(read_only, artifact = Json, trusted)]
pub(super) fn date_diff(
    args: DateDiffArgs,
    ctx: &CallContext,
) -> Result<Json<Between>, ToolFailure> {
    let zone = args.timezone.as_deref();
    let from = moment::parse_moment(&args.from, zone, ctx)?;
    // In one zone: days are those of the first time's calendar.
    let to = moment::parse_moment(&args.to, zone, ctx)?.with_time_zone(from.time_zone().clone());
    let to_is = match to.timestamp().cmp(&from.timestamp()) {
        std::cmp::Ordering::Less => "earlier",
        std::cmp::Ordering::Equal => "equal",
        std::cmp::Ordering::Greater => "later",
    };
    let (first, last) = if to < from { (to, from) } else { (from, to) };
    between(to_is, &first, &last).map(Json).map_err(|_| moment::out_of_range())
}

fn between(to_is: &'static str, first: &Zoned, last: &Zoned) -> Result<Between, jiff::Error> {
    let span = first.until((Unit::Year, last))?;
    let start = first.date();
    let end = last.date();
    let calendar_days = i64::from(start.until((Unit::Day, end))?.get_days());
    Ok(Between {
        to_is,
        years: span.get_years().into(),
        months: span.get_months().into(),
        days: span.get_days().into(),
        hours: span.get_hours().into(),
        minutes: span.get_minutes(),
        seconds: span.get_seconds(),
        total_seconds: last.timestamp().as_second() - first.timestamp().as_second(),
        calendar_days,
        weekdays: weekdays(start, calendar_days),
    })
}

/// How many of so many days, this one first, are from Monday to Friday.
fn weekdays(start: Date, days: i64) -> i64 {
    let first = i64::from(start.weekday().to_monday_zero_offset());
    let saturday = i64::from(Weekday::Saturday.to_monday_zero_offset());
    let rest: i64 = (0..days % 7).map(|day| i64::from((first + day) % 7 < saturday)).sum();
    days / 7 * 5 + rest
}
