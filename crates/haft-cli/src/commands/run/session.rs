//! Runs turns of an agent, prints their events and asks the user for decisions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use anyhow::Result;
use haft::events::{Event, EventKind, GateResult};
use haft::events::{EventFilter, EventHub};
use haft::executors::ExecutorDescription;
use haft::stores::{GateId, StoreUrl, TurnId};
use haft::turn::Cancellation;
use haft::turn::{
    Agent, AgentBuilder, Gate, GateDecision, GatePolicy, SettleError, StoredTurns, TurnError,
    TurnHistory, TurnOutcome, TurnReport,
};

use super::gate_reply::{CHOICES, GateReply, expects_approval, parse_reply};
use super::turn_printer::{TurnOutput, TurnPrinter};
use crate::agent::AgentDir;
use crate::args::GateAction;
use crate::config::UserConfig;
use crate::host::AgentHost;
use crate::keyboard::{Keyboard, KeyboardInput};
use crate::prices::TurnCost;
use crate::standard_output::set_recovery;
use crate::stop_signals::{StopListener, StopSignal, StopSignals};
use crate::store_address::store_option;
use crate::terminal::Terminal;
use crate::user_error::UserError;

/// How a session prints and decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionOptions {
    pub(crate) output: TurnOutput,
    pub(crate) gates: GateMode,
    pub(crate) on_interrupt: InterruptAction,
    pub(crate) terminal: Terminal,
}

/// What a session does at gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateMode {
    /// It asks the user at the terminal.
    Ask,
    /// It waits for a decision from elsewhere.
    Wait,
    /// It leaves the turn waiting.
    Park,
    /// It denies every call.
    Deny,
    /// It approves every call. A gate that expects another value than yes is left to the user, if there is a terminal.
    Approve,
}

impl GateMode {
    pub(crate) fn of(action: GateAction) -> Self {
        match action {
            GateAction::Ask | GateAction::Wait if Keyboard::is_interactive() => Self::Ask,
            GateAction::Wait => Self::Wait,
            GateAction::Ask | GateAction::Park => Self::Park,
            GateAction::Deny => Self::Deny,
        }
    }

    /// The mode of a command without a choice: it asks at the terminal, and leaves the turn waiting where there is none.
    pub(crate) fn detect() -> Self {
        Self::of(GateAction::Ask)
    }

    /// Sets up a runner that decides gates, or leaves them, as the mode says.
    fn apply(self, builder: AgentBuilder) -> AgentBuilder {
        match self {
            Self::Ask | Self::Wait => builder,
            Self::Park => builder.gate_policy(GatePolicy::Suspend),
            Self::Approve => {
                let policy = match Keyboard::is_interactive() {
                    true => GatePolicy::Wait,
                    false => GatePolicy::Suspend,
                };
                builder
                    .gate_policy(policy)
                    .approver(async |gate: Gate| expects_approval(&gate).then_some(true))
            }
            Self::Deny => builder.approver(async |_: Gate| GateDecision::Rejected {
                reason: "this run denies every call that requires approval".to_owned(),
            }),
        }
    }
}

/// What Ctrl-C does while a turn waits at a gate. Without a gate it cancels the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InterruptAction {
    /// It ends the program, and the turn can be resumed.
    LeaveWaiting,
    CancelTurn,
}

/// An agent together with the printer and the keyboard of the user.
pub(crate) struct TurnSession {
    host: AgentHost,
    agent: Agent,
    hub: EventHub,
    printer: TurnPrinter,
    keyboard: Keyboard,
    stop: StopListener,
    gates: GateMode,
    on_interrupt: InterruptAction,
    /// Gates that wait for a decision of the user. The question of the first one is on the screen.
    pending_gates: VecDeque<Gate>,
    /// Gates that were announced as open and not as closed, and why they ask.
    open_gates: HashMap<String, String>,
}

impl TurnSession {
    /// Starts a session with an agent whose executor and tools are already set.
    pub(crate) fn new(
        host: AgentHost,
        dir: &AgentDir,
        builder: AgentBuilder,
        options: SessionOptions,
        signals: &StopSignals,
    ) -> Result<Self> {
        let hub = EventHub::new();
        let builder = host.runner(dir, builder)?.observer(hub.clone());
        let agent = options.gates.apply(builder).build()?;
        let executor = agent.executor_description();
        Ok(Self {
            host,
            agent,
            hub,
            printer: TurnPrinter::new(options.terminal, options.output, executor),
            keyboard: Keyboard::spawn(),
            stop: signals.listen(),
            gates: options.gates,
            on_interrupt: options.on_interrupt,
            pending_gates: VecDeque::new(),
            open_gates: HashMap::new(),
        })
    }

    /// Runs further turns with another executor.
    pub(crate) fn use_builder(&mut self, dir: &AgentDir, builder: AgentBuilder) -> Result<()> {
        let builder = self.host.runner(dir, builder)?.observer(self.hub.clone());
        self.agent = self.gates.apply(builder).build()?;
        self.printer.set_executor(self.agent.executor_description());
        Ok(())
    }

    pub(crate) const fn host(&self) -> &AgentHost {
        &self.host
    }

    /// What takes the steps.
    pub(crate) fn executor(&self) -> ExecutorDescription {
        self.agent.executor_description()
    }

    /// Prints what a turn begins with, for a person at a terminal.
    pub(crate) fn print_beginning(&mut self, prompt: Option<&str>, attached: &[String]) {
        self.printer.print_beginning(prompt, attached);
    }

    /// The agent whose turns the session runs.
    pub(crate) const fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The keyboard, and the signals that arrive while the user types.
    pub(crate) const fn inputs(&mut self) -> (&mut Keyboard, &mut StopListener) {
        (&mut self.keyboard, &mut self.stop)
    }

    /// Runs a turn, prints its events and asks the user about its gates.
    ///
    /// Ctrl-C cancels the turn, unless it waits at a gate and is to be left there. SIGTERM, SIGHUP and a closed terminal stop its tools and leave it as it is stored, so
    /// that it can be resumed.
    pub(crate) async fn run_turn<F>(
        &mut self,
        work: impl FnOnce(Agent, Cancellation) -> F,
    ) -> Result<TurnReport>
    where
        F: Future<Output = Result<TurnReport, TurnError>>,
    {
        let token = Cancellation::new();
        let mut events = self.hub.subscribe(EventFilter::all());
        let work = work(self.agent.clone(), token.clone());
        tokio::pin!(work);
        self.pending_gates.clear();
        self.open_gates.clear();
        let (mut turn, mut has_missed) = (None, false);
        let result = loop {
            let has_question = !self.pending_gates.is_empty();
            tokio::select! {
                biased;
                stop = self.stop.next() => match stop {
                    StopSignal::Interrupt if !self.leaves_waiting() => token.cancel(INTERRUPTED),
                    // Dropping the work stops the tools.
                    stop => return Err(self.stopped_error(stop, turn.as_deref()).into()),
                },
                Some(received) = events.next() => {
                    match received.event() {
                        Some(event) => {
                            turn.get_or_insert_with(|| Arc::clone(&event.turn));
                            self.handle_event(&event, token.is_cancelled()).await?;
                        }
                        None => has_missed = true,
                    }
                    if has_missed && let Some(turn) = &turn {
                        self.compare_gates(turn, token.is_cancelled()).await?;
                        has_missed = false;
                    }
                }
                result = &mut work => break result,
                input = self.keyboard.read_reply(), if has_question => match input {
                    KeyboardInput::Interrupted if !self.leaves_waiting() => token.cancel(INTERRUPTED),
                    KeyboardInput::Interrupted => {
                        return Err(self.stopped_error(StopSignal::Interrupt, turn.as_deref()).into());
                    }
                    KeyboardInput::Line(line) => self.decide_first_gate(&line).await?,
                    KeyboardInput::End if Keyboard::is_hung_up() => {
                        return Err(self.stopped_error(StopSignal::Hangup, turn.as_deref()).into());
                    }
                    KeyboardInput::End => {
                        self.printer.end_question(true);
                        self.decide_first_gate("").await?;
                    }
                },
            }
        };
        while let Some(received) = events.try_next() {
            if let Some(event) = received.event() {
                self.printer.print_event(&event);
            }
        }
        let report = result?;
        if self.printer.stores_turns() {
            set_show_recovery(report.turn.as_str(), self.host.stores().url());
            if matches!(report.outcome, TurnOutcome::Waiting { .. }) {
                self.print_parked_gates(&report.turn).await?;
            }
        }
        let cost = load_cost(self.host.config(), self.agent.stored_turns(), &report).await;
        self.printer.print_outcome(&report, cost, &self.resume_command(report.turn.as_str()));
        Ok(report)
    }

    /// Prints an event, and opens or closes the question of its gate.
    async fn handle_event(&mut self, event: &Event, is_cancelled: bool) -> Result<()> {
        self.printer.print_event(event);
        match &event.kind {
            EventKind::TurnGateOpen { gate_id, reason, .. } => {
                // A gate that was found in the store when events were missed is known already.
                if self.open_gates.insert(gate_id.to_string(), reason.to_string()).is_some() {
                    return Ok(());
                }
                // The gate may already be closed when the event arrives.
                let open = self.agent.gates().open_gates(None).await?;
                if let Some(gate) = open.into_iter().find(|gate| gate.id.as_str() == &**gate_id) {
                    self.queue_gate(gate);
                }
            }
            EventKind::TurnGateClosed { gate_id, result, .. } => {
                self.report_dismissed(gate_id, *result, is_cancelled);
                self.close_gate(gate_id, is_cancelled);
            }
            _ => {}
        }
        Ok(())
    }

    /// The question of the first of these gates.
    pub(crate) async fn find_reason(&self, gates: &[GateId]) -> Result<Option<String>> {
        let open = self.agent.gates().open_gates(None).await?;
        Ok(open.into_iter().find(|gate| gates.contains(&gate.id)).map(|gate| gate.reason))
    }

    /// Says that a tool was told that nobody replies: it cannot start again, so its turn was not left at the gate.
    fn report_dismissed(&mut self, gate_id: &str, result: GateResult, is_cancelled: bool) {
        if result == GateResult::Aborted
            && !is_cancelled
            && !Keyboard::is_interactive()
            && let Some(reason) = self.open_gates.get(gate_id)
        {
            let text = format!("dismissed, because standard input is no terminal: {reason}");
            self.printer.print_reply_notice(&text);
        }
    }

    /// Closes the question of a gate that is settled.
    fn close_gate(&mut self, gate_id: &str, is_cancelled: bool) {
        self.open_gates.remove(gate_id);
        let first = self.pending_gates.front().map(|gate| gate.id.clone());
        self.pending_gates.retain(|gate| gate.id.as_str() != gate_id);
        let was_on_screen = first.is_some_and(|gate| gate.as_str() == gate_id);
        if was_on_screen && !is_cancelled {
            self.printer.print_notice("decided elsewhere, or no longer needed");
            self.ask_first_gate();
        }
    }

    /// Compares the gates that were announced with those in the store. The program may have missed events of gates while
    /// it printed others.
    async fn compare_gates(&mut self, turn: &str, is_cancelled: bool) -> Result<()> {
        let open = self.agent.gates().open_gates(Some(turn.parse()?)).await?;
        let MissedGates { opened, closed } = MissedGates::find(&self.open_gates, open);
        for gate in closed {
            self.close_gate(&gate, is_cancelled);
        }
        for gate in opened {
            self.open_gates.insert(gate.id.as_str().to_owned(), gate.reason.clone());
            self.queue_gate(gate);
        }
        Ok(())
    }

    /// Prints the gates at which a turn was left, and how to decide them.
    async fn print_parked_gates(&mut self, turn: &TurnId) -> Result<()> {
        for gate in self.agent.gates().open_gates(Some(turn.clone())).await? {
            self.printer.print_waiting_gate(&gate, self.host.stores().url());
        }
        Ok(())
    }

    /// Queues a gate for the user, or prints how to decide it from elsewhere.
    fn queue_gate(&mut self, gate: Gate) {
        match self.gates {
            // The runner decides, or leaves the turn waiting.
            GateMode::Deny | GateMode::Park => {}
            GateMode::Approve if expects_approval(&gate) || !Keyboard::is_interactive() => {}
            GateMode::Wait => self.printer.print_waiting_gate(&gate, self.host.stores().url()),
            GateMode::Ask | GateMode::Approve => {
                self.pending_gates.push_back(gate);
                if self.pending_gates.len() == 1 {
                    self.ask_first_gate();
                }
            }
        }
    }

    /// Prints the question of the first pending gate.
    fn ask_first_gate(&mut self) {
        if let Some(gate) = self.pending_gates.front() {
            self.printer.print_question(gate, expects_approval(gate));
        }
    }

    /// Decides the first pending gate by the user's reply, and asks about the next one.
    async fn decide_first_gate(&mut self, reply: &str) -> Result<()> {
        let Some(gate) = self.pending_gates.front() else { return Ok(()) };
        let gates = self.agent.gates();
        let decided = match parse_reply(gate, reply.trim(), self.printer.stores_turns()) {
            GateReply::Resolve(value) => gates.resolve(&gate.id, value, USER).await,
            GateReply::ApproveAlways(always) => gates.approve_always(&gate.id, always, USER).await,
            GateReply::ApproveEdited(arguments) => {
                gates.approve_edited(&gate.id, &arguments, USER).await
            }
            GateReply::Deny(reason) => gates.reject(&gate.id, &reason, USER).await,
            GateReply::Mistaken(text) => {
                self.printer.print_reply_notice(&text);
                self.ask_first_gate();
                return Ok(());
            }
            GateReply::ListChoices => {
                self.printer.print_reply_notice(CHOICES);
                self.ask_first_gate();
                return Ok(());
            }
        };
        match decided {
            Ok(()) => {}
            Err(SettleError::Invalid { problems }) => {
                self.printer.print_reply_notice(&problems.to_text("the reply"));
                self.ask_first_gate();
                return Ok(());
            }
            Err(error @ SettleError::Edit(_)) => {
                self.printer.print_reply_notice(&error.to_string());
                self.ask_first_gate();
                return Ok(());
            }
            Err(SettleError::Closed { settlement }) => {
                self.printer.print_reply_notice(&settlement);
            }
            Err(error) => return Err(error.into()),
        }
        self.pending_gates.pop_front();
        self.ask_first_gate();
        Ok(())
    }

    /// The error of a turn that a signal stopped.
    fn stopped_error(&mut self, stop: StopSignal, turn: Option<&str>) -> UserError {
        self.printer.end_question(!self.pending_gates.is_empty());
        let text = match stop {
            StopSignal::Interrupt => "stopped by Ctrl-C; the turn waits at its gate".to_owned(),
            stop => format!("stopped by {}", stop.name()),
        };
        let error = UserError::new(text).code(stop.exit_code());
        match turn {
            Some(turn) => error.hint(format!("resume the turn: {}", self.resume_command(turn))),
            None => error,
        }
    }

    /// Whether Ctrl-C leaves the turn at its gate.
    fn leaves_waiting(&self) -> bool {
        self.on_interrupt == InterruptAction::LeaveWaiting && !self.open_gates.is_empty()
    }

    /// The command that resumes a turn, from the current directory.
    fn resume_command(&self, turn: &str) -> String {
        format!("haft resume {turn}{}", store_option(self.host.stores().url()))
    }
}

/// Loads what the steps of a turn cost, if they used tokens.
pub(crate) async fn load_cost(
    config: &UserConfig,
    turns: &StoredTurns,
    report: &TurnReport,
) -> Option<TurnCost> {
    if report.usage.total == 0 {
        return None;
    }
    let stored = turns.load_turn(&report.turn).await.ok()??;
    Some(config.cost_of(&TurnHistory::read(&stored).ok()?))
}

/// Says how to read the answer of a stored turn if standard output loses it.
pub(crate) fn set_show_recovery(turn: &str, store: &StoreUrl) {
    let command = format!("haft show {turn} --full{}", store_option(store));
    set_recovery(format!("the turn is stored; read its answer with: {command}"));
}

/// The name of the user in decisions.
const USER: &str = "the user";

/// Gates whose events were missed.
struct MissedGates {
    opened: Vec<Gate>,
    closed: Vec<String>,
}

impl MissedGates {
    /// Compares the gates that were announced as open with those that are.
    fn find(announced: &HashMap<String, String>, open: Vec<Gate>) -> Self {
        let is_open: HashSet<String> =
            open.iter().map(|gate| gate.id.as_str().to_owned()).collect();
        let opened = open.into_iter().filter(|gate| !announced.contains_key(gate.id.as_str()));
        let closed = announced.keys().filter(|gate| !is_open.contains(*gate)).cloned();
        Self { opened: opened.collect(), closed: closed.collect() }
    }
}

/// The reason of a turn that the user cancels.
const INTERRUPTED: &str = "the user pressed Ctrl-C";

#[cfg(test)]
mod tests {
    use super::{Gate, HashMap, MissedGates};
    use haft::turn::{GateRequest, Timestamp};

    #[test]
    fn gates_whose_events_were_missed_are_found_in_the_store() {
        let open = ["b", "c"].map(|id| {
            let (id, turn) = (id.parse().unwrap(), "turn-1".parse().unwrap());
            Gate::open(id, turn, GateRequest::new("Well?"), Timestamp::EPOCH).unwrap()
        });
        let announced = HashMap::from(["a", "b"].map(|id| (id.to_owned(), "Well?".to_owned())));
        let MissedGates { opened, closed } = MissedGates::find(&announced, open.into());
        assert_eq!(opened.iter().map(|gate| gate.id.as_str()).collect::<Vec<_>>(), ["c"]);
        assert_eq!(closed, ["a"]);
    }
}
