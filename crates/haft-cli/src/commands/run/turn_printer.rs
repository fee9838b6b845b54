//! Prints a turn: the model's messages to standard output, everything else to standard error.

use std::io::{Write as _, stdout};
use std::path::Path;

use haft::events::{Event, EventKind, LogLevel, ToolCallReport};
use haft::stores::GateId;
use haft::turn::Gate;
use haft::turn::{TurnOutcome, TurnReport};
use serde_json::json;

use crate::commands::count_noun;
use crate::terminal::{Terminal, TextRole, print_line, print_prompt, sanitize};

/// What is printed of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnOutput {
    /// The messages, and notes on everything else.
    Text,
    /// Every event as one line of JSON.
    Json,
    /// Questions to the user only.
    Questions,
}

/// Prints the events of turns. What cannot be printed is left out: a closed screen is no reason to stop a turn.
pub(super) struct TurnPrinter {
    terminal: Terminal,
    output: TurnOutput,
    /// Whether the last line of a message has no line end yet.
    is_line_open: bool,
}

impl TurnPrinter {
    pub(super) const fn new(terminal: Terminal, output: TurnOutput) -> Self {
        Self { terminal, output, is_line_open: false }
    }

    /// Whether the turn is stored for later, so that its standing approvals can be used again.
    pub(super) fn stores_turns(&self) -> bool {
        self.output != TurnOutput::Questions
    }

    pub(super) fn print_event(&mut self, event: &Event) {
        match self.output {
            TurnOutput::Text => {}
            TurnOutput::Json => {
                if let Ok(line) = serde_json::to_string(event) {
                    let _ = writeln!(stdout(), "{line}");
                }
                return;
            }
            TurnOutput::Questions => return,
        }
        match &event.kind {
            EventKind::Message(piece) => {
                let text = sanitize(&piece.delta);
                if !text.is_empty() {
                    self.is_line_open = !text.ends_with('\n');
                    let _ = write!(stdout(), "{text}");
                }
                if piece.is_complete {
                    self.end_line();
                }
                let _ = stdout().flush();
            }
            EventKind::Thought(piece) if piece.is_complete => {
                let text = piece.full.as_deref().unwrap_or(&piece.delta);
                self.print_note(TextRole::Muted, &format!("(thought) {text}"));
            }
            EventKind::ToolCall(call) => self.print_call(call),
            EventKind::Error(error) => {
                self.print_note(TextRole::Error, &format!("error: {}", error.message));
            }
            EventKind::Warning { message, .. }
            | EventKind::Log { level: LogLevel::Warn | LogLevel::Error, message, .. } => {
                self.print_note(TextRole::Warning, message);
            }
            _ => {}
        }
    }

    fn print_call(&mut self, call: &ToolCallReport) {
        let Some(results) = call.results.as_ref().filter(|_| call.is_complete) else {
            let args = call.args.as_ref().map(ToString::to_string).unwrap_or_default();
            return self.print_note(TextRole::Warning, &format!("→ {} {args}", call.tool));
        };
        if let Some(code) = &results.error {
            return self.print_note(TextRole::Error, &format!("← {} failed: {code}", call.tool));
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
        let mut text = gate.reason.clone();
        if !gate.payload.is_null() {
            text.push_str(&format!("\n  {}", gate.payload));
        }
        if let Some(schema) = gate.schema.as_ref().filter(|_| !is_yes_or_no) {
            text.push_str(&format!("\n  the value must match {schema}"));
        }
        self.print_note(TextRole::Warning, &text);
        let prompt = match (is_yes_or_no, gate.approval && self.stores_turns()) {
            (true, true) => "approve? [y/N] (? lists more choices) ",
            (true, false) => "approve? [y/N] ",
            (false, _) => "value (empty to deny): ",
        };
        print_prompt(&self.terminal.style_stderr(TextRole::Key, prompt));
    }

    /// Prints a notice that does not come from an event.
    pub(super) fn print_notice(&mut self, text: &str) {
        self.print_note(TextRole::Warning, text);
    }

    /// Prints the command that decides a gate which cannot be decided here.
    pub(super) fn print_waiting_gate(&mut self, gate: &GateId, store: &Path) {
        let store = store.display();
        let text = format!("waiting for approval: haft approve {gate} --store {store}");
        self.print_note(TextRole::Warning, &text);
    }

    /// Prints the outcome of a turn, and the command that resumes it if it has not ended.
    pub(super) fn print_outcome(&mut self, report: &TurnReport, resume_command: &str) {
        if self.output != TurnOutput::Text {
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
        self.print_note(role, &format!("turn {} {outcome}: {steps}, {calls}", report.turn));
        if report.is_resumable {
            let text = format!("the turn can be resumed: {resume_command}");
            self.print_note(TextRole::Warning, &text);
        }
    }

    /// Prints a turn that had ended before it was to be resumed: its last message, or its error, and how it ended.
    pub(super) fn print_ended(&mut self, report: &TurnReport) {
        if self.output == TurnOutput::Json {
            let line = json!({
                "event": "turnEnded",
                "turnId": report.turn.as_str(),
                "status": report.status().as_str(),
                "text": report.text(),
                "error": report.error,
            });
            let _ = writeln!(stdout(), "{line}");
            return;
        }
        let text = sanitize(report.text());
        if !text.is_empty() {
            let _ = writeln!(stdout(), "{text}");
        }
        if let Some(error) = &report.error {
            self.print_note(TextRole::Error, &format!("error: {}", error.message));
        }
        let status = report.status().as_str();
        let text = format!("turn {} is over and was not resumed: {status}", report.turn);
        self.print_note(TextRole::Muted, &text);
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.is_line_open) {
            let _ = writeln!(stdout());
        }
    }

    /// Prints a sanitized line to standard error.
    fn print_note(&mut self, role: TextRole, text: &str) {
        self.end_line();
        print_line(format_args!("{}", self.terminal.style_stderr(role, sanitize(text))));
    }
}
