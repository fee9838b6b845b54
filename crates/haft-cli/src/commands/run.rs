//! `haft run`, `haft resume`

mod model_executor;
mod recording_file;
mod session;
mod turn_input;
mod turn_printer;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use haft::stores::TurnDir;
use haft::stores::{StoreError, TurnId};
use haft::turn::Cancellation;
use haft::turn::{TurnError, TurnOutcome, TurnReport, TurnRunner, TurnRunnerBuilder};

use self::model_executor::ModelExecutor;
use self::recording_file::{RecordingFile, replay_recording};
pub(super) use self::session::TurnSession;
use self::turn_input::load_agent_path;
pub(super) use self::turn_input::{build_turn_input, new_user_message};
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
    let input = build_turn_input(&agent, &args.agent.agent, &store_dir).await?;
    let input = input.message(new_user_message("prompt", prompt)?);
    let mut session = TurnSession::new(builder, &agent, store_dir, &args.options, terminal)?;
    let work = |runner: TurnRunner, token| async move { runner.run_until(input, token).await };
    let report = session.run_turn(work).await?;
    if let Some(recording) = recording {
        recording.write(&report).await?;
    }
    Ok(exit_code(&report))
}

/// Builds a runner with the agent's model and tools.
pub(super) fn build_runner(agent: &Agent, options: &RunOptions) -> Result<TurnRunnerBuilder> {
    let executor = ModelExecutor::select(agent, options)?;
    Ok(TurnRunner::builder(executor).tools(agent.tools.iter().cloned()))
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
    agent.prepare_files(terminal)?;
    let builder = build_runner(&agent, &args.options)?;
    let mut session = TurnSession::new(builder, &agent, store_dir, &args.options, terminal)?;
    let work =
        |runner: TurnRunner, token| async move { resume_when_released(&runner, &id, token).await };
    Ok(exit_code(&session.run_turn(work).await?))
}

/// Resumes a turn. While another process holds its lease, waits until the lease is released or expires.
async fn resume_when_released(
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
