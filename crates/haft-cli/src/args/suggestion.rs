//! Suggests the command that a misspelled one was meant to be.

use std::io::{Write as _, stdout};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory as _, Parser as _};

use super::Cli;
use crate::standard_output::{finish_command, record_failure};
use crate::terminal::{Terminal, Verbosity};

impl Cli {
    /// Parses the command line of the process. Prints the error or the help text and returns the exit code where there is
    /// nothing to run.
    pub(crate) fn parse_command_line() -> Result<Self, ExitCode> {
        Self::try_parse().map_err(|error| print_parse_error(&suggest_command(error)))
    }
}

fn print_parse_error(error: &clap::Error) -> ExitCode {
    let is_help = !error.use_stderr();
    if let Err(failure) = error.print().and_then(|()| stdout().flush())
        && is_help
    {
        record_failure(&failure);
    }
    let code = u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
    finish_command(Ok(code), &Terminal::detect(ColorChoice::Auto, Verbosity::Normal))
}

/// Replaces the suggestion of an error about an unknown command. The metric of the parser compares long names well, but
/// suggests `grants` in place of `run` for `rn`.
fn suggest_command(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let mut cli = Cli::command();
    // Commands within commands are known from here on.
    cli.build();
    let names: Vec<&str> =
        innermost_command(&cli, given).get_subcommands().map(clap::Command::get_name).collect();
    if let Some(name) = haft::schema::nearest(given, names.iter().copied()) {
        let suggested = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, suggested);
    } else if error.get(ContextKind::SuggestedSubcommand).is_none() {
        let tip = format!("the commands are: {}", names.join(", "));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The command whose subcommand was misspelled.
fn innermost_command<'c>(cli: &'c clap::Command, misspelled: &str) -> &'c clap::Command {
    let words = std::env::args().skip(1).take_while(|word| word != misspelled);
    words.fold(cli, |command, word| command.find_subcommand(word).unwrap_or(command))
}
