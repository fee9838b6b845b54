//! `haft show --request` and `haft show --response`

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::process::ExitCode;

use anyhow::Result;
use haft::executors::{DispatchExecutor as _, ExecutorDescription, NextAction};
use haft::stores::{OpenStores, Row, RowKind, StoredTurn};
use haft::turn::{StepHistory, StoredTurns, TurnHistory};
use serde_json::Value;

use super::parse_json_or_text;
use super::record_view::{CallFacts, ReadRecord, RecordView, read_records};
use crate::agent::AgentDir;
use crate::args::ShowArgs;
use crate::commands::run::{ShownRequest, StoredFacts};
use crate::commands::{format_count, print_text};
use crate::config::UserConfig;
use crate::host::{AgentHost, ExecutorFinder, ExecutorUse, HostSettings, find_agent_path};
use crate::output::{PrintedResponse, to_line};
use crate::terminal::{Terminal, TextRole, sanitize};
use crate::user_error::{FailureCode, UserError, describe_report};

/// Renders the request of a step again and prints it.
pub(super) async fn show_request(
    args: &ShowArgs,
    step: NonZeroU32,
    stores: &OpenStores,
    turn: &StoredTurn,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let id = &turn.summary.id;
    let history = TurnHistory::read(turn)?;
    let agent = match &args.agent {
        Some(path) => AgentDir::load(path)?,
        None => AgentDir::load(&find_agent_path(id, &history)?)?,
    };
    let iteration = step.get() - 1;
    let taken = history.steps.iter().find(|it| it.iteration == iteration);
    let stored = taken.map_or(&history.executor, |step| &step.executor);
    if let ExecutorDescription::Custom { .. } = stored {
        let error = UserError::new(format!("step {step} has no request: a {stored} sends none"));
        return Err(error.hint(no_request_hint(step)).code(FailureCode::NotFound).into());
    }
    let config = UserConfig::read()?;
    let finder = ExecutorFinder { config: &config, purpose: ExecutorUse::Show };
    let executor = finder.of_turn(&agent, stored)?;
    let description = executor.description();
    let host = AgentHost::new(stores.clone(), config, HostSettings::new(terminal));
    let runner = host.idle_runner(&agent, executor)?.build()?;
    if taken.is_none() {
        check_step_number(turn, &history, step)?;
    }
    let Some(rendered) = runner.render_request(id, iteration).await? else {
        let error = UserError::new(format!("step {step} has no request: {description} sends none"));
        return Err(error.hint(no_request_hint(step)).code(FailureCode::NotFound).into());
    };
    let shown = ShownRequest {
        executor: stored,
        request: &rendered.request,
        stored: Some(StoredFacts { turn: id, step: step.get(), rendered: &rendered }),
    };
    shown.print(args.json, terminal)
}

/// Returns an error if a turn has no such step, and will not take it next.
fn check_step_number(turn: &StoredTurn, history: &TurnHistory, step: NonZeroU32) -> Result<()> {
    let steps = history.steps.len();
    let next = if turn.summary.status.is_final() { steps } else { steps + 1 };
    if usize::try_from(step.get()).is_ok_and(|step| step <= next) {
        return Ok(());
    }
    Err(missing_step(history, step).into())
}

fn missing_step(history: &TurnHistory, step: NonZeroU32) -> UserError {
    let steps = match history.steps.len() {
        1 => "1 step".to_owned(),
        n => format!("{n} steps"),
    };
    let error = UserError::new(format!("there is no step {step}: the turn has {steps}"));
    error.code(FailureCode::NotFound)
}

/// Prints what a step added, and what it cost.
pub(super) async fn show_response(
    args: &ShowArgs,
    step: NonZeroU32,
    turn: &StoredTurn,
    stores: &OpenStores,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let history = TurnHistory::read(turn)?;
    let Some(taken) = history.steps.iter().find(|it| it.iteration == step.get() - 1) else {
        return Err(missing_step(&history, step).into());
    };
    let added: HashSet<(RowKind, String)> = taken.records().collect();
    let is_added = |row: &&Row| added.contains(&(row.kind, row.id.clone()));
    let rows: Vec<&Row> = turn.rows.iter().filter(is_added).collect();
    if args.json {
        return print_text(&to_line(&printed_response(turn, step, taken, &rows))?);
    }
    let records = read_records(&StoredTurns::of_stores(stores), rows).await;
    print_text(&response_to_text(step, taken, &records, terminal))
}

fn printed_response<'t>(
    turn: &'t StoredTurn,
    step: NonZeroU32,
    taken: &'t StepHistory,
    rows: &[&Row],
) -> PrintedResponse<'t> {
    let records = |kind| -> Vec<Value> {
        let rows = rows.iter().filter(|row| row.kind == kind);
        rows.map(|row| parse_json_or_text(&row.json)).collect()
    };
    PrintedResponse {
        turn: turn.summary.id.as_str(),
        step: step.get(),
        executor: &taken.executor,
        model: taken.model.as_deref(),
        thoughts: records(RowKind::Thought),
        messages: records(RowKind::Message),
        calls: records(RowKind::ToolCall),
        then: &taken.then,
        usage: taken.usage,
    }
}

fn response_to_text(
    step: NonZeroU32,
    taken: &StepHistory,
    records: &[ReadRecord<'_>],
    terminal: &Terminal,
) -> String {
    let executor = terminal.style_stdout(TextRole::Key, sanitize(&taken.executor.to_string()));
    let usage = taken.usage;
    let mut text = format!(
        "response of step {step}: {executor}, {} prompt and {} completion tokens\n",
        format_count(usage.prompt),
        format_count(usage.completion)
    );
    let facts = CallFacts::default();
    let view = RecordView { terminal, facts: &facts, is_full: true };
    for record in records {
        text.push_str(&view.to_text(record));
    }
    let next = match &taken.then {
        NextAction::Continue => return text,
        NextAction::Done => "the turn is done".to_owned(),
        NextAction::Fail(error) => {
            format!("the turn failed: {}", sanitize(&describe_report(error)))
        }
        _ => return text,
    };
    text.push_str(&format!("{}\n", terminal.style_stdout(TextRole::Muted, next)));
    text
}

fn no_request_hint(step: NonZeroU32) -> String {
    format!(
        "--response {step} shows what it did; a turn with a model has requests: haft run AGENT --model PROVIDER:MODEL"
    )
}
