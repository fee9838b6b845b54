//! `haft worker`

mod status_server;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use haft::events::EventKind;
use haft::turn::{Cancellation, GatePolicy};
use haft::worker::{Worker, WorkerStats};

use self::status_server::StatusServer;
use super::count_noun;
use crate::args::WorkerArgs;
use crate::config::UserConfig;
use crate::host::{AgentHost, AgentTrust, EventObserver, HostSettings, OtherAgents};
use crate::output::EventLine;
use crate::standard_output::write_output;
use crate::stop_signals::{StopListener, StopSignals};
use crate::store::open_or_create_store;
use crate::store_address::show_url;
use crate::terminal::{Terminal, TextRole, Verbosity, print_line, sanitize};
use crate::user_error::{UserError, describe_report};

/// Claims turns and runs them until a signal asks for the end. A second signal does not wait for the turns.
pub(super) async fn run_worker(
    args: &WorkerArgs,
    terminal: &Terminal,
    signals: &StopSignals,
) -> Result<ExitCode> {
    let address = args.store.find_address();
    if args.agents.is_empty() && address.url.is_shared() {
        let error = UserError::new("the turns of a shared store name agents of other machines");
        return Err(error.hint("name the agents of this worker: --agents DIR").into());
    }
    let mut stop = signals.listen();
    let stores = open_or_create_store(&address).await?;
    let name = args.name.clone().unwrap_or_else(|| format!("worker {}", std::process::id()));
    let settings = HostSettings {
        name: Some(name.clone()),
        lease: args.lease,
        plain_http: args.plain_http,
        trust: AgentTrust::of_option(args.trust),
        own: address.own_paths(),
        gates: GatePolicy::Suspend,
        observer: Some(event_printer(args.json, *terminal)),
        ..HostSettings::new(terminal)
    };
    let others = if args.agents.is_empty() { OtherAgents::Included } else { OtherAgents::Excluded };
    let host = AgentHost::new(stores.clone(), UserConfig::read()?, settings);
    let host = host.offer(&args.agents, others)?;
    host.prepare_all().await?;
    let agents = host.names().join(", ");
    let builder = Worker::builder(Arc::clone(stores.turns()), host);
    let builder = match &args.tenant {
        Some(tenant) => builder.tenant(tenant),
        None => builder,
    };
    let worker = builder
        .name(&name)
        .concurrency(args.concurrency.get())
        .lease(args.lease)
        .drain_deadline(args.drain)
        .build();
    let server = match args.listen {
        Some(address) => {
            Some(StatusServer::start(address, worker.clone(), args.concurrency).await?)
        }
        None => None,
    };
    if let Some(server) = &server {
        print_line(format_args!("status at http://{}/metrics", server.address()));
    }
    let agents = if agents.is_empty() { "all agents".to_owned() } else { agents };
    print_line(format_args!(
        "{} as {} from {}: {}",
        terminal.style_stderr(TextRole::Success, "claiming turns"),
        sanitize(&name),
        sanitize(&show_url(&address.url)),
        sanitize(&agents)
    ));
    let stats = run_until_stopped(&worker, &mut stop, terminal).await?;
    print_summary(&stats, terminal);
    Ok(ExitCode::SUCCESS)
}

/// Runs the worker. The first signal lets the turns end, the second one ends the program.
async fn run_until_stopped(
    worker: &Worker,
    stop: &mut StopListener,
    terminal: &Terminal,
) -> Result<WorkerStats> {
    let drain = Cancellation::new();
    let mut work = std::pin::pin!(worker.run_until(drain.cancelled()));
    loop {
        tokio::select! {
            biased;
            signal = stop.next() => {
                if drain.is_cancelled() {
                    let text = format!("stopped by {}; the turns can be resumed", signal.name());
                    return Err(UserError::new(text).code(signal.exit_code()).into());
                }
                drain.cancel(signal.name());
                let running = count_noun(usize::try_from(worker.stats().running)?, "turn");
                let text = format!("{}: waiting for {running}", signal.name());
                print_line(format_args!("{}", terminal.style_stderr(TextRole::Warning, text)));
            }
            stats = &mut work => return Ok(stats?),
        }
    }
}

/// Prints the events of turns: all of them as JSON, or the ends.
fn event_printer(as_json: bool, terminal: Terminal) -> EventObserver {
    Arc::new(move |event| {
        if as_json {
            if let Ok(line) = serde_json::to_string(&EventLine::Event(event)) {
                // A worker whose log is lost goes on: others wait for its turns.
                let _ = write_output(&format!("{line}\n"));
            }
        } else if let EventKind::TurnEnd { status, resumable, error, .. } = &event.kind
            && terminal.verbosity > Verbosity::Quiet
        {
            let left = if *resumable { ", left for later" } else { "" };
            let error =
                error.as_ref().map(|it| format!(": {}", describe_report(it))).unwrap_or_default();
            let text = format!("turn {} {}{left}{error}", event.turn, status.as_str());
            print_line(format_args!("{}", sanitize(&text)));
        }
    })
}

fn print_summary(stats: &WorkerStats, terminal: &Terminal) {
    if terminal.verbosity == Verbosity::Quiet {
        return;
    }
    let WorkerStats { claimed, completed, failed, waiting, interrupted, errors, .. } = stats;
    print_line(format_args!(
        "claimed {claimed}: {completed} completed, {failed} failed, {waiting} left at gates, {interrupted} left to be resumed, \
         {errors} could not be run"
    ));
}
