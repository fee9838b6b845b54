//! The tools of the example agents.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use haft::artifacts::{ArtifactDraft, ArtifactKind};
use haft::media::{Media, MediaFile, MediaKind};
use haft::schema::{boolean, integer, object, string};
use haft::stores::SpoolPayload;
use haft::tools::{ByteStream, CallPreview, ToolEffect};
use haft::{Args, Tool, ToolFailure, ToolOutput};

use super::Example;

pub(super) fn all(example: &Example, agent: &str) -> Vec<Tool> {
    match agent {
        "log detective" => vec![list_files(example), read_file(example)],
        "approval flow" => vec![read_file(example), write_file()],
        "data desk" => vec![get_orders(), get_prices(), read_manual(), draw_chart()],
        "hostile" => vec![fetch_page(), fetch_log()],
        "naughty" => vec![fetch_naughty()],
        "live" | "many" => vec![read_sensor(example)],
        "parallel" => vec![write_file(), wait_for_sensor(example)],
        _ => Vec::new(),
    }
}

fn list_files(example: &Example) -> Tool {
    let example = example.clone();
    let input = object()
        .field("path", string().description("The directory to list").default("."))
        .field("depth", integer().min(1).max(8).description("How deep to look").default(1))
        .field("hidden", boolean().description("Whether hidden files are listed").default(false));
    Tool::builder("list_files")
        .description("Lists the files below a directory with their sizes.")
        .input(input)
        .effect(ToolEffect::ReadOnly)
        .handler(move |_: Args| {
            example.pass_time(3);
            "README.md  237 bytes\nshop.log   large"
        })
        .build()
        .unwrap()
}

fn read_file(example: &Example) -> Tool {
    let example = example.clone();
    Tool::builder("read_file")
        .description("Reads a file. A large file becomes an artifact.")
        .input(object().field("path", string().description("The path of the file, below the root")))
        .effect(ToolEffect::ReadOnly)
        .handler(move |args: Args| {
            example.pass_time(12);
            let path = args.to_value()["path"].as_str().unwrap_or_default().to_owned();
            match path.as_str() {
                "shop.log" => {
                    let draft = ArtifactDraft::new(ArtifactKind::TEXT, log(example.log_bytes));
                    Ok(ToolOutput::Artifacts(vec![draft]))
                }
                "list.md" => Ok(small(LIST)),
                "README.md" => Ok(small("# shop.log\n\nA day of the shop. A line is an event: the time in UTC, the level, the service, and what it says.\n")),
                _ => Err(ToolFailure::new(format!("there is no file `{path}`"))),
            }
        })
        .build()
        .unwrap()
}

fn small(text: &str) -> ToolOutput {
    ToolOutput::Text(text.to_owned())
}

fn write_file() -> Tool {
    let input = object()
        .field("path", string().required().description("The path of the file, below the root"))
        .field(
            "content",
            string().required().max_length(2_000_000).description("All of the new content"),
        )
        .field(
            "if_exists",
            haft::schema::one_of(["replace", "refuse"])
                .description("What to do if the file exists")
                .default("replace"),
        );
    Tool::builder("write_file")
        .description("Writes a file.")
        .input(input)
        .effect(ToolEffect::Idempotent)
        .requires_approval("May this file be written?")
        .preview(|args: Args| Ok(CallPreview::diff(change_diff(&args))))
        .handler(|args: Args| {
            format!("wrote {} bytes", args.to_value()["content"].as_str().unwrap_or_default().len())
        })
        .build()
        .unwrap()
}

const LIST: &str = "# Shopping list\n\n- milk\n- bread\n- two onions\n";

/// What a call of `write_file` changes.
fn change_diff(args: &Args) -> String {
    let args = args.to_value();
    let text = |name: &str| args[name].as_str().unwrap_or_default().to_owned();
    let path = text("path");
    let content = text("content");
    let before = if path == "list.md" { LIST } else { "" };
    let has = |text: &str, line: &str| text.lines().any(|it| it == line);
    let kept = before
        .lines()
        .map(|line| format!("{}{line}\n", if has(&content, line) { ' ' } else { '-' }));
    let added = content.lines().filter(|line| !has(before, line)).map(|line| format!("+{line}\n"));
    let lines: String = kept.chain(added).collect();
    let old = before.lines().count();
    let new = content.lines().count();
    format!("--- a/{path}\n+++ b/{path}\n@@ -1,{old} +1,{new} @@\n{lines}")
}

/// Lines of a log, of about 100 bytes each.
fn log(bytes: u64) -> SpoolPayload {
    SpoolPayload::Stream(ByteStream::new(LogStream { line: 0, left: bytes }))
}

struct LogStream {
    line: u64,
    left: u64,
}

impl Stream for LogStream {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut chunk = String::with_capacity(1 << 20);
        while chunk.len() < (1 << 20) - 256 && (chunk.len() as u64) < self.left {
            chunk.push_str(&log_line(self.line));
            self.line += 1;
        }
        self.left = self.left.saturating_sub(chunk.len() as u64);
        Poll::Ready(Some(Ok(Bytes::from(chunk))))
    }
}

fn log_line(n: u64) -> String {
    let seconds = n / 23;
    let milliseconds = n * 43 % 1000;
    let time = format!(
        "2026-03-02T{:02}:{:02}:{:02}.{milliseconds:03}Z",
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60
    );
    match n {
        _ if n % 10_000 == 9_999 => format!(
            "{time} ERROR checkout failed order={n:07} cause=\"payment timed out after 5000ms\"\n"
        ),
        _ if n % 280 == 279 => {
            format!("{time} ERROR mail     bounced: mailbox full to=user-{n}@example.org\n")
        }
        _ if n.is_multiple_of(97) => format!(
            "{time} WARN  payment  no free connection order={n:07} waiting={} pool=6/6\n",
            n % 60
        ),
        _ => format!(
            "{time} INFO  web      GET /products/{} status=200 took={}ms user={} session={:08x}\n",
            n % 40_000,
            n % 90,
            n * 31 % 900_000,
            n.wrapping_mul(2_654_435_761) % 4_294_967_296
        ),
    }
}

fn get_orders() -> Tool {
    let towns = ["Enns", "Steyr", "Villach", "Graz", "Wels", "Linz"];
    let names = ["Gruber", "Moser", "Mayer", "Huber", "Pichler", "Steiner"];
    let orders: Vec<String> = (0..2_000_usize)
        .map(|n| {
            let status = if n.is_multiple_of(7) { "open" } else { "paid" };
            format!("{{\"id\":{n},\"customer\":\"{}\",\"town\":\"{}\",\"status\":\"{status}\",\"total\":{}.{:02},\"items\":[{{\"sku\":\"A-{n}\",\"count\":{}}}]}}",
                names[n % 6], towns[n * 5 % 6], n * 37 % 1700, n % 100, n % 5 + 1)
        })
        .collect();
    data_tool(
        "get_orders",
        "Returns all orders as JSON.",
        ArtifactKind::JSON,
        format!("[{}]", orders.join(",\n")),
    )
}

fn get_prices() -> Tool {
    let rows: String = (0..600)
        .map(|n| format!("A-{n},\"Lamp, {n} W\",{}.{:02},{}\n", n % 90 + 4, n % 100, n % 17))
        .collect();
    data_tool(
        "get_prices",
        "Returns the price list as CSV.",
        ArtifactKind::CSV,
        format!("sku,name,price,stock\n{rows}"),
    )
}

fn read_manual() -> Tool {
    let chapters: String = (1..=12)
        .map(|n| {
            format!(
                "## Chapter {n}\n\nThe pump has {n} valves.\n\n### Service {n}\n\n{}\n\n",
                "Open the lid and clean the filter. ".repeat(20)
            )
        })
        .collect();
    data_tool(
        "read_manual",
        "Returns the manual of the pump.",
        ArtifactKind::MARKDOWN,
        format!("# Pump manual\n\n{chapters}"),
    )
}

fn data_tool(name: &str, description: &str, kind: ArtifactKind, content: String) -> Tool {
    Tool::builder(name)
        .description(description)
        .input(object())
        .effect(ToolEffect::ReadOnly)
        .artifact_kinds([kind.clone()])
        .handler(move |_: Args| ArtifactDraft::new(kind.clone(), content.clone()))
        .build()
        .unwrap()
}

/// A picture of 8 by 8 pixels.
const PICTURE: &[u8] = include_bytes!("chart.png");

fn draw_chart() -> Tool {
    Tool::builder("draw_chart")
        .description("Draws the rain of the week.")
        .input(object())
        .effect(ToolEffect::ReadOnly)
        .handler(|_: Args| {
            Media::tool_generated(
                MediaKind::Image,
                MediaFile::new("rain.png", "image/png", PICTURE),
            )
        })
        .build()
        .unwrap()
}

/// Markup, escapes, marks of direction and hidden characters.
pub(super) fn hostile_text() -> String {
    "</pre><script>window.hacked = true</script><img src=x onerror=\"window.hacked = true\">\n\
     \u{1b}[2J\u{1b}]0;title\u{7} \u{202e}txt.exe\u{202c} \u{2066}isolate\u{2069} a\u{200b}b\u{feff}c \u{0}nul\n\
     javascript:alert(1) {{constructor.constructor('alert(1)')()}} ${alert(1)} %00 ﷽ Z̸̡̢͍͔͎̘̰͇̺̟͗̓̔͌̀̑͊͒͂ 🏳️‍🌈"
        .replace('\u{0}', "\u{1}")
}

/// The naughty strings of the suite, without U+0000, which no store accepts. Nothing without the suite.
pub(super) fn naughty_text() -> String {
    let Some(file) = haft_testkit::suite("naughty-strings.json") else { return String::new() };
    let all: Vec<String> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    all.join("\n").replace('\u{0}', "")
}

fn fetch_naughty() -> Tool {
    data_tool("fetch_naughty", "Fetches strings.", ArtifactKind::TEXT, naughty_text().repeat(8))
}

fn fetch_page() -> Tool {
    Tool::builder("fetch_page")
        .description("Fetches a page. <b>Bold</b> \u{202e}claims")
        .input(object().field("url", string()))
        .effect(ToolEffect::ReadOnly)
        .handler(|_: Args| hostile_text())
        .build()
        .unwrap()
}

fn fetch_log() -> Tool {
    let text: String =
        (0..600).map(|n| format!("{n} {}\n", hostile_text().replace('\n', " "))).collect();
    data_tool("fetch_log", "Fetches a log.", ArtifactKind::TEXT, text)
}

/// Returns when the test allows it.
fn wait_for_sensor(example: &Example) -> Tool {
    let example = example.clone();
    Tool::builder("wait_for_sensor")
        .description("Waits for the temperature of a room.")
        .input(object().field("room", string().required().description("The room")))
        .effect(ToolEffect::ReadOnly)
        .handler(move |_: Args| {
            let example = example.clone();
            async move {
                let wait = tokio::time::timeout(Duration::from_secs(60), example.pieces.acquire());
                let permit = wait.await.map_err(|_| ToolFailure::new("the test did not go on"))?;
                permit.map_err(|_| ToolFailure::new("closed"))?.forget();
                Ok::<_, ToolFailure>("21 degrees")
            }
        })
        .build()
        .unwrap()
}

fn read_sensor(example: &Example) -> Tool {
    let example = example.clone();
    let input = object()
        .field("room", string().description("The room"))
        .field("samples", integer().min(1).max(10).description("How many samples"));
    Tool::builder("read_sensor")
        .description("Reads the temperature of a room.")
        .input(input)
        .effect(ToolEffect::ReadOnly)
        .handler(move |_: Args| {
            example.pass_time(40);
            "21 degrees"
        })
        .build()
        .unwrap()
}
