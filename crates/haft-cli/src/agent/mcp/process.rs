//! Runs an MCP server as a supervised process.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft::BoxFuture;
use haft_mcp::client::{ServerStreams, StreamPair};
use haft_sandbox::Policy;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::{ChildStderr, Command};
use tokio::task::JoinSet;

use super::super::command::{ProcessGroup, SupervisorControl};
use crate::supervisor::{STREAM_SUPERVISOR_NAME, environment, own_executable, policy_argument};

/// A program with everything that it gets. It inherits nothing else, and it ends with its connection and with this process.
#[derive(Clone, Debug)]
pub(super) struct ServerProcess {
    path: PathBuf,
    args: Vec<String>,
    dir: PathBuf,
    env: Vec<(String, OsString)>,
    policy: Option<Policy>,
    /// What the agent file says about it.
    identity: String,
    stderr: Arc<Mutex<VecDeque<u8>>>,
}

impl ServerProcess {
    pub(super) fn new(
        path: PathBuf,
        args: Vec<String>,
        dir: PathBuf,
        env: Vec<(String, OsString)>,
    ) -> Self {
        let identity = String::new();
        Self { path, args, dir, env, policy: None, identity, stderr: Arc::default() }
    }

    /// How it is confined; nothing if it runs with all rights of the user.
    pub(super) fn confined_by(self, policy: Option<Policy>) -> Self {
        Self { policy, ..self }
    }

    /// Which server it is. Approvals and accepted definitions hold for this one only.
    pub(super) fn identified_by(self, identity: String) -> Self {
        Self { identity, ..self }
    }

    /// The end of what the program wrote to standard error.
    pub(super) fn stderr_tail(&self) -> String {
        let bytes: Vec<u8> = self.tail().iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn tail(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn spawn(&self) -> io::Result<StreamPair> {
        let (control, control_end) = StdUnixStream::pair()?;
        // One socket is input and output of the server: the supervisor has no other descriptor to pass on.
        let (streams, streams_end) = StdUnixStream::pair()?;
        let mut command = Command::new(own_executable()?);
        command.arg0(STREAM_SUPERVISOR_NAME).arg(policy_argument(self.policy.as_ref())?);
        command.arg(&self.path).args(&self.args);
        command.current_dir(&self.dir).env_clear();
        command.envs(environment(self.policy.as_ref(), self.env.iter().cloned()));
        command.stdin(OwnedFd::from(control_end)).stdout(OwnedFd::from(streams_end));
        command.stderr(Stdio::piped());
        // Signals of the terminal are for this program, which then ends the connection.
        let mut supervisor = command.process_group(0).spawn()?;
        // It holds the other ends of the sockets.
        drop(command);
        let (control, group) = SupervisorControl::await_start(control).await?;
        let mut tasks = JoinSet::new();
        if let Some(stderr) = supervisor.stderr.take() {
            tasks.spawn(read_tail(stderr, Arc::clone(&self.stderr)));
        }
        streams.set_nonblocking(true)?;
        let (output, input) = UnixStream::from_std(streams)?.into_split();
        let guard = ProcessGuard {
            _group: group,
            _control: Mutex::new(control),
            _tasks: tasks,
            _supervisor: supervisor,
        };
        Ok(StreamPair::new(output, input, guard))
    }
}

impl ServerStreams for ServerProcess {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn open(&self) -> BoxFuture<'_, io::Result<StreamPair>> {
        Box::pin(self.spawn())
    }
}

/// A server that is running. Dropping it kills the program and its descendants.
struct ProcessGuard {
    _group: ProcessGroup,
    _control: Mutex<SupervisorControl>,
    _tasks: JoinSet<()>,
    _supervisor: tokio::process::Child,
}

/// Reads standard error, so that the server does not block on it, and keeps the end.
async fn read_tail(mut stderr: ChildStderr, tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(buffer.iter().take(read));
        let excess = tail.len().saturating_sub(MAX_TAIL);
        tail.drain(..excess);
    }
}

/// How much of standard error is kept, in bytes.
const MAX_TAIL: usize = 2 * 1024;
