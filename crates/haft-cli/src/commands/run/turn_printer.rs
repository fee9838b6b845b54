//! Prints a turn: the model's messages to standard output, everything else to standard error.

use std::io::IsTerminal as _;

use haft::error::codes;
use haft::events::{Event, EventKind, LogLevel, StreamDelta, ToolCallReport};
use haft::executors::ExecutorDescription;
use haft::stores::StoreUrl;
use haft::turn::{Clock as _, Gate, SystemClock, Timestamp};
use haft::turn::{TurnOutcome, TurnReport};

use super::gate_reply::expects_approval;
use crate::commands::gates::{call_of_gate, format_preview};
use crate::commands::{count_noun, elide, format_count, format_duration};
use crate::markdown::MarkdownStream;
use crate::output::{EventLine, OutcomeLine};
use crate::prices::TurnCost;
use crate::shell_word::quote_word;
use crate::standard_output::write_output;
use crate::store::short_gate_id;
use crate::store_address::store_option;
use crate::store_problems::find_used_disk_problem;
use crate::terminal::{
    Progress, Terminal, TextRole, Verbosity, print_line, print_prompt, sanitize,
};
use crate::user_error::describe_report;

/// How much of a message of the user, of arguments, of an error and of a spinner's label is printed, in characters.
const MAX_PROMPT: usize = 300;
const MAX_ARGS: usize = 200;
const MAX_MESSAGE: usize = 600;
const MAX_LABEL: usize = 60;

/// What is printed of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnOutput {
    /// The messages, and notes on everything else.
    Text,
    /// Notes on everything but the messages: the answer is printed when the turn has ended.
    Answer,
    /// Every event as one line of JSON.
    Json,
    /// Questions to the user only.
    Questions,
}

impl TurnOutput {
    /// The output of a turn whose answer is printed as JSON.
    pub(super) const fn of_answer(self, has_format: bool) -> Self {
        match self {
            Self::Text if has_format => Self::Answer,
            other => other,
        }
    }

    const fn has_notes(self) -> bool {
        matches!(self, Self::Text | Self::Answer)
    }
}

/// Prints the events of turns. A closed or full output is no reason to stop a turn: what it loses shows in the exit code
/// of the program, and the store has it.
pub(crate) struct TurnPrinter {
    terminal: Terminal,
    output: TurnOutput,
    /// Whether the last line of a message has no line end yet.
    is_line_open: bool,
    /// Styles the message that is being written.
    markdown: Option<MarkdownStream>,
    /// What takes the steps of the turns.
    executor: ExecutorDescription,
    /// What the turn waits for, and since when.
    awaited: Vec<(String, Timestamp)>,
    /// The spinner that shows it.
    spinner: Option<Progress>,
}

impl TurnPrinter {
    pub(crate) fn new(
        terminal: Terminal,
        output: TurnOutput,
        executor: ExecutorDescription,
    ) -> Self {
        Self {
            terminal,
            output,
            is_line_open: false,
            markdown: None,
            executor,
            awaited: Vec::new(),
            spinner: None,
        }
    }

    /// Says what takes the steps of further turns.
    pub(super) fn set_executor(&mut self, executor: ExecutorDescription) {
        self.executor = executor;
    }

    /// Prints what a turn begins with: the message of the user, and whether no model is asked. Only a person at a
    /// terminal needs that; what is attached is always told.
    pub(super) fn print_beginning(&mut self, prompt: Option<&str>, attached: &[String]) {
        if !self.output.has_notes() {
            return;
        }
        for line in attached {
            self.print_note(TextRole::Muted, line);
        }
        if !std::io::stderr().is_terminal() {
            return;
        }
        if let Some(prompt) = prompt {
            self.print_note(TextRole::Muted, &format!("> {}", elide(prompt.trim(), MAX_PROMPT)));
        }
        let note = match &self.executor {
            ExecutorDescription::Script { .. } => {
                "script: no model is asked; --model PROVIDER:MODEL asks one"
            }
            ExecutorDescription::Custom { name: Some(name) } if name == "replay" => {
                "replay: no model is asked, and no tool runs"
            }
            _ => return,
        };
        self.print_note(TextRole::Muted, note);
    }

    /// Notes what the turn waits for, and shows it if nothing is being written.
    fn await_work(&mut self, name: String) {
        self.awaited.push((name, SystemClock::new().now()));
        self.show_spinner();
    }

    fn end_wait(&mut self, name: &str) {
        if let Some(at) = self.awaited.iter().position(|(awaited, _)| awaited == name) {
            self.awaited.remove(at);
        }
        self.spinner = None;
    }

    fn show_spinner(&mut self) {
        self.spinner = None;
        let is_visible = self.output.has_notes() && !self.is_line_open;
        let Some((_, since)) = self.awaited.first().filter(|_| is_visible) else { return };
        let names: Vec<&str> = self.awaited.iter().map(|(name, _)| name.as_str()).collect();
        let label = elide(&sanitize(&names.join(", ")), MAX_LABEL);
        self.spinner = Some(
            self.terminal
                .start_spinner_since(&label, SystemClock::new().now().duration_since(*since)),
        );
    }

    /// Hides the spinner while a question is on the screen.
    pub(super) fn pause_spinner(&mut self) {
        self.spinner = None;
    }

    /// Whether the turn is stored for later, so that its standing approvals can be used again.
    pub(super) fn stores_turns(&self) -> bool {
        self.output != TurnOutput::Questions
    }

    pub(crate) fn print_event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::IterationStart {}
                if matches!(self.executor, ExecutorDescription::Model { .. }) =>
            {
                self.await_work(self.executor.to_string());
            }
            EventKind::IterationStart {} => {}
            EventKind::ToolExecutionStart { tool_name, .. } => {
                self.end_wait(&self.executor.to_string());
                self.print_progress(event);
                self.await_work(tool_name.to_string());
            }
            EventKind::ToolExecutionEnd { tool_name, .. } => {
                self.end_wait(tool_name.as_str());
                self.print_progress(event);
                self.show_spinner();
            }
            EventKind::IterationEnd { .. } | EventKind::TurnEnd { .. } => {
                self.awaited.clear();
                self.spinner = None;
                self.print_progress(event);
            }
            EventKind::TurnGateOpen { .. } => self.pause_spinner(),
            _ => self.print_progress(event),
        }
        if self.output == TurnOutput::Json
            && let Ok(line) = serde_json::to_string(&EventLine::Event(event))
        {
            let _ = write_output(&format!("{line}\n"));
        }
    }

    fn print_progress(&mut self, event: &Event) {
        if !self.output.has_notes() {
            return;
        }
        match &event.kind {
            EventKind::Message(_) if self.output == TurnOutput::Answer => {}
            EventKind::Message(piece) => self.print_message(piece),
            EventKind::Thought(piece) if piece.is_complete => {
                let text = piece.full.as_deref().unwrap_or(&piece.delta);
                self.print_note(TextRole::Muted, &format!("(thought) {text}"));
            }
            EventKind::ToolCall(call) => self.print_call(call),
            EventKind::ToolExecutionStart { changes, tool_name, .. } if self.is_verbose() => {
                for change in changes {
                    self.print_note(TextRole::Muted, &format!("  {tool_name}: coerced {change}"));
                }
            }
            EventKind::GenerationStats(stats) if self.is_verbose() => {
                let model = stats.model.as_deref().unwrap_or("the model");
                let usage = stats.usage;
                let (prompt, completion) =
                    (format_count(usage.prompt), format_count(usage.completion));
                let text = format!("{model}: {prompt} prompt and {completion} completion tokens");
                self.print_note(TextRole::Muted, &text);
            }
            EventKind::Error(error) => {
                self.print_note(TextRole::Error, &format!("error: {}", describe_report(error)));
            }
            EventKind::Warning { message, .. }
            | EventKind::Log { level: LogLevel::Warn | LogLevel::Error, message, .. } => {
                self.print_note(TextRole::Warning, message);
            }
            _ => {}
        }
    }

    fn is_verbose(&self) -> bool {
        self.terminal.verbosity == Verbosity::Verbose
    }

    /// Prints a piece of a message. On a terminal its Markdown is styled.
    fn print_message(&mut self, piece: &StreamDelta) {
        self.spinner = None;
        let text = sanitize(&piece.delta);
        let shown = match (&mut self.markdown, self.terminal.styles_markdown()) {
            (Some(markdown), _) => markdown.push(&text),
            (none, true) => {
                none.insert(MarkdownStream::for_columns(self.terminal.stdout_columns())).push(&text)
            }
            (None, false) => text,
        };
        if !shown.is_empty() {
            self.is_line_open = !shown.ends_with('\n');
            let _ = write_output(&shown);
        }
        if piece.is_complete {
            self.end_line();
        }
    }

    fn print_call(&mut self, call: &ToolCallReport) {
        // A failed call is not yet a failed turn.
        if self.terminal.verbosity == Verbosity::Quiet {
            return;
        }
        let Some(results) = call.results.as_ref().filter(|_| call.is_complete) else {
            let args = call.args.as_ref().map(ToString::to_string).unwrap_or_default();
            let args = if self.is_verbose() { args } else { elide(&args, MAX_ARGS) };
            return self.print_note(TextRole::Warning, &format!("→ {} {args}", call.tool));
        };
        if let Some(code) = &results.error {
            let mut text = format!("← {} failed: {code}", call.tool);
            if let Some(message) = &results.message {
                let message = if self.is_verbose() {
                    message.to_string()
                } else {
                    elide(message, MAX_MESSAGE)
                };
                text.push_str(&format!(": {}", message.replace('\n', "\n  ")));
            }
            if *code == codes::UNKNOWN_TOOL
                && matches!(self.executor, ExecutorDescription::Script { .. })
            {
                text.push_str(
                    "\n  hint: `haft check AGENT` names the step of the script that calls it",
                );
            }
            return self.print_note(TextRole::Error, &text);
        }
        let size = results.bytes.map(|it| format!(", {it} bytes")).unwrap_or_default();
        let handle = match (&results.artifact, &results.handle) {
            (Some(kind), Some(handle)) => format!(" {kind} {handle}"),
            _ => String::new(),
        };
        let grant = call.grant.map(|it| format!(" (standing approval {it})")).unwrap_or_default();
        self.print_note(TextRole::Muted, &format!("← {}{handle}{size}{grant}", call.tool));
    }

    /// Prints the question of a gate and a prompt for the reply.
    pub(super) fn print_question(&mut self, gate: &Gate, is_yes_or_no: bool) {
        self.print_gate(gate, is_yes_or_no);
        let prompt = match (is_yes_or_no, gate.approval && self.stores_turns()) {
            (true, true) => "approve? [y/N] (? lists more choices) ",
            (true, false) => "approve? [y/N] ",
            (false, _) => "value (empty to deny): ",
        };
        print_prompt(&self.terminal.style_stderr(TextRole::Key, prompt));
    }

    /// Ends the line of a question that got no reply, so that what follows has a line of its own.
    pub(super) fn end_question(&mut self, is_open: bool) {
        self.pause_spinner();
        self.end_line();
        if is_open && std::io::stderr().is_terminal() {
            print_line(format_args!(""));
        }
    }

    /// Prints the question of a gate, what it is about, and what the call would change.
    fn print_gate(&mut self, gate: &Gate, is_yes_or_no: bool) {
        let mut text = gate.reason.clone();
        if !gate.payload.is_null() {
            let payload = call_of_gate(gate).unwrap_or_else(|| gate.payload.to_string());
            // The preview says in a better form what long arguments say.
            let has_preview = gate.preview.is_some() && !self.is_verbose();
            let payload = if has_preview { elide(&payload, MAX_ARGS) } else { payload };
            text.push_str(&format!("\n  {payload}"));
        }
        if let Some(schema) = gate.schema.as_ref().filter(|_| !is_yes_or_no) {
            text.push_str(&format!("\n  the value must match {schema}"));
        }
        self.print_always(TextRole::Warning, &text);
        if let Some(preview) = &gate.preview {
            let shown =
                format_preview(preview, |role, line| self.terminal.style_stderr(role, line));
            print_line(format_args!("{}", shown.trim_end()));
        }
    }

    /// Prints what the user must know to reply: in quiet mode as well.
    pub(super) fn print_reply_notice(&mut self, text: &str) {
        self.print_always(TextRole::Warning, text);
    }

    /// Prints a notice that does not come from an event.
    pub(crate) fn print_notice(&mut self, text: &str) {
        self.print_note(TextRole::Warning, text);
    }

    /// Prints a gate that cannot be decided here, and the command that decides it.
    pub(crate) fn print_waiting_gate(&mut self, gate: &Gate, store: &StoreUrl) {
        self.print_gate(gate, expects_approval(gate));
        let id = short_gate_id(gate);
        let (id, store) = (quote_word(&id), store_option(store));
        let value = if expects_approval(gate) { "" } else { " VALUE" };
        let text = format!(
            "waiting for a decision:\n  haft approve {id}{value}{store}\n  haft deny {id}{store}"
        );
        self.print_always(TextRole::Warning, &text);
    }

    /// Prints the outcome of a turn, and the command that resumes it if it has not ended.
    pub(crate) fn print_outcome(
        &mut self,
        report: &TurnReport,
        cost: Option<TurnCost>,
        resume_command: &str,
    ) {
        if !self.output.has_notes() {
            if self.stores_turns() && matches!(report.outcome, TurnOutcome::Waiting { .. }) {
                self.print_resume_command(resume_command);
            }
            return;
        }
        self.end_line();
        let (role, outcome) = match &report.outcome {
            TurnOutcome::Waiting { gates } => {
                let gates = count_noun(gates.len(), "gate");
                (TextRole::Warning, format!("waits at {gates}"))
            }
            _ if report.is_resumable => (TextRole::Error, "interrupted".to_owned()),
            TurnOutcome::Completed => (TextRole::Muted, "completed".to_owned()),
            TurnOutcome::Cancelled { reason } => {
                (TextRole::Warning, format!("cancelled: {reason}"))
            }
            TurnOutcome::LimitReached { limit } => {
                (TextRole::Error, format!("reached its limit of {limit}"))
            }
            _ => (TextRole::Error, "failed".to_owned()),
        };
        let steps = count_noun(report.iterations as usize, "step");
        let calls = count_noun(report.calls.len(), "call");
        let tokens = match report.usage.total {
            0 => String::new(),
            total => format!(", {} tokens", format_count(total)),
        };
        // `haft show` says it if no price is known; here it would be said after every turn.
        let cost = cost.filter(|it| it.amount.is_some());
        let cost = cost.map(|it| format!(", {it}")).unwrap_or_default();
        let time = format_duration(report.duration);
        let text =
            format!("turn {} {outcome}: {steps}, {calls}{tokens}{cost}, {time}", report.turn);
        self.print_note(role, &text);
        if report.is_resumable {
            self.print_resume_command(resume_command);
        }
        let stage = report.error.as_ref().and_then(|it| it.stage.as_ref());
        if let ExecutorDescription::Model { provider, model, .. } = &self.executor
            && stage.is_some_and(|it| it.as_str() == "executor")
        {
            let name = format!("{provider}:{model}");
            let name = quote_word(&name);
            let text = format!("hint: haft doctor --model {name} checks the provider");
            self.print_note(TextRole::Warning, &text);
        }
        if stage.is_some_and(|it| it.as_str() == "store")
            && let Some(problem) = find_used_disk_problem()
        {
            self.print_always(TextRole::Warning, &format!("hint: {problem}"));
        }
    }

    fn print_resume_command(&mut self, command: &str) {
        self.print_always(TextRole::Warning, &format!("the turn can be resumed: {command}"));
    }

    /// Prints a turn that had ended before it was to be resumed: its last message, or its error, and how it ended.
    pub(super) fn print_ended(&mut self, report: &TurnReport) {
        if self.output == TurnOutput::Json {
            let line = EventLine::Outcome(OutcomeLine::TurnEnded {
                turn: report.turn.as_str(),
                status: report.status(),
                text: report.text(),
                error: report.error.as_ref(),
            });
            if let Ok(line) = serde_json::to_string(&line) {
                let _ = write_output(&format!("{line}\n"));
            }
            return;
        }
        let text = sanitize(report.text());
        if !text.is_empty() && self.output != TurnOutput::Answer {
            let text = match self.terminal.styles_markdown() {
                true => {
                    let columns = self.terminal.stdout_columns();
                    let mut markdown = MarkdownStream::for_columns(columns);
                    markdown.push(&text) + &markdown.finish()
                }
                false => text,
            };
            // As while the turn runs: one line end, if the message has none.
            let end = if text.ends_with('\n') { "" } else { "\n" };
            let _ = write_output(&format!("{text}{end}"));
        }
        if let Some(error) = &report.error {
            self.print_note(TextRole::Error, &format!("error: {}", describe_report(error)));
        }
        let status = report.status().as_str();
        let text = format!("turn {} is over and was not resumed: {status}", report.turn);
        self.print_note(TextRole::Muted, &text);
    }

    fn end_line(&mut self) {
        if let Some(mut markdown) = self.markdown.take() {
            let rest = markdown.finish();
            if !rest.is_empty() {
                self.is_line_open = !rest.ends_with('\n');
                let _ = write_output(&rest);
            }
        }
        if std::mem::take(&mut self.is_line_open) {
            let _ = write_output("\n");
        }
    }

    /// Prints a sanitized line to standard error; in quiet mode only errors.
    fn print_note(&mut self, role: TextRole, text: &str) {
        let is_error = matches!(role, TextRole::Error);
        if self.terminal.verbosity > Verbosity::Quiet || is_error {
            self.print_always(role, text);
        }
    }

    /// Prints a sanitized line to standard error.
    fn print_always(&mut self, role: TextRole, text: &str) {
        self.spinner = None;
        self.end_line();
        print_line(format_args!("{}", self.terminal.style_stderr(role, sanitize(text))));
    }
}
