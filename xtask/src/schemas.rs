//! `cargo xtask schemas`: the JSON Schemas of what `haft` prints, in `docs/schema`, and that of the agent file in its crate.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Where the schemas are published.
const DIRECTORY: &str = "docs/schema";
/// The copy that the crate of the program carries.
const AGENT_FILE: &str = "crates/haft-cli/agent.schema.json";

/// Builds the program, which writes the schemas of its own types.
pub(crate) fn write(root: &Path) -> ExitCode {
    match write_files(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_files(root: &Path) -> Result<(), String> {
    let dir = root.join(DIRECTORY);
    // What no command prints any more has no schema any more.
    let _ = std::fs::remove_dir_all(&dir);
    // In the profile of the tests, which have built the program already.
    let run = [
        "run",
        "--quiet",
        "--locked",
        "--all-features",
        "--profile",
        "test",
        "--bin",
        "haft",
        "--",
    ];
    let done = Command::new("cargo")
        .args(run)
        .args(["schema", "--dir", DIRECTORY])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !done.success() {
        return Err("the program did not write its schemas".to_owned());
    }
    let copied = std::fs::copy(dir.join("agent.schema.json"), root.join(AGENT_FILE));
    copied.map(drop).map_err(|error| format!("{AGENT_FILE}: {error}"))
}
