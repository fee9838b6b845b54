//! Prints a turn: the model's messages to standard output, everything else to standard error.

use std::io::{Write as _, stderr, stdout};
use std::path::Path;

use anyhow::Result;
use haft::events::{Event, EventKind, LogLevel, ToolCallReport};
use haft::stores::GateId;
use haft::turn::Gate;
use haft::turn::{TurnOutcome, TurnReport};
use serde_json::json;

use crate::commands::count_noun;
use crate::terminal::{Terminal, TextRole, sanitize};

/// Prints the events of turns, as text or as JSON.
pub(super) struct TurnPrinter {
    terminal: Terminal,
    json: bool,
    /// Whether the last line of a message has no line end yet.
    is_line_open: bool,
}

impl TurnPrinter {
    pub(super) const fn new(terminal: Terminal, json: bool) -> Self {
        Self { terminal, json, is_line_open: false }
    }

    pub(super) fn print_event(&mut self, event: &Event) -> Result<()> {
        if self.json {
            writeln!(stdout(), "{}", serde_json::to_string(event)?)?;
            return Ok(());
        }
        match &event.kind {
            EventKind::Message(piece) => {
                let text = sanitize(&piece.delta);
                if !text.is_empty() {
                    self.is_line_open = !text.ends_with('\n');
                    write!(stdout(), "{text}")?;
                }
                if piece.is_complete {
                    self.end_line()?;
                }
                stdout().flush()?;
            }
            EventKind::Thought(piece) if piece.is_complete => {
                let text = piece.full.as_deref().unwrap_or(&piece.delta);
                self.print_note(TextRole::Muted, &format!("(thought) {text}"))?;
            }
            EventKind::ToolCall(call) => self.print_call(call)?,
            EventKind::Error(error) => {
                self.print_note(TextRole::Error, &format!("error: {}", error.message))?
            }
            EventKind::Warning { message, .. }
            | EventKind::Log { level: LogLevel::Warn | LogLevel::Error, message, .. } => {
                self.print_note(TextRole::Warning, message)?
            }
            _ => {}
        }
        Ok(())
    }

    fn print_call(&mut self, call: &ToolCallReport) -> Result<()> {
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
        self.print_note(TextRole::Muted, &format!("← {}{handle}{size}", call.tool))
    }

    /// Prints the question of a gate and a prompt for the reply.
    pub(super) fn print_question(&mut self, gate: &Gate, is_yes_or_no: bool) -> Result<()> {
        let mut text = gate.reason.clone();
        if !gate.payload.is_null() {
            text.push_str(&format!("\n  {}", gate.payload));
        }
        if let Some(schema) = gate.schema.as_ref().filter(|_| !is_yes_or_no) {
            text.push_str(&format!("\n  the value must match {schema}"));
        }
        self.print_note(TextRole::Warning, &text)?;
        let prompt = if is_yes_or_no { "approve? [y/N] " } else { "value (empty to deny): " };
        write!(stderr(), "{}", self.terminal.style_stderr(TextRole::Key, prompt))?;
        Ok(())
    }

    /// Prints a notice that does not come from an event.
    pub(super) fn print_notice(&mut self, text: &str) -> Result<()> {
        self.print_note(TextRole::Warning, text)
    }

    /// Prints the command that decides a gate which cannot be decided here.
    pub(super) fn print_waiting_gate(&mut self, gate: &GateId, store: &Path) -> Result<()> {
        let store = store.display();
        let text = format!("waiting for approval: haft approve {gate} --store {store}");
        self.print_note(TextRole::Warning, &text)
    }

    /// Prints the outcome of a turn.
    pub(super) fn print_outcome(&mut self, report: &TurnReport) -> Result<()> {
        if self.json {
            return Ok(());
        }
        self.end_line()?;
        let (role, outcome) = match &report.outcome {
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
        self.print_note(role, &format!("turn {} {outcome}: {steps}, {calls}", report.turn))?;
        if report.is_resumable {
            let text = format!("the turn can be resumed: haft resume {}", report.turn);
            self.print_note(TextRole::Warning, &text)?;
        }
        Ok(())
    }

    /// Prints a turn that had ended before it was to be resumed: its last message, or its error, and how it ended.
    pub(super) fn print_ended(&mut self, report: &TurnReport) -> Result<()> {
        if self.json {
            let line = json!({
                "event": "turnEnded",
                "turnId": report.turn.as_str(),
                "status": report.status().as_str(),
                "text": report.text(),
                "error": report.error,
            });
            writeln!(stdout(), "{line}")?;
            return Ok(());
        }
        let text = sanitize(report.text());
        if !text.is_empty() {
            writeln!(stdout(), "{text}")?;
        }
        if let Some(error) = &report.error {
            self.print_note(TextRole::Error, &format!("error: {}", error.message))?;
        }
        let status = report.status().as_str();
        let text = format!("turn {} is over and was not resumed: {status}", report.turn);
        self.print_note(TextRole::Muted, &text)
    }

    fn end_line(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_line_open) {
            writeln!(stdout())?;
        }
        Ok(())
    }

    /// Prints a sanitized line to standard error.
    fn print_note(&mut self, role: TextRole, text: &str) -> Result<()> {
        self.end_line()?;
        writeln!(stderr(), "{}", self.terminal.style_stderr(role, sanitize(text)))?;
        Ok(())
    }
}
