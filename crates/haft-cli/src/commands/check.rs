//! `haft check`

mod providers;
mod script;
mod tool_block;

use std::process::ExitCode;

use anyhow::Result;
use haft::DispatchExecutor as _;
use serde_json::Map;

use super::count_noun;
use super::mcp::{server_costs, suspicious_descriptions};
use super::tools::UNTRUSTED_SERVERS;
use crate::agent::{AgentDir, AgentInspection, ScriptErrors};
use crate::args::CheckArgs;
use crate::config::UserConfig;
use crate::error_printer::print_error;
use crate::host::{ExecutorFinder, ExecutorUse};
use crate::output::{CheckReport, Finding, ToolTokens, to_line};
use crate::own_paths::OwnPaths;
use crate::supervisor::check_sandbox;
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::{FailureCode, SourceLocation, UserError};

/// What was found about an agent.
#[derive(Default)]
struct Findings {
    /// Problems that keep the agent from working.
    errors: Vec<anyhow::Error>,
    /// Conditions that may be unintended.
    warnings: Vec<UserError>,
}

impl Findings {
    /// Adds an error. Those of a script are listed one by one.
    fn add_error(&mut self, error: impl Into<anyhow::Error>) {
        let error = error.into();
        match error.downcast_ref::<ScriptErrors>() {
            Some(errors) => self.errors.extend(errors.list().into_iter().map(Into::into)),
            None => self.errors.push(error),
        }
    }

    fn add_warning(&mut self, text: impl Into<String>) {
        self.warnings.push(UserError::new(text));
    }

    /// Sorts the findings by file and line; those without a line come first.
    fn sort(&mut self) {
        fn location(error: &UserError) -> Option<SourceLocation> {
            Some(SourceLocation { key: None, ..error.location()?.clone() })
        }
        self.errors.sort_by_key(|error| error.downcast_ref().and_then(location));
        self.warnings.sort_by_key(location);
    }
}

/// Checks an agent without calling a model.
pub(super) async fn check_agent(args: &CheckArgs, terminal: &Terminal) -> Result<ExitCode> {
    let AgentInspection { mut agent, errors } =
        AgentDir::inspect(&args.agent.agent, &OwnPaths::default())?;
    let mut findings = Findings { errors, ..Findings::default() };
    let (mut steps, mut tools) = (None, Vec::new());
    if let Some(agent) = &mut agent {
        check_servers(agent, &mut findings, terminal).await;
        steps = check_parts(agent, args.model.as_deref(), &mut findings).await?;
        // With errors, tools are missing or stand there twice.
        if findings.errors.is_empty() {
            tools = tool_block::measure_tools(agent)?;
            tool_block::check_tool_block(&tools, &mut findings);
        }
    }
    findings.sort();
    let is_ok = findings.errors.is_empty();
    if args.json {
        let report =
            CheckReport { tool_tokens: tools, ..check_report(agent.as_ref(), steps, &findings) };
        super::print_text(&to_line(&report)?)?;
    } else {
        print_findings(findings, terminal);
        if let Some(agent) = agent.as_ref().filter(|_| is_ok) {
            print_summary(agent, steps, &tools, terminal)?;
        }
    }
    Ok(if is_ok { ExitCode::SUCCESS } else { FailureCode::Failed.into() })
}

/// Checks the parts of an agent, and returns the number of steps of its script.
async fn check_parts(
    agent: &AgentDir,
    model: Option<&str>,
    findings: &mut Findings,
) -> Result<Option<usize>> {
    // Tools that could not be built would be missing in the script.
    let has_all_tools = findings.errors.is_empty();
    agent.find_unusable_programs().into_iter().for_each(|it| findings.add_error(it));
    if agent.needs_sandbox()
        && let Err(error) = check_sandbox()
    {
        let located = agent.error_at(&["sandbox"], &error);
        findings.add_error(with_advice(located, &error.into()));
    }
    findings.warnings.extend(agent.find_unset_variables());
    findings.warnings.extend(agent.find_unknown_placeholders());
    providers::check_providers(agent, findings);
    check_executor(agent, model, findings);
    let script = match agent.load_script() {
        Ok(script) => script,
        Err(error) => {
            findings.add_error(error);
            None
        }
    };
    let Some(script) = script else { return Ok(None) };
    if has_all_tools {
        script::check_script(agent, script.script(), findings).await?;
    }
    Ok(Some(script.script().len()))
}

/// Selects the executor as `haft run` does. Without an API key that is still possible, and a warning says so.
fn check_executor(agent: &AgentDir, model: Option<&str>, findings: &mut Findings) {
    let read = UserConfig::read();
    let default = read.as_ref().ok().and_then(|config| config.model.clone());
    let default = default.as_deref().filter(|_| agent.file.script.is_none());
    let name = model.or(agent.file.model.as_deref()).or(default);
    let is_model = name.is_some_and(|it| it != "script");
    if !is_model && agent.file.script.is_some() {
        // Its own check says what is wrong with a script.
        return;
    }
    let locate = |error: anyhow::Error| match model {
        None if agent.file.model.is_some() => {
            with_advice(agent.error_at(&["model"], &error), &error).into()
        }
        _ => error,
    };
    if !is_model {
        let error = UserError::new("the agent has no model and no script");
        let error = error.hint("select a model with --model, such as --model openai:gpt-5-mini");
        // An agent file with errors may have had one of them.
        findings.warnings.extend(findings.errors.is_empty().then_some(error));
        return;
    }
    let config = match read {
        Ok(config) => config,
        Err(error) => return findings.add_error(locate(error)),
    };
    let finder = ExecutorFinder { config: &config, purpose: ExecutorUse::Show };
    match finder.of_agent(agent, model) {
        Ok(executor) => {
            let limits = agent.limits_with(&executor.description(), &config);
            limits.err().into_iter().for_each(|error| findings.add_error(error));
        }
        Err(error) => {
            let wrong = name.map(|it| find_wrong_options(agent, it, finder)).unwrap_or_default();
            if wrong.is_empty() {
                findings.add_error(locate(error));
            }
            wrong.into_iter().for_each(|error| findings.add_error(error));
            return;
        }
    }
    let purpose = ExecutorUse::Run { plain_http: false };
    if let Err(error) = (ExecutorFinder { purpose, ..finder }).of_agent(agent, model)
        && let Ok(error) = locate(error).downcast()
    {
        findings.warnings.push(error);
    }
}

/// Adds the advice of another error.
fn with_advice(error: UserError, other: &anyhow::Error) -> UserError {
    match other.downcast_ref::<UserError>().and_then(UserError::advice) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Finds the options of the agent file that a model refuses, each one at its line. Nothing is found if the model cannot be
/// used without options either.
fn find_wrong_options(agent: &AgentDir, model: &str, finder: ExecutorFinder<'_>) -> Vec<UserError> {
    let try_with = |options| finder.of_name(model, options).map(drop);
    if try_with(Map::new()).is_err() {
        return Vec::new();
    }
    let options = &agent.file.options;
    let alone = options.iter().filter_map(|(key, value)| {
        let error = try_with(Map::from_iter([(key.clone(), value.clone())])).err()?;
        Some(with_advice(agent.error_at(&["options", key], &error), &error))
    });
    let alone: Vec<UserError> = alone.collect();
    match try_with(options.clone()) {
        // Options that exclude each other.
        Err(error) if alone.is_empty() => {
            vec![with_advice(agent.error_at(&["options"], &error), &error)]
        }
        _ => alone,
    }
}

fn check_report(
    agent: Option<&AgentDir>,
    steps: Option<usize>,
    findings: &Findings,
) -> CheckReport {
    let error = |error: &anyhow::Error| match error.downcast_ref::<UserError>() {
        Some(error) => Finding::of(error),
        None => Finding::of(&UserError::new(format!("{error:#}"))),
    };
    CheckReport {
        ok: findings.errors.is_empty(),
        name: agent.map(AgentDir::name),
        tools: agent.map(|it| it.tools.len()),
        tool_tokens: Vec::new(),
        mcp_servers: agent.map(server_costs).unwrap_or_default(),
        script_steps: steps,
        errors: findings.errors.iter().map(error).collect(),
        warnings: findings.warnings.iter().map(Finding::of).collect(),
    }
}

fn print_findings(findings: Findings, terminal: &Terminal) {
    for warning in &findings.warnings {
        let label = terminal.style_stderr(TextRole::Warning, "warning");
        print_line(format_args!("{label}: {}", sanitize(&warning.to_string())));
        if let Some(hint) = warning.advice() {
            let label = terminal.style_stderr(TextRole::Warning, "hint");
            print_line(format_args!("{label}: {}", sanitize(hint)));
        }
    }
    let count = findings.errors.len();
    for error in findings.errors {
        print_error(terminal, &error);
    }
    if count > 1 {
        print_line(format_args!("{count} errors"));
    }
}

fn print_summary(
    agent: &AgentDir,
    steps: Option<usize>,
    tool_tokens: &[ToolTokens],
    terminal: &Terminal,
) -> Result<ExitCode> {
    let script = steps.map_or_else(
        || "no script".to_owned(),
        |steps| format!("a script of {}", count_noun(steps, "step")),
    );
    let ok = terminal.style_stdout(TextRole::Success, "ok");
    let (name, tools) = (sanitize(&agent.name()), count_noun(agent.tools.len(), "tool"));
    let mut text = format!("{ok}: {name} has {tools} and {script}\n");
    if let Some(sandbox) = agent.describe_sandbox() {
        text.push_str(&format!("{sandbox}\n"));
    }
    if !tool_tokens.is_empty() {
        let (count, tokens) = (tool_tokens.len(), tool_block::total_tokens(tool_tokens));
        let each = tool_tokens.iter().map(|it| format!("{} {}", sanitize(&it.name), it.tokens));
        let each = each.collect::<Vec<_>>().join(", ");
        let count = count_noun(count, "tool");
        text.push_str(&format!("each request has {count}, {tokens} tokens: {each}\n"));
    }
    for cost in server_costs(agent) {
        let (server, tools) = (sanitize(&cost.server), count_noun(cost.tools, "tool"));
        let tokens = cost.tokens;
        text.push_str(&format!(
            "MCP server {server}: {tools}, about {tokens} tokens in each request\n"
        ));
    }
    super::print_text(&text)
}

/// Connects to the MCP servers, if that needs no program or the agent is trusted, and checks what they offer.
async fn check_servers(agent: &mut AgentDir, findings: &mut Findings, terminal: &Terminal) {
    if !agent.has_servers() {
        return;
    }
    if !agent.is_trusted() {
        findings.warnings.push(UserError::new(UNTRUSTED_SERVERS));
        return;
    }
    // What the user has to correct first; a server that is missing would hide it.
    if !findings.errors.is_empty() || !agent.find_unusable_programs().is_empty() {
        return;
    }
    if let Err(error) = agent.prepare(false, terminal).await {
        findings.add_error(error);
    }
    findings.warnings.extend(suspicious_descriptions(agent).into_iter().map(UserError::new));
}
