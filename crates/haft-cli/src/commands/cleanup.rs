//! `haft cancel`, `haft rm`, `haft gc`

use std::process::ExitCode;

use anyhow::Result;
use haft::stores::{CancelRequest, StoreError};
use haft::turn::{Clock as _, GarbageOptions, StoredTurns, SystemClock, TurnError, TurnOutcome};

use super::count_noun;
use super::gates::read_current_user;
use crate::args::{CancelArgs, GcArgs, RmArgs};
use crate::store::{find_turn, open_store};
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::UserError;

pub(super) async fn cancel_turn(args: &CancelArgs, terminal: &Terminal) -> Result<ExitCode> {
    let stores = open_store(&args.store.find_address()).await?;
    let id = find_turn(&stores, &args.turn).await?;
    let turns = StoredTurns::of_stores(&stores);
    let report = match turns.cancel_turn(&id, args.reason.as_str()).await {
        Err(TurnError::Store(StoreError::Held { holder, .. })) if args.running => {
            let request = CancelRequest::new(read_current_user(), args.reason.as_str());
            turns.request_cancel(&id, request).await?;
            let done = terminal.style_stderr(TextRole::Warning, "cancellation requested");
            print_line(format_args!("{done} {id}: {} ends it", sanitize(&holder)));
            return Ok(ExitCode::SUCCESS);
        }
        report => report.map_err(explain_held_turn)?,
    };
    if !matches!(report.outcome, TurnOutcome::Cancelled { .. }) {
        let outcome = &report.outcome;
        return Err(UserError::new(format!("turn `{id}` has already ended: {outcome}")).into());
    }
    print_line(format_args!("{} {id}", terminal.style_stderr(TextRole::Warning, "cancelled")));
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn remove_turns(args: &RmArgs, terminal: &Terminal) -> Result<ExitCode> {
    let stores = open_store(&args.store.find_address()).await?;
    let turns = StoredTurns::of_stores(&stores);
    for turn in &args.turns {
        let id = find_turn(&stores, turn).await?;
        turns.remove_turn(&id).await.map_err(explain_held_turn)?;
        print_line(format_args!("{} {id}", terminal.style_stderr(TextRole::Warning, "removed")));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn collect_garbage(args: &GcArgs) -> Result<ExitCode> {
    let stores = open_store(&args.store.find_address()).await?;
    let mut options = GarbageOptions::new();
    if let Some(age) = args.older_than {
        options = options.created_before(SystemClock::new().now().saturating_sub(age));
    }
    if args.force {
        options = options.unknown_turns();
    }
    let report = StoredTurns::of_stores(&stores).collect_garbage_with(options).await?;
    let orphans = stores.spools().remove_orphans().await?;
    if report.unknown > 0 {
        let left = count_noun(report.unknown, "result");
        print_line(format_args!(
            "{left} of turns that are not in this database left alone; `haft gc --force` removes them"
        ));
    }
    let turns = match args.older_than {
        Some(_) => format!("{} removed\n", count_noun(report.turns, "turn")),
        None => String::new(),
    };
    let results = count_noun(report.content + orphans, "stored result");
    super::print_text(&format!("{turns}{results} removed\n"))
}

/// Adds advice to the error of a turn that a process runs.
pub(super) fn explain_held_turn(error: TurnError) -> anyhow::Error {
    match error {
        TurnError::Store(held @ StoreError::Held { .. }) => UserError::new(held.to_string())
            .hint(
                "stop the process that runs it, or cancel the turn with `haft cancel --running`; if the process has died, \
                 try again after the time above",
            )
            .into(),
        error => error.into(),
    }
}
