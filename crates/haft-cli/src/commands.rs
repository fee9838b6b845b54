//! What the commands do.

mod artifact;
mod chat;
mod check;
mod gates;
mod id;
mod new;
mod run;
mod tools;
mod turns;

use std::io::{Read as _, stdin};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;

use crate::args::{Cli, Command};
use crate::terminal::Terminal;

/// Runs a command.
pub(crate) async fn run(command: Command, terminal: &Terminal) -> Result<ExitCode> {
    match command {
        Command::Run(args) => run::run(args, terminal).await,
        Command::Chat(args) => chat::run(args, terminal).await,
        Command::Resume(args) => run::resume(args, terminal).await,
        Command::New(args) => new::run(&args),
        Command::Check(args) => check::run(&args, terminal).await,
        Command::Schema => print(&crate::agent::json_schema()?),
        Command::Tools(args) => tools::list(&args, terminal),
        Command::Describe(args) => tools::describe(&args, terminal),
        Command::Call(args) => tools::call(&args, terminal).await,
        Command::Id(args) => id::run(&args),
        Command::Artifact(args) => artifact::run(args, terminal).await,
        Command::Turns(args) => turns::list(args, terminal).await,
        Command::Show(args) => turns::show(&args, terminal).await,
        Command::Gates(args) => gates::list(&args, terminal).await,
        Command::Approve(args) => gates::approve(&args, terminal).await,
        Command::Deny(args) => gates::deny(&args, terminal).await,
        Command::Gc(args) => turns::collect(&args).await,
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "haft", &mut text);
            print(&String::from_utf8_lossy(&text))
        }
        Command::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut text)?;
            print(&String::from_utf8_lossy(&text))
        }
    }
}

/// Writes to standard output and does not mind if nobody reads on.
fn print(text: &str) -> Result<ExitCode> {
    use std::io::Write as _;
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Longest text that is taken from a file or standard input, in bytes.
const MAX_INPUT: u64 = 64 * 1024 * 1024;

/// An argument that is text, `@FILE` or `-`.
fn text_of(argument: &str) -> Result<String> {
    let mut text = String::new();
    let read = match argument.strip_prefix('@') {
        Some(path) => {
            let file =
                std::fs::File::open(path).with_context(|| format!("cannot open `{path}`"))?;
            file.take(MAX_INPUT + 1)
                .read_to_string(&mut text)
                .with_context(|| format!("cannot read `{path}` as text"))?
        }
        None if argument == "-" => stdin()
            .take(MAX_INPUT + 1)
            .read_to_string(&mut text)
            .context("cannot read standard input as text")?,
        None => return Ok(argument.to_owned()),
    };
    if read as u64 > MAX_INPUT {
        anyhow::bail!("the text has more than {MAX_INPUT} bytes");
    }
    Ok(text)
}
