//! `haft call`

use std::future::poll_fn;
use std::io::{IsTerminal as _, Write as _, stdout};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use futures_core::Stream as _;
use haft::artifacts::Budget;
use haft::artifacts::text::TextView;
use haft::executors::{ProposedCall, Step, StepContext};
use haft::media::Media;
use haft::records::{ToolCall, ToolResults};
use haft::stores::{OpenStores, TurnDir};
use haft::turn::{Cancellation, Clock as _, SystemClock, Timestamp, TurnOutcome, TurnReport};

use super::artifact::lines::{count_lines, print_lines};
use super::run::{GateMode, InterruptAction, SessionOptions, TurnOutput, TurnSession};
use super::tools::find_tool;
use crate::agent::AgentDir;
use crate::args::CallArgs;
use crate::config::UserConfig;
use crate::host::{AgentHost, HostSettings, builder_of};
use crate::keyboard::Keyboard;
use crate::output::{CallRecord, to_pretty_text};
use crate::standard_output::StandardOutput;
use crate::stop_signals::StopSignals;
use crate::temp_dir::new_temp_dir;
use crate::terminal::Terminal;
use crate::user_error::{FailureCode, UserError, describe_report};

/// Calls a tool and prints its result. The call is the only one of a turn in a temporary store, so approval, timeout
/// and limits apply as they do to a model, and the result may have any size.
pub(super) async fn call_tool(
    args: &CallArgs,
    terminal: &Terminal,
    signals: &StopSignals,
) -> Result<ExitCode> {
    let mut agent = AgentDir::load(&args.agent.agent)?;
    if agent.has_servers() {
        agent.prepare(args.trust, terminal).await?;
    }
    let tool = find_tool(&agent, &args.tool)?;
    let raw = super::read_text_argument(&args.args)?;
    if tool.always_requires_approval() && !args.yes && !Keyboard::is_interactive() {
        let error = UserError::new(format!("`{}` requires approval", tool.name()));
        return Err(error.hint("call it at a terminal, or pass --yes").into());
    }
    agent.prepare(args.trust, terminal).await?;
    let dir = new_temp_dir()?;
    let started_at = SystemClock::new().now();
    let options = SessionOptions {
        output: TurnOutput::Questions,
        gates: if args.yes { GateMode::Approve } else { GateMode::detect() },
        on_interrupt: InterruptAction::CancelTurn,
        terminal: *terminal,
    };
    let stores = OpenStores::of_dir(&TurnDir::open(dir.path().join("store"))?);
    let name = tool.name().to_string();
    let builder = builder_of(&agent, move |ctx: StepContext| {
        let call = ProposedCall::new(name.as_str(), raw.as_str());
        let is_first = ctx.dispatch().iteration() == 0;
        async move { Ok(if is_first { Step::new().call(call) } else { Step::done() }) }
    });
    let host = AgentHost::new(stores, UserConfig::read()?, HostSettings::new(terminal));
    let mut session = TurnSession::new(host, &agent, builder, options, signals)?;
    let turn = session.agent().turn([]).system(agent.system.as_str());
    let work = |_, token: Cancellation| turn.cancellation(&token).report();
    let report = session.run_turn(work).await?;
    if let TurnOutcome::Waiting { gates } = &report.outcome {
        return Err(unanswered_error(session.find_reason(gates).await?.as_deref()).into());
    }
    print_report(&report, args.json.then_some(started_at), terminal).await
}

/// The error of a call that asks the user something where nobody can reply. Its turn is not stored, so nobody can later.
fn unanswered_error(question: Option<&str>) -> UserError {
    let error = match question {
        Some(question) => UserError::new(format!("the call waits for a reply: {question}")),
        None => UserError::new("the call waits for a reply"),
    };
    error.hint(
        "standard input is no terminal: call it at a terminal, or run it in a turn, which waits for `haft approve`",
    )
}

/// Prints the record of the only call; as JSON, with the time at which it started.
async fn print_report(
    report: &TurnReport,
    json_time: Option<Timestamp>,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let Some(record) = report.calls.first() else {
        let reason = report.error.as_ref().map(describe_report);
        let reason = reason.unwrap_or_else(|| "the call was not made".to_owned());
        return Err(UserError::new(reason).into());
    };
    match (json_time, &record.error) {
        (Some(started_at), _) => print_record(record, started_at).await?,
        (None, Some(error)) if !matches!(report.outcome, TurnOutcome::Cancelled { .. }) => {
            let failed = UserError::new(error.message.clone());
            return Err(match record.cause() {
                Some(cause) => failed.hint(format!("cause: {cause}")).into(),
                None => failed.into(),
            });
        }
        (None, _) => print_results(record, terminal).await?,
    }
    Ok(match (&report.outcome, &record.error) {
        (TurnOutcome::Cancelled { .. }, _) => FailureCode::Interrupted.into(),
        (_, Some(_)) => FailureCode::Failed.into(),
        (_, None) => ExitCode::SUCCESS,
    })
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
                    let chunk = chunk.map_err(|error| UserError::new(error.to_string()))?;
                    StandardOutput.write_all(&chunk)?;
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
        Some(results) => Some(read_results(results).await?),
        None => None,
    };
    let record = CallRecord {
        tool: record.tool(),
        call_id: record.call_id(),
        args: record.raw().to_value(),
        accepted: record.accepted.as_ref().map(haft::Args::to_value),
        state: record.state(),
        error: record.error.as_ref(),
        cause: record.cause(),
        result,
        started_at,
    };
    super::print_text(&to_pretty_text(&record)?)?;
    Ok(())
}
