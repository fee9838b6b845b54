//! The MCP proxy in front of a server: what it adds to a small call, and what a large result takes.
//!
//! The server is this program itself, as a process that answers a small text or one of the asked size. The floor is the
//! same server without the proxy: for a large result, the time until its whole message is read from the pipe, and, because
//! the proxy stores it, the time until that is written to a file as well.

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use haft::stores::DirSpoolStore;
use haft_mcp::McpProxy;
use haft_mcp::proxy::Upstream;
use serde_json::{Value, json};

use crate::Sink;
use crate::measure::median;
use crate::report::{Entry, FLOOR, OURS, Row};

/// The word that starts the server instead of a benchmark.
pub(crate) const SERVER: &str = "mcp-server";

/// The word that starts the proxy instead of a benchmark. The directory of its results follows.
pub(crate) const PROXY: &str = "mcp-proxy";

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Small calls of each row.
    pub(crate) calls: usize,
    /// The size of the largest result.
    pub(crate) bytes: u64,
}

/// Measures small calls and large results.
///
/// # Errors
///
/// When a process cannot be started or answers something else.
pub(crate) fn run(options: Options, print: Sink<'_>) -> Result<(), String> {
    crate::note(&format!("mcp: {} small calls", options.calls));
    let dir = tempfile::tempdir().map_err(text)?;
    let direct = measure_calls(&mut Peer::start_server()?, options.calls)?;
    let proxied = measure_calls(&mut Peer::start_proxy(dir.path())?, options.calls)?;
    print(&Row {
        name: "mcp/small call".to_owned(),
        unit: "us, median",
        entries: vec![
            entry(OURS, proxied, Some(proxied / direct)),
            entry(FLOOR, direct, None),
            entry("haft, added", proxied - direct, None),
        ],
    })?;
    for bytes in [options.bytes / 5, options.bytes] {
        crate::note(&format!("mcp: a result of {bytes} bytes"));
        let direct = Peer::start_server()?.read_large(bytes, &mut io::sink())?;
        let mut file = tempfile::tempfile_in(dir.path()).map_err(text)?;
        let copied = Peer::start_server()?.read_large(bytes, &mut file)?;
        drop(file);
        let mut proxy = Peer::start_proxy(dir.path())?;
        let (answered, found) = proxy.query_large(bytes)?;
        let memory = proxy.peak_memory()?;
        print(&Row {
            name: format!("mcp/result of {bytes} bytes"),
            unit: "ms; bytes of memory",
            entries: vec![
                entry(OURS, answered, Some(answered / direct)),
                entry(FLOOR, direct, None),
                entry("floor, written to a file", copied, Some(copied / direct)),
                entry("haft, ratio to the file", answered, Some(answered / copied)),
                entry("haft, search of the needle", found, None),
                entry("haft, peak memory", memory, None),
            ],
        })?;
    }
    Ok(())
}

fn entry(name: &'static str, value: f64, ratio: Option<f64>) -> Entry {
    Entry { name, value, ratio }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[expect(clippy::disallowed_methods, reason = "this measures time")]
fn measure_calls(peer: &mut Peer, calls: usize) -> Result<f64, String> {
    let mut times = Vec::with_capacity(calls);
    for number in 0..calls + calls / 10 {
        let began = Instant::now();
        peer.call("small", &json!({}))?;
        if number >= calls / 10 {
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
    }
    Ok(median(times.into_iter()))
}

/// A process that speaks MCP.
struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    fn start(words: &[&std::ffi::OsStr]) -> Result<Self, String> {
        let mut command = Command::new(std::env::current_exe().map_err(text)?);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(text)?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Self { child, input, output, next_id: 0 })
    }

    fn start_server() -> Result<Self, String> {
        Self::start(&[SERVER.as_ref()])
    }

    fn start_proxy(dir: &Path) -> Result<Self, String> {
        Self::start(&[PROXY.as_ref(), dir.as_os_str()])
    }

    fn send(&mut self, tool: &str, arguments: &Value) -> Result<(), String> {
        self.next_id += 1;
        let params = json!({"name": tool, "arguments": arguments});
        let request =
            json!({"jsonrpc": "2.0", "id": self.next_id, "method": "tools/call", "params": params});
        writeln!(self.input, "{request}").and_then(|()| self.input.flush()).map_err(text)
    }

    /// Calls a tool, and returns the text of its result.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<String, String> {
        self.send(tool, arguments)?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(text)?;
        let answer: Value = serde_json::from_str(&line).map_err(text)?;
        let answer = answer.pointer("/result/content/0/text").and_then(Value::as_str);
        answer.map(str::to_owned).ok_or_else(|| format!("no text: {line}"))
    }

    /// Reads a large result without a look at it and writes it somewhere, in milliseconds.
    #[expect(clippy::disallowed_methods, reason = "this measures time")]
    fn read_large(&mut self, bytes: u64, out: &mut dyn Write) -> Result<f64, String> {
        let began = Instant::now();
        self.send("large", &json!({"bytes": bytes}))?;
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let count = self.output.read(&mut buffer).map_err(text)?;
            let read = buffer.get(..count).unwrap_or_default();
            out.write_all(read).map_err(text)?;
            if count == 0 || read.last() == Some(&b'\n') {
                return Ok(began.elapsed().as_secs_f64() * 1e3);
            }
        }
    }

    /// Has the proxy store a large result and searches the needle in it: the times of both, in milliseconds.
    #[expect(clippy::disallowed_methods, reason = "this measures time")]
    fn query_large(&mut self, bytes: u64) -> Result<(f64, f64), String> {
        let began = Instant::now();
        let answer = self.call("large", &json!({"bytes": bytes}))?;
        let answered = began.elapsed().as_secs_f64() * 1e3;
        let handle = answer.split("callId `").nth(1).and_then(|it| it.split('`').next());
        let handle = handle.ok_or_else(|| format!("no handle: {answer}"))?;
        let began = Instant::now();
        let found = self.call("artifact_grep", &json!({"callId": handle, "pattern": "needle"}))?;
        match found.contains("the needle") {
            true => Ok((answered, began.elapsed().as_secs_f64() * 1e3)),
            false => Err(format!("the needle was not found: {found}")),
        }
    }

    /// The peak of its memory, in bytes.
    fn peak_memory(&self) -> Result<f64, String> {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).map_err(text)?;
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
        let kilobytes = line.split_whitespace().nth(1).and_then(|it| it.parse::<f64>().ok());
        kilobytes.map(|it| it * 1024.0).ok_or_else(|| line.to_owned())
    }
}

/// The server: answers calls until its input ends.
///
/// # Errors
///
/// When a message cannot be read or written.
pub(crate) fn serve() -> Result<(), String> {
    let mut output = io::BufWriter::with_capacity(256 * 1024, io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.map_err(text)?).map_err(text)?;
        let id = request.get("id").unwrap_or(&Value::Null);
        write!(output, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"").map_err(text)?;
        match request.pointer("/params/arguments/bytes").and_then(Value::as_u64) {
            None => write!(output, "a small text").map_err(text)?,
            Some(bytes) => write_large(&mut output, bytes).map_err(text)?,
        }
        writeln!(output, "\"}}]}}}}").and_then(|()| output.flush()).map_err(text)?;
    }
    Ok(())
}

/// Writes lines of a log with a needle in the middle, as the inside of a JSON string.
fn write_large(output: &mut dyn Write, bytes: u64) -> io::Result<()> {
    let line = b"2026-11-17T09:00:00Z an ordinary line of a log that says \\\"nothing\\\" new\\n";
    let lines = bytes / line.len() as u64 + 1;
    for number in 0..lines {
        output.write_all(line)?;
        if number == lines / 2 {
            output.write_all(b"the needle in the log\\n")?;
        }
    }
    Ok(())
}

/// The proxy in front of the server, over standard input and output.
///
/// # Errors
///
/// When the server cannot be started, or the connection fails.
pub(crate) fn proxy(dir: Option<&str>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(text)?;
    runtime.block_on(async {
        let mut command = tokio::process::Command::new(std::env::current_exe().map_err(text)?);
        command.arg(SERVER).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(text)?;
        let streams = child.stdout.take().zip(child.stdin.take());
        let (output, input) = streams.ok_or("the server has no streams")?;
        // As `haft mcp proxy` does it.
        let spools = DirSpoolStore::open(dir.ok_or("no directory")?).map_err(text)?.without_sync();
        let proxy =
            McpProxy::builder(Arc::new(spools)).upstream(Upstream::streams("bench", output, input));
        proxy.build().map_err(text)?.serve_stdio().await.map_err(text)
    })
}
