//! The implementation of the commands.

mod artifact;
mod call;
mod chat;
mod check;
mod cleanup;
mod config;
mod conversations;
mod doctor;
mod gates;
mod grants;
mod mcp;
mod media;
mod models;
mod new;
mod run;
mod serve;
mod submit;
mod test;
#[cfg(test)]
mod tests;
mod tools;
mod turns;
mod watch;
mod web;
mod worker;

use std::io::{Read as _, stdin};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use haft::turn::{Clock as _, SystemClock, Timestamp};

use crate::args::{Cli, Command};
use crate::output::{schema_text, write_schemas};
use crate::standard_output::write_output;
use crate::stop_signals::StopSignals;
use crate::terminal::{Terminal, TextRole, print_line};
use crate::text_file::file_error;
use crate::user_error::FailureCode;

/// Runs a command and returns its exit code.
pub(crate) async fn run_command(
    command: Command,
    terminal: &Terminal,
    signals: &StopSignals,
) -> Result<ExitCode> {
    match command {
        Command::Run(args) => run::run_turn(args, terminal, signals).await,
        Command::Chat(args) => chat::run_chat(args, terminal, signals).await,
        Command::Resume(args) => run::resume_turn(args, terminal, signals).await,
        Command::Submit(args) => submit::submit_turn(&args, terminal).await,
        Command::Watch(args) => watch::watch_turn(&args, terminal).await,
        Command::Worker(args) => worker::run_worker(&args, terminal, signals).await,
        Command::Serve(args) => serve::run_serve(args, terminal, signals).await,
        Command::New(args) => new::create_agent(&args),
        Command::Check(args) => check::check_agent(&args, terminal).await,
        Command::Test(args) => test::run_tests(&args, terminal).await,
        Command::Schema { name, dir } => match dir {
            Some(dir) => write_schemas(&dir).map(|()| ExitCode::SUCCESS),
            None => print_text(&schema_text(&name)?),
        },
        Command::Tools(args) => tools::list_tools(&args, terminal).await,
        Command::Describe(args) => tools::describe_tool(&args, terminal).await,
        Command::Call(args) => call::call_tool(&args, terminal, signals).await,
        Command::Artifact(args) => artifact::query_artifact(args, terminal).await,
        Command::Media(args) => media::run_media_command(args, terminal).await,
        Command::Turns(args) => turns::list_turns(args, terminal).await,
        Command::Conversations(args) => {
            conversations::run_conversations_command(args, terminal).await
        }
        Command::Show(args) => turns::show_turn(&args, terminal).await,
        Command::Gates(args) => gates::list_gates(&args, terminal).await,
        Command::Approve(args) => gates::approve_gate(&args, terminal).await,
        Command::Deny(args) => gates::deny_gate(&args, terminal).await,
        Command::Grants(args) => grants::run_grants(&args, terminal).await,
        Command::Cancel(args) => cleanup::cancel_turn(&args, terminal).await,
        Command::Rm(args) => cleanup::remove_turns(&args, terminal).await,
        Command::Gc(args) => cleanup::collect_garbage(&args).await,
        Command::Mcp(args) => mcp::run_mcp(args, terminal).await,
        Command::Web(args) => web::serve_inspector(&args, terminal).await,
        Command::Models(args) => models::list_models(&args, terminal).await,
        Command::Doctor(args) => doctor::run_doctor(&args, terminal).await,
        Command::Config(args) => config::run_config_command(&args, terminal),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "haft", &mut text);
            print_text(&String::from_utf8_lossy(&text))
        }
        Command::Man { dir: Some(dir) } => {
            std::fs::create_dir_all(&dir)?;
            clap_mangen::generate_to(Cli::command(), &dir)
                .with_context(|| format!("cannot write to `{}`", dir.display()))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Man { dir: None } => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut text)?;
            print_text(&String::from_utf8_lossy(&text))
        }
    }
}

/// Writes text to standard output.
fn print_text(text: &str) -> Result<ExitCode> {
    write_output(text)?;
    Ok(ExitCode::SUCCESS)
}

/// Says that a command found nothing, and what the user can do about it.
fn report_nothing(what: &str, hint: &str, terminal: &Terminal) -> ExitCode {
    let label = terminal.style_stderr(TextRole::Warning, "hint");
    print_line(format_args!("{what}\n{label}: {hint}"));
    FailureCode::NotFound.into()
}

/// Maximum length of text from a file or from standard input, in bytes.
const MAX_INPUT: u64 = 64 * 1024 * 1024;

/// Reads the text of an argument: the argument itself, a file for `@FILE`, standard input for `-`.
fn read_text_argument(argument: &str) -> Result<String> {
    let mut text = String::new();
    let read = match argument.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|error| {
                file_error(format!("cannot open `{path}`"), path.as_ref(), error)
            })?;
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

/// A number and its noun, with the plural `s` where it belongs.
fn count_noun(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A number with separators between thousands.
fn format_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration in the unit that a person would use.
fn format_duration(duration: Duration) -> String {
    let (milliseconds, seconds) = (duration.as_millis(), duration.as_secs());
    // Rounded first, so that a little less than a minute is not `60.0 s`.
    let tenths = (milliseconds + 50) / 100;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..60 if tenths < 600 => format!("{}.{} s", tenths / 10, tenths % 10),
        1..60 => "1 min 0 s".to_owned(),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A time to the second. Fractions of it are of use to programs only.
fn format_time(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}

/// How long ago something was, in one unit.
fn format_age(at: Timestamp) -> String {
    format_age_at(at, SystemClock::new().now())
}

fn format_age_at(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Shortens a text to about a number of characters, and says how many bytes are left out.
fn elide(text: &str, limit: usize) -> String {
    let Some((at, _)) = text.char_indices().nth(limit) else { return text.to_owned() };
    let (start, rest) = text.split_at_checked(at).unwrap_or((text, ""));
    let noun = if rest.len() == 1 { "byte" } else { "bytes" };
    format!("{start}… ({} more {noun})", format_count(rest.len() as u64))
}
