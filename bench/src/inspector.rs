//! The page of the inspector in a real browser: its size, the first view of a turn of 10 000 events, and an artifact of any
//! size that is scrolled and searched.
//!
//! The browser takes the figures itself, by the script that the tests of the inspector run. The floor is a plain list of as many
//! rows in the same browser. Each figure is printed with its aim.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use haft::artifacts::{ArtifactDraft, ArtifactKind};
use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::schema::{integer, object, string};
use haft::stores::{SpoolPayload, TurnDir};
use haft::tools::{ByteStream, ToolEffect};
use haft::turn::Limits;
use haft::{Agent, Args, Tool, ToolFailure};
use haft_inspector::Inspector;
use haft_server::{Api, Guard};
use serde::Deserialize;

use crate::Sink;
use crate::report::{Entry, FLOOR, OURS, Row};

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// The size of the artifact.
    pub(crate) bytes: u64,
}

/// The turns, under the names that the script knows.
const MANY: &str = "0199-many";
const LOG: &str = "0199-log-detective";

/// Measures the page.
///
/// # Errors
///
/// When there is no browser, or the script fails.
pub(crate) fn run(options: Options, print: Sink<'_>) -> Result<(), String> {
    let modules = find_browser()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(text)?;
    let figures = runtime.block_on(measure(options, &modules))?;
    figures.rows().iter().try_for_each(|row| print(row))
}

/// The packages that drive the browser.
fn find_browser() -> Result<PathBuf, String> {
    let servers =
        haft_testkit::server("playwright-core", "node_modules/playwright-core/package.json");
    let has_programs = haft_testkit::has_program("chromium") && haft_testkit::has_program("node");
    let missing = "the browser is missing: `cargo xtask setup` installs it";
    servers.filter(|_| has_programs).map(|it| it.join("node_modules")).ok_or(missing.to_owned())
}

async fn measure(options: Options, modules: &Path) -> Result<Figures, String> {
    let dir = tempfile::tempdir().map_err(text)?;
    let turns = TurnDir::open(dir.path().join("store")).map_err(text)?;
    crate::note("inspector: a turn of 10 000 events");
    let many = Agent::builder(call_many).tool(read_sensor()?).dir(&turns);
    let many = many.limits(Limits::new().iterations(4_000).tool_calls(20_000));
    run_turn(many.build().map_err(text)?, MANY).await?;
    crate::note(&format!("inspector: an artifact of {} bytes", options.bytes));
    let log = Agent::builder(call_once).tool(read_log(options.bytes)?).dir(&turns);
    run_turn(log.build().map_err(text)?, LOG).await?;
    let no_step = |_: StepContext| async { Err::<Step, _>(StepError::new("nothing runs here")) };
    let agent = Agent::builder(no_step).dir(&turns).build().map_err(text)?;
    let api = Api::builder(agent.stored_turns().clone()).store_name("bench").build();
    let listener = TcpListener::bind("127.0.0.1:0").map_err(text)?;
    let address = listener.local_addr().map_err(text)?;
    let guard = Guard::loopback(address.port()).map_err(text)?;
    let token = guard.token().ok_or("a guard on loopback has a token")?;
    let url = format!("http://{address}/#token={token}");
    tokio::select! {
        served = Inspector::new(&api, &guard).serve(listener) => {
            Err(served.err().map_or_else(|| "the server ended".to_owned(), text))
        }
        figures = run_script(&url, modules) => figures,
    }
}

async fn run_turn(agent: Agent, id: &str) -> Result<(), String> {
    let input = agent.turn("Read everything.").system("You read sensors and logs.").id(id);
    input.report().await.map(drop).map_err(text)
}

/// How many steps the long turn has, and how many calls each of them.
const STEPS: (u32, u32) = (250, 39);

async fn call_many(ctx: StepContext) -> Result<Step, StepError> {
    let step = ctx.dispatch().iteration();
    if step == STEPS.0 {
        return Ok(Step::done().say(ctx.message("All sensors are read.")?));
    }
    let calls = (0..STEPS.1).map(|n| {
        let args = format!("{{\"room\": \"{step}-{n}\", \"samples\": 1}}");
        ProposedCall::new("read_sensor", args.as_str())
    });
    Ok(calls.fold(Step::new(), Step::call).say(ctx.message(format!("Floor {step}."))?))
}

async fn call_once(ctx: StepContext) -> Result<Step, StepError> {
    match ctx.dispatch().iteration() {
        0 => Ok(Step::new().call(ProposedCall::new("read_log", "{}"))),
        _ => Ok(Step::done().say(ctx.message("Read.")?)),
    }
}

fn read_sensor() -> Result<Tool, String> {
    let input = object().field("room", string()).field("samples", integer());
    let tool = Tool::builder("read_sensor").description("Reads.").input(input);
    tool.effect(ToolEffect::ReadOnly).handler(|_: Args| "21 degrees").build().map_err(text)
}

fn read_log(bytes: u64) -> Result<Tool, String> {
    let tool = Tool::builder("read_log").description("Reads.").input(object());
    let tool = tool.effect(ToolEffect::ReadOnly).artifact_kinds([ArtifactKind::TEXT]);
    let content = move |_: Args| {
        let lines = LogLines { line: 0, left: bytes };
        ArtifactDraft::new(ArtifactKind::TEXT, SpoolPayload::Stream(ByteStream::new(lines)))
    };
    tool.handler(content).build().map_err(text)
}

/// Lines of a log, of about 100 bytes each. The script searches for some of them.
struct LogLines {
    line: u64,
    left: u64,
}

impl Stream for LogLines {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut chunk = String::with_capacity(1 << 20);
        while chunk.len() < (1 << 20) - 256 && (chunk.len() as u64) < self.left {
            let n = self.line;
            self.line += 1;
            chunk.push_str(&match n % 10_000 {
                9_999 => format!("{n:09} ERROR checkout failed: payment timed out after 5000ms\n"),
                _ => format!(
                    "{n:09} INFO  web      GET /products/{} status=200 took={}ms user={} session={:08x}\n",
                    n % 40_000,
                    n % 90,
                    n * 31 % 900_000,
                    n.wrapping_mul(2_654_435_761) % 4_294_967_296
                ),
            });
        }
        self.left = self.left.saturating_sub(chunk.len() as u64);
        Poll::Ready(Some(Ok(Bytes::from(chunk))))
    }
}

/// What the script prints behind [`MARK`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    page_bytes: f64,
    first_view_ms: f64,
    plain_view_ms: f64,
    timeline_rate: f64,
    first_lines_ms: f64,
    verified_ms: f64,
    scroll_rate: f64,
    plain_rate: f64,
    heap_mb: f64,
    plain_heap_mb: f64,
    search_ms: f64,
}

/// What the line with the figures begins with.
const MARK: &str = "FIGURES ";

async fn run_script(url: &str, modules: &Path) -> Result<Figures, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/haft-inspector/tests/browser/figures.mjs");
    let mut command = tokio::process::Command::new("node");
    command.arg(script).arg(url).env("HAFT_NODE_MODULES", modules).kill_on_drop(true);
    let output = command.stdin(Stdio::null()).output().await.map_err(text)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let figures = printed.lines().find_map(|line| line.strip_prefix(MARK));
    match figures.filter(|_| output.status.success()) {
        Some(figures) => serde_json::from_str(figures).map_err(text),
        None => Err(format!("{printed}\n{}", String::from_utf8_lossy(&output.stderr))),
    }
}

impl Figures {
    fn rows(&self) -> Vec<Row> {
        let row =
            |name: &str, unit, entries| Row { name: format!("inspector/{name}"), unit, entries };
        let ratio = |ours: f64, floor: f64| Some(ours / floor);
        let view = ratio(self.first_view_ms, self.plain_view_ms);
        let scroll = ratio(self.scroll_rate, self.plain_rate);
        let heap = ratio(self.heap_mb, self.plain_heap_mb);
        vec![
            row(
                "page, compressed",
                "bytes",
                vec![entry(OURS, self.page_bytes, None), entry("aim, at most", 60_000.0, None)],
            ),
            row(
                "first view of a turn of 10 000 events",
                "ms, median of 5; the floor is a plain list without its data",
                vec![
                    entry(OURS, self.first_view_ms, view),
                    entry(FLOOR, self.plain_view_ms, None),
                    entry("aim, at most", 300.0, None),
                ],
            ),
            row(
                "scrolling its timeline",
                "frames per second",
                vec![entry(OURS, self.timeline_rate, None), entry("aim, at least", 50.0, None)],
            ),
            row(
                "opening the artifact",
                "ms",
                vec![
                    entry("haft, first lines", self.first_lines_ms, None),
                    entry("haft, content verified", self.verified_ms, None),
                    entry("haft, searched to its end", self.search_ms, None),
                ],
            ),
            row(
                "scrolling the artifact",
                "frames per second; the floor is a plain list of 50 000 lines",
                vec![
                    entry(OURS, self.scroll_rate, scroll),
                    entry(FLOOR, self.plain_rate, None),
                    entry("aim, at least", 50.0, None),
                ],
            ),
            row(
                "JS heap behind it",
                "MB",
                vec![
                    entry(OURS, self.heap_mb, heap),
                    entry(FLOOR, self.plain_heap_mb, None),
                    entry("aim, at most", 50.0, None),
                ],
            ),
        ]
    }
}

fn entry(name: &'static str, value: f64, ratio: Option<f64>) -> Entry {
    Entry { name, value, ratio }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
