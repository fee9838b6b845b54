//! `haft run`, `haft resume`

mod model;
mod screen;

use std::io::{IsTerminal as _, Write as _, stdin};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use haft::cancel::Cancellation;
use haft::clock::{Clock as _, SystemClock};
use haft::event::EventKind;
use haft::events::{EventHub, Filter, Received};
use haft::record::{Instruction, Message};
use haft::store::{GateId, Store as _, StoreError, TurnId};
use haft::stores::TurnFolder;
use haft::turn::{Deadlines, Outcome, TurnError, TurnInput, TurnReport, TurnRunner};
use serde_json::{Value, json};

use self::model::Model;
use self::screen::Screen;
use crate::agent::Agent;
use crate::args::{Resume, Run, RunOutput};
use crate::failure::{Code, Failure};
use crate::store;
use crate::terminal::Terminal;

/// The exit code of a turn that was cancelled, as shells have it.
const CANCELLED: u8 = 130;

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
    let folder = TurnFolder::open(agent.store(&args.output.store.store))?;
    let path = std::fs::canonicalize(&args.agent.agent)?;
    let mut input = input(&agent, prompt, &path)?;
    for memory in agent.memories(&folder, |first| begun_by(first) == path.to_str()).await? {
        input = input.memory(memory);
    }
    let turn = Turn::new(&agent, folder, args.output)?;
    let work = |runner: TurnRunner, token| async move { runner.run_until(input, token).await };
    turn.drive(work, terminal).await
}

pub(super) async fn resume(args: Resume, terminal: &Terminal) -> Result<ExitCode> {
    let folder = store::open(&args.output.store.store)?;
    let id = store::turn(&folder, &args.turn).await?;
    let path = match args.agent {
        Some(path) => path,
        None => agent_of(&folder, &id).await?.into(),
    };
    let agent = Agent::load(&path)?;
    let turn = Turn::new(&agent, folder, args.output)?;
    let work = |runner: TurnRunner, token| async move { taken_over(&runner, &id, token).await };
    turn.drive(work, terminal).await
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

fn input(agent: &Agent, prompt: String, path: &Path) -> Result<TurnInput> {
    let now = SystemClock::new().now();
    let mut input = TurnInput::new(agent.system.as_str())
        .message(Message::user("prompt", prompt, now)?)
        .stash(json!({BEGUN_BY: {"agent": path}}));
    for (n, text) in agent.file.instructions.iter().enumerate() {
        let rule = Instruction::from_developer(format!("instruction-{n}"), text.as_str())?;
        input = input.instruction(rule);
    }
    Ok(input)
}

/// The agent that the first entry of a turn's journal names.
fn begun_by(first: &Value) -> Option<&str> {
    first.pointer(&format!("/stash/{BEGUN_BY}/agent")).and_then(Value::as_str)
}

/// The agent that began a turn.
async fn agent_of(folder: &TurnFolder, id: &TurnId) -> Result<String> {
    let stored = folder.store().load(id.clone()).await?;
    let first = stored.and_then(|turn| turn.journal.into_iter().next()).unwrap_or_default();
    let first: Value = serde_json::from_str(&first).unwrap_or_default();
    let agent = begun_by(&first).map(str::to_owned).ok_or_else(|| {
        Failure::new(format!("turn `{id}` was not begun by `haft run`"))
            .hint("name its agent: haft resume TURN --agent AGENT")
    })?;
    Ok(agent)
}

/// A turn that is about to run.
struct Turn {
    folder: TurnFolder,
    output: RunOutput,
    runner: TurnRunner,
    hub: EventHub,
}

impl Turn {
    fn new(agent: &Agent, folder: TurnFolder, output: RunOutput) -> Result<Self> {
        let model = Model::of(agent, output.model.as_deref())?;
        let hub = EventHub::new();
        let builder = TurnRunner::builder(model).folder(&folder).observer(hub.clone());
        let builder = builder.tools(agent.tools.iter().cloned()).limits(agent.limits());
        let builder = builder.deadlines(Deadlines::new().lease(LEASE));
        let runner = builder.build()?;
        Ok(Self { folder, output, runner, hub })
    }

    /// Runs it, shows what happens, and answers gates if somebody is there to be asked.
    async fn drive<F>(
        self,
        work: impl FnOnce(TurnRunner, Cancellation) -> F,
        terminal: &Terminal,
    ) -> Result<ExitCode>
    where
        F: Future<Output = Result<TurnReport, TurnError>>,
    {
        let token = Cancellation::new();
        let mut events = self.hub.subscribe(Filter::all());
        let mut screen = Screen::new(*terminal, self.output.json);
        let work = work(self.runner.clone(), token.clone());
        tokio::pin!(work);
        let report = loop {
            tokio::select! {
                biased;
                Some(received) = events.next() => self.seen(received, &mut screen).await?,
                report = &mut work => break report?,
                Ok(()) = tokio::signal::ctrl_c() => token.cancel("the user pressed Ctrl-C"),
            }
        };
        while let Some(received) = events.try_next() {
            self.seen(received, &mut screen).await?;
        }
        screen.finish(&report)?;
        Ok(match report.outcome {
            Outcome::Completed => ExitCode::SUCCESS,
            Outcome::Cancelled { .. } => ExitCode::from(CANCELLED),
            _ => Code::Failed.into(),
        })
    }

    async fn seen(&self, received: Received, screen: &mut Screen) -> Result<()> {
        let Some(event) = received.event() else { return Ok(()) };
        screen.show(&event)?;
        let EventKind::TurnGateOpen { gate_id, reason, payload, .. } = &event.kind else {
            return Ok(());
        };
        let gate: GateId = gate_id.parse().context("an event names a gate")?;
        let gates = self.folder.gates();
        if self.output.yes {
            gates.resolve(&gate, Value::Bool(true), "haft run --yes").await?;
        } else if stdin().is_terminal() {
            let question = format!("{reason}\n  {}\nallow it? [y/N] ", json!(payload));
            match asked(question).await?.trim() {
                "y" | "Y" | "yes" => gates.resolve(&gate, Value::Bool(true), "the user").await?,
                _ => gates.reject(&gate, "the user said no", "the user").await?,
            }
        } else {
            screen.waits(&gate, self.folder.path())?;
        }
        Ok(())
    }
}

/// Asks at the terminal, off the async workers.
async fn asked(question: String) -> Result<String> {
    let ask = move || {
        std::io::stderr().write_all(question.as_bytes())?;
        let mut answer = String::new();
        stdin().read_line(&mut answer)?;
        std::io::Result::Ok(answer)
    };
    Ok(tokio::task::spawn_blocking(ask).await??)
}
