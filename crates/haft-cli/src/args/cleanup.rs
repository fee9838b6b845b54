//! The arguments of `haft cancel`, `haft rm` and `haft gc`.

use std::time::Duration;

use clap::Args;

use super::StoreArg;

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// Id of the turn, a unique beginning or end of it, or `last`
    pub(crate) turn: String,
    /// Reason that is stored with the turn
    #[arg(long, value_name = "TEXT", default_value = "it was not needed any more")]
    pub(crate) reason: String,
    /// Also cancel a turn that a process runs, on this machine or another one
    ///
    /// The request is stored. The process sees it when it renews its lease on the turn.
    #[arg(long)]
    pub(crate) running: bool,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// Ids of the turns, unique beginnings or ends of them, or `last`
    #[arg(required = true, value_name = "TURN")]
    pub(crate) turns: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Also remove turns that have ended and began longer ago than AGE, such as `30d`, `12h` or `45m`
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) older_than: Option<Duration>,
    /// Also remove the content of turns that are not in the database
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Parses an age: a number and a unit.
pub(super) fn parse_age(text: &str) -> Result<Duration, String> {
    let invalid = || format!("`{text}` is no age; write a number and one of w, d, h, m, s: 30d");
    let mut digits = text.chars();
    let unit: u64 = match digits.next_back() {
        Some('w') => 7 * 24 * 3600,
        Some('d') => 24 * 3600,
        Some('h') => 3600,
        Some('m') => 60,
        Some('s') => 1,
        _ => return Err(invalid()),
    };
    let count: u64 = digits.as_str().parse().map_err(|_| invalid())?;
    count.checked_mul(unit).map(Duration::from_secs).ok_or_else(invalid)
}
