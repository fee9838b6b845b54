//! Printing the error with which a command ends.

use std::process::ExitCode;

use crate::state_dir::find_dir_hint;
use crate::store_problems::find_store_hint;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::{FailureCode, UserError};

/// Prints an error, its causes and its hint to standard error, and returns the exit code.
///
/// A cause whose text is already part of the previous message is skipped.
pub(crate) fn print_error(terminal: &Terminal, error: &anyhow::Error) -> ExitCode {
    let label = terminal.style_stderr(TextRole::Error, "error");
    print_line(format_args!("{label}: {}", sanitize(&error.to_string())));
    let mut last = error.to_string();
    for cause in error.chain().skip(1) {
        let text = cause.to_string();
        if !last.contains(&text) {
            print_line(format_args!("  caused by: {}", sanitize(&text)));
        }
        last = text;
    }
    let user_error = error.downcast_ref::<UserError>();
    let hint = user_error
        .and_then(UserError::advice)
        .map(str::to_owned)
        .or_else(|| find_store_hint(error));
    let hint = hint.or_else(|| find_dir_hint(error));
    if let Some(hint) = hint {
        let label = terminal.style_stderr(TextRole::Warning, "hint");
        print_line(format_args!("{label}: {}", sanitize(&hint)));
    }
    user_error.map_or(FailureCode::Failed, UserError::exit_code).into()
}
