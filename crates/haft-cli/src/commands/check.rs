//! `haft check`

mod providers;
mod script;

use std::process::ExitCode;

use anyhow::Result;
use haft::testing::{ProofOptions, prove_schema};

use super::count_noun;
use crate::agent::Agent;
use crate::args::CheckArgs;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::{FailureCode, UserError, print_error};

/// The findings about an agent file that parses.
#[derive(Default)]
struct Findings {
    /// Problems that keep the agent from working.
    errors: Vec<UserError>,
    /// Conditions that may be unintended.
    warnings: Vec<String>,
}

/// Checks an agent without calling a model.
pub(super) async fn check_agent(args: &CheckArgs, terminal: &Terminal) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let mut findings = Findings::default();
    let script = agent.load_script()?;
    findings.errors.extend(agent.find_unusable_programs());
    findings.warnings.extend(agent.find_unset_variables());
    check_schemas(&agent, &mut findings);
    providers::check_providers(&agent, &mut findings);
    if let Some(script) = &script {
        script::check_script(&agent, script.script(), &mut findings).await?;
    }
    for warning in &findings.warnings {
        print_line(format_args!(
            "{}: {}",
            terminal.style_stderr(TextRole::Warning, "warning"),
            sanitize(warning)
        ));
    }
    if !findings.errors.is_empty() {
        for error in findings.errors {
            print_error(terminal, &error.into());
        }
        return Ok(FailureCode::Failed.into());
    }
    let script = script.map_or_else(
        || "no script".to_owned(),
        |it| format!("a script of {}", count_noun(it.script().len(), "step")),
    );
    let ok = terminal.style_stdout(TextRole::Success, "ok");
    let (name, tools) = (sanitize(&agent.name()), count_noun(agent.tools.len(), "tool"));
    super::print_text(&format!("{ok}: {name} has {tools} and {script}\n"))
}

/// Checks for every tool that the schema the model sees and the validator accept the same arguments.
fn check_schemas(agent: &Agent, findings: &mut Findings) {
    for tool in &agent.tools {
        let proof = prove_schema(tool.input_schema(), ProofOptions::default().values(PROOF_VALUES));
        if let Err(disagreement) = proof {
            let text = format!(
                "tool `{}`: the JSON Schema and the validator disagree: {disagreement}",
                tool.name()
            );
            findings.errors.push(UserError::new(text));
        }
    }
}

/// How many generated values are checked against every schema.
const PROOF_VALUES: usize = 60;
