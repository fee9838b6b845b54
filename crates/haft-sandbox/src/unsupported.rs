//! Systems on which nothing can be confined, so that nothing starts.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::{Policy, SandboxError};

/// Never there.
#[derive(Debug)]
pub(crate) enum Prepared {}

impl Prepared {
    pub(crate) fn of(_policy: &Policy) -> Result<Self, SandboxError> {
        Err(unavailable())
    }

    pub(crate) fn command<S: AsRef<OsStr>>(
        &self,
        _program: &Path,
        _args: impl IntoIterator<Item = S>,
    ) -> Result<Command, SandboxError> {
        match *self {}
    }
}

/// Checks whether programs can be confined here.
///
/// # Errors
///
/// This system cannot confine programs.
pub fn check_system() -> Result<(), SandboxError> {
    Err(unavailable())
}

/// Does the work of a helper process, if this process is one. It never is one on this system.
#[must_use]
pub const fn run_helper() -> Option<u8> {
    None
}

fn unavailable() -> SandboxError {
    SandboxError::Unavailable {
        missing: "programs are confined on Linux only (x86-64 and arm64)".to_owned(),
        hint: "run the agent on Linux, or let its programs run with all your rights: `sandbox = false`",
    }
}
