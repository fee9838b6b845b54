//! `haft turns`, `haft show`

mod record_view;
mod step_view;
mod turn_list;
mod turn_view;

use std::process::ExitCode;

use anyhow::Result;
use haft::stores::{TurnStatus, TurnSummary};
use haft::turn::{Clock as _, StoredTurns, SystemClock, TurnHistory};
use serde_json::Value;

pub(super) use self::turn_list::list_turns;
use self::turn_view::TurnView;
use crate::args::ShowArgs;
use crate::output::to_pretty_text;
use crate::store::{find_turn, open_store_to_read};
use crate::terminal::{Terminal, TextRole, sanitize};
use crate::user_error::{FailureCode, UserError};

/// The summary of a turn as it is now: a turn whose process died was interrupted, and `stop` says why it does not run.
fn summary_now(mut summary: TurnSummary) -> TurnSummary {
    let now = SystemClock::new().now();
    let stop = summary.stop_at(now);
    summary.status = summary.status_at(now);
    summary.stop = stop;
    summary
}

/// Whether a process holds the lease of a turn.
pub(super) fn is_held(summary: &TurnSummary) -> bool {
    summary.schedule().is_held(SystemClock::new().now())
}

fn status_role(status: TurnStatus) -> TextRole {
    match status {
        TurnStatus::Completed => TextRole::Success,
        TurnStatus::Damaged => TextRole::Error,
        status if !status.is_final() => TextRole::Warning,
        _ => TextRole::Error,
    }
}

pub(super) async fn show_turn(args: &ShowArgs, terminal: &Terminal) -> Result<ExitCode> {
    let stores = open_store_to_read(&args.store.find_address()).await?;
    let id = find_turn(&stores, &args.turn).await?;
    let Some(turn) = StoredTurns::of_stores(&stores).load_turn(&id).await? else {
        let error = UserError::new(format!("turn `{id}` was removed")).code(FailureCode::NotFound);
        return Err(error.into());
    };
    if let Some(step) = args.request {
        return step_view::show_request(args, step, &stores, &turn, terminal).await;
    }
    if let Some(step) = args.response {
        return step_view::show_response(args, step, &turn, &stores, terminal).await;
    }
    let view = TurnView::load(&turn, &stores).await?;
    if args.json {
        return super::print_text(&to_pretty_text(&view.printed())?);
    }
    super::print_text(&view.to_text(args.full, terminal))
}

/// Parses JSON text. Text that is not JSON becomes a string.
fn parse_json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Why a turn stopped, with the code and the causes of the error.
fn stop_error(summary: &TurnSummary, history: &TurnHistory) -> Option<String> {
    let Some(error) = history.error() else {
        return summary.stop.as_ref().map(|it| sanitize(&it.message));
    };
    let mut text = sanitize(&error.message);
    if let Some(code) = &error.code {
        text = format!("{code}: {text}");
    }
    if let Some(cause) = &error.cause {
        text.push_str(&format!("\n  cause: {}", sanitize(cause)));
    }
    Some(text)
}
