//! Suggests the command that a misspelled one was meant to be.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser as _};

use super::Cli;

impl Cli {
    /// Parses the command line of the process. Prints the error or the help text and exits where there is nothing to run.
    pub(crate) fn parse_or_exit() -> Self {
        Self::try_parse().unwrap_or_else(|error| suggest_command(error).exit())
    }
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
    let names = innermost_command(&cli, given).get_subcommands().map(clap::Command::get_name);
    if let Some(name) = haft::schema::nearest(given, names) {
        let suggested = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, suggested);
    }
    error
}

/// The command whose subcommand was misspelled.
fn innermost_command<'c>(cli: &'c clap::Command, misspelled: &str) -> &'c clap::Command {
    let words = std::env::args().skip(1).take_while(|word| word != misspelled);
    words.fold(cli, |command, word| command.find_subcommand(word).unwrap_or(command))
}
