//! `haft tools`, `haft describe`, `haft call`

use std::future::poll_fn;
use std::io::{IsTerminal as _, Write as _, stdout};
use std::num::{NonZeroU32, NonZeroUsize};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use futures_core::Stream as _;
use haft::artifact::{Budget, Spooler};
use haft::artifacts::text::TextView;
use haft::call::{ToolCall, ToolResults};
use haft::clock::{Clock as _, SystemClock, Timestamp};
use haft::media::Media;
use haft::stores::DirSpoolStore;
use haft::{DispatchContext, Tool};
use serde_json::{Value, json};

use super::artifact::lines;
use super::offered;
use crate::agent::Agent;
use crate::args::{Call, Describe, Tools};
use crate::failure::{Code, Failure};
use crate::terminal::{Terminal, Tone, plain};

pub(super) fn list(args: &Tools, terminal: &Terminal) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let mut text = String::new();
    for tool in &agent.tools {
        if args.json {
            text.push_str(&format!("{}\n", described(tool)?));
        } else {
            let name = terminal.out(Tone::Key, format!("{:<20}", tool.name().as_str()));
            let first = tool.description().lines().next().unwrap_or_default();
            text.push_str(&format!("{name} {}\n", plain(first)));
        }
    }
    super::print(&text)
}

fn described(tool: &Tool) -> Result<Value> {
    Ok(json!({
        "name": tool.name(),
        "description": tool.description(),
        "inputSchema": serde_json::from_str::<Value>(tool.input_schema().json_schema_text())?,
    }))
}

fn find(agent: &Agent, name: &str) -> Result<Tool> {
    let found = agent.tools.iter().find(|tool| tool.name().as_str() == name).cloned();
    let names =
        || agent.tools.iter().map(|tool| tool.name().as_str()).collect::<Vec<_>>().join(", ");
    Ok(found.ok_or_else(|| {
        let failure = Failure::new(format!("`{}` has no tool `{name}`", agent.name()));
        failure.hint(format!("it has {}", names())).code(Code::NothingFound)
    })?)
}

/// Shows what a model sees of a tool.
pub(super) fn describe(args: &Describe, terminal: &Terminal) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let tool = find(&agent, &args.tool)?;
    let Some(form) = args.form else { return super::print(&readable(&tool, terminal)?) };
    let (shown, notes) = offered::shown(&tool, form)?;
    for note in notes {
        eprintln!("{}: {}", terminal.err(Tone::Notice, "note"), plain(&note.message));
    }
    super::print(&format!("{shown:#}\n"))
}

/// A tool for a person.
fn readable(tool: &Tool, terminal: &Terminal) -> Result<String> {
    let schema: Value = serde_json::from_str(tool.input_schema().json_schema_text())?;
    let name = terminal.out(Tone::Key, tool.name().as_str());
    let mut text = format!("{name}: {}\n", plain(tool.description()));
    if let Value::String(effect) = serde_json::to_value(tool.effect())? {
        text.push_str(&format!("effect: {effect}\n"));
    }
    if let Some(reason) = tool.requires_approval() {
        text.push_str(&format!("asks for leave: {}\n", plain(reason)));
    }
    text.push_str(&format!("arguments: {schema:#}\n"));
    Ok(text)
}

/// Calls a tool. What it gives passes through a file, so that it may have any size.
pub(super) async fn call(args: &Call, terminal: &Terminal) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let tool = find(&agent, &args.tool)?;
    agent.prepare(terminal)?;
    let folder = tempfile::tempdir()?;
    let spooler = Spooler::new(Arc::new(DirSpoolStore::open(folder.path())?));
    let ctx = DispatchContext::builder("call").spooler(spooler.clone()).build();
    let raw = super::text_of(&args.args)?;
    let began = SystemClock::new().now();
    let done = tool.executor(&ctx).call(raw).await;
    let record = spooler.record("call", done, NonZeroU32::MIN).await;
    if args.json {
        print_record(&record, began).await?;
    } else {
        if let Some(error) = &record.error {
            return Err(Failure::new(error.message.clone()).into());
        }
        print_results(&record, terminal).await?;
    }
    Ok(if record.error.is_some() { Code::Failed.into() } else { ExitCode::SUCCESS })
}

async fn print_results(record: &ToolCall, terminal: &Terminal) -> Result<()> {
    match &record.results {
        Some(ToolResults::Artifacts(artifacts)) => {
            for artifact in artifacts {
                let view = TextView::new(Arc::clone(artifact.reader()));
                let end = lines::count(&view).await?;
                lines::print(&view, 0, end, terminal).await?;
            }
        }
        Some(ToolResults::Media(media)) if !stdout().is_terminal() => {
            for medium in media {
                let mut bytes = medium.stream();
                while let Some(piece) = poll_fn(|cx| Pin::new(&mut bytes).poll_next(cx)).await {
                    stdout().write_all(&piece.map_err(|error| Failure::new(error.to_string()))?)?;
                }
            }
        }
        Some(results) => {
            let text = text_of_results(results).await?;
            super::print(&terminal.shown(&text))?;
            if !text.ends_with('\n') {
                super::print("\n")?;
            }
        }
        None => {}
    }
    Ok(())
}

/// Most bytes of a result that the record shows, in one piece.
const MAX_SHOWN: u64 = 64 << 20;

async fn text_of_results(results: &ToolResults) -> Result<String> {
    Ok(match results {
        ToolResults::Text(text) => text.to_string(),
        ToolResults::Artifacts(artifacts) => {
            let mut text = String::new();
            for artifact in artifacts {
                let reader = artifact.reader();
                let left = MAX_SHOWN.saturating_sub(text.len() as u64);
                if reader.byte_length() > left {
                    let failure = Failure::new("the result is too large for one JSON object");
                    return Err(failure.hint("leave --json out to get it as it is").into());
                }
                let budget = Budget::new().lines(NonZeroUsize::MAX);
                let budget = budget.bytes(MAX_SHOWN as usize).line_bytes(MAX_SHOWN as usize);
                let view = TextView::new(Arc::clone(reader)).budget(budget);
                text.push_str(&view.cat(..).await?.text());
            }
            text
        }
        ToolResults::Media(media) => {
            let shown = |it: &Media| format!("{}, {}\n", it.filename(), it.mime_type());
            media.iter().map(shown).collect()
        }
        _ => String::new(),
    })
}

async fn print_record(record: &ToolCall, began: Timestamp) -> Result<()> {
    let result = match &record.results {
        Some(results) => text_of_results(results).await?.into(),
        None => Value::Null,
    };
    let record = json!({
        "tool": record.tool(),
        "callId": record.call_id().to_string(),
        "args": record.raw().to_value(),
        "accepted": record.accepted.as_ref().map(haft::Args::to_value),
        "state": record.state(),
        "error": record.error,
        "result": result,
        "startedAt": began.to_string(),
    });
    super::print(&format!("{record:#}\n"))?;
    Ok(())
}
