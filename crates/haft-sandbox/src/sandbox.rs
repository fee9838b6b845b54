//! The place in which programs run confined, on every system.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use crate::linux::Prepared;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
use crate::unsupported::Prepared;
use crate::{Policy, SandboxError};

/// A place in which programs run confined. It must live as long as they do: then it removes what it has put in the way of
/// directories that must not be created.
#[derive(Debug)]
pub struct Sandbox(Prepared);

impl Sandbox {
    /// Prepares a place with this policy: looks for what must be hidden and protected.
    ///
    /// # Errors
    ///
    /// The system cannot confine programs, or a path of the policy cannot be used.
    pub fn prepare(policy: &Policy) -> Result<Self, SandboxError> {
        Prepared::of(policy).map(Self)
    }

    /// A command that is confined. The caller sets its standard streams, its process group and its environment: the program gets
    /// the variables whose names begin with [`VARIABLE_PREFIX`](crate::VARIABLE_PREFIX), without that, and no others.
    ///
    /// # Errors
    ///
    /// The command line cannot be made.
    pub fn command<S: AsRef<OsStr>>(
        &self,
        program: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Command, SandboxError> {
        self.0.command(program, args)
    }
}
