//! Failures, for a person: what happened, why, and what to do.

use std::fmt;
use std::process::ExitCode;

use crate::terminal::{Terminal, Tone, plain};

/// The exit codes beside success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Failed = 1,
    NothingFound = 3,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// A failure with advice.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    message: String,
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { code: Code::Failed, message: message.into(), hint: None }
    }

    /// What to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The exit code.
    pub(crate) fn code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Prints a failure and its causes, each once.
pub(crate) fn report(terminal: &Terminal, error: &anyhow::Error) -> ExitCode {
    // Whoever reads the output has seen enough.
    if error.chain().any(is_broken_pipe) {
        return ExitCode::SUCCESS;
    }
    eprintln!("{}: {}", terminal.err(Tone::Bad, "error"), plain(&error.to_string()));
    let mut last = error.to_string();
    for cause in error.chain().skip(1) {
        let text = cause.to_string();
        if !last.contains(&text) {
            eprintln!("  caused by: {}", plain(&text));
        }
        last = text;
    }
    let failure = error.downcast_ref::<Failure>();
    if let Some(hint) = failure.and_then(|it| it.hint.as_deref()) {
        eprintln!("{}: {}", terminal.err(Tone::Notice, "hint"), plain(hint));
    }
    failure.map_or(Code::Failed, |it| it.code).into()
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause
        .downcast_ref::<std::io::Error>()
        .is_some_and(|it| it.kind() == std::io::ErrorKind::BrokenPipe)
}
