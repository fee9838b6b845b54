//! The page in a real browser: Chromium, driven by a script of Node.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use haft_server::Access;
use tokio::process::Command;

use super::example;

/// How long a script may take.
const MAX_TIME: Duration = Duration::from_secs(1200);

/// Runs a script against a server. Its output is the message of a failure.
pub(crate) async fn run_script(name: &str, url: &str, arguments: &[&str]) {
    let Some(servers) = find_browser() else { return };
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let mut command = Command::new("node");
    command.arg(dir.join(name)).arg(url).args(arguments).kill_on_drop(true);
    command.env("HAFT_NODE_MODULES", servers.join("node_modules"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = tokio::time::timeout(MAX_TIME, command.output())
        .await
        .expect("the script took too long")
        .unwrap();
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{name} failed:\n{text}");
    println!("{text}");
}

/// The installed packages, if the browser and its driver are there.
fn find_browser() -> Option<PathBuf> {
    if !haft_testkit::has_program("chromium") || !haft_testkit::has_program("node") {
        return None;
    }
    haft_testkit::server("playwright-core", "node_modules/playwright-core/package.json")
}

const LOG_BYTES: u64 = 8 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_can_look_decide_search_and_fork() {
    let server = example::start_server(Access::Act, LOG_BYTES).await;
    run_script("actions.mjs", &server.url, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_can_approve_always_revoke_and_cancel() {
    let server = example::start_server(Access::Act, LOG_BYTES).await;
    run_script("approvals.mjs", &server.url, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_can_read_threads_replay_and_fork_with_tools() {
    let server = example::start_server(Access::Act, LOG_BYTES).await;
    run_script("turns.mjs", &server.url, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_used_stays_while_calls_run() {
    let server = example::start_server(Access::Act, 1 << 16).await;
    run_script("parallel.mjs", &server.url, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_light_page_is_accessible_and_looks_as_it_should() {
    let server = example::start_server(Access::Act, LOG_BYTES).await;
    run_script("pictures.mjs", &server.url, &["light"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_dark_page_is_accessible_and_looks_as_it_should() {
    let server = example::start_server(Access::Act, LOG_BYTES).await;
    run_script("pictures.mjs", &server.url, &["dark"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_content_stays_text() {
    let dir = tempfile::tempdir().unwrap();
    let example = example::Example::create(&dir.path().join("store"), LOG_BYTES);
    example.create_turns().await;
    example.run_turn("naughty", "0199-naughty", "Fetch all strings.").await;
    let server = example::start_server_on(example, Access::ReadOnly, dir).await;
    run_script("hostile.mjs", &server.url, &[]).await;
}

/// How large the artifact is by default whose figures are printed.
const LARGE_BYTES: u64 = 64 << 20;

/// The times are printed; `HAFT_LARGE_BYTES` sets the size of the artifact.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_content_needs_few_nodes() {
    let dir = tempfile::tempdir().unwrap();
    let log_bytes = haft_testkit::large_bytes(LARGE_BYTES);
    let example = example::Example::create(&dir.path().join("store"), log_bytes);
    example.run_turn("log detective", "0199-log-detective", "What happened?").await;
    example.run_turn("many", "0199-many", "Read all sensors.").await;
    let server = example::start_server_on(example, Access::ReadOnly, dir).await;
    run_script("figures.mjs", &server.url, &[]).await;
}
