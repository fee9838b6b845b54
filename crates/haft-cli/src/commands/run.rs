//! `haft run`, `haft resume`

mod attachments;
mod gate_reply;
mod recording_file;
mod request_view;
mod session;
mod turn_printer;
mod typed_answer;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use haft::error::codes;
use haft::executors::{DispatchExecutor, ExecutorDescription};
use haft::records::CallError;
use haft::stores::{OpenStores, StoreError, StoreOptions, StoreUrl, TurnId};
use haft::turn::Cancellation;
use haft::turn::{
    Agent, AgentBuilder, AnswerFormat, Clock as _, StoredTurns, SystemClock, Turn, TurnError,
    TurnHistory, TurnOutcome, TurnReport,
};

use self::attachments::Attachments;
pub(super) use self::gate_reply::{DEFAULT_GRANT_TIME, expects_approval};
use self::recording_file::RecordingFile;
use self::recording_file::replay_recording;
pub(super) use self::recording_file::replay_text;
pub(super) use self::request_view::{ShownRequest, StoredFacts};
pub(super) use self::session::{
    GateMode, InterruptAction, SessionOptions, TurnSession, load_cost, set_show_recovery,
};
pub(super) use self::turn_printer::{TurnOutput, TurnPrinter};
use self::typed_answer::{print_answer, read_answer_format, read_stored_format};
use super::format_duration;
use crate::agent::AgentDir;
use crate::args::{ResumeArgs, RunArgs, RunOptions};
use crate::config::UserConfig;
use crate::host::{
    AgentHost, CHANGE_EXECUTOR, ExecutorFinder, ExecutorUse, HostSettings, LEASE, builder_of,
    check_model_option, find_agent_path, load_memories, prepare_turn,
};
use crate::own_paths::OwnPaths;
use crate::stop_signals::StopSignals;
use crate::store::{find_turn, open_or_create_store, open_store, open_store_to_read};
use crate::terminal::{Terminal, print_line, sanitize};
use crate::user_error::{FailureCode, UserError};

pub(super) async fn run_turn(
    args: RunArgs,
    terminal: &Terminal,
    signals: &StopSignals,
) -> Result<ExitCode> {
    let files = [&args.record, &args.replay].into_iter().flatten().map(PathBuf::as_path);
    let own = OwnPaths { files: files.collect(), ..args.options.store.own_paths() };
    let mut agent = AgentDir::load_protected(&args.agent.agent, &own)?;
    let prompt = read_prompt(args.prompt.as_deref(), &agent, "haft run")?;
    let attachments = Attachments::read(&args.attach)?;
    let format = args.schema.as_deref().map(read_answer_format).transpose()?;
    let message = UserInput { prompt, attachments, format };
    if args.dry_run {
        if agent.has_servers() {
            agent.prepare(args.options.trust, terminal).await?;
        }
        return show_first_request(&agent, &args, message, terminal).await;
    }
    agent.prepare(args.options.trust, terminal).await?;
    let config = UserConfig::read()?;
    let (builder, recording) = select_steps(&agent, &args, &config)?;
    let stores = open_or_create_store(&agent.store_address(&args.options.store)).await?;
    let host = AgentHost::new(stores, config, HostSettings::new(terminal));
    let shown = args.prompt.is_none().then(|| message.prompt.clone());
    let format = message.format.clone();
    let attached: Vec<String> = message.attachments.descriptions().collect();
    let mut options = session_options(&args.options, terminal);
    options.output = options.output.of_answer(format.is_some());
    let mut session = TurnSession::new(host, &agent, builder, options, signals)?;
    session.print_beginning(shown.as_deref(), &attached);
    let turn = prepare_turn(session.agent().turn([]), &agent, &args.agent.agent)?;
    let turn = message.add_to(turn)?;
    let work = |_, token: Cancellation| turn.cancellation(&token).report();
    let report = session.run_turn(work).await?;
    if let Some(recording) = recording {
        recording.write(&report).await?;
    }
    finish_turn(&report, format.as_ref(), args.options.json)
}

/// What takes the steps of a new turn: the recording of another one, else a model or the script, recorded if the user
/// wants that.
fn select_steps(
    agent: &AgentDir,
    args: &RunArgs,
    config: &UserConfig,
) -> Result<(AgentBuilder, Option<RecordingFile>)> {
    if let Some(file) = &args.replay {
        return Ok((replay_recording(agent, file)?, None));
    }
    let finder = ExecutorFinder { config, purpose: args.options.run_use() };
    let executor = finder.of_agent(agent, args.options.model.as_deref())?;
    match &args.record {
        Some(file) => {
            let recording = RecordingFile::open(file, executor)?;
            Ok((builder_of(agent, recording.executor()), Some(recording)))
        }
        None => Ok((builder_of(agent, executor), None)),
    }
}

impl RunOptions {
    /// How its executors are used.
    pub(super) const fn run_use(&self) -> ExecutorUse {
        ExecutorUse::Run { plain_http: self.plain_http }
    }
}

/// What the user gives to a turn.
struct UserInput {
    prompt: String,
    attachments: Attachments,
    format: Option<AnswerFormat>,
}

impl UserInput {
    fn add_to(self, turn: Turn) -> Result<Turn> {
        let turn = self.attachments.add_to(turn, "prompt", self.prompt)?;
        Ok(match self.format {
            Some(format) => turn.answer_format(format),
            None => turn,
        })
    }
}

/// Prints the answer of a turn that must have one, and returns the exit code.
fn finish_turn(
    report: &TurnReport,
    format: Option<&AnswerFormat>,
    as_event: bool,
) -> Result<ExitCode> {
    if let Some(format) = format.filter(|_| report.outcome == TurnOutcome::Completed) {
        print_answer(format, report, as_event)?;
    }
    Ok(exit_code(report))
}

/// Reads the message of the user: the argument of the command, or the prompt of the agent file.
pub(super) fn read_prompt(given: Option<&str>, agent: &AgentDir, command: &str) -> Result<String> {
    match (given, &agent.file.prompt) {
        (Some(text), _) => super::read_text_argument(text),
        (None, Some(text)) => Ok(text.clone()),
        (None, None) => {
            let error = UserError::new("there is no prompt: the agent file does not set `prompt`");
            Err(error.hint(format!("pass one: {command} AGENT \"What is …?\"")).into())
        }
    }
}

/// Prints the first request of a turn without running the turn.
async fn show_first_request(
    agent: &AgentDir,
    args: &RunArgs,
    message: UserInput,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let config = UserConfig::read()?;
    let finder = ExecutorFinder { config: &config, purpose: ExecutorUse::Show };
    let executor = finder.of_agent(agent, args.options.model.as_deref())?;
    let description = executor.description();
    let address = agent.store_address(&args.options.store);
    // A dry run creates no store, and needs one only for memories.
    let stores = match address.local_dir().is_none_or(Path::is_dir) {
        true => open_store_to_read(&address).await?,
        false => OpenStores::open(&StoreUrl::Memory, StoreOptions::default()).await?,
    };
    let host = AgentHost::new(stores, config, HostSettings::new(terminal));
    let idle = host.idle_runner(agent, executor)?.build()?;
    let mut turn = prepare_turn(idle.turn([]), agent, &args.agent.agent)?;
    if agent.has_memory() {
        for memory in load_memories(&args.agent.agent, host.stores()).await? {
            turn = turn.memory(memory);
        }
    }
    let turn = message.add_to(turn)?;
    let Some(request) = turn.render_request().await? else {
        let error = UserError::new(format!("there is no request: {description} sends none"));
        return Err(error.hint("select a model: --model openai:gpt-5-mini").into());
    };
    let shown = ShownRequest { executor: &description, request: &request, stored: None };
    shown.print(args.options.json, terminal)
}

/// How the options of the command line want turns to be printed and decided.
pub(super) fn session_options(options: &RunOptions, terminal: &Terminal) -> SessionOptions {
    let output = if options.json { TurnOutput::Json } else { TurnOutput::Text };
    let gates = if options.yes { GateMode::Approve } else { GateMode::of(options.gates) };
    SessionOptions {
        output,
        gates,
        on_interrupt: InterruptAction::LeaveWaiting,
        terminal: *terminal,
    }
}

pub(super) fn exit_code(report: &TurnReport) -> ExitCode {
    match report.outcome {
        TurnOutcome::Completed if has_unstored_result(report) => {
            FailureCode::ResultNotStored.into()
        }
        TurnOutcome::Completed => ExitCode::SUCCESS,
        TurnOutcome::Cancelled { .. } => FailureCode::Interrupted.into(),
        TurnOutcome::Waiting { .. } => FailureCode::Waiting.into(),
        TurnOutcome::Failed { .. } if has_invalid_answer(report) => {
            FailureCode::NoValidAnswer.into()
        }
        _ => FailureCode::Failed.into(),
    }
}

/// Whether the turn failed because the model gave no answer that fits the schema.
fn has_invalid_answer(report: &TurnReport) -> bool {
    let code = report.error.as_ref().and_then(|error| error.code.as_ref());
    code == Some(&codes::LLM_RESPONSE_INVALID)
}

/// Whether a tool ran and its result could not be stored. The cause was printed when it happened, and the record has it.
fn has_unstored_result(report: &TurnReport) -> bool {
    let is_unstored =
        |error: &CallError| [codes::STORE, codes::TOOL_OUTCOME_UNKNOWN].contains(&error.code);
    let mut calls = report.calls.iter();
    calls.any(|call| call.cause().is_some() && call.error.as_ref().is_some_and(is_unstored))
}

pub(super) async fn resume_turn(
    args: ResumeArgs,
    terminal: &Terminal,
    signals: &StopSignals,
) -> Result<ExitCode> {
    // The file of a given agent may set the store. Otherwise the store says which agent started the turn.
    let own = args.options.store.own_paths();
    let load = |path: &Path| AgentDir::load_protected(path, &own);
    let given = args.agent.as_deref().map(load).transpose()?;
    let address = match &given {
        Some(agent) => agent.store_address(&args.options.store),
        None => args.options.store.find_address(),
    };
    let stores = open_store(&address).await?;
    let id = find_turn(&stores, &args.turn).await?;
    let turns = StoredTurns::of_stores(&stores);
    let Some(stored) = turns.load_turn(&id).await? else {
        let error = UserError::new(format!("turn `{id}` was removed")).code(FailureCode::NotFound);
        return Err(error.into());
    };
    let history = TurnHistory::read(&stored)?;
    let format = read_stored_format(&history)?;
    let mut options = session_options(&args.options, terminal);
    options.output = options.output.of_answer(format.is_some());
    if let Some(report) = turns.load_report(&id).await? {
        let executor = ExecutorDescription::default();
        TurnPrinter::new(*terminal, options.output, executor).print_ended(&report);
        set_show_recovery(id.as_str(), stores.url());
        return finish_turn(&report, format.as_ref(), args.options.json);
    }
    let mut agent = match given {
        Some(agent) => agent,
        None => {
            let path = find_agent_path(&id, &history)?;
            AgentDir::load_protected(&path, &address.own_paths())?
        }
    };
    let config = UserConfig::read()?;
    let executor = select_for_resume(&agent, &args, &history.executor, &config)?;
    agent.prepare(args.options.trust, terminal).await?;
    let builder = builder_of(&agent, executor);
    let builder = if args.change_executor { builder.allow_executor_change() } else { builder };
    let host = AgentHost::new(stores, config, HostSettings::new(terminal));
    let mut session = TurnSession::new(host, &agent, builder, options, signals)?;
    let work =
        |runner: Agent, token| async move { resume_when_released(&runner, &id, token).await };
    let report =
        session.run_turn(work).await.map_err(|error| match error.downcast_ref::<TurnError>() {
            Some(other @ TurnError::OtherExecutor { .. }) => {
                UserError::new(other.to_string()).hint(CHANGE_EXECUTOR).into()
            }
            _ => error,
        });
    finish_turn(&report?, format.as_ref(), args.options.json)
}

/// Selects the executor that took the steps of a turn so far. With `--change-executor`, and for a turn of an earlier
/// version, selects the one of `--model` or of the agent file.
fn select_for_resume(
    agent: &AgentDir,
    args: &ResumeArgs,
    begun_by: &ExecutorDescription,
    config: &UserConfig,
) -> Result<Arc<dyn DispatchExecutor>> {
    let finder = ExecutorFinder { config, purpose: args.options.run_use() };
    if args.change_executor {
        return finder.of_agent(agent, args.options.model.as_deref());
    }
    check_model_option(&args.options, begun_by)?;
    finder.of_turn(agent, begun_by)
}

/// Resumes a turn. While another process holds its lease, waits until the lease is released or expires.
pub(super) async fn resume_when_released(
    runner: &Agent,
    id: &TurnId,
    token: Cancellation,
) -> Result<TurnReport, TurnError> {
    let mut is_reported = false;
    loop {
        match runner.resume(id).cancellation(&token).report().await {
            Err(TurnError::Store(StoreError::Held { holder, until, .. }))
                if !token.is_cancelled() =>
            {
                if !std::mem::replace(&mut is_reported, true) {
                    let left = until.duration_since(SystemClock::new().now());
                    print_line(format_args!(
                        "{} runs the turn; waiting until it ends, or for {} if it has died",
                        sanitize(&holder),
                        format_duration(left),
                    ));
                }
                tokio::select! {
                    () = sleep(LEASE / 10) => {}
                    _ = token.cancelled() => {}
                }
            }
            other => return other,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the user waits for the lease of another process")]
async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}
