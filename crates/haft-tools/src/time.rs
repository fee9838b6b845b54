//! Dates, times and time zones. The zones are built in; the time is that of the turn's clock.

pub(super) mod convert_time;
pub(super) mod current_time;
mod moment;
pub(super) mod time_add;
pub(super) mod time_diff;
pub(super) mod time_info;

use haft_core::tool::{InvalidTool, Tool};

/// `current_time`, `convert_time`, `time_add`, `time_diff` and `time_info`.
///
/// # Errors
///
/// None is expected: the definitions are fixed.
pub fn time() -> Result<Vec<Tool>, InvalidTool> {
    [
        current_time::current_time(),
        convert_time::convert_time(),
        time_add::time_add(),
        time_diff::time_diff(),
        time_info::time_info(),
    ]
    .into_iter()
    .collect()
}
