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

/// What a person reads as the status of a turn. One that no process holds, and that can be resumed, is interrupted: the
/// store calls it suspended if its process left it in order, and running if its process died.
fn status_word(summary: &TurnSummary) -> &'static str {
    match summary.status {
        TurnStatus::Suspended => "interrupted",
        TurnStatus::Running if !is_held(summary) => "interrupted",
        status => status.as_str(),
    }
}

/// Whether a process holds the lease of a turn.
pub(super) fn is_held(summary: &TurnSummary) -> bool {
    let now = SystemClock::new().now();
    summary.holder.is_some() && summary.held_until.is_some_and(|until| until > now)
}

fn status_role(status: TurnStatus) -> TextRole {
    match status {
        TurnStatus::Completed => TextRole::Success,
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

/// The error that a turn ended with, with its code and its causes.
fn end_error(history: &TurnHistory) -> Option<String> {
    let error = history.end.as_ref()?.error.as_ref()?;
    let mut text = sanitize(&error.message);
    if let Some(code) = &error.code {
        text = format!("{code}: {text}");
    }
    if let Some(cause) = &error.cause {
        text.push_str(&format!("\n  cause: {}", sanitize(cause)));
    }
    Some(text)
}
