//! Runs a program confined to a directory: `confine DIR PROGRAM ARGS…`. The tests of this crate use it.

#![expect(clippy::print_stderr, reason = "an example prints")]

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use haft_sandbox::{Policy, Sandbox, VARIABLE_PREFIX};

fn main() -> ExitCode {
    if let Some(code) = haft_sandbox::run_helper() {
        return code.into();
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [policy, program, args @ ..] = args.as_slice() else {
        eprintln!("usage: confine POLICY PROGRAM ARGS…");
        return ExitCode::FAILURE;
    };
    match run(policy, program, args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The policy is a directory that is writable, or one from [`Policy::to_argument`].
fn run(
    policy: &str,
    program: &str,
    args: &[String],
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let policy = match policy.starts_with('{') {
        true => Policy::from_argument(policy)?,
        false => Policy::new(policy).write("."),
    };
    let sandbox = Sandbox::prepare(&policy)?;
    let mut command = sandbox.command(Path::new(program), args)?;
    let variables = std::env::vars_os().map(|(name, value)| {
        let mut prefixed = OsString::from(VARIABLE_PREFIX);
        prefixed.push(name);
        (prefixed, value)
    });
    let status = command.env_clear().envs(variables).status()?;
    let code = status.code().and_then(|it| u8::try_from(it).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
