//! Runs turns of an agent, prints their events and asks the user for decisions.

use std::collections::VecDeque;

use anyhow::Result;
use haft::events::{Event, EventKind};
use haft::events::{EventFilter, EventHub};
use haft::stores::TurnDir;
use haft::turn::Cancellation;
use haft::turn::Gate;
use haft::turn::{
    Deadlines, Gatekeeper, SettleError, TurnError, TurnReport, TurnRunner, TurnRunnerBuilder,
};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use super::LEASE;
use super::turn_printer::TurnPrinter;
use crate::agent::Agent;
use crate::args::RunOptions;
use crate::keyboard::{Keyboard, KeyboardInput};
use crate::terminal::Terminal;

/// A runner together with the printer and the keyboard of the user.
pub(crate) struct TurnSession {
    store_dir: TurnDir,
    runner: TurnRunner,
    hub: EventHub,
    printer: TurnPrinter,
    keyboard: Keyboard,
    /// Whether every tool call is approved without asking.
    approve_all: bool,
    /// Gates that wait for a decision of the user. The question of the first one is on the screen.
    pending_gates: VecDeque<Gate>,
}

impl TurnSession {
    /// Starts a session with a runner whose executor and tools are already set.
    pub(crate) fn new(
        builder: TurnRunnerBuilder,
        agent: &Agent,
        store_dir: TurnDir,
        options: &RunOptions,
        terminal: &Terminal,
    ) -> Result<Self> {
        let hub = EventHub::new();
        let builder = builder.dir(&store_dir).observer(hub.clone()).limits(agent.limits());
        let runner = builder.deadlines(Deadlines::new().lease(LEASE)).build()?;
        Ok(Self {
            store_dir,
            runner,
            hub,
            printer: TurnPrinter::new(*terminal, options.json),
            keyboard: Keyboard::spawn(),
            approve_all: options.yes,
            pending_gates: VecDeque::new(),
        })
    }

    pub(crate) const fn keyboard(&mut self) -> &mut Keyboard {
        &mut self.keyboard
    }

    pub(crate) const fn store_dir(&self) -> &TurnDir {
        &self.store_dir
    }

    /// Runs a turn, prints its events and asks the user about its gates. Ctrl-C cancels the turn.
    pub(crate) async fn run_turn<F>(
        &mut self,
        work: impl FnOnce(TurnRunner, Cancellation) -> F,
    ) -> Result<TurnReport>
    where
        F: Future<Output = Result<TurnReport, TurnError>>,
    {
        let token = Cancellation::new();
        // One listener for the whole turn, so that no interrupt is missed while an event is printed.
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut events = self.hub.subscribe(EventFilter::all());
        let work = work(self.runner.clone(), token.clone());
        tokio::pin!(work);
        self.pending_gates.clear();
        let result = loop {
            let has_question = !self.pending_gates.is_empty();
            tokio::select! {
                biased;
                Some(received) = events.next() => {
                    if let Some(event) = received.event() {
                        self.handle_event(&event, token.is_cancelled()).await?;
                    }
                }
                result = &mut work => break result,
                input = self.keyboard.read_reply(), if has_question => match input {
                    KeyboardInput::Interrupted => token.cancel("the user pressed Ctrl-C"),
                    KeyboardInput::Line(line) => self.decide_first_gate(&line).await?,
                    KeyboardInput::End => self.decide_first_gate("").await?,
                },
                Some(()) = interrupts.recv() => token.cancel("the user pressed Ctrl-C"),
            }
        };
        while let Some(received) = events.try_next() {
            if let Some(event) = received.event() {
                self.printer.print_event(&event)?;
            }
        }
        let report = result?;
        self.printer.print_outcome(&report)?;
        Ok(report)
    }

    /// Prints an event, and opens or closes the question of its gate.
    async fn handle_event(&mut self, event: &Event, is_cancelled: bool) -> Result<()> {
        self.printer.print_event(event)?;
        match &event.kind {
            EventKind::TurnGateOpen { gate_id, .. } => {
                // The gate may already be closed when the event arrives.
                let open = Gatekeeper::of_dir(&self.store_dir).open_gates(None).await?;
                if let Some(gate) = open.into_iter().find(|gate| gate.id.as_str() == &**gate_id) {
                    self.queue_gate(gate)?;
                }
                if self.approve_all {
                    self.approve_pending_gates().await?;
                }
            }
            EventKind::TurnGateClosed { gate_id, .. } => {
                let first = self.pending_gates.front().map(|gate| gate.id.clone());
                self.pending_gates.retain(|gate| gate.id.as_str() != &**gate_id);
                let was_on_screen = first.is_some_and(|gate| gate.as_str() == &**gate_id);
                if was_on_screen && !is_cancelled {
                    self.printer.print_notice("decided elsewhere, or no longer needed")?;
                    self.ask_first_gate()?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Queues a gate for the user. Without a terminal, prints how to decide it from elsewhere.
    fn queue_gate(&mut self, gate: Gate) -> Result<()> {
        if !self.approve_all && !Keyboard::is_interactive() {
            return self.printer.print_waiting_gate(&gate.id, self.store_dir.path());
        }
        self.pending_gates.push_back(gate);
        if self.pending_gates.len() == 1 && !self.approve_all {
            self.ask_first_gate()
        } else {
            Ok(())
        }
    }

    /// Approves the pending gates. A gate that expects another value than yes stays open.
    async fn approve_pending_gates(&mut self) -> Result<()> {
        while let Some(gate) = self.pending_gates.pop_front() {
            let gates = Gatekeeper::of_dir(&self.store_dir);
            match gates.resolve(&gate.id, Value::Bool(true), "haft run --yes").await {
                Ok(()) | Err(SettleError::Closed { .. }) => {}
                Err(SettleError::Invalid { .. }) => {
                    self.printer.print_waiting_gate(&gate.id, self.store_dir.path())?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Prints the question of the first pending gate.
    fn ask_first_gate(&mut self) -> Result<()> {
        match self.pending_gates.front() {
            Some(gate) => self.printer.print_question(gate, expects_yes_or_no(gate)),
            None => Ok(()),
        }
    }

    /// Decides the first pending gate by the user's reply, and asks about the next one.
    async fn decide_first_gate(&mut self, reply: &str) -> Result<()> {
        let Some(gate) = self.pending_gates.front() else { return Ok(()) };
        let gates = Gatekeeper::of_dir(&self.store_dir);
        let decided = match parse_reply(gate, reply.trim()) {
            Some(value) => gates.resolve(&gate.id, value, "the user").await,
            None => gates.reject(&gate.id, "the user said no", "the user").await,
        };
        match decided {
            Ok(()) => {}
            Err(SettleError::Invalid { problems }) => {
                self.printer.print_notice(&problems.to_text("the reply"))?;
                return self.ask_first_gate();
            }
            Err(SettleError::Closed { settlement }) => {
                self.printer.print_notice(&settlement)?;
            }
            Err(error) => return Err(error.into()),
        }
        self.pending_gates.pop_front();
        self.ask_first_gate()
    }
}

/// The value that a reply gives to a gate; `None` denies it.
fn parse_reply(gate: &Gate, reply: &str) -> Option<Value> {
    if expects_yes_or_no(gate) {
        return matches!(reply.to_lowercase().as_str(), "y" | "yes").then_some(Value::Bool(true));
    }
    if reply.is_empty() {
        return None;
    }
    // A reply that is not JSON is a string, which then needs no quotes.
    Some(serde_json::from_str(reply).unwrap_or_else(|_| reply.into()))
}

/// Whether a gate expects an approval and no other value.
fn expects_yes_or_no(gate: &Gate) -> bool {
    gate.approval || gate.schema.as_ref().is_some_and(|it| it["type"] == "boolean")
}
