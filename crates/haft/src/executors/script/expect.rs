//! What a script expects of results.

use std::fmt;

use haft_core::call::ToolCall;
use haft_core::json::Document;
use haft_core::step::{StepContext, StepError};
use regex_automata::meta::Regex;

use super::super::difference::{ValueNames, excerpt, list_differences};
use super::super::results::{CallText, read_call_text};

/// What is expected of one call.
#[derive(Clone, Debug)]
pub(super) struct CallExpectation {
    pub(super) tool: String,
    /// The number of later calls of the tool.
    pub(super) back: usize,
    pub(super) ends: ExpectedEnding,
    pub(super) checks: Vec<TextCheck>,
}

/// How the call is expected to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExpectedEnding {
    Well,
    Failing,
    FailingWith(String),
}

/// What is expected of its text.
#[derive(Clone, Debug)]
pub(super) enum TextCheck {
    Equals(String),
    EqualsJson(Document),
    Contains(String),
    Matches { pattern: String, regex: Regex },
}

impl CallExpectation {
    /// Looks at the call.
    pub(super) async fn check_call(&self, ctx: &StepContext) -> Result<(), StepError> {
        let calls = ctx.dispatch().turn().tool_calls().all();
        let tool = self.tool.as_str();
        let mut calls = calls.iter().rev().filter(|call| call.tool() == tool);
        let Some(call) = calls.nth(self.back) else {
            let back = self.back + 1;
            let made = ctx
                .dispatch()
                .turn()
                .tool_calls()
                .all()
                .iter()
                .filter(|call| call.tool() == tool)
                .count();
            return Err(StepError::new(format!(
                "expected {back} results of `{tool}`, and it was called {made} times"
            )));
        };
        self.check_ending(call)?;
        let said = read_call_text(call, LONGEST_TEXT)
            .await?
            .unwrap_or_else(|| CallText { text: String::new(), left_out: 0 });
        self.checks.iter().try_for_each(|check| check.check_call(tool, &said))
    }

    fn check_ending(&self, call: &ToolCall) -> Result<(), StepError> {
        let tool = &self.tool;
        match (&self.ends, &call.error) {
            (ExpectedEnding::Well, None) | (ExpectedEnding::Failing, Some(_)) => Ok(()),
            (ExpectedEnding::FailingWith(code), Some(error)) if error.code.as_str() == code => {
                Ok(())
            }
            (ExpectedEnding::Well, Some(error)) => Err(StepError::new(format!(
                "expected a result of `{tool}`, and the call failed with {}: {}",
                error.code.as_str(),
                excerpt(&error.message)
            ))),
            (ExpectedEnding::Failing, None) => {
                Err(StepError::new(format!("expected `{tool}` to fail, and it did not")))
            }
            (ExpectedEnding::FailingWith(code), error) => {
                let came = error.as_ref().map_or("it did not fail", |error| error.code.as_str());
                Err(StepError::new(format!("expected `{tool}` to fail with {code}; got: {came}")))
            }
        }
    }
}

impl TextCheck {
    fn check_call(&self, tool: &str, said: &CallText) -> Result<(), StepError> {
        let text = said.text.as_str();
        let met = match self {
            Self::Equals(expected) => text == expected && said.left_out == 0,
            Self::EqualsJson(expected) => return self.meet_json(tool, expected, text),
            Self::Contains(part) => text.contains(part.as_str()),
            Self::Matches { regex, .. } => regex.is_match(text),
        };
        if met {
            return Ok(());
        }
        let mut words = format!(
            "`{tool}` gave something else than expected\nexpected: {self}\n     got: {:?}",
            excerpt(text)
        );
        if said.left_out > 0 {
            words.push_str(&format!(", and {} bytes that were not looked at", said.left_out));
        }
        if let Self::Equals(expected) = self
            && let Some(line) = first_difference(expected, text)
        {
            words.push_str(&line);
        }
        Err(StepError::new(words))
    }

    fn meet_json(&self, tool: &str, expected: &Document, text: &str) -> Result<(), StepError> {
        let lines = match Document::parse(text) {
            Ok(found) => {
                let names = ValueNames { left: "expected", right: "got" };
                list_differences(expected.root(), found.root(), names)
            }
            Err(error) => vec![format!("expected: {self}"), format!("got: no JSON ({error})")],
        };
        if lines.is_empty() {
            return Ok(());
        }
        let lines = lines.join("\n");
        Err(StepError::new(format!("`{tool}` gave something else than expected\n{lines}")))
    }
}

impl fmt::Display for TextCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(text) => write!(f, "{:?}", excerpt(text)),
            Self::EqualsJson(value) => f.write_str(&excerpt(&value.root().to_string())),
            Self::Contains(part) => write!(f, "text that contains {:?}", excerpt(part)),
            Self::Matches { pattern, .. } => write!(f, "text that matches `{}`", excerpt(pattern)),
        }
    }
}

/// The first line that differs, for texts of several lines.
fn first_difference(expected: &str, got: &str) -> Option<String> {
    if !expected.contains('\n') && !got.contains('\n') {
        return None;
    }
    let mut one = expected.split('\n');
    let mut two = got.split('\n');
    let shown = |line: Option<&str>| {
        line.map_or_else(|| "the end".to_owned(), |line| format!("{:?}", excerpt(line)))
    };
    (1..).find_map(|line: usize| match (one.next(), two.next()) {
        (None, None) => Some(String::new()),
        (one, two) if one == two => None,
        (one, two) => Some(format!(
            "\nthey differ at line {line}: expected {}, got {}",
            shown(one),
            shown(two)
        )),
    })
}

/// The maximum number of bytes of a result that are looked at.
const LONGEST_TEXT: usize = 1024 * 1024;
