//! Creates the files that an agent needs before its first run.

use std::fs::Permissions;
use std::future::poll_fn;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use anyhow::{Context as _, Result};
use futures_core::Stream as _;
use haft::ToolFailure;
use haft_sandbox::Policy;
use schemars::JsonSchema;
use serde::Deserialize;

use super::agent_dir::{contains_resolved, is_descending, openable_dir};
use super::command::{
    INSTALL_HINT, ProcessOutput, Program, find_program_problem, program_path, resolve_program,
};
use super::sandbox::{AgentSandbox, ProgramSandbox};
use super::source::AgentFileError;
use crate::terminal::Terminal;
use crate::user_error::UserError;

/// A file that is created from the output of a command.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreparedFile {
    /// Path of the file inside the agent's directory. The file is created if it does not exist, and never changed.
    file: PathBuf,
    /// The program and its arguments. No shell is involved.
    argv: Vec<String>,
    /// What differs from `[sandbox]` for this program, or `false`: it runs with all rights of the user.
    sandbox: Option<ProgramSandbox>,
    /// Expected size of the file in bytes, for the progress bar.
    bytes: Option<u64>,
}

impl PreparedFile {
    /// Whether the file does not exist yet.
    pub(super) fn is_missing(&self, agent_dir: &Path) -> bool {
        !agent_dir.join(&self.file).exists()
    }

    /// The path of the file, as the user reads it.
    pub(super) fn shown_file(&self) -> &str {
        self.file.to_str().unwrap_or("prepare")
    }

    /// The command that creates the file, as the user reads it.
    pub(super) fn shown_command(&self) -> String {
        self.argv.join(" ")
    }

    /// The program and its arguments, and how they are confined.
    pub(super) fn command(&self) -> (&[String], Option<&ProgramSandbox>) {
        (&self.argv, self.sandbox.as_ref())
    }

    /// The policy of the program.
    pub(super) fn policy(&self, sandbox: &AgentSandbox) -> Result<Option<Policy>, AgentFileError> {
        let policy = sandbox.policy(self.sandbox.as_ref(), sandbox.agent_dir());
        policy.map_err(|error| error.in_table(["prepare"]))
    }

    /// Creates the file. It appears complete or not at all.
    pub(super) async fn create(
        &self,
        agent_dir: &Path,
        policy: Option<Policy>,
        terminal: &Terminal,
    ) -> Result<()> {
        let path = agent_dir.join(&self.file);
        let shown = path.display();
        let Some(program) = self.argv.first() else { return Ok(()) };
        let parent = self
            .create_parent_dir(agent_dir)
            .with_context(|| format!("cannot create `{shown}`"))?;
        let Some(parent) = parent else {
            return Err(UserError::new(self.outside_message()).hint(OUTSIDE_HINT).into());
        };
        // The usual permissions of a new file. A temporary file would be readable only by its owner.
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&parent)
            .with_context(|| format!("cannot create `{shown}`"))?;
        let output = self.program(program, agent_dir, policy).spawn().await;
        let output =
            output.with_context(|| format!("cannot run `{program}` to create `{shown}`"))?;
        let progress = terminal.start_byte_progress(&format!("creating {shown}"), self.bytes);
        let copied = copy_output(output, &mut file, |bytes| progress.set_position(bytes)).await;
        drop(progress);
        if let Some(failure) = copied.with_context(|| format!("cannot write `{shown}`"))? {
            let message = format!("`{program}` failed to create `{shown}`: {failure}");
            return Err(UserError::new(message).into());
        }
        let target = parent.join(self.file.file_name().unwrap_or_default());
        file.persist(target).with_context(|| format!("cannot write `{shown}`"))?;
        Ok(())
    }

    /// The program in the agent's directory, with `PATH` as its only environment variable.
    fn program(&self, program: &str, agent_dir: &Path, policy: Option<Policy>) -> Program {
        Program {
            path: resolve_program(&program_path(program, agent_dir)),
            args: self.argv.iter().skip(1).cloned().collect(),
            dir: agent_dir.to_owned(),
            env: std::env::var_os("PATH").map(|it| ("PATH".to_owned(), it)).into_iter().collect(),
            // The author of the agent decides how large the file is.
            max_bytes: u64::MAX,
            policy,
        }
    }

    /// Creates the directory of the file and resolves its links. Returns `None`, and creates nothing, if a link
    /// leads out of the agent's directory.
    fn create_parent_dir(&self, agent_dir: &Path) -> std::io::Result<Option<PathBuf>> {
        if self.leads_outside(agent_dir)? {
            return Ok(None);
        }
        let dir = openable_dir(agent_dir);
        let path = dir.join(&self.file);
        let parent = path.parent().unwrap_or(dir);
        std::fs::create_dir_all(parent)?;
        let parent = parent.canonicalize()?;
        Ok(contains_resolved(agent_dir, &parent)?.then_some(parent))
    }

    /// Checks whether the nearest existing directory of the file is outside the agent's directory.
    fn leads_outside(&self, agent_dir: &Path) -> std::io::Result<bool> {
        let dir = openable_dir(agent_dir);
        let path = dir.join(&self.file);
        let existing = path.ancestors().skip(1).find(|it| it.exists()).unwrap_or(dir);
        Ok(!contains_resolved(agent_dir, existing)?)
    }

    fn outside_message(&self) -> String {
        format!("a link leads `{}` out of the agent's directory", self.file.display())
    }

    /// Finds the reason why the file cannot be created on this machine.
    pub(super) fn find_problem(&self, agent_dir: &Path) -> Option<AgentFileError> {
        let program = program_path(self.argv.first()?, agent_dir);
        if agent_dir.join(&self.file).exists() {
            return None;
        }
        if self.leads_outside(agent_dir).unwrap_or(false) {
            let error = AgentFileError::at(["prepare"], self.outside_message());
            return Some(error.hint(OUTSIDE_HINT));
        }
        let message = find_program_problem(&program)?;
        Some(AgentFileError::at(["prepare"], message).hint(INSTALL_HINT))
    }

    /// Checks the path, the command and how it is confined.
    pub(super) fn validate(&self, sandbox: &AgentSandbox) -> Result<(), AgentFileError> {
        let shown = self.file.display();
        if !is_descending(&self.file) || self.file.file_name().is_none() {
            let message = format!("`{shown}` is not a file inside the agent's directory");
            let error = AgentFileError::at(["prepare"], message);
            return Err(error.hint("use a relative path such as data/app.log"));
        }
        if self.argv.first().is_none_or(String::is_empty) {
            let message = format!("`argv` of `{shown}` must start with a program name");
            return Err(AgentFileError::at(["prepare"], message));
        }
        self.policy(sandbox).map(drop)
    }
}

/// Copies the output of a program to a file, and syncs the file. Returns the failure of the program.
async fn copy_output(
    mut output: ProcessOutput,
    file: &mut tempfile::NamedTempFile,
    report_progress: impl Fn(u64),
) -> std::io::Result<Option<ToolFailure>> {
    let mut bytes = 0_u64;
    while let Some(chunk) = poll_fn(|cx| Pin::new(&mut output).poll_next(cx)).await {
        match chunk {
            Ok(chunk) => {
                file.write_all(&chunk)?;
                bytes += chunk.len() as u64;
                report_progress(bytes);
            }
            Err(failure) => return Ok(Some(failure)),
        }
    }
    file.as_file().sync_all()?;
    Ok(None)
}

const OUTSIDE_HINT: &str = "replace the link with a directory, or use another path";
