//! `haft watch`

use std::process::ExitCode;

use anyhow::Result;
use haft::executors::ExecutorDescription;
use haft::stores::TurnStatus;
use haft::turn::{StoredTurns, TurnOutcome};

use super::run::{TurnOutput, TurnPrinter, exit_code, load_cost};
use crate::args::WatchArgs;
use crate::config::UserConfig;
use crate::standard_output::has_failed;
use crate::store::{find_turn, open_store};
use crate::store_address::store_option;
use crate::terminal::Terminal;

/// Prints the events of a turn that another process runs, until it ends or waits.
pub(super) async fn watch_turn(args: &WatchArgs, terminal: &Terminal) -> Result<ExitCode> {
    let address = args.store.find_address();
    let stores = open_store(&address).await?;
    let id = find_turn(&stores, &args.turn).await?;
    let turns = StoredTurns::of_stores(&stores);
    let output = if args.json { TurnOutput::Json } else { TurnOutput::Text };
    let mut printer = TurnPrinter::new(*terminal, output, ExecutorDescription::default());
    let summary = turns.load_summary(&id).await?;
    if !args.json && summary.is_some_and(|it| it.status == TurnStatus::Queued) {
        printer.print_notice("the turn waits for a worker");
    }
    let mut follower = turns.follow_turn(&id);
    while let Some(event) = follower.next_event().await? {
        printer.print_event(&event);
        if has_failed() {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let Some(report) = follower.report() else { return Ok(ExitCode::SUCCESS) };
    if matches!(report.outcome, TurnOutcome::Waiting { .. }) && !args.json {
        let gates = turns.gates().open_gates(Some(id.clone())).await?;
        gates.iter().for_each(|gate| printer.print_waiting_gate(gate, &address.url));
    }
    let cost = match UserConfig::read() {
        Ok(config) => load_cost(&config, &turns, report).await,
        // The events are what the user waits for.
        Err(_) => None,
    };
    let command = format!("haft watch {id}{}", store_option(&address.url));
    printer.print_outcome(report, cost, &command);
    Ok(exit_code(report))
}
