//! Runs scenarios that are programs: their exit status decides.

use std::path::Path;

use anyhow::{Result, bail};

use crate::sandbox::Sandbox;

/// Runs a program with an interpreter, `python3` or `node`. It is copied next to the installed packages, where imports
/// of JavaScript find them, under a name that no module has.
///
/// # Errors
///
/// It cannot be started, fails, or does not end.
pub fn run(interpreter: &str, file: &Path, sandbox: &Sandbox) -> Result<()> {
    let copy = sandbox.root().join("scenario");
    let copy = copy.with_extension(file.extension().unwrap_or_default());
    std::fs::copy(file, &copy)?;
    let mut command = sandbox.command(sandbox.root().join("bin").join(interpreter));
    command.arg(&copy);
    let ended = sandbox.run(command)?;
    match ended.status {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("{status}\n{}", ended.output),
        None => bail!("did not end within {} s\n{}", sandbox.limit().as_secs(), ended.output),
    }
}
