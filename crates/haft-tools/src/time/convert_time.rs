//! The tool `convert_time`.

use super::moment::{self, Moment};
use haft_core::{CallContext, ToolFailure, tool::Json};
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct ConvertTimeArgs {
    /// The time in ISO 8601, or `now`
    #[arg(min_len = 1, max_len = 80, example = "2026-01-31T14:30")]
    time: String,
    /// The time zone of a time that has no offset of its own; UTC if not given
    #[arg(max_len = 60, example = "America/New_York")]
    from: Option<String>,
    /// The time zone that is wanted
    #[arg(min_len = 1, max_len = 60, example = "Asia/Tokyo")]
    to: String,
}

/// Converts a time into another time zone, with daylight saving as it is on that day.
///
/// Time zones are names of the IANA database, such as `Europe/Paris`, or `UTC`.
///
/// Returns JSON: `time` (ISO 8601 with the offset), `timezone`, `weekday`, `unix_seconds`.
#[tool(read_only, artifact = Json, trusted)]
pub(super) fn convert_time(
    args: ConvertTimeArgs,
    ctx: &CallContext,
) -> Result<Json<Moment>, ToolFailure> {
    let time = moment::parse_moment(&args.time, args.from.as_deref(), ctx)?;
    let zone = moment::find_zone(Some(&args.to))?;
    Ok(Json(Moment::from(&time.with_time_zone(zone))))
}
