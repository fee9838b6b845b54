//! The tool `get_current_time`.

use super::moment::{self, Moment};
use haft_core::{CallContext, ToolFailure, tool::Json};
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct GetCurrentTimeArgs {
    /// The time zone, as a name of the IANA database; UTC if not given
    #[arg(max_len = 60, example = "Europe/Paris")]
    timezone: Option<String>,
}

/// Tells the current date and time in a time zone. Use it whenever an answer depends on today's date.
///
/// Returns JSON: `time` (ISO 8601 with the offset), `timezone`, `weekday`, `unix_seconds`.
#[tool(read_only, artifact = Json, trusted)]
pub(super) fn get_current_time(
    args: GetCurrentTimeArgs,
    ctx: &CallContext,
) -> Result<Json<Moment>, ToolFailure> {
    let zone = moment::find_zone(args.timezone.as_deref())?;
    Ok(Json(Moment::from(&moment::current_moment(zone, ctx)?)))
}
