//! Measurements that need a process of their own: what it holds, and what it asks of the system.
//!
//! The process is started with [`COMMAND`] and a [`Job`] as JSON, and prints its figures as JSON.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::workload::{self, Listening};
use super::{durable, idle};

/// The word that starts a job instead of a benchmark.
pub(crate) const COMMAND: &str = "turn-job";

/// What to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Has turns wait.
    Idle { turns: usize, seconds: u64, floor: bool },
    /// Runs turns in memory on one thread, so many at once, for profilers.
    Batch { turns: usize, at_once: usize },
    /// Runs turns on a store in a folder, so many at once.
    Durable { folder: PathBuf, turns: usize, at_once: usize },
}

/// What came of it, by name.
pub(crate) type Figures = BTreeMap<String, f64>;

/// Does the job that the command line names.
///
/// # Errors
///
/// When a turn does not end as it should.
pub(crate) fn run(job: Option<&str>, out: &mut dyn Write) -> Result<(), String> {
    let job = serde_json::from_str(job.unwrap_or_default()).map_err(|error| error.to_string())?;
    let figures = match job {
        Job::Idle { turns, seconds, floor } => idle::run(turns, seconds, floor)?,
        Job::Batch { turns, at_once } => batch(turns, at_once)?,
        Job::Durable { folder, turns, at_once } => durable::run(&folder, turns, at_once)?,
    };
    let text = serde_json::to_string(&figures).map_err(|error| error.to_string())?;
    writeln!(out, "{text}").map_err(|error| error.to_string())
}

fn batch(turns: usize, at_once: usize) -> Result<Figures, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let work = workload::in_memory(Listening::Counting)?;
    for _ in 0..turns / at_once.max(1) {
        workload::batch(&runtime, &work, at_once)?;
    }
    Ok(Figures::new())
}

impl Job {
    /// Does it in a process of its own, below `outer` if that is not empty; nothing if there is no such
    /// program.
    pub(crate) fn start(&self, outer: &[OsString]) -> Result<Option<Figures>, String> {
        let text = |error: std::io::Error| error.to_string();
        let this = std::env::current_exe().map_err(text)?;
        let job = serde_json::to_string(self).map_err(|error| error.to_string())?;
        let words = outer.iter().cloned().chain([this.into(), COMMAND.into(), job.into()]);
        let words: Vec<OsString> = words.collect();
        let Some((program, words)) = words.split_first() else { return Ok(None) };
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::null()).stderr(Stdio::piped());
        let ended = match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            ended => ended.map_err(text)?,
        };
        if !ended.status.success() {
            return Err(String::from_utf8_lossy(&ended.stderr).trim().to_owned());
        }
        serde_json::from_slice(&ended.stdout).map(Some).map_err(|error| error.to_string())
    }
}
