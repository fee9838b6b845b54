//! The tool `date_calendar_info`.

use serde::Serialize;

use super::moment::{self, Moment};
use haft_core::{CallContext, ToolFailure, tool::Json};
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct DateCalendarInfoArgs {
    /// The time in ISO 8601, or `now`
    #[arg(min_len = 1, max_len = 80, example = "2026-01-31")]
    time: String,
    /// The time zone of a time that has no offset of its own; UTC if not given
    #[arg(max_len = 60, example = "Europe/Paris")]
    timezone: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Facts {
    #[serde(flatten)]
    moment: Moment,
    weekend: bool,
    day_of_year: i16,
    iso_week: String,
    quarter: i8,
    days_in_month: i8,
    leap_year: bool,
    daylight_saving: bool,
}

/// Checks that a text is a time and tells what the calendar says of it: weekday, ISO week, day of the year,
/// quarter, length of the month, leap year, daylight saving.
///
/// Returns JSON: `time` (ISO 8601 with the offset), `timezone`, `weekday`, `unix_seconds`, `weekend`,
/// `day_of_year`, `iso_week`, `quarter`, `days_in_month`, `leap_year`, `daylight_saving`.
#[tool(read_only, artifact = Json, trusted)]
pub(super) fn date_calendar_info(
    args: DateCalendarInfoArgs,
    ctx: &CallContext,
) -> Result<Json<Facts>, ToolFailure> {
    let time = moment::parse_moment(&args.time, args.timezone.as_deref(), ctx)?;
    let week = time.date().iso_week_date();
    let zone = time.time_zone().to_offset_info(time.timestamp());
    Ok(Json(Facts {
        moment: Moment::from(&time),
        weekend: time.weekday().to_monday_zero_offset() > 4,
        day_of_year: time.day_of_year(),
        iso_week: format!("{:04}-W{:02}", week.year(), week.week()),
        quarter: (time.month() + 2) / 3,
        days_in_month: time.days_in_month(),
        leap_year: time.in_leap_year(),
        daylight_saving: zone.dst().is_dst(),
    }))
}
