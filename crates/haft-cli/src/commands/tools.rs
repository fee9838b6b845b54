//! `haft tools`, `haft describe`, `haft call`

use std::future::poll_fn;
use std::io::{IsTerminal as _, Write as _, stdout};
use std::num::{NonZeroU32, NonZeroUsize};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use futures_core::Stream as _;
use haft::artifacts::Budget;
use haft::artifacts::text::TextView;
use haft::media::Media;
use haft::records::{ToolCall, ToolResults};
use haft::stores::DirSpoolStore;
use haft::tools::Spooler;
use haft::turn::{Clock as _, SystemClock, Timestamp};
use haft::{DispatchContext, Tool};
use serde_json::{Value, json};

use super::artifact::lines::{count_lines, print_lines};
use super::tool_encoding::encode_tool;
use crate::agent::Agent;
use crate::args::{CallArgs, DescribeArgs, ToolsArgs};
use crate::terminal::{Terminal, TextRole, sanitize};
use crate::user_error::{FailureCode, UserError};

pub(super) fn list_tools(args: &ToolsArgs, terminal: &Terminal) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let mut text = String::new();
    for tool in &agent.tools {
        if args.json {
            text.push_str(&format!("{}\n", tool_to_json(tool)?));
        } else {
            let name =
                terminal.style_stdout(TextRole::Key, format!("{:<20}", tool.name().as_str()));
            let first_line = tool.description().lines().next().unwrap_or_default();
            text.push_str(&format!("{name} {}\n", sanitize(first_line)));
        }
    }
    super::print_text(&text)
}

fn tool_to_json(tool: &Tool) -> Result<Value> {
    Ok(json!({
        "name": tool.name(),
        "description": tool.description(),
        "inputSchema": serde_json::from_str::<Value>(tool.input_schema().json_schema_text())?,
    }))
}

/// Finds a tool of an agent by its name.
fn find_tool(agent: &Agent, name: &str) -> Result<Tool> {
    let by_name = agent.tools.iter().find(|tool| tool.name().as_str() == name);
    let found = by_name.or_else(|| agent.tools.iter().find(|tool| tool.is_called(name))).cloned();
    let names =
        || agent.tools.iter().map(|tool| tool.name().as_str()).collect::<Vec<_>>().join(", ");
    Ok(found.ok_or_else(|| {
        let error = UserError::new(format!("`{}` has no tool `{name}`", agent.name()));
        error.hint(format!("its tools: {}", names())).code(FailureCode::NotFound)
    })?)
}

/// Prints a tool as a model sees it.
pub(super) fn describe_tool(args: &DescribeArgs, terminal: &Terminal) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let tool = find_tool(&agent, &args.tool)?;
    let Some(format) = args.format else {
        return super::print_text(&tool_to_text(&tool, terminal)?);
    };
    let (encoded, notes) = encode_tool(&tool, format)?;
    for note in notes {
        eprintln!(
            "{}: {}",
            terminal.style_stderr(TextRole::Warning, "note"),
            sanitize(&note.message)
        );
    }
    super::print_text(&format!("{encoded:#}\n"))
}

/// Describes a tool for the user.
fn tool_to_text(tool: &Tool, terminal: &Terminal) -> Result<String> {
    let schema: Value = serde_json::from_str(tool.input_schema().json_schema_text())?;
    let name = terminal.style_stdout(TextRole::Key, tool.name().as_str());
    let mut text = format!("{name}: {}\n", sanitize(tool.description()));
    if let Value::String(effect) = serde_json::to_value(tool.effect())? {
        text.push_str(&format!("effect: {effect}\n"));
    }
    if let Some(reason) = tool.requires_approval() {
        text.push_str(&format!("requires approval: {}\n", sanitize(reason)));
    }
    text.push_str(&format!("arguments: {schema:#}\n"));
    Ok(text)
}

/// Calls a tool and prints its result. The result passes through a temporary file, so that it may have any size.
pub(super) async fn call_tool(args: &CallArgs, terminal: &Terminal) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let tool = find_tool(&agent, &args.tool)?;
    agent.prepare_files(terminal)?;
    let spool_dir = tempfile::tempdir()?;
    let spooler = Spooler::new(Arc::new(DirSpoolStore::open(spool_dir.path())?));
    let ctx = DispatchContext::builder("call").spooler(spooler.clone()).build();
    let raw = super::read_text_argument(&args.args)?;
    let started_at = SystemClock::new().now();
    let done = tool.executor(&ctx).call(raw).await;
    let record = spooler.complete_call("call", done.to_requested(NonZeroU32::MIN), done).await;
    if args.json {
        print_record(&record, started_at).await?;
    } else {
        if let Some(error) = &record.error {
            return Err(UserError::new(error.message.clone()).into());
        }
        print_results(&record, terminal).await?;
    }
    Ok(if record.error.is_some() { FailureCode::Failed.into() } else { ExitCode::SUCCESS })
}

async fn print_results(record: &ToolCall, terminal: &Terminal) -> Result<()> {
    match &record.results {
        Some(ToolResults::Artifacts(artifacts)) => {
            for artifact in artifacts {
                let view = TextView::new(Arc::clone(artifact.reader()));
                let end = count_lines(&view).await?;
                print_lines(&view, 0, end, terminal).await?;
            }
        }
        Some(ToolResults::Media(media)) if !stdout().is_terminal() => {
            for item in media {
                let mut bytes = item.stream();
                while let Some(chunk) = poll_fn(|cx| Pin::new(&mut bytes).poll_next(cx)).await {
                    stdout()
                        .write_all(&chunk.map_err(|error| UserError::new(error.to_string()))?)?;
                }
            }
        }
        Some(results) => {
            let text = read_results(results).await?;
            super::print_text(&terminal.sanitize_for_stdout(&text))?;
            if !text.ends_with('\n') {
                super::print_text("\n")?;
            }
        }
        None => {}
    }
    Ok(())
}

/// Maximum size of the results that are printed inside a JSON record, in bytes.
const MAX_RECORD_BYTES: u64 = 64 << 20;

/// Reads results as text; for media, their file names and types.
async fn read_results(results: &ToolResults) -> Result<String> {
    Ok(match results {
        ToolResults::Text(text) => text.to_string(),
        ToolResults::Artifacts(artifacts) => {
            let mut text = String::new();
            for artifact in artifacts {
                let reader = artifact.reader();
                let remaining = MAX_RECORD_BYTES.saturating_sub(text.len() as u64);
                if reader.byte_length() > remaining {
                    let error = UserError::new("the result is too large for a JSON object");
                    return Err(error.hint("omit --json to print only the result").into());
                }
                let budget = Budget::new().lines(NonZeroUsize::MAX);
                let budget =
                    budget.bytes(MAX_RECORD_BYTES as usize).line_bytes(MAX_RECORD_BYTES as usize);
                let view = TextView::new(Arc::clone(reader)).budget(budget);
                text.push_str(&view.cat(..).await?.text());
            }
            text
        }
        ToolResults::Media(media) => {
            let summary = |it: &Media| format!("{}, {}\n", it.filename(), it.mime_type());
            media.iter().map(summary).collect()
        }
        _ => String::new(),
    })
}

async fn print_record(record: &ToolCall, started_at: Timestamp) -> Result<()> {
    let result = match &record.results {
        Some(results) => read_results(results).await?.into(),
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
        "startedAt": started_at.to_string(),
    });
    super::print_text(&format!("{record:#}\n"))?;
    Ok(())
}
