//! The server as a process of its own.

use std::env;
use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::server::COMMAND;

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Ends the server when it is dropped.
    input: Option<ChildStdin>,
    pub(crate) base_url: String,
}

impl Server {
    pub(crate) fn start() -> Result<Self, String> {
        let text = |error: io::Error| error.to_string();
        let this = env::current_exe().map_err(text)?;
        let mut command = Command::new(this);
        command.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(text)?;
        let input = child.stdin.take();
        let mut port = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut port).map_err(text)?;
        }
        let base_url = format!("http://127.0.0.1:{}/v1", port.trim());
        Ok(Self { child, input, base_url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
