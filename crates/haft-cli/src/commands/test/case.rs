//! Prompts with expectations.

use std::path::Path;

use anyhow::Result;
use haft::TurnReport;
use serde::Deserialize;

use crate::text_file::{MAX_TEXT_BYTES, read_regular_text};
use crate::user_error::{SourceLocation, UserError};

/// A prompt, and what is expected of the turn.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptCase {
    pub(super) prompt: String,
    #[serde(default)]
    expect: ExpectTable,
}

/// What is expected of a turn. Everything must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectTable {
    /// Texts that the response contains, whatever their case.
    #[serde(default)]
    contains: Vec<String>,
    /// Texts that the response does not contain.
    #[serde(default)]
    lacks: Vec<String>,
    /// Tools that are called, in any order.
    #[serde(default)]
    calls: Vec<String>,
    /// Tools that are not called.
    #[serde(default)]
    never_calls: Vec<String>,
    /// The most steps of the turn.
    max_steps: Option<u32>,
    /// The most tokens of the turn.
    max_tokens: Option<u64>,
}

impl PromptCase {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = read_regular_text(file, MAX_TEXT_BYTES)?;
        let case = toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|span| {
                text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1
            });
            let location = SourceLocation { file: file.to_owned(), line, key: None };
            UserError::new(error.message().to_owned()).at(location)
        })?;
        Ok(case)
    }

    /// Says which expectations a turn does not meet; nothing if it meets all.
    pub(super) fn find_failure(&self, report: &TurnReport) -> Option<String> {
        let expect = &self.expect;
        let text = report.text().to_lowercase();
        let is_called = |tool: &String| report.calls.iter().any(|call| call.tool() == tool);
        let mut failures = Vec::new();
        for part in expect.contains.iter().filter(|it| !text.contains(&it.to_lowercase())) {
            failures.push(format!("the response does not contain `{part}`"));
        }
        for part in expect.lacks.iter().filter(|it| text.contains(&it.to_lowercase())) {
            failures.push(format!("the response contains `{part}`"));
        }
        for tool in expect.calls.iter().filter(|it| !is_called(it)) {
            failures.push(format!("`{tool}` was not called"));
        }
        for tool in expect.never_calls.iter().filter(|it| is_called(it)) {
            failures.push(format!("`{tool}` was called"));
        }
        if let Some(most) = expect.max_steps.filter(|most| report.iterations > *most) {
            failures
                .push(format!("the turn took {} steps, and {most} are allowed", report.iterations));
        }
        if let Some(most) = expect.max_tokens.filter(|most| report.usage.total > *most) {
            failures.push(format!(
                "the turn took {} tokens, and {most} are allowed",
                report.usage.total
            ));
        }
        if failures.is_empty() {
            return None;
        }
        failures.push(format!("the response: {}", report.text()));
        Some(failures.join("\n"))
    }
}
