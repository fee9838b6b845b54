//! `haft run`, `haft resume`

mod model;
mod screen;
mod session;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use haft::cancel::Cancellation;
use haft::executors::{Recorder, Recording};
use haft::store::{Store as _, StoreError, TurnId};
use haft::stores::TurnFolder;
use haft::turn::{Outcome, TurnError, TurnReport, TurnRunner, TurnRunnerBuilder};
use serde_json::Value;

pub(super) use self::model::Model;
pub(super) use self::session::{Session, input, said};
use crate::agent::Agent;
use crate::args::{Resume, Run, RunOutput};
use crate::failure::{Code, Failure};
use crate::store;
use crate::terminal::Terminal;

/// The exit code of a turn that was cancelled, as shells have it.
pub(super) const CANCELLED: u8 = 130;

pub(super) async fn run(args: Run, terminal: &Terminal) -> Result<ExitCode> {
    let agent = Agent::load(&args.agent.agent)?;
    let prompt = match (&args.prompt, &agent.file.prompt) {
        (Some(text), _) => super::text_of(text)?,
        (None, Some(text)) => text.clone(),
        (None, None) => {
            let failure =
                Failure::new("there is nothing to do: the agent has no prompt of its own");
            return Err(failure.hint("say something: haft run AGENT \"What is …?\"").into());
        }
    };
    agent.prepare(terminal)?;
    let (builder, recorder) = match (&args.replay, &args.record) {
        (Some(file), _) => (replayed(&agent, file)?, None),
        (None, Some(_)) => {
            let recorder = Recorder::new(Model::of(&agent, &args.output)?);
            (
                TurnRunner::builder(recorder.clone()).tools(agent.tools.iter().cloned()),
                Some(recorder),
            )
        }
        (None, None) => (played(&agent, &args.output)?, None),
    };
    let folder = TurnFolder::open(agent.store(args.output.store.store.as_deref()))?;
    let input = input(&agent, &args.agent.agent, &folder).await?;
    let input = input.message(said("prompt", prompt)?);
    let mut session = Session::new(builder, &agent, folder, &args.output, terminal)?;
    let work = |runner: TurnRunner, token| async move { runner.run_until(input, token).await };
    let report = session.drive(work).await?;
    if let (Some(recorder), Some(file)) = (recorder, &args.record) {
        let recording = recorder.finish(&report).await.context("the turn cannot be recorded")?;
        let written = std::fs::write(file, recording.to_json());
        written.with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    Ok(code(&report))
}

/// A runner of the agent's model and tools.
pub(super) fn played(agent: &Agent, output: &RunOutput) -> Result<TurnRunnerBuilder> {
    let model = Model::of(agent, output)?;
    Ok(TurnRunner::builder(model).tools(agent.tools.iter().cloned()))
}

/// A runner that gives back what was recorded. No model is asked, and no tool does anything.
fn replayed(agent: &Agent, file: &Path) -> Result<TurnRunnerBuilder> {
    let text = super::text_of(&format!("@{}", file.display()))?;
    let failed = || format!("cannot replay `{}`", file.display());
    let recording = Recording::from_json(&text).with_context(failed)?;
    let replay = recording.replay(agent.tools.iter().cloned()).with_context(failed)?;
    let tools = replay.tools();
    Ok(TurnRunner::builder(replay).tools(tools))
}

/// The exit code of a turn.
fn code(report: &TurnReport) -> ExitCode {
    match report.outcome {
        Outcome::Completed => ExitCode::SUCCESS,
        Outcome::Cancelled { .. } => ExitCode::from(CANCELLED),
        _ => Code::Failed.into(),
    }
}

pub(super) async fn resume(args: Resume, terminal: &Terminal) -> Result<ExitCode> {
    let folder = store::open(args.output.store.path())?;
    let id = store::turn(&folder, &args.turn).await?;
    let path = match args.agent {
        Some(path) => path,
        None => agent_of(&folder, &id).await?.into(),
    };
    let agent = Agent::load(&path)?;
    agent.prepare(terminal)?;
    let builder = played(&agent, &args.output)?;
    let mut session = Session::new(builder, &agent, folder, &args.output, terminal)?;
    let work = |runner: TurnRunner, token| async move { taken_over(&runner, &id, token).await };
    Ok(code(&session.drive(work).await?))
}

/// Goes on with a turn, once whoever held it gives it back or is known to be gone.
async fn taken_over(
    runner: &TurnRunner,
    id: &TurnId,
    token: Cancellation,
) -> Result<TurnReport, TurnError> {
    let mut told = false;
    loop {
        match runner.resume_until(id, token.clone()).await {
            Err(TurnError::Store(StoreError::Held { holder, .. })) if !token.is_cancelled() => {
                if !std::mem::replace(&mut told, true) {
                    eprintln!("{holder} has the turn; waiting until it gives it back or is gone");
                }
                tokio::select! {
                    () = pause(LEASE / 10) => {}
                    _ = token.cancelled() => {}
                }
            }
            other => return other,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "somebody waits in front of a screen")]
async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// How long a turn of a process that died cannot be taken over.
const LEASE: Duration = Duration::from_secs(5);

/// The key of the stash under which a turn keeps what began it.
const BEGUN_BY: &str = "haft-run";

/// The agent that the first entry of a turn's journal names.
fn begun_by(first: &Value) -> Option<&str> {
    first.pointer(&format!("/stash/{BEGUN_BY}/agent")).and_then(Value::as_str)
}

/// The agent that began a turn.
async fn agent_of(folder: &TurnFolder, id: &TurnId) -> Result<String> {
    let stored = folder.store().load(id.clone()).await?;
    let first = stored.as_ref().and_then(|turn| turn.journal.first());
    let first: Value = first.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
    let agent = begun_by(&first).map(str::to_owned).ok_or_else(|| {
        Failure::new(format!("turn `{id}` was not begun by `haft run`"))
            .hint("name its agent: haft resume TURN --agent AGENT")
    })?;
    Ok(agent)
}
