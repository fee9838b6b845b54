//! The command-line program `haft`: runs agents, calls tools, queries artifacts and manages turns.
//!
//! The program supports Unix-like systems only. It starts tools in process groups of their own, handles Unix
//! signals and checks the permission bits of files.
#![expect(clippy::print_stderr, reason = "a command line program prints")]

#[cfg(not(unix))]
compile_error!(
    "the `haft` program supports Unix-like systems only: it uses process groups, Unix signals and permission bits"
);

mod agent;
mod args;
mod commands;
mod keyboard;
mod store;
mod terminal;
mod user_error;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::Cli;
use crate::terminal::Terminal;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let terminal = Terminal::detect(cli.color);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return user_error::print_error(&terminal, &error.into()),
    };
    let code = match runtime.block_on(commands::run_command(cli.command, &terminal)) {
        Ok(code) => code,
        Err(error) => user_error::print_error(&terminal, &error),
    };
    // Tasks that still run, such as an abandoned tool call, must not delay the exit.
    runtime.shutdown_background();
    code
}
