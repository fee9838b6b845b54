//! Runs a command as a supervised process and streams its output.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use haft::{BoxFuture, ToolFailure};
use haft_sandbox::Policy;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader, ReadBuf};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use crate::supervisor::{SUPERVISOR_NAME, environment, own_executable, policy_argument};

/// How much of standard error is reported if the command fails, in bytes.
const MAX_STDERR_TAIL: usize = 4 * 1024;

/// A program with everything that it gets. It inherits nothing else.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<String>,
    /// The working directory.
    pub(crate) dir: PathBuf,
    pub(crate) env: Vec<(String, OsString)>,
    /// Maximum size of the output in bytes.
    pub(crate) max_bytes: u64,
    /// How it is confined; nothing if it runs with all rights of the user.
    pub(crate) policy: Option<Policy>,
}

impl Program {
    /// Starts the program under a supervisor, and returns its standard output. Dropping the output kills the program
    /// and its descendants, and so does the end of this process.
    ///
    /// # Errors
    ///
    /// The program cannot be run, or it is not known whether it ran: see [`is_supervisor_lost`].
    pub(crate) async fn spawn(self) -> io::Result<ProcessOutput> {
        let (control, other_end) = StdUnixStream::pair()?;
        let mut command = Command::new(own_executable()?);
        command.arg0(SUPERVISOR_NAME).arg(policy_argument(self.policy.as_ref())?);
        command.arg(&self.path).args(&self.args);
        command.current_dir(&self.dir).env_clear();
        command.envs(environment(self.policy.as_ref(), self.env));
        command.stdin(OwnedFd::from(other_end)).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Signals of the terminal are for this program, which then ends the call.
        let mut supervisor = command.process_group(0).spawn()?;
        // It holds the other end of the socket.
        drop(command);
        let (control, group) = SupervisorControl::await_start(control).await?;
        let stdout = supervisor.stdout.take();
        let stderr = supervisor.stderr.take();
        Ok(ProcessOutput {
            stdout,
            exit: Some(Box::pin(await_exit(control, stderr))),
            exited: None,
            group,
            bytes_left: self.max_bytes,
            max_bytes: self.max_bytes,
            _supervisor: supervisor,
        })
    }
}

/// The socket of a supervisor.
#[derive(Debug)]
pub(crate) struct SupervisorControl(BufReader<UnixStream>);

/// A message of a supervisor.
enum SupervisorMessage {
    Failed(io::Error),
    Started(i32),
    Exited(ExitStatus),
}

impl SupervisorControl {
    /// Waits until the supervisor has started its command.
    pub(crate) async fn await_start(control: StdUnixStream) -> io::Result<(Self, ProcessGroup)> {
        control.set_nonblocking(true)?;
        let mut control = Self(BufReader::new(UnixStream::from_std(control)?));
        match control.read_message().await? {
            SupervisorMessage::Failed(error) => Err(error),
            SupervisorMessage::Started(pid) => Ok((control, ProcessGroup(Pid::from_raw(pid)))),
            SupervisorMessage::Exited(_) => Err(protocol_error()),
        }
    }

    async fn read_message(&mut self) -> io::Result<SupervisorMessage> {
        let mut line = String::new();
        (&mut self.0).take(MAX_MESSAGE).read_line(&mut line).await?;
        if let Some(reason) = line.strip_prefix("refused ") {
            return Ok(SupervisorMessage::Failed(io::Error::other(reason.trim_end().to_owned())));
        }
        let (kind, number) = line.trim_end().split_once(' ').ok_or_else(protocol_error)?;
        let number: i32 = number.parse().map_err(|_| protocol_error())?;
        match kind {
            "failed" => Ok(SupervisorMessage::Failed(io::Error::from_raw_os_error(number))),
            "started" => Ok(SupervisorMessage::Started(number)),
            "exited" => Ok(SupervisorMessage::Exited(ExitStatus::from_raw(number))),
            _ => Err(protocol_error()),
        }
    }
}

/// Whether a supervisor ended without a word about its command, which may have run.
pub(crate) fn is_supervisor_lost(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
}

fn protocol_error() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "its supervisor has ended")
}

/// A process group. All its processes are killed when it is dropped.
#[derive(Debug)]
pub(crate) struct ProcessGroup(Option<Pid>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // At once, and not when the supervisor gets to it. This fails if no process is left, which is fine.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// A process that has exited.
struct ExitedProcess {
    status: io::Result<ExitStatus>,
    /// The end of its standard error.
    stderr_tail: String,
    /// Keeps what the process has left behind alive until its output has ended.
    _control: SupervisorControl,
}

/// Reads standard error until its end, and waits for the process to exit.
async fn await_exit(
    mut control: SupervisorControl,
    mut stderr: Option<ChildStderr>,
) -> ExitedProcess {
    let mut tail = VecDeque::new();
    let mut buffer = [0; 1024];
    while let Some(stderr) = stderr.as_mut() {
        match stderr.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => tail.extend(buffer.iter().take(read)),
        }
        tail.drain(..tail.len().saturating_sub(MAX_STDERR_TAIL));
    }
    let status = control.read_message().await.and_then(|message| match message {
        SupervisorMessage::Exited(status) => Ok(status),
        _ => Err(protocol_error()),
    });
    let tail: Vec<u8> = tail.into();
    let stderr_tail = String::from_utf8_lossy(&tail).into_owned();
    ExitedProcess { status, stderr_tail, _control: control }
}

/// The standard output of a process, followed by an error if the process fails.
pub(crate) struct ProcessOutput {
    stdout: Option<ChildStdout>,
    exit: Option<BoxFuture<'static, ExitedProcess>>,
    exited: Option<ExitedProcess>,
    group: ProcessGroup,
    bytes_left: u64,
    max_bytes: u64,
    /// Waited for by the runtime when it is dropped.
    _supervisor: Child,
}

impl ProcessOutput {
    /// Kills the process and returns the error of output that is too large.
    fn stop_at_limit(&mut self) -> ToolFailure {
        drop(ProcessGroup(self.group.0.take()));
        (self.stdout, self.exit, self.exited) = (None, None, None);
        let limit = self.max_bytes;
        ToolFailure::new(format!(
            "the program was stopped, because its output has more than {limit} bytes; ask for less, or have the operator \
             raise `max_bytes` of this tool"
        ))
        .outcome_unknown()
    }
}

impl Stream for ProcessOutput {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // Both pipes are read at the same time, or the process could block on the one that is full.
        if let Some(exit) = &mut this.exit
            && let Poll::Ready(exited) = exit.as_mut().poll(cx)
        {
            // The number of the group may be given to another one now.
            this.group.0 = None;
            (this.exited, this.exit) = (Some(exited), None);
        }
        if let Some(stdout) = &mut this.stdout {
            let mut buffer = vec![0; 64 * 1024];
            let mut read = ReadBuf::new(&mut buffer);
            let result = ready!(Pin::new(stdout).poll_read(cx, &mut read));
            let filled = read.filled().len();
            match result {
                Ok(()) if filled > 0 => {
                    let Some(left) = this.bytes_left.checked_sub(filled as u64) else {
                        return Poll::Ready(Some(Err(this.stop_at_limit())));
                    };
                    this.bytes_left = left;
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

/// The failure of a process that did not exit successfully. What it did is known only if it says so by its exit code.
fn exit_failure(exited: ExitedProcess) -> Option<ToolFailure> {
    let (how, has_code) = match exited.status {
        Ok(status) if status.success() => return None,
        Ok(status) => (status.to_string(), status.code().is_some()),
        Err(error) => (error.to_string(), false),
    };
    let stderr = exited.stderr_tail.trim();
    let failure = ToolFailure::new(format!("the program failed ({how}): {stderr}"));
    Some(if has_code { failure } else { failure.outcome_unknown() })
}

/// Longest message of a supervisor, in bytes.
const MAX_MESSAGE: u64 = 8 * 1024;
