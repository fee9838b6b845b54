//! Turns of an agent with somebody who watches and may be asked.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::{Context as _, Result};
use haft::cancel::Cancellation;
use haft::clock::{Clock as _, SystemClock};
use haft::event::{Event, EventKind};
use haft::events::{EventHub, Filter};
use haft::gate::Gate;
use haft::record::{Instruction, Message};
use haft::stores::TurnDir;
use haft::turn::Gatekeeper;
use haft::turn::{
    AnswerError, Deadlines, TurnError, TurnInput, TurnReport, TurnRunner, TurnRunnerBuilder,
};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::screen::Screen;
use super::{BEGUN_BY, LEASE, begun_by};
use crate::agent::Agent;
use crate::args::RunOutput;
use crate::keyboard::{Keyboard, Typed};
use crate::terminal::Terminal;

/// A runner, and the screen and the keyboard of who watches it.
pub(crate) struct Session {
    folder: TurnDir,
    runner: TurnRunner,
    hub: EventHub,
    screen: Screen,
    keyboard: Keyboard,
    /// Whether every call may run that asks for it.
    yes: bool,
    /// Gates that somebody here is asked about, the first of them now.
    asked: VecDeque<Gate>,
}

impl Session {
    /// A session of an agent whose executor and tools are set already.
    pub(crate) fn new(
        builder: TurnRunnerBuilder,
        agent: &Agent,
        folder: TurnDir,
        output: &RunOutput,
        terminal: &Terminal,
    ) -> Result<Self> {
        let hub = EventHub::new();
        let builder = builder.dir(&folder).observer(hub.clone()).limits(agent.limits());
        let runner = builder.deadlines(Deadlines::new().lease(LEASE)).build()?;
        let (screen, keyboard) = (Screen::new(*terminal, output.json), Keyboard::new());
        Ok(Self { folder, runner, hub, screen, keyboard, yes: output.yes, asked: VecDeque::new() })
    }

    pub(crate) const fn keyboard(&mut self) -> &mut Keyboard {
        &mut self.keyboard
    }

    pub(crate) const fn folder(&self) -> &TurnDir {
        &self.folder
    }

    /// Runs a turn, shows what happens, and asks whoever is there. Ctrl-C cancels the turn.
    pub(crate) async fn drive<F>(
        &mut self,
        work: impl FnOnce(TurnRunner, Cancellation) -> F,
    ) -> Result<TurnReport>
    where
        F: Future<Output = Result<TurnReport, TurnError>>,
    {
        let token = Cancellation::new();
        // One for all of the turn, so that none is missed while something is shown.
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut events = self.hub.subscribe(Filter::all());
        let work = work(self.runner.clone(), token.clone());
        tokio::pin!(work);
        self.asked.clear();
        let ended = loop {
            let is_asked = !self.asked.is_empty();
            tokio::select! {
                biased;
                Some(received) = events.next() => {
                    if let Some(event) = received.event() {
                        self.seen(&event, token.is_cancelled()).await?;
                    }
                }
                ended = &mut work => break ended,
                typed = self.keyboard.answer(), if is_asked => match typed {
                    Typed::Interrupted => token.cancel("the user pressed Ctrl-C"),
                    Typed::Line(line) => self.answered(&line).await?,
                    Typed::End => self.answered("").await?,
                },
                Some(()) = interrupts.recv() => token.cancel("the user pressed Ctrl-C"),
            }
        };
        while let Some(received) = events.try_next() {
            if let Some(event) = received.event() {
                self.screen.show(&event)?;
            }
        }
        let report = ended?;
        self.screen.finish(&report)?;
        Ok(report)
    }

    async fn seen(&mut self, event: &Event, is_cancelled: bool) -> Result<()> {
        self.screen.show(event)?;
        match &event.kind {
            EventKind::TurnGateOpen { gate_id, .. } => {
                // It may be closed again before somebody looks.
                let open = Gatekeeper::of_dir(&self.folder).open(None).await?;
                let gate = open.into_iter().find(|gate| gate.id.as_str() == &**gate_id);
                gate.map_or(Ok(()), |gate| self.asked_for(gate))?;
                if self.yes {
                    self.let_all_run().await?;
                }
            }
            EventKind::TurnGateClosed { gate_id, .. } => {
                let first = self.asked.front().map(|gate| gate.id.clone());
                self.asked.retain(|gate| gate.id.as_str() != &**gate_id);
                let was_asked = first.is_some_and(|gate| gate.as_str() == &**gate_id);
                if was_asked && !is_cancelled {
                    self.screen.say("it was answered elsewhere, or waits no longer")?;
                    self.ask()?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Has a gate answered by whoever can do it.
    fn asked_for(&mut self, gate: Gate) -> Result<()> {
        if !self.yes && !Keyboard::is_attended() {
            return self.screen.waits(&gate.id, self.folder.path());
        }
        self.asked.push_back(gate);
        if self.asked.len() == 1 && !self.yes { self.ask() } else { Ok(()) }
    }

    /// Answers with yes what yes is an answer to.
    async fn let_all_run(&mut self) -> Result<()> {
        while let Some(gate) = self.asked.pop_front() {
            let gates = Gatekeeper::of_dir(&self.folder);
            match gates.resolve(&gate.id, Value::Bool(true), "haft run --yes").await {
                Ok(()) | Err(AnswerError::Closed { .. }) => {}
                Err(AnswerError::Invalid { .. }) => {
                    self.screen.waits(&gate.id, self.folder.path())?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Puts the first question on the screen.
    fn ask(&mut self) -> Result<()> {
        match self.asked.front() {
            Some(gate) => self.screen.ask(gate, wants_yes_or_no(gate)),
            None => Ok(()),
        }
    }

    /// Answers the first question.
    async fn answered(&mut self, line: &str) -> Result<()> {
        let Some(gate) = self.asked.front() else { return Ok(()) };
        let (gates, line) = (Gatekeeper::of_dir(&self.folder), line.trim());
        let value = match wants_yes_or_no(gate) {
            true => {
                matches!(line.to_lowercase().as_str(), "y" | "yes").then_some(Value::Bool(true))
            }
            // What is no JSON is a text, which needs no quotes then.
            false if line.is_empty() => None,
            false => Some(serde_json::from_str(line).unwrap_or_else(|_| line.into())),
        };
        let answered = match value {
            Some(value) => gates.resolve(&gate.id, value, "the user").await,
            None => gates.reject(&gate.id, "the user said no", "the user").await,
        };
        match answered {
            Ok(()) => {}
            Err(AnswerError::Invalid { problems }) => {
                self.screen.say(&problems.to_string())?;
                return self.ask();
            }
            Err(AnswerError::Closed { how }) => self.screen.say(&how)?,
            Err(error) => return Err(error.into()),
        }
        self.asked.pop_front();
        self.ask()
    }
}

/// Whether a gate asks for leave and nothing else.
fn wants_yes_or_no(gate: &Gate) -> bool {
    gate.approval || gate.schema.as_ref().is_some_and(|it| it["type"] == "boolean")
}

/// What every turn of an agent begins with.
pub(crate) async fn input(agent: &Agent, path: &Path, folder: &TurnDir) -> Result<TurnInput> {
    let path = std::fs::canonicalize(path).context("where the agent is")?;
    let mut input = TurnInput::new(agent.system.as_str());
    for (n, text) in agent.file.instructions.iter().enumerate() {
        let rule = Instruction::from_developer(format!("instruction-{n}"), text.as_str())?;
        input = input.instruction(rule);
    }
    for memory in agent.memories(folder, |first| begun_by(first) == path.to_str()).await? {
        input = input.memory(memory);
    }
    Ok(input.stash(json!({BEGUN_BY: {"agent": path}})))
}

/// What the user says.
pub(crate) fn said(id: impl Into<String>, text: String) -> Result<Message> {
    Ok(Message::user(id, text, SystemClock::new().now())?)
}
