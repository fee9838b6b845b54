//! `haft check`

mod providers;
mod script;

use std::process::ExitCode;

use anyhow::Result;
use haft::testing::{ProofOptions, prove_schema};

use crate::agent::Agent;
use crate::args::Check;
use crate::failure::{self, Code, Failure};
use crate::terminal::{Terminal, Tone, plain};

/// What was found beside what keeps an agent from being read at all.
#[derive(Default)]
struct Findings {
    /// What does not work.
    problems: Vec<Failure>,
    /// What works, but maybe not as it was meant.
    warnings: Vec<String>,
}

/// Checks what can be checked without a model.
pub(super) async fn run(args: &Check, terminal: &Terminal) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let mut found = Findings::default();
    let steps = agent.script()?.map(|script| script.script().len());
    found.problems.extend(agent.missing());
    found.warnings.extend(agent.unset());
    agreement(&agent, &mut found);
    providers::check(&agent, &mut found);
    script::check(&agent, &mut found).await?;
    for warning in &found.warnings {
        eprintln!("{}: {}", terminal.err(Tone::Notice, "warning"), plain(warning));
    }
    if !found.problems.is_empty() {
        for problem in found.problems {
            failure::report(terminal, &problem.into());
        }
        return Ok(Code::Failed.into());
    }
    let script =
        steps.map_or_else(|| "no script".to_owned(), |it| format!("a script of {it} steps"));
    let good = terminal.out(Tone::Good, "good");
    let (name, tools) = (agent.name(), agent.tools.len());
    super::print(&format!("{good}: {name} with {tools} tools and {script}\n"))
}

/// What the model is shown and what is enforced are the same, for every tool.
fn agreement(agent: &Agent, found: &mut Findings) {
    for tool in &agent.tools {
        let proof = prove_schema(tool.input_schema(), ProofOptions::default().values(VALUES));
        if let Err(disagreement) = proof {
            let text = format!(
                "tool `{}`: its schema and its validator do not agree: {disagreement}",
                tool.name()
            );
            found.problems.push(Failure::new(text));
        }
    }
}

/// How many values are put to every schema.
const VALUES: usize = 60;
