//! `haft tools`, `haft describe`, `haft call`

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use haft::artifact::Spooler;
use haft::call::ToolResults;
use haft::clock::{Clock as _, SystemClock};
use haft::spool::TextView;
use haft::stores::MemorySpoolStore;
use haft::{DispatchContext, Tool};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::args::{Call, Tools};
use crate::failure::{Code, Failure};
use crate::terminal::{Terminal, Tone};

pub(super) fn list(args: &Tools, terminal: &Terminal) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let mut text = String::new();
    for tool in &agent.tools {
        if args.json {
            text.push_str(&format!("{}\n", described(tool)?));
        } else {
            let name = terminal.out(Tone::Key, format!("{:<20}", tool.name().as_str()));
            text.push_str(&format!("{name} {}\n", tool.description()));
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

pub(super) async fn call(args: &Call) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let tool = find(&agent, &args.tool)?;
    let spooler = Spooler::new(Arc::new(MemorySpoolStore::new()));
    let ctx = DispatchContext::builder("call").spooler(spooler.clone()).build();
    let raw = super::text_of(&args.args)?;
    let began = SystemClock::new().now();
    let done = tool.executor(&ctx).call(raw).await;
    let record = spooler.record("call", done, std::num::NonZeroU32::MIN).await;
    let mut text = String::new();
    match (&record.results, &record.error) {
        (_, Some(error)) if !args.json => {
            return Err(Failure::new(error.message.clone()).into());
        }
        (Some(ToolResults::Text(said)), _) => text.push_str(said),
        (Some(ToolResults::Artifacts(artifacts)), _) => {
            for artifact in artifacts {
                let budget = haft::artifact::Budget::new().lines(std::num::NonZeroUsize::MAX);
                let budget = budget.bytes(64 << 20).line_bytes(64 << 20);
                let view = TextView::new(Arc::clone(artifact.reader())).budget(budget);
                text.push_str(&view.cat(..).await?.text());
            }
        }
        _ => {}
    }
    if args.json {
        let record = json!({
            "tool": record.tool(),
            "callId": record.call_id().to_string(),
            "args": record.raw().to_value(),
            "accepted": record.accepted.as_ref().map(haft::Args::to_value),
            "state": record.state(),
            "error": record.error,
            "result": text,
            "startedAt": began.to_string(),
        });
        super::print(&format!("{record:#}\n"))?;
    } else {
        super::print(&text)?;
        if !text.ends_with('\n') {
            super::print("\n")?;
        }
    }
    Ok(if record.error.is_some() { Code::Failed.into() } else { ExitCode::SUCCESS })
}
