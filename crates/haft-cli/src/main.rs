//! The binary `haft`.
#![expect(clippy::print_stderr, reason = "a command line program prints")]

mod agent;
mod args;
mod commands;
mod failure;
mod keyboard;
mod store;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::Cli;
use crate::terminal::Terminal;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let terminal = Terminal::new(cli.color);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failure::report(&terminal, &error.into()),
    };
    let code = match runtime.block_on(commands::run(cli.command, &terminal)) {
        Ok(code) => code,
        Err(error) => failure::report(&terminal, &error),
    };
    // Whatever still runs, such as a tool that was given up, is not waited for.
    runtime.shutdown_background();
    code
}
