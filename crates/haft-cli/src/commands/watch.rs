//! `haft watch`

use std::process::ExitCode;

use anyhow::Result;
use haft::executors::{ExecutorDescription, Step, StepContext, StepError};
use haft::stores::{TurnId, TurnStatus};
use haft::turn::{TurnOutcome, TurnRunner};

use super::run::{TurnOutput, TurnPrinter, exit_code, load_cost};
use crate::args::WatchArgs;
use crate::standard_output::has_failed;
use crate::store::{find_turn, open_store};
use crate::store_address::store_option;
use crate::terminal::Terminal;

/// Prints the events of a turn that another process runs, until it ends or waits.
pub(super) async fn watch_turn(args: &WatchArgs, terminal: &Terminal) -> Result<ExitCode> {
    let address = args.store.find_address();
    let stores = open_store(&address).await?;
    let id = find_turn(&stores, &args.turn).await?;
    let no_step = |_: StepContext| async { Err::<Step, _>(StepError::new("no turn runs here")) };
    let runner = TurnRunner::builder(no_step).stores(&stores).build()?;
    let output = if args.json { TurnOutput::Json } else { TurnOutput::Text };
    let mut printer = TurnPrinter::new(*terminal, output, ExecutorDescription::default());
    if !args.json && is_queued(&runner, &id).await? {
        printer.print_notice("the turn waits for a worker");
    }
    let mut follower = runner.follow_turn(&id);
    while let Some(event) = follower.next_event().await? {
        printer.print_event(&event);
        if has_failed() {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let Some(report) = follower.report() else { return Ok(ExitCode::SUCCESS) };
    if matches!(report.outcome, TurnOutcome::Waiting { .. }) && !args.json {
        let gates = runner.gates().open_gates(Some(id.clone())).await?;
        gates.iter().for_each(|gate| printer.print_waiting_gate(gate, &address.url));
    }
    let cost = load_cost(&stores, report).await;
    let command = format!("haft watch {id}{}", store_option(&address.url));
    printer.print_outcome(report, cost, &command);
    Ok(exit_code(report))
}

async fn is_queued(runner: &TurnRunner, id: &TurnId) -> Result<bool> {
    let turn = runner.load_turn(id).await?;
    Ok(turn.is_some_and(|turn| turn.summary.status == TurnStatus::Queued))
}
