//! Records turns to files and replays them.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use haft::executors::{DispatchExecutor, Recording, RecordingExecutor};
use haft::turn::{Agent, AgentBuilder, TurnReport};

use crate::agent::AgentDir;
use crate::commands::read_text_argument;

/// A file that receives the recording of a turn when the turn has ended.
pub(super) struct RecordingFile {
    recorder: RecordingExecutor,
    path: PathBuf,
    file: File,
}

impl RecordingFile {
    /// Opens the file before the turn starts, so that no turn runs for a file that cannot be written. The previous
    /// content stays until the new recording is complete. A new file can be read by its owner only.
    pub(super) fn open(path: &Path, executor: Arc<dyn DispatchExecutor>) -> Result<Self> {
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        let file = file.with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(Self { recorder: RecordingExecutor::new(executor), path: path.to_owned(), file })
    }

    /// What takes the steps that are recorded.
    pub(super) fn executor(&self) -> RecordingExecutor {
        self.recorder.clone()
    }

    /// Writes the recording of an ended turn.
    pub(super) async fn write(mut self, report: &TurnReport) -> Result<()> {
        let recording =
            self.recorder.finish(report).await.context("the turn cannot be recorded")?;
        let cannot_write = || format!("cannot write `{}`", self.path.display());
        // A pipe cannot be truncated.
        if self.file.metadata().with_context(cannot_write)?.is_file() {
            self.file.set_len(0).with_context(cannot_write)?;
        }
        self.file.write_all(recording.to_json().as_bytes()).with_context(cannot_write)
    }
}

/// Reads a recording and builds a runner that replays it. No model is called and no tool runs.
pub(super) fn replay_recording(agent: &AgentDir, file: &Path) -> Result<AgentBuilder> {
    replay_text(agent, file, &read_text_argument(&format!("@{}", file.display()))?)
}

/// Builds a runner that replays the text of a recording.
pub(crate) fn replay_text(agent: &AgentDir, file: &Path, text: &str) -> Result<AgentBuilder> {
    let cannot_replay = || format!("cannot replay `{}`", file.display());
    let recording = Recording::from_json(text).with_context(cannot_replay)?;
    let replay = recording.replay(agent.tools.iter().cloned()).with_context(cannot_replay)?;
    let tools = replay.tools();
    Ok(Agent::builder(replay).tools(tools))
}
