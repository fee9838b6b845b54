//! Whether a script can be played: its tools are there, and take its arguments.

use anyhow::Result;
use haft::executors::Script;

use super::Findings;
use crate::agent::Agent;
use crate::failure::Failure;

pub(super) async fn check(agent: &Agent, script: &Script, found: &mut Findings) -> Result<()> {
    let file = agent.folder.join(agent.file.script.as_deref().unwrap_or("script".as_ref()));
    let file = file.display();
    for call in script.calls() {
        let place = format!("{file}: step {}", call.step);
        let Some(tool) = agent.tools.iter().find(|it| it.name().as_str() == call.tool) else {
            found.problems.extend(unknown(agent, &place, call.tool));
            continue;
        };
        let Some(args) = call.args.filter(|_| !call.may_fail) else { continue };
        if let Err(problems) = tool.validate(args).await {
            let tool = call.tool;
            let text = format!("{place}: `{tool}` does not take these arguments: {problems}");
            found.problems.push(Failure::new(text));
        }
    }
    Ok(())
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
