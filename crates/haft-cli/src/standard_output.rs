//! Standard output. Every command writes it here, so that what could not be written is never taken for a success.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error_printer::print_error;
use crate::terminal::Terminal;
use crate::user_error::{FailureCode, UserError};

/// What became of standard output.
#[derive(Debug)]
struct OutputState {
    /// The first error. After it nothing more is written: an output with a gap would deceive its reader.
    failure: Option<FailedOutput>,
    /// How to get what was lost.
    recovery: Option<String>,
}

static STATE: Mutex<OutputState> = Mutex::new(OutputState { failure: None, recovery: None });

fn lock_state() -> MutexGuard<'static, OutputState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reason why standard output cannot be written.
#[derive(Clone, Debug)]
struct FailedOutput {
    kind: io::ErrorKind,
    reason: String,
}

impl fmt::Display for FailedOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write to standard output: {}", self.reason)
    }
}

impl std::error::Error for FailedOutput {}

impl From<FailedOutput> for io::Error {
    fn from(failure: FailedOutput) -> Self {
        Self::new(failure.kind, failure)
    }
}

/// Writes to standard output without a buffer. An error is remembered for the exit code, so a caller may ignore it if
/// its work must go on.
#[derive(Debug)]
pub(crate) struct StandardOutput;

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(failure) = &lock_state().failure {
            return Err(failure.clone().into());
        }
        // The standard library takes a descriptor that cannot be written for a sink that accepts everything.
        let written = rustix::io::write(rustix::stdio::stdout(), bytes);
        written.map_err(|error| match io::Error::from(error) {
            error if error.kind() == io::ErrorKind::Interrupted => error,
            error => record_failure(&error),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Remembers that standard output cannot be written, and returns the error for the caller.
pub(crate) fn record_failure(error: &io::Error) -> io::Error {
    let failure = FailedOutput { kind: error.kind(), reason: error.to_string() };
    lock_state().failure.get_or_insert(failure).clone().into()
}

/// Writes text to standard output.
pub(crate) fn write_output(text: &str) -> io::Result<()> {
    StandardOutput.write_all(text.as_bytes())
}

/// Whether something could not be written, so that nobody reads what follows.
pub(crate) fn has_failed() -> bool {
    lock_state().failure.is_some()
}

/// Says how the user gets what a failed standard output loses.
pub(crate) fn set_recovery(hint: impl Into<String>) {
    lock_state().recovery = Some(hint.into());
}

/// Whether an error only says that standard output could not be written.
fn is_output_failure(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io_error = cause.downcast_ref::<io::Error>();
        let inner = io_error.and_then(io::Error::get_ref);
        inner.and_then(|inner| inner.downcast_ref::<FailedOutput>()).is_some()
    })
}

/// Prints the error of a command, or of its output, and returns the exit code. A reader who closed the output knows that,
/// so nothing is printed about it.
pub(crate) fn finish_command(result: anyhow::Result<ExitCode>, terminal: &Terminal) -> ExitCode {
    let code = match result {
        Ok(code) => code,
        Err(error) if is_output_failure(&error) => ExitCode::SUCCESS,
        Err(error) => print_error(terminal, &error),
    };
    let (failure, recovery) = {
        let mut state = lock_state();
        (state.failure.take(), state.recovery.take())
    };
    let Some(failure) = failure else { return code };
    let failed = if failure.kind == io::ErrorKind::BrokenPipe {
        FailureCode::OutputClosed.into()
    } else {
        let error = UserError::new(failure.to_string());
        let error = recovery.into_iter().fold(error, UserError::hint);
        print_error(terminal, &error.into())
    };
    // What the command itself says about its end is more important.
    if code == ExitCode::SUCCESS { failed } else { code }
}
