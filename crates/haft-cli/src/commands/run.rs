//! `haft run`, `haft resume`

mod model;
mod screen;
mod session;
mod tape;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use haft::cancel::Cancellation;
use haft::store::{Store as _, StoreError, TurnId};
use haft::stores::TurnDir;
use haft::turn::{Outcome, TurnError, TurnReport, TurnRunner, TurnRunnerBuilder};
use serde_json::Value;

pub(super) use self::model::Model;
pub(super) use self::session::{Session, input, said};
use self::tape::{Tape, replayed};
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
    let tape = match (&args.record, &args.replay) {
        (Some(file), None) => Some(Tape::open(file, Model::of(&agent, &args.output)?)?),
        _ => None,
    };
    let builder = match (&tape, &args.replay) {
        (Some(tape), _) => tape.runner(&agent),
        (None, Some(file)) => replayed(&agent, file)?,
        (None, None) => played(&agent, &args.output)?,
    };
    let folder = TurnDir::open(agent.store(args.output.store.store.as_deref()))?;
    let input = input(&agent, &args.agent.agent, &folder).await?;
    let input = input.message(said("prompt", prompt)?);
    let mut session = Session::new(builder, &agent, folder, &args.output, terminal)?;
    let work = |runner: TurnRunner, token| async move { runner.run_until(input, token).await };
    let report = session.drive(work).await?;
    if let Some(tape) = tape {
        tape.finish(&report).await?;
    }
    Ok(code(&report))
}

/// A runner of the agent's model and tools.
pub(super) fn played(agent: &Agent, output: &RunOutput) -> Result<TurnRunnerBuilder> {
    let model = Model::of(agent, output)?;
    Ok(TurnRunner::builder(model).tools(agent.tools.iter().cloned()))
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
    // An agent that is named may say where its turns are; else the turn says which agent it is of.
    let named = args.agent.as_deref().map(Agent::load).transpose()?;
    let asked = args.output.store.store.as_deref();
    let place = named
        .as_ref()
        .map_or_else(|| args.output.store.path().to_owned(), |agent| agent.store(asked));
    let folder = store::open(&place)?;
    let id = store::turn(&folder, &args.turn).await?;
    let agent = match named {
        Some(agent) => agent,
        None => Agent::load(agent_of(&folder, &id).await?.as_ref())?,
    };
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
async fn agent_of(folder: &TurnDir, id: &TurnId) -> Result<String> {
    let stored = folder.store().load(id.clone()).await?;
    let first = stored.as_ref().and_then(|turn| turn.journal.first());
    let first: Value = first.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
    let agent = begun_by(&first).map(str::to_owned).ok_or_else(|| {
        Failure::new(format!("turn `{id}` was not begun by `haft run`"))
            .hint("name its agent: haft resume TURN --agent AGENT")
    })?;
    Ok(agent)
}
