//! The tools `run_command` and `apply_patch`.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use haft::tools::{ByteStream, FilesOptions, ToolEffect, apply_patch};
use haft::{Args, Tool, ToolArgs, ToolFailure, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Sleep;

use super::agent_dir::{contains_resolved, is_descending};
use super::command::{ProcessOutput, Program};
use super::file::NamedProgram;
use super::sandbox::{AgentSandbox, ProgramSandbox, SandboxTable};
use super::source::AgentFileError;

/// A shell in a sandbox: `run_command` and `apply_patch`. Both write only what this table or `[sandbox]` lists.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellTable {
    /// Files and directories that can be written; default: those of `[sandbox]`, else the agent's directory.
    write: Option<Vec<String>>,
    /// Files and directories that cannot be read, in addition to those of `[sandbox]` and those that are always hidden.
    #[serde(default)]
    hide: Vec<String>,
    /// Whether a command may leave the sandbox: `ask` (each such call requires approval) or `never`; default: `ask`.
    #[serde(default)]
    outside: OutsideKey,
    /// Environment variables that commands receive in addition to `PATH`, `HOME`, `USER` and `LANG`.
    #[serde(default)]
    env: Vec<String>,
}

/// Whether a command may leave the sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum OutsideKey {
    /// After approval.
    #[default]
    Ask,
    /// No command does.
    Never,
}

#[derive(ToolArgs)]
struct RunCommandArgs {
    /// The command, as a shell reads it
    #[arg(min_len = 1, max_len = 100000, example = "cargo test")]
    command: String,
    /// The folder in which it runs, below the agent's own
    #[arg(default = ".", max_len = 4096)]
    folder: String,
    /// After how many seconds it is stopped
    #[arg(default = 120, min = 1, max = 3600)]
    seconds: u32,
    /// Whether it runs outside of the sandbox, with all rights of the user, who is asked first: only for what the sandbox refuses
    #[arg(default = false)]
    outside: bool,
}

const DESCRIPTION: &str = "Runs a shell command in a sandbox: it reads the files of this machine, but writes only into some folders \
and reaches no network. What it starts ends with it.\n\
Returns what it writes to standard output and standard error, and its exit status in the last line.";

/// The tools of the table.
pub(super) const TOOLS: [&str; 2] = [RUN_COMMAND, "apply_patch"];

pub(super) const RUN_COMMAND: &str = "run_command";

/// The shell, as one of the programs that the agent starts.
pub(super) const PROGRAM: NamedProgram<'static> = ("shell", (&[], Some(&CONFINED)));

static CONFINED: ProgramSandbox = ProgramSandbox::Switch(true);

impl ShellTable {
    /// Whether some calls have a question of their own.
    pub(super) fn has_approval_question(&self) -> bool {
        self.outside == OutsideKey::Ask
    }

    /// Builds both tools. Neither touches the protected paths.
    pub(super) fn build(
        &self,
        sandbox: &AgentSandbox,
        protected: &[PathBuf],
    ) -> Result<Vec<Tool>, AgentFileError> {
        let table = ProgramSandbox::Table(SandboxTable::new(self.write.clone(), self.hide.clone()));
        // What is wrong with the table is found now, and not with the first call.
        sandbox.policy(Some(&table), sandbox.agent_dir())?;
        let patch = self.patch_tool(sandbox, &table, protected)?;
        let names = ["PATH", "HOME", "USER", "LANG"].into_iter().map(str::to_owned);
        let shell = Arc::new(Shell {
            definition: sandbox.definition(Some(&table)),
            sandbox: sandbox.clone(),
            table,
            env: names.chain(self.env.iter().cloned()).collect(),
            outside: self.outside,
        });
        let run = shell.tool().map_err(|error| AgentFileError::whole_file(error.to_string()))?;
        Ok(vec![run, patch])
    }

    fn patch_tool(
        &self,
        sandbox: &AgentSandbox,
        table: &ProgramSandbox,
        protected: &[PathBuf],
    ) -> Result<Tool, AgentFileError> {
        let dir = sandbox.agent_dir();
        let hidden = sandbox.untouchable(table)?;
        let options = FilesOptions::new(dir).and_then(|options| {
            protected.iter().chain(&hidden).try_fold(options, FilesOptions::protect)
        });
        let options = options.map_err(|error| {
            AgentFileError::whole_file(format!("cannot open `{}`: {error}", dir.display()))
        })?;
        let tool = apply_patch(options, sandbox.writable_below(table)?);
        tool.map_err(|error| AgentFileError::whole_file(error.to_string()))
    }
}

/// What a call of `run_command` needs.
struct Shell {
    sandbox: AgentSandbox,
    table: ProgramSandbox,
    definition: String,
    env: Vec<String>,
    outside: OutsideKey,
}

impl Shell {
    fn tool(self: &Arc<Self>) -> Result<Tool, haft::tools::InvalidTool> {
        let shell = Arc::clone(self);
        let tool = Tool::builder(RUN_COMMAND)
            .description(DESCRIPTION)
            .effect(ToolEffect::Once)
            .timeout(MAX_CALL)
            .definition_part("sandbox", &self.definition)
            .definition_part("env", &self.env);
        let tool = match self.outside {
            OutsideKey::Never => tool,
            OutsideKey::Ask => {
                tool.requires_approval(OUTSIDE_QUESTION).approval_only_for(|args: &Args| {
                    args.to_value().get("outside") == Some(&true.into())
                })
            }
        };
        tool.handler(move |args: RunCommandArgs| {
            let shell = Arc::clone(&shell);
            async move { shell.run(&args).await }
        })
        .build()
    }

    async fn run(&self, args: &RunCommandArgs) -> Result<ToolOutput, ToolFailure> {
        if args.outside && self.outside == OutsideKey::Never {
            let text = "no command of this agent leaves the sandbox; call it without `outside`";
            return Err(ToolFailure::new(text));
        }
        if args.command.contains('\0') {
            return Err(ToolFailure::new("`command` has a NUL character in it"));
        }
        let dir = self.folder(&args.folder)?;
        let policy = match args.outside {
            true => None,
            false => self.sandbox.policy(Some(&self.table), &dir).map_err(|error| {
                ToolFailure::new(format!("the sandbox cannot be used: {}", error.message()))
            })?,
        };
        let place = if args.outside { "outside of the sandbox" } else { "in the sandbox" };
        let variables = self.env.iter().filter_map(|it| Some((it.clone(), std::env::var_os(it)?)));
        let program = Program {
            path: PathBuf::from("/bin/sh"),
            args: ["-c", WRAPPER, "sh", &args.command, place].map(str::to_owned).to_vec(),
            dir,
            env: variables.collect(),
            max_bytes: MAX_BYTES,
            policy,
        };
        let output = program.spawn().await;
        let output = output
            .map_err(|error| ToolFailure::new(format!("the shell cannot be run: {error}")))?;
        let stream = BoundedOutput {
            output: Some(output),
            deadline: Box::pin(sleep(args.seconds)),
            seconds: args.seconds,
        };
        Ok(ToolOutput::Stream(ByteStream::new(stream)))
    }

    /// The directory in which a command runs.
    fn folder(&self, folder: &str) -> Result<PathBuf, ToolFailure> {
        let agent_dir = self.sandbox.agent_dir();
        let dir = agent_dir.join(folder);
        let is_inside = is_descending(Path::new(folder))
            && dir.is_dir()
            && contains_resolved(agent_dir, &dir).unwrap_or(false);
        match is_inside {
            true => Ok(dir),
            false => {
                Err(ToolFailure::new(format!("`{folder}` is not a folder below the agent's own")))
            }
        }
    }
}

/// The output of a command until its time is up.
struct BoundedOutput {
    output: Option<ProcessOutput>,
    deadline: Pin<Box<Sleep>>,
    seconds: u32,
}

impl Stream for BoundedOutput {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(output) = &mut this.output else { return Poll::Ready(None) };
        if let Poll::Ready(chunk) = Pin::new(output).poll_next(cx) {
            return Poll::Ready(chunk);
        }
        if this.deadline.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        // Dropping it kills the command and all that it has started.
        this.output = None;
        let text = format!("\n[stopped after {} s]\n", this.seconds);
        Poll::Ready(Some(Ok(text.into())))
    }
}

const OUTSIDE_QUESTION: &str = "May this command run outside of the sandbox, with all your rights?";

/// Puts both streams into one, and the exit status at the end.
const WRAPPER: &str = r#"exec 2>&1; sh -c "$1"; printf '\n[exit status %s, %s]\n' $? "$2""#;

const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// Longer than any command may take.
#[expect(clippy::disallowed_methods, reason = "a program that runs is waited for, not replayed")]
fn sleep(seconds: u32) -> Sleep {
    tokio::time::sleep(Duration::from_secs(seconds.into()))
}

const MAX_CALL: Duration = Duration::from_secs(3700);
