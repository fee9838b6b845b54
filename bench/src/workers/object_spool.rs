//! A large result in object storage: how long its first page takes, and how much memory the process uses.

use std::pin::Pin;
use std::process::{Command, Stdio};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use haft::stores::{ObjectOptions, ObjectSpoolStore, SpoolPayload, SpoolStore as _};
use haft::tools::ByteStream;
use haft_testkit::S3Server;

use super::{entry, now, text};
use crate::report::{OURS, Row};

/// The word that starts a process which writes and reads instead of a benchmark. The address and the size follow.
pub(crate) const COMMAND: &str = "object-spool";

/// The bytes of a page.
const PAGE: usize = 16 * 1024;

/// Writes and reads a result in a process of its own; nothing if there is no server.
///
/// # Errors
///
/// When the process fails.
pub(super) fn measure(bytes: u64) -> Result<Option<Row>, String> {
    let Some(server) = S3Server::start() else { return Ok(None) };
    crate::note(&format!("workers: a result of {bytes} bytes in S3"));
    let mut command = Command::new(std::env::current_exe().map_err(text)?);
    command.args([COMMAND, &format!("{} {bytes}", server.endpoint())]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(text)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let figures: Vec<f64> = said.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    let [page, memory] = figures.as_slice() else { return Err(format!("the process said {said}")) };
    Ok(Some(Row {
        name: format!("workers/a result of {bytes} bytes in S3"),
        unit: "ms, MiB",
        entries: vec![
            entry(OURS, *page, None),
            entry("aim, first page", 200.0, None),
            entry("haft, memory", memory / 1048576.0, None),
            entry("aim, memory", 64.0, None),
        ],
    }))
}

/// Lines of a log, up to so many bytes.
struct LogStream {
    left: u64,
    block: Bytes,
}

impl Stream for LogStream {
    type Item = Result<Bytes, haft::ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let length = self.left.min(self.block.len() as u64);
        self.left -= length;
        let length = usize::try_from(length).unwrap_or(self.block.len());
        Poll::Ready(Some(Ok(self.block.slice(..length))))
    }
}

/// Writes a result, opens it anew, reads its first page, and prints the time of that and the peak of memory.
///
/// # Errors
///
/// When the server refuses something.
#[expect(clippy::print_stdout, reason = "the parent reads the line")]
pub(crate) fn run_job(job: Option<&str>) -> Result<(), String> {
    let (endpoint, bytes) = job.and_then(|it| it.split_once(' ')).ok_or("no address")?;
    let bytes: u64 = bytes.parse().map_err(text)?;
    let open = || {
        let options = ObjectOptions::default()
            .setting("aws_endpoint", endpoint)
            .setting("aws_allow_http", "true")
            .setting("aws_region", "us-east-1")
            .setting("aws_access_key_id", "test")
            .setting("aws_secret_access_key", "test");
        ObjectSpoolStore::open("s3://bucket/bench", options).map_err(text)
    };
    let line = "2026-11-17T09:00:00Z an ordinary line of a log that says nothing new\n";
    let block = Bytes::from(line.repeat(1024));
    let runtime = tokio::runtime::Runtime::new().map_err(text)?;
    let page = runtime.block_on(async {
        let stream = ByteStream::new(LogStream { left: bytes, block });
        let written = open()?.write("log".into(), SpoolPayload::Stream(stream)).await;
        drop(written.map_err(text)?);
        let began = now();
        let reader = open()?.read("log".into()).await.map_err(text)?.ok_or("it is gone")?;
        let page = reader.read_at(0, PAGE).await.map_err(text)?;
        match page.starts_with(line.as_bytes()) {
            true => Ok(began.elapsed().as_secs_f64() * 1e3),
            false => Err("the page is another one".to_owned()),
        }
    })?;
    let status = std::fs::read_to_string("/proc/self/status").map_err(text)?;
    let peak = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kilobytes = peak.split_whitespace().next().and_then(|it| it.parse::<f64>().ok());
    println!("{page} {}", kilobytes.ok_or("no number")? * 1024.0);
    Ok(())
}
