//! The command-line program `haft`: runs agents, calls tools, queries artifacts and manages turns.
//!
//! The program supports Unix-like systems only. It starts tools in process groups of their own, handles Unix
//! signals and checks the permission bits of files.

#[cfg(not(unix))]
compile_error!(
    "the `haft` program supports Unix-like systems only: it uses process groups, Unix signals and permission bits"
);

mod agent;
mod args;
mod commands;
mod config;
mod conversations;
mod environment;
mod error_printer;
mod host;
mod keyboard;
mod logging;
mod markdown;
mod model_providers;
mod output;
mod own_paths;
mod prices;
mod shell_word;
mod standard_output;
mod state_dir;
mod stop_signals;
mod store;
mod store_address;
mod store_problems;
mod supervisor;
#[cfg(feature = "cluster")]
mod telemetry;
mod temp_dir;
mod terminal;
mod text_file;
mod text_width;
mod user_error;

use std::process::ExitCode;

use tokio::task::JoinSet;

use crate::args::{Cli, Command};
use crate::logging::Logging;
use crate::stop_signals::StopSignals;
use crate::terminal::{Terminal, TerminalMode, Verbosity};

fn main() -> ExitCode {
    if let Some(code) = haft_sandbox::run_helper() {
        return code.into();
    }
    if let Some(code) = supervisor::run_if_supervisor() {
        return code;
    }
    environment::hide_keys();
    let cli = match Cli::parse_command_line() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let verbosity = Verbosity::of(cli.verbose, cli.quiet);
    let terminal = Terminal::detect(cli.color, verbosity);
    let logging = match Logging::install() {
        Ok(logging) => logging,
        Err(error) => return error_printer::print_error(&terminal, &error),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return error_printer::print_error(&terminal, &error.into()),
    };
    let mode = TerminalMode::save();
    let result = runtime.block_on(run_until_stopped(cli.command, terminal));
    let code = standard_output::finish_command(result, &terminal);
    mode.restore();
    runtime.block_on(store::close_stores());
    logging.finish();
    // Tasks that still run, such as an abandoned tool call, must not delay the exit.
    runtime.shutdown_background();
    code
}

/// Runs a command on a task of its own, so that a signal is heard whatever the command does. The end of this process
/// ends the programs that it started.
async fn run_until_stopped(command: Command, terminal: Terminal) -> anyhow::Result<ExitCode> {
    let (signals, mut unhandled) = StopSignals::install()?;
    let mut task = JoinSet::new();
    task.spawn(async move { commands::run_command(command, &terminal, &signals).await });
    tokio::select! {
        result = task.join_next() => match result {
            Some(Ok(result)) => result,
            Some(Err(error)) => Err(error.into()),
            None => Ok(ExitCode::SUCCESS),
        },
        stop = unhandled.next() => Ok(stop.exit_code().into()),
    }
}
