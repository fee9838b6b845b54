//! Times in arguments and results.

use haft_core::CallContext;
use haft_core::tool::ToolFailure;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::Serialize;

/// A moment in a time zone, as tools return it.
#[derive(Serialize)]
pub(super) struct Moment {
    /// ISO 8601 with the offset.
    time: String,
    timezone: String,
    weekday: &'static str,
    unix_seconds: i64,
}

impl From<&Zoned> for Moment {
    fn from(moment: &Zoned) -> Self {
        Self {
            time: iso(moment),
            timezone: name(moment),
            weekday: weekday(moment),
            unix_seconds: moment.timestamp().as_second(),
        }
    }
}

/// Parses a moment. A text without an offset is a local time of the zone.
pub(super) fn parse_moment(
    text: &str,
    timezone: Option<&str>,
    ctx: &CallContext,
) -> Result<Zoned, ToolFailure> {
    let zone = find_zone(timezone)?;
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return current_moment(zone, ctx);
    }
    if let Ok(named) = text.parse::<Zoned>() {
        return Ok(match timezone {
            Some(_) => named.with_time_zone(zone),
            None => named,
        });
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment.to_zoned(zone));
    }
    let local = text.parse::<DateTime>().map_err(|_| {
        ToolFailure::new(format!(
            "`{}` is not a time; write ISO 8601, such as `2026-01-31`, `2026-01-31T14:30`, \
             `2026-01-31T14:30:00+01:00`, or `now`",
            crate::preview(text)
        ))
    })?;
    local.to_zoned(zone).map_err(|_| out_of_range())
}

pub(super) fn current_moment(zone: TimeZone, ctx: &CallContext) -> Result<Zoned, ToolFailure> {
    let micros = ctx.clock().now().as_micros();
    let now = Timestamp::from_microsecond(micros).map_err(|_| out_of_range())?;
    Ok(now.to_zoned(zone))
}

/// Finds the zone with this name; UTC if there is no name.
pub(super) fn find_zone(name: Option<&str>) -> Result<TimeZone, ToolFailure> {
    let name = name.map(str::trim).filter(|it| !it.is_empty()).unwrap_or("UTC");
    if name.eq_ignore_ascii_case("z") {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(name).map_err(|_| {
        ToolFailure::new(format!(
            "there is no time zone `{}`; use a name of the IANA database, such as `Europe/Paris` or \
             `America/New_York`, or `UTC`",
            crate::preview(name)
        ))
    })
}

pub(super) fn out_of_range() -> ToolFailure {
    ToolFailure::new("the time is outside the years -9999 to 9999; use one inside")
}

/// ISO 8601 with the offset.
fn iso(moment: &Zoned) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string()
}

fn name(moment: &Zoned) -> String {
    let zone = moment.time_zone();
    zone.iana_name().map_or_else(|| moment.offset().to_string(), str::to_owned)
}

fn weekday(moment: &Zoned) -> &'static str {
    match moment.weekday() {
        jiff::civil::Weekday::Monday => "Monday",
        jiff::civil::Weekday::Tuesday => "Tuesday",
        jiff::civil::Weekday::Wednesday => "Wednesday",
        jiff::civil::Weekday::Thursday => "Thursday",
        jiff::civil::Weekday::Friday => "Friday",
        jiff::civil::Weekday::Saturday => "Saturday",
        jiff::civil::Weekday::Sunday => "Sunday",
    }
}
