//! The reference's way in node, as a process of its own.
//!
//! The script and its locked dependencies are part of this binary; they are installed next to it,
//! under cargo's target directory, on first use. Without node or npm the rows are left out.

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::measure::Plan;

const SCRIPT: &str = include_str!("../node/reference.mjs");
#[cfg(not(feature = "allocations"))]
const STREAM: &str = include_str!("../node/stream.mjs");
const PACKAGE: &str = include_str!("../node/package.json");
const LOCK: &str = include_str!("../node/package-lock.json");

/// The name of the reference in tables.
pub(crate) const NAME: &str = "node: the reference's way";

/// One thing to measure in node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The JSON text it starts from.
    pub(crate) text: String,
}

/// What node measured.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    /// Process CPU time per call in nanoseconds.
    pub(crate) ns: f64,
    /// The answer, to be compared with ours.
    pub(crate) answer: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    bench: &'a str,
    rounds: usize,
    sample_ms: u128,
    cases: &'a [Case],
}

/// Measures `cases`; answers nothing, with a note, where node is missing or fails, and in a build
/// that counts allocations.
pub(crate) fn measure(bench: &str, cases: &[Case], plan: Plan) -> Vec<Outcome> {
    if cfg!(feature = "allocations") {
        return Vec::new();
    }
    crate::note("running the reference's way in node");
    let Plan { rounds, sample, .. } = plan;
    let request = Request { bench, rounds, sample_ms: sample.as_millis(), cases };
    let outcome = install().and_then(|folder| run(&folder, &request));
    outcome.unwrap_or_else(|error| {
        crate::note(&format!("no node row: {error}"));
        Vec::new()
    })
}

/// How node reads a stream.
#[cfg(not(feature = "allocations"))]
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Streamed<A = ()> {
    /// Seconds for a whole stream.
    pub(crate) wall: f64,
    /// Seconds of CPU time.
    pub(crate) cpu: f64,
    answer: A,
}

/// Has node read a stream from an address; nothing, with a note, where node is missing.
///
/// # Errors
///
/// When node answered something else than expected.
#[cfg(not(feature = "allocations"))]
pub(crate) fn stream(url: &str, rounds: usize, expected: &str) -> Result<Option<Streamed>, String> {
    let request = serde_json::json!({ "url": url, "rounds": rounds });
    let mut node = Command::new("node");
    node.args(["--input-type=module", "--eval", STREAM]);
    match ask::<Streamed<String>>(&mut node, &request) {
        Ok(Streamed { wall, cpu, answer }) if answer == expected => {
            Ok(Some(Streamed { wall, cpu, answer: () }))
        }
        Ok(other) => Err(format!("node reads `{}` where `{expected}` is expected", other.answer)),
        Err(error) => {
            crate::note(&format!("no node row: {error}"));
            Ok(None)
        }
    }
}

/// Installs the script's dependencies once and answers the folder.
fn install() -> Result<PathBuf, String> {
    let exe = env::current_exe().map_err(|error| format!("own path unknown: {error}"))?;
    let folder = exe.parent().unwrap_or(Path::new(".")).join("haft-bench-node");
    let installed = folder.join("node_modules/.package-lock.json").is_file()
        && fs::read_to_string(folder.join("package-lock.json")).is_ok_and(|it| it == LOCK);
    fs::create_dir_all(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    let files = [("reference.mjs", SCRIPT), ("package.json", PACKAGE), ("package-lock.json", LOCK)];
    for (name, text) in files {
        fs::write(folder.join(name), text).map_err(|error| format!("`{name}`: {error}"))?;
    }
    if !installed {
        crate::note("installing joi and js-sha256 with npm");
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
        let status = npm.current_dir(&folder).stdout(Stdio::null()).status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(format!("`npm ci` failed: {status}")),
            Err(error) => return Err(format!("npm cannot be run: {error}")),
        }
    }
    Ok(folder)
}

fn run(folder: &Path, request: &Request<'_>) -> Result<Vec<Outcome>, String> {
    let mut node = Command::new("node");
    ask(node.arg("reference.mjs").current_dir(folder), request)
}

/// Gives a script its request, and reads what it prints.
fn ask<T: DeserializeOwned>(node: &mut Command, request: &impl Serialize) -> Result<T, String> {
    node.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = node.spawn().map_err(|error| format!("node cannot be run: {error}"))?;
    let request = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // A script that ended early is reported by its exit status below.
        let _ = stdin.write_all(&request);
    }
    let output = child.wait_with_output().map_err(|error| format!("node: {error}"))?;
    if !output.status.success() {
        return Err(format!("node failed: {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("node's answer: {error}"))
}
