//! What six tasks cost in tokens, beside a loop that pastes every result into the prompt as it is.
//!
//! The tasks are those of the test `haft::it::token_costs`, which fails if one of them costs more. The counts are exact:
//! two runs print the same.

mod peers;
#[path = "../../crates/haft/tests/it/token_costs/workloads.rs"]
mod workloads;

use std::path::PathBuf;

use haft::artifacts::tokens::Encoding;
use serde_json::{Value, json};

use self::peers::PEERS;
use self::workloads::{Costs, LOG_LINE_BYTES, LargeResults, count_costs, workloads};
use crate::Sink;
use crate::report::{Entry, OURS, Row};

/// What to count.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The size of the log that is queried.
    pub(crate) log_bytes: u64,
    /// The directory in which the peers are installed.
    pub(crate) peers: Option<PathBuf>,
}

/// The two encodings, by the models that have them.
const ENCODINGS: [(Encoding, &str); 2] =
    [(Encoding::O200kBase, "o200k"), (Encoding::Cl100kBase, "cl100k")];

/// How long the log is that is pasted: no model takes a longer one.
const PASTED_LOG_BYTES: u64 = 2 << 20;

/// Counts the tokens of all tasks.
///
/// # Errors
///
/// When a task does not end as it should, or a row cannot be printed.
pub(crate) fn run(options: &Options, print: Sink<'_>) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let of_log = |bytes: u64| workloads(bytes / LOG_LINE_BYTES, dir.path());
    let ours = of_log(options.log_bytes)?;
    let pasted = of_log(PASTED_LOG_BYTES.min(options.log_bytes))?;
    for (ours, pasting) in ours.iter().zip(&pasted) {
        crate::note(ours.name);
        let queried = runtime.block_on(ours.requests(LargeResults::Queried))?;
        let shown = runtime.block_on(pasting.requests(LargeResults::Shown))?;
        let shown = shown.iter().map(|body| bare(body)).collect::<Result<Vec<_>, _>>()?;
        let task = shown.last().cloned().unwrap_or_default();
        let mut variants = vec![(OURS, queried), ("pasted", shown)];
        for peer in PEERS {
            let Some(dir) = &options.peers else { break };
            match peer.requests(dir, &task) {
                Ok(bodies) => variants.push((peer.name, bodies)),
                Err(error) => crate::note(&format!("no row: {error}")),
            }
        }
        for (encoding, name) in ENCODINGS {
            let counted =
                variants.iter().map(|(of, bodies)| Ok((*of, count_costs(bodies, encoding)?)));
            let counted = counted.collect::<Result<Vec<_>, String>>()?;
            for row in rows(&format!("tokens/{}, {name}", ours.name), &counted) {
                print(&row)?;
            }
        }
    }
    Ok(())
}

fn rows(name: &str, counted: &[(&'static str, Costs)]) -> Vec<Row> {
    let row = |what: &str, unit, value: fn(&Costs) -> u64| {
        let entry = |(name, costs): &(&'static str, Costs)| Entry {
            name,
            value: value(costs) as f64,
            ratio: None,
        };
        Row { name: format!("{name}, {what}"), unit, entries: counted.iter().map(entry).collect() }
    };
    vec![
        row("requests", "requests", |it| it.requests),
        row("first request", "tokens", |it| it.first),
        row("around a result", "tokens", |it| it.envelope),
        row("all requests", "tokens", |it| it.total),
        row("reusable", "thousandths", |it| it.reusable),
    ]
}

/// The request as a loop sends it that pastes results: without query tools, envelopes and what is said about them.
fn bare(body: &str) -> Result<String, String> {
    let mut body: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        let text = message["content"].as_str().unwrap_or_default();
        let inside = match message["role"].as_str() {
            Some("tool") => {
                text.split_once('\n').and_then(|(_, rest)| rest.rsplit_once('\n')).map(|it| it.0)
            }
            Some("system") => text.split_once("\n\n").map(|(prompt, _)| prompt),
            _ => None,
        };
        if let Some(inside) = inside {
            let inside = json!(inside);
            message["content"] = inside;
        }
    }
    if let Some(tools) = body["tools"].as_array_mut() {
        let is_query = |tool: &Value| tool["function"]["name"].to_string().contains("\"artifact_");
        tools.retain(|tool| !is_query(tool));
    }
    Ok(body.to_string())
}
