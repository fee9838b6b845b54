//! Whether a script can be played: its tools are there, and take its arguments.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use haft::{DispatchContext, Tool, ToolOutput};
use serde_json::{Value, json};

use super::Findings;
use crate::agent::Agent;
use crate::failure::Failure;

pub(super) async fn check(agent: &Agent, found: &mut Findings) -> Result<()> {
    let Some((path, text)) = agent.script_text()? else { return Ok(()) };
    let script = read(&text).await.with_context(|| format!("in {}", path.display()))?;
    let none = Vec::new();
    let steps = script.get("steps").and_then(Value::as_array).unwrap_or(&none);
    let failing = failing(steps);
    for (number, step) in (1..).zip(steps) {
        for (name, args) in by_tool(step.get("call")) {
            let place = format!("{}: step {number}", path.display());
            let Some(tool) = agent.tools.iter().find(|it| it.name().as_str() == name) else {
                found.problems.extend(unknown(agent, &place, name));
                continue;
            };
            // What is put in is known when the script runs, and some calls are meant to fail.
            if args.to_string().contains("{{") || failing.contains(name) {
                continue;
            }
            let raw = args.as_str().map_or_else(|| args.to_string(), str::to_owned);
            if let Err(problems) = tool.validate(raw).await {
                let text = format!("{place}: `{name}` does not take these arguments: {problems}");
                found.problems.push(Failure::new(text));
            }
        }
    }
    Ok(())
}

/// A script was parsed before, so that this is JSON or YAML.
async fn read(text: &str) -> Result<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let tools = haft::tools::data()?;
    let yaml = tools.iter().find(|it| it.name().as_str() == "parse_yaml");
    let yaml: &Tool = yaml.context("YAML cannot be read")?;
    let ctx = DispatchContext::builder("check").build();
    let call = yaml.executor(&ctx).call(json!({ "text": text }).to_string()).await;
    let (ToolOutput::Text(text) | ToolOutput::Answer { text, .. }) = call.outcome? else {
        anyhow::bail!("YAML cannot be read");
    };
    let mut read: Value = serde_json::from_str(&text)?;
    Ok(read.get_mut("value").map(Value::take).unwrap_or_default())
}

/// What stands under the names of tools: in a mapping, or in a list of mappings.
fn by_tool(value: Option<&Value>) -> Vec<(&str, &Value)> {
    let maps: Vec<&Value> = match value {
        Some(Value::Array(list)) => list.iter().collect(),
        other => other.into_iter().collect(),
    };
    let members = maps.into_iter().filter_map(Value::as_object).flatten();
    members.map(|(name, value)| (name.as_str(), value)).collect()
}

/// The tools of which a call is expected to fail.
fn failing(steps: &[Value]) -> BTreeSet<&str> {
    let expected = steps.iter().flat_map(|step| by_tool(step.get("expect")));
    let fails = |value: &Value| value.get("error").is_some_and(|it| *it != Value::Bool(false));
    expected.filter(|(_, value)| fails(value)).map(|(name, _)| name).collect()
}

/// Queries on artifacts are there when there is an artifact.
fn unknown(agent: &Agent, place: &str, name: &str) -> Option<Failure> {
    if name.starts_with("artifact_") {
        return None;
    }
    let failure = Failure::new(format!("{place}: the agent has no tool `{name}`"));
    let names = agent.tools.iter().map(|it| it.name().as_str());
    Some(match haft::schema::nearest(name, names) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("a script calls the tools that the agent file lists"),
    })
}
