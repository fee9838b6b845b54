//! `haft run`, `haft resume`

mod model_executor;
mod recording_file;
mod request_view;
mod session;
mod turn_input;
mod turn_printer;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use haft::executors::DispatchExecutor as _;
use haft::stores::TurnDir;
use haft::stores::{StoreError, TurnId, TurnStore as _};
use haft::turn::Cancellation;
use haft::turn::{TurnError, TurnHistory, TurnOutcome, TurnReport, TurnRunner, TurnRunnerBuilder};

use self::model_executor::{CHANGE_EXECUTOR, check_model_option};
pub(super) use self::model_executor::{ExecutorUse, ModelExecutor};
use self::recording_file::{RecordingFile, replay_recording};
pub(super) use self::request_view::{ShownRequest, StoredFacts};
pub(super) use self::session::TurnSession;
use self::turn_input::load_memories;
pub(super) use self::turn_input::{build_turn_input, load_agent_path, new_user_message};
use crate::agent::Agent;
use crate::args::{ResumeArgs, RunArgs, RunOptions};
use crate::store::{find_turn, open_store};
use crate::terminal::Terminal;
use crate::user_error::{FailureCode, UserError};

/// The exit code of a cancelled turn, as shells report an interrupt.
pub(super) const CANCELLED: u8 = 130;

pub(super) async fn run_turn(args: RunArgs, terminal: &Terminal) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let prompt = match (&args.prompt, &agent.file.prompt) {
        (Some(text), _) => super::read_text_argument(text)?,
        (None, Some(text)) => text.clone(),
        (None, None) => {
            let error = UserError::new("there is no prompt: the agent file does not set `prompt`");
            return Err(error.hint("pass one: haft run AGENT \"What is …?\"").into());
        }
    };
    if args.dry_run {
        return show_first_request(&agent, &args, prompt, terminal).await;
    }
    agent.prepare_files(terminal)?;
    let recording = match (&args.record, &args.replay) {
        (Some(file), None) => {
            Some(RecordingFile::open(file, ModelExecutor::select(&agent, &args.options)?)?)
        }
        _ => None,
    };
    let builder = match (&recording, &args.replay) {
        (Some(recording), _) => recording.runner_builder(&agent),
        (None, Some(file)) => replay_recording(&agent, file)?,
        (None, None) => build_runner(&agent, &args.options)?,
    };
    let store_dir = TurnDir::open(agent.store_path(args.options.store.store.as_deref()))?;
    let input = build_turn_input(&agent, &args.agent.agent)?;
    let input = input.message(new_user_message("prompt", prompt)?);
    let mut session = TurnSession::new(builder, &agent, store_dir, &args.options, terminal)?;
    let work = |runner: TurnRunner, token| async move { runner.run_until(input, token).await };
    let report = session.run_turn(work).await?;
    if let Some(recording) = recording {
        recording.write(&report).await?;
    }
    Ok(exit_code(&report))
}

/// Prints the first request of a turn without running the turn.
async fn show_first_request(
    agent: &Agent,
    args: &RunArgs,
    prompt: String,
    terminal: &Terminal,
) -> Result<ExitCode> {
    let executor =
        ModelExecutor::select_for(agent, args.options.model.as_deref(), ExecutorUse::Show)?;
    let store_path = agent.store_path(args.options.store.store.as_deref());
    // A dry run creates no store, and needs one only for memories.
    let store_dir = store_path.is_dir().then(|| TurnDir::open(&store_path)).transpose()?;
    let mut input = build_turn_input(agent, &args.agent.agent)?;
    if let Some(store_dir) = store_dir.as_ref().filter(|_| agent.has_memory()) {
        for memory in load_memories(&args.agent.agent, store_dir).await? {
            input = input.memory(memory);
        }
    }
    let input = input.message(new_user_message("prompt", prompt)?);
    let description = executor.description();
    let builder = runner_builder(agent, executor);
    let runner = match &store_dir {
        Some(store_dir) => builder.dir(store_dir).build()?,
        None => builder.build()?,
    };
    let Some(request) = runner.render_first_request(input).await? else {
        let error = UserError::new(format!("there is no request: {description} sends none"));
        return Err(error.hint("select a model: --model openai:gpt-5-mini").into());
    };
    let shown = ShownRequest { executor: &description, request: &request, stored: None };
    shown.print(args.options.json, terminal)
}

/// Builds a runner with the agent's model and tools.
pub(super) fn build_runner(agent: &Agent, options: &RunOptions) -> Result<TurnRunnerBuilder> {
    Ok(runner_builder(agent, ModelExecutor::select(agent, options)?))
}

/// Builds a runner with an executor and the agent's tools.
pub(super) fn runner_builder(agent: &Agent, executor: ModelExecutor) -> TurnRunnerBuilder {
    TurnRunner::builder(executor).tools(agent.tools.iter().cloned())
}

fn exit_code(report: &TurnReport) -> ExitCode {
    match report.outcome {
        TurnOutcome::Completed => ExitCode::SUCCESS,
        TurnOutcome::Cancelled { .. } => ExitCode::from(CANCELLED),
        _ => FailureCode::Failed.into(),
    }
}

pub(super) async fn resume_turn(args: ResumeArgs, terminal: &Terminal) -> Result<ExitCode> {
    // The file of a given agent may set the store. Otherwise the store says which agent started the turn.
    let given = args.agent.as_deref().map(Agent::load).transpose()?;
    let store_path = match &given {
        Some(agent) => agent.store_path(args.options.store.store.as_deref()),
        None => args.options.store.path().to_owned(),
    };
    let store_dir = open_store(&store_path)?;
    let id = find_turn(&store_dir, &args.turn).await?;
    let agent = match given {
        Some(agent) => agent,
        None => Agent::load(load_agent_path(&store_dir, &id).await?.as_ref())?,
    };
    let executor = select_for_resume(&agent, &args, &store_dir, &id).await?;
    agent.prepare_files(terminal)?;
    let builder = runner_builder(&agent, executor);
    let builder = if args.change_executor { builder.allow_executor_change() } else { builder };
    let mut session = TurnSession::new(builder, &agent, store_dir, &args.options, terminal)?;
    let work =
        |runner: TurnRunner, token| async move { resume_when_released(&runner, &id, token).await };
    let report =
        session.run_turn(work).await.map_err(|error| match error.downcast_ref::<TurnError>() {
            Some(other @ TurnError::OtherExecutor { .. }) => {
                UserError::new(other.to_string()).hint(CHANGE_EXECUTOR).into()
            }
            _ => error,
        });
    Ok(exit_code(&report?))
}

/// Selects the executor that took the steps of a turn so far. With `--change-executor`, and for a turn of an earlier
/// version, selects the one of `--model` or of the agent file.
async fn select_for_resume(
    agent: &Agent,
    args: &ResumeArgs,
    store_dir: &TurnDir,
    id: &TurnId,
) -> Result<ModelExecutor> {
    let stored = store_dir.store().load(id.clone()).await?;
    let executor = stored.map(|turn| TurnHistory::read(&turn)).transpose()?;
    match executor.and_then(|history| history.executor) {
        Some(stored) if !args.change_executor => {
            check_model_option(&args.options, &stored)?;
            let purpose = ExecutorUse::Run { plain_http: args.options.plain_http };
            ModelExecutor::of_turn(agent, &stored, purpose)
        }
        _ => ModelExecutor::select(agent, &args.options),
    }
}

/// Resumes a turn. While another process holds its lease, waits until the lease is released or expires.
pub(super) async fn resume_when_released(
    runner: &TurnRunner,
    id: &TurnId,
    token: Cancellation,
) -> Result<TurnReport, TurnError> {
    let mut is_reported = false;
    loop {
        match runner.resume_until(id, token.clone()).await {
            Err(TurnError::Store(StoreError::Held { holder, .. })) if !token.is_cancelled() => {
                if !std::mem::replace(&mut is_reported, true) {
                    eprintln!("{holder} holds the turn; waiting until its lease ends");
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

/// How long the lease of a turn lasts. The turn of a process that died can be resumed after this time.
const LEASE: Duration = Duration::from_secs(5);
