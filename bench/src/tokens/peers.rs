//! What toolkits of other languages send for the same tasks. They run as programs of their own, in a directory in which
//! they were installed.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A toolkit: its name in tables, and how its program is started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) name: &'static str,
    /// The program, below the directory or on the search path.
    program: &'static str,
    file: &'static str,
    script: &'static str,
    args: &'static [&'static str],
}

const PYDANTIC: &str = include_str!("../../python/pydantic_tokens.py");
const VERCEL: &str = include_str!("../../node/vercel_tokens.mjs");

pub(super) const PEERS: [Peer; 3] = [
    Peer {
        name: "PydanticAI",
        program: "venv/bin/python",
        file: "pydantic_tokens.py",
        script: PYDANTIC,
        args: &[],
    },
    Peer {
        name: "PydanticAI with ToolOutputLimits",
        program: "venv/bin/python",
        file: "pydantic_tokens.py",
        script: PYDANTIC,
        args: &["limits"],
    },
    Peer {
        name: "Vercel AI",
        program: "node",
        file: "vercel_tokens.mjs",
        script: VERCEL,
        args: &[],
    },
];

impl Peer {
    /// The bodies of the requests that it sends for a task.
    pub(super) fn requests(&self, dir: &Path, task: &str) -> Result<Vec<String>, String> {
        let failed = |what: &str| format!("{}: {what}", self.name);
        fs::write(dir.join(self.file), self.script).map_err(|error| failed(&error.to_string()))?;
        let installed = dir.join(self.program);
        let program = if installed.exists() { installed } else { self.program.into() };
        let mut command = Command::new(program);
        command.env("PYTHONWARNINGS", "ignore").arg(self.file).args(self.args);
        command.current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(&error.to_string()))?;
        // The program reads all of the task before it writes.
        let mut input = child.stdin.take().ok_or_else(|| failed("it has no input"))?;
        input.write_all(task.as_bytes()).map_err(|error| failed(&error.to_string()))?;
        drop(input);
        let output = child.wait_with_output().map_err(|error| failed(&error.to_string()))?;
        if !output.status.success() {
            return Err(failed(&output.status.to_string()));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| failed(&error.to_string()))
    }
}
