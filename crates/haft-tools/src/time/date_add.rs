//! The tool `date_add`.

use jiff::Span;

use super::moment::{self, Moment};
use haft_core::{CallContext, ToolFailure, tool::Json};
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
#[arg(note = "negative numbers go back in time")]
pub(crate) struct DateAddArgs {
    /// The time in ISO 8601, or `now`
    #[arg(min_len = 1, max_len = 80, example = "2026-01-31")]
    time: String,
    /// The time zone of a time that has no offset of its own; UTC if not given
    #[arg(max_len = 60, example = "Europe/Paris")]
    timezone: Option<String>,
    #[arg(default = 0, min = -9999, max = 9999)]
    years: i64,
    #[arg(default = 0, min = -99999, max = 99999, example = 1)]
    months: i64,
    #[arg(default = 0, min = -99999, max = 99999)]
    weeks: i64,
    #[arg(default = 0, min = -999999, max = 999999)]
    days: i64,
    #[arg(default = 0, min = -9999999, max = 9999999)]
    hours: i64,
    #[arg(default = 0, min = -999999999, max = 999999999)]
    minutes: i64,
    #[arg(default = 0, min = -99999999999, max = 99999999999)]
    seconds: i64,
}

/// Adds years, months, weeks, days, hours, minutes and seconds to a time, or subtracts them if they are
/// negative.
///
/// Months keep the day where they can: a month after January 31 is the last day of February. Days are days of
/// the calendar, also when daylight saving begins or ends.
///
/// Returns JSON: `time` (ISO 8601 with the offset), `timezone`, `weekday`, `unix_seconds`.
#[tool(read_only, artifact = Json, trusted)]
pub(super) fn date_add(args: DateAddArgs, ctx: &CallContext) -> Result<Json<Moment>, ToolFailure> {
    let time = moment::parse_moment(&args.time, args.timezone.as_deref(), ctx)?;
    let mut later = time;
    for span in spans(&args).map_err(|_| moment::out_of_range())? {
        later = later.checked_add(span).map_err(|_| moment::out_of_range())?;
    }
    Ok(Json(Moment::from(&later)))
}

/// One span for each unit, the largest first: their signs may differ.
fn spans(args: &DateAddArgs) -> Result<[Span; 7], jiff::Error> {
    let zero = Span::new();
    Ok([
        zero.try_years(args.years)?,
        zero.try_months(args.months)?,
        zero.try_weeks(args.weeks)?,
        zero.try_days(args.days)?,
        zero.try_hours(args.hours)?,
        zero.try_minutes(args.minutes)?,
        zero.try_seconds(args.seconds)?,
    ])
}
