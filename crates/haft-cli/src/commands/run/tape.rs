//! Turns that are written down, and given back.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use haft::executors::{Recorder, Recording};
use haft::turn::{TurnReport, TurnRunner, TurnRunnerBuilder};

use super::Model;
use crate::agent::Agent;
use crate::commands::text_of;

/// A file that a turn is written to when it is over.
pub(super) struct Tape {
    recorder: Recorder,
    path: PathBuf,
    file: File,
}

impl Tape {
    /// Opens the file, so that a turn does not run for one that cannot be written. What is in it stays until then.
    pub(super) fn open(path: &Path, model: Model) -> Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(Self { recorder: Recorder::new(model), path: path.to_owned(), file })
    }

    /// A runner that is recorded.
    pub(super) fn runner(&self, agent: &Agent) -> TurnRunnerBuilder {
        TurnRunner::builder(self.recorder.clone()).tools(agent.tools.iter().cloned())
    }

    pub(super) async fn finish(mut self, report: &TurnReport) -> Result<()> {
        let recording =
            self.recorder.finish(report).await.context("the turn cannot be recorded")?;
        let failed = || format!("cannot write `{}`", self.path.display());
        // A pipe has no length, and nothing in it.
        if self.file.metadata().with_context(failed)?.is_file() {
            self.file.set_len(0).with_context(failed)?;
        }
        self.file.write_all(recording.to_json().as_bytes()).with_context(failed)
    }
}

/// A runner that gives back what was recorded. No model is asked, and no tool does anything.
pub(super) fn replayed(agent: &Agent, file: &Path) -> Result<TurnRunnerBuilder> {
    let text = text_of(&format!("@{}", file.display()))?;
    let failed = || format!("cannot replay `{}`", file.display());
    let recording = Recording::from_json(&text).with_context(failed)?;
    let replay = recording.replay(agent.tools.iter().cloned()).with_context(failed)?;
    let tools = replay.tools();
    Ok(TurnRunner::builder(replay).tools(tools))
}
