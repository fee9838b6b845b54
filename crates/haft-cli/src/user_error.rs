//! Errors as the user sees them: a message, its causes, a hint and an exit code.

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use haft::events::ErrorReport;

/// Exit codes other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureCode {
    Failed = 1,
    NotFound = 3,
    /// The turn waits at a gate.
    Waiting = 4,
    /// The turn has ended, but a result could not be stored.
    ResultNotStored = 5,
    /// The model gave no answer that fits the schema.
    NoValidAnswer = 6,
    /// Stopped by SIGHUP.
    HungUp = 129,
    /// Stopped by SIGINT, or cancelled.
    Interrupted = 130,
    /// The reader of standard output closed it: the code of a program that SIGPIPE ends.
    OutputClosed = 141,
    /// Stopped by SIGTERM.
    Terminated = 143,
}

impl From<FailureCode> for ExitCode {
    fn from(code: FailureCode) -> Self {
        Self::from(code as u8)
    }
}

/// An error with an optional location, a hint and an exit code.
#[derive(Debug)]
pub(crate) struct UserError {
    code: FailureCode,
    location: Option<SourceLocation>,
    message: String,
    hint: Option<String>,
}

/// Where an error is in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourceLocation {
    pub(crate) file: PathBuf,
    /// The line; the first one is 1.
    pub(crate) line: Option<usize>,
    /// The key of an agent file.
    pub(crate) key: Option<String>,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match &self.key {
            Some(key) => write!(f, ": `{key}`"),
            None => Ok(()),
        }
    }
}

impl UserError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code: FailureCode::Failed, location: None, message, hint: None }
    }

    /// The error of a store that only machines share, which this program was built without.
    #[cfg(not(feature = "cluster"))]
    pub(crate) fn missing_cluster() -> Self {
        let error = Self::new("this haft was built without the feature `cluster`");
        error.hint(
            "in the repository of haft: cargo install --path crates/haft-cli --features cluster",
        )
    }

    /// Says where the error is.
    pub(crate) fn at(mut self, location: SourceLocation) -> Self {
        self.location = Some(location);
        self
    }

    /// Where the error is, if it is in a file.
    pub(crate) const fn location(&self) -> Option<&SourceLocation> {
        self.location.as_ref()
    }

    /// The advice on how to fix the problem.
    pub(crate) fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The message, without its place.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// How the program ends with it.
    pub(crate) const fn exit_code(&self) -> FailureCode {
        self.code
    }

    /// Adds advice on how to fix the problem.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the exit code.
    pub(crate) fn code(mut self, code: FailureCode) -> Self {
        self.code = code;
        self
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Some(location) => write!(f, "{location}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for UserError {}

/// A hint with the valid name that is most similar to the wrong one, else with all valid names.
pub(crate) fn suggestion(wrong: &str, names: &[&str]) -> Option<String> {
    match haft::schema::nearest(wrong, names.iter().copied()) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None if names.is_empty() => None,
        None => Some(format!("valid names: {}", names.join(", "))),
    }
}

/// The message of an error in a turn, and its causes.
pub(crate) fn describe_report(error: &ErrorReport) -> String {
    match &error.cause {
        Some(cause) => format!("{}\n  caused by: {cause}", error.message),
        None => error.message.to_string(),
    }
}

/// Whether a signal has stopped what failed.
pub(crate) fn is_stopped(error: &anyhow::Error) -> bool {
    let code = error.downcast_ref::<UserError>().map(|it| it.code);
    code.is_some_and(|code| {
        use FailureCode::{HungUp, Interrupted, Terminated};
        matches!(code, HungUp | Interrupted | Terminated)
    })
}
