//! Checks that a script can run: its tools exist and accept its arguments.

use anyhow::Result;
use haft::executors::Script;
use std::error::Error as _;

use super::Findings;
use crate::agent::AgentDir;
use crate::commands::tools::query_tool_names;
use crate::user_error::{SourceLocation, UserError};

pub(super) async fn check_script(
    agent: &AgentDir,
    script: &Script,
    findings: &mut Findings,
) -> Result<()> {
    let file = agent.dir.join(agent.file.script.as_deref().unwrap_or("script".as_ref()));
    let queries = query_tool_names()?;
    for call in script.calls() {
        let line = call.place.map(|(line, _)| line);
        let location =
            SourceLocation { file: file.clone(), line, key: Some(format!("step {}", call.step)) };
        let Some(tool) = agent.tools.iter().find(|it| it.name().as_str() == call.tool) else {
            // A query tool exists only once a turn has an artifact.
            if !queries.contains(call.tool) {
                findings.add_error(unknown_tool(agent, call.tool).at(location));
            }
            continue;
        };
        let Some(args) = call.args.filter(|_| !call.may_fail) else { continue };
        if let Err(error) = tool.validate(args).await {
            let tool = call.tool;
            let problems = error.source().map(ToString::to_string);
            let problems = problems.unwrap_or_else(|| error.to_string());
            let text = format!("`{tool}` does not accept these arguments: {problems}");
            findings.add_error(UserError::new(text).at(location));
        }
    }
    Ok(())
}

fn unknown_tool(agent: &AgentDir, name: &str) -> UserError {
    let error = UserError::new(format!("the agent has no tool `{name}`"));
    let names = agent.tools.iter().map(|it| it.name().as_str());
    match haft::schema::nearest(name, names) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("a script can call only the tools of the agent file"),
    }
}
