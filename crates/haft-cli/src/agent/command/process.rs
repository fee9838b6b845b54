//! Runs a command as a child process and streams its output.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use haft::tools::ByteStream;
use haft::{Args, ToolFailure};
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::{WordTemplate, resolve_program};

/// How much of standard error is reported if the command fails, in bytes.
const MAX_STDERR_TAIL: usize = 4 * 1024;

/// A command whose arguments are templates.
#[derive(Debug)]
pub(super) struct CommandLine {
    pub(super) program: PathBuf,
    pub(super) words: Vec<WordTemplate>,
    /// The working directory.
    pub(super) dir: PathBuf,
    /// The environment variables that are passed on.
    pub(super) env: Vec<String>,
}

impl CommandLine {
    /// Starts the command for a call, and returns its standard output.
    pub(super) fn spawn(&self, args: &Args) -> Result<ByteStream, ToolFailure> {
        let args = args.to_value();
        let mut command = Command::new(resolve_program(&self.program));
        for word in &self.words {
            command.args(word.expand(&args)?);
        }
        command.current_dir(&self.dir).env_clear();
        for name in &self.env {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The end of the call ends the process and all processes that it started.
        command.kill_on_drop(true).process_group(0);
        let shown = self.program.display();
        let mut child = command
            .spawn()
            .map_err(|error| ToolFailure::new(format!("`{shown}` cannot be run: {error}")))?;
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let group = ProcessGroup(child.id());
        Ok(ByteStream::new(ProcessOutput {
            stdout,
            exit: Some(Box::pin(await_exit(child, stderr))),
            exited: None,
            _group: group,
        }))
    }
}

/// A process group. All its processes are killed when it is dropped.
#[derive(Debug)]
struct ProcessGroup(Option<u32>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let id = self.0.and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(rustix::process::Pid::from_raw) {
            // This fails if no process is left, which is fine.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// A process that has exited.
struct ExitedProcess {
    status: std::io::Result<ExitStatus>,
    /// The end of its standard error.
    stderr_tail: String,
    _child: Child,
}

/// Reads standard error until its end, and waits for the process to exit.
async fn await_exit(mut child: Child, mut stderr: Option<ChildStderr>) -> ExitedProcess {
    let mut tail = VecDeque::new();
    let mut buffer = [0; 1024];
    while let Some(stderr) = stderr.as_mut() {
        match stderr.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => tail.extend(buffer.iter().take(read)),
        }
        tail.drain(..tail.len().saturating_sub(MAX_STDERR_TAIL));
    }
    let status = child.wait().await;
    let tail: Vec<u8> = tail.into();
    let stderr_tail = String::from_utf8_lossy(&tail).into_owned();
    ExitedProcess { status, stderr_tail, _child: child }
}

/// The standard output of a process, followed by an error if the process fails.
struct ProcessOutput {
    stdout: Option<ChildStdout>,
    exit: Option<Pin<Box<dyn Future<Output = ExitedProcess> + Send>>>,
    exited: Option<ExitedProcess>,
    _group: ProcessGroup,
}

impl Stream for ProcessOutput {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // Both pipes are read at the same time, or the process could block on the one that is full.
        if let Some(exit) = &mut this.exit
            && let Poll::Ready(exited) = exit.as_mut().poll(cx)
        {
            (this.exited, this.exit) = (Some(exited), None);
        }
        if let Some(stdout) = &mut this.stdout {
            let mut buffer = vec![0; 64 * 1024];
            let mut read = ReadBuf::new(&mut buffer);
            let result = ready!(Pin::new(stdout).poll_read(cx, &mut read));
            let filled = read.filled().len();
            match result {
                Ok(()) if filled > 0 => {
                    buffer.truncate(filled);
                    return Poll::Ready(Some(Ok(buffer.into())));
                }
                _ => this.stdout = None,
            }
        }
        if this.exit.is_some() {
            return Poll::Pending;
        }
        Poll::Ready(this.exited.take().and_then(exit_failure).map(Err))
    }
}

/// The failure of a process that did not exit successfully.
fn exit_failure(exited: ExitedProcess) -> Option<ToolFailure> {
    let how = match exited.status {
        Ok(status) if status.success() => return None,
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let stderr = exited.stderr_tail.trim();
    Some(ToolFailure::new(format!("the program failed ({how}): {stderr}")))
}
