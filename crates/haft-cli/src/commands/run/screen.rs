//! A turn as a person sees it: the answer on standard output, what led to it on standard error.

use std::io::{Write as _, stderr, stdout};
use std::path::Path;

use anyhow::Result;
use haft::event::{Event, EventKind, ToolCallReport};
use haft::gate::Gate;
use haft::store::GateId;
use haft::turn::{Outcome, TurnReport};

use crate::terminal::{Terminal, Tone, plain};

pub(super) struct Screen {
    terminal: Terminal,
    json: bool,
    /// Whether the last line of the answer is open.
    open: bool,
}

impl Screen {
    pub(super) const fn new(terminal: Terminal, json: bool) -> Self {
        Self { terminal, json, open: false }
    }

    pub(super) fn show(&mut self, event: &Event) -> Result<()> {
        if self.json {
            writeln!(stdout(), "{}", serde_json::to_string(event)?)?;
            return Ok(());
        }
        match &event.kind {
            EventKind::Message(piece) => {
                let text = plain(&piece.delta);
                if !text.is_empty() {
                    self.open = !text.ends_with('\n');
                    write!(stdout(), "{text}")?;
                }
                if piece.is_complete {
                    self.end_line()?;
                }
                stdout().flush()?;
            }
            EventKind::Thought(piece) if piece.is_complete => {
                let text = piece.full.as_deref().unwrap_or(&piece.delta);
                self.note(Tone::Quiet, &format!("(thinks) {text}"))?;
            }
            EventKind::ToolCall(call) => self.call(call)?,
            EventKind::Error(error) => {
                self.note(Tone::Bad, &format!("error: {}", error.message))?
            }
            EventKind::Warning { message, .. } => self.note(Tone::Notice, message)?,
            _ => {}
        }
        Ok(())
    }

    fn call(&mut self, call: &ToolCallReport) -> Result<()> {
        let Some(results) = call.results.as_ref().filter(|_| call.is_complete) else {
            let args = call.args.as_ref().map(ToString::to_string).unwrap_or_default();
            return self.note(Tone::Notice, &format!("→ {} {args}", call.tool));
        };
        if let Some(code) = &results.error {
            return self.note(Tone::Bad, &format!("← {} failed: {code}", call.tool));
        }
        let size = results.bytes.map(|it| format!(", {it} bytes")).unwrap_or_default();
        let handle = match (&results.artifact, &results.handle) {
            (Some(kind), Some(handle)) => format!(" {kind} {handle}"),
            _ => String::new(),
        };
        self.note(Tone::Quiet, &format!("← {}{handle}{size}", call.tool))
    }

    /// Asks about a gate.
    pub(super) fn ask(&mut self, gate: &Gate, yes_or_no: bool) -> Result<()> {
        let mut text = gate.reason.clone();
        if !gate.payload.is_null() {
            text.push_str(&format!("\n  {}", gate.payload));
        }
        if let Some(schema) = gate.schema.as_ref().filter(|_| !yes_or_no) {
            text.push_str(&format!("\n  the answer has to fit {schema}"));
        }
        self.note(Tone::Notice, &text)?;
        let question =
            if yes_or_no { "allow it? [y/N] " } else { "the answer (nothing means no): " };
        write!(stderr(), "{}", self.terminal.err(Tone::Key, question))?;
        Ok(())
    }

    /// Says something beside the events.
    pub(super) fn say(&mut self, text: &str) -> Result<()> {
        self.note(Tone::Notice, text)
    }

    /// Says how a gate can be answered that nobody here can be asked about.
    pub(super) fn waits(&mut self, gate: &GateId, store: &Path) -> Result<()> {
        let store = store.display();
        let text = format!("waiting for an answer: haft approve {gate} --store {store}");
        self.note(Tone::Notice, &text)
    }

    pub(super) fn finish(&mut self, report: &TurnReport) -> Result<()> {
        if self.json {
            return Ok(());
        }
        self.end_line()?;
        let (tone, how) = match &report.outcome {
            Outcome::Completed => (Tone::Quiet, "completed".to_owned()),
            Outcome::Cancelled { reason } => (Tone::Notice, format!("cancelled: {reason}")),
            Outcome::LimitReached { limit } => {
                (Tone::Bad, format!("stopped by its limit of {limit}"))
            }
            _ => (Tone::Bad, "failed".to_owned()),
        };
        let steps = counted(report.iterations as usize, "step");
        let calls = counted(report.calls.len(), "call");
        self.note(tone, &format!("turn {} {how}: {steps}, {calls}", report.turn))
    }

    fn end_line(&mut self) -> Result<()> {
        if std::mem::take(&mut self.open) {
            writeln!(stdout())?;
        }
        Ok(())
    }

    fn note(&mut self, tone: Tone, text: &str) -> Result<()> {
        self.end_line()?;
        writeln!(stderr(), "{}", self.terminal.err(tone, plain(text)))?;
        Ok(())
    }
}

fn counted(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}
