//! Prints requests: what the model sees, and whether it is what was sent.

use std::process::ExitCode;

use anyhow::Result;
use haft::executors::{ExecutorDescription, StepRequest};
use haft::stores::TurnId;
use haft::turn::RenderedRequest;
use serde_json::Value;

use crate::commands::{format_count, print_text};
use crate::output::{PrintedRequest, RequestFacts, to_line};
use crate::terminal::{Terminal, TextRole};

/// A request and what is known of it.
pub(crate) struct ShownRequest<'r> {
    pub(crate) executor: &'r ExecutorDescription,
    pub(crate) request: &'r StepRequest,
    /// What the store says; nothing for a turn that does not exist.
    pub(crate) stored: Option<StoredFacts<'r>>,
}

/// What the store says about a request.
pub(crate) struct StoredFacts<'r> {
    pub(crate) turn: &'r TurnId,
    /// The step, counted from one.
    pub(crate) step: u32,
    pub(crate) rendered: &'r RenderedRequest,
}

impl ShownRequest<'_> {
    pub(crate) fn print(&self, as_json: bool, terminal: &Terminal) -> Result<ExitCode> {
        let body: Value = serde_json::from_slice(&self.request.body)
            .unwrap_or_else(|_| String::from_utf8_lossy(&self.request.body).into());
        if as_json {
            return print_text(&to_line(&self.printed(&body))?);
        }
        let body = terminal.sanitize_for_stdout(&format!("{body:#}")).into_owned();
        print_text(&format!("{}{body}\n", self.to_text(terminal)))
    }

    fn printed<'s>(&'s self, body: &'s Value) -> PrintedRequest<'s> {
        let request = self.request;
        let stored = self.stored.as_ref().map(|stored| RequestFacts {
            turn: stored.turn.as_str(),
            step: stored.step,
            sent: stored.rendered.sent.as_ref(),
            identical: stored.rendered.is_identical(),
            same_tools: stored.rendered.has_same_tools,
        });
        PrintedRequest {
            executor: self.executor,
            model: &request.model,
            options: &request.options,
            tools: &request.tools,
            tools_sha256: &request.tools_sha256,
            sha256: request.sha256(),
            bytes: request.body.len(),
            body,
            stored,
        }
    }

    fn to_text(&self, terminal: &Terminal) -> String {
        let request = self.request;
        let tools = match request.tools.len() {
            1 => "1 tool".to_owned(),
            n => format!("{n} tools"),
        };
        let bytes = format_count(request.body.len() as u64);
        let hash = request.sha256();
        let executor = terminal.style_stdout(TextRole::Key, self.executor.to_string());
        let mut text = match &self.stored {
            Some(stored) => format!("request of step {}: {executor}, ", stored.step),
            None => format!("request: {executor}, "),
        };
        text.push_str(&format!("{tools}, {bytes} bytes, SHA-256 {hash}\n"));
        if let Some(stored) = &self.stored {
            text.push_str(&format!("{}\n", verdict(stored.rendered, terminal)));
        }
        text
    }
}

/// Says whether a rendered request is the one that was sent.
fn verdict(rendered: &RenderedRequest, terminal: &Terminal) -> String {
    let (role, text) = match (rendered.is_identical(), rendered.has_same_tools, &rendered.sent) {
        (Some(true), ..) => {
            (TextRole::Success, "identical to the request that was sent".to_owned())
        }
        (Some(false), same_tools, Some(sent)) => {
            let cause = match same_tools {
                Some(false) => "; other tools were offered",
                _ => "",
            };
            let bytes = format_count(sent.bytes);
            let hash = &sent.sha256;
            let text = "different from the request that was sent";
            (TextRole::Error, format!("{text} ({bytes} bytes, SHA-256 {hash}){cause}"))
        }
        _ => (TextRole::Muted, "no hash of a sent request is stored".to_owned()),
    };
    terminal.style_stdout(role, text)
}
