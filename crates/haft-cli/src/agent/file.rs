//! `agent.toml`, as it is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use haft::Tool;
use haft::turn::Limits;
use serde::Deserialize;

use super::command::CommandTool;
use crate::failure::Failure;

/// The file. Unknown keys are refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentFile {
    /// What the agent is called; its folder's name if not said.
    pub(crate) name: Option<String>,
    /// The system prompt.
    pub(crate) system: Option<String>,
    /// A file with the system prompt.
    pub(crate) system_file: Option<PathBuf>,
    /// Standing instructions.
    #[serde(default)]
    pub(crate) instructions: Vec<String>,
    /// What the user says if nothing is said.
    pub(crate) prompt: Option<String>,
    /// The model: `PROVIDER:MODEL`.
    pub(crate) model: Option<String>,
    /// Options of the model's requests.
    #[serde(default)]
    pub(crate) options: serde_json::Map<String, serde_json::Value>,
    /// A script for runs without a model.
    pub(crate) script: Option<PathBuf>,
    /// Limits of a turn.
    #[serde(default)]
    pub(crate) limits: LimitsTable,
    /// Tools.
    #[serde(default)]
    pub(crate) tools: ToolsTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsTable {
    iterations: Option<u32>,
    tool_calls: Option<u32>,
    identical_calls: Option<u32>,
    tokens: Option<u64>,
    /// How long a turn may work, in seconds.
    seconds: Option<u64>,
}

impl LimitsTable {
    /// These limits where they are given, else the others.
    pub(super) fn on(&self, mut limits: Limits) -> Limits {
        limits.iterations = self.iterations.unwrap_or(limits.iterations);
        limits.tool_calls = self.tool_calls.unwrap_or(limits.tool_calls);
        limits.identical_calls = self.identical_calls.unwrap_or(limits.identical_calls);
        limits.tokens = self.tokens.or(limits.tokens);
        limits.wall_time = self.seconds.map_or(limits.wall_time, Duration::from_secs);
        limits
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsTable {
    /// Programs, by the name of the tool.
    #[serde(default)]
    command: BTreeMap<String, CommandTool>,
}

impl ToolsTable {
    pub(super) fn build(&self, folder: &Path) -> Result<Vec<Tool>> {
        self.command.iter().map(|(name, tool)| tool.build(name, folder)).collect()
    }
}

impl AgentFile {
    /// Reads the file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        if !path.exists() {
            let failure = Failure::new(format!("there is no agent at `{shown}`"));
            return Err(failure.hint("`haft new NAME` makes one").into());
        }
        let text = super::text_file(path)?;
        toml::from_str(&text).map_err(|error| {
            let message = error.message().to_owned();
            let place = error.span().map(|span| line_of(&text, span.start));
            let at = place.map_or_else(String::new, |line| format!(":{line}"));
            let failure = Failure::new(format!("{shown}{at}: {}", first_sentence(&message)));
            match nearest(&message) {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
            .into()
        })
    }
}

/// The number of the line at an offset, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// The message without the list of all names that would have been right.
fn first_sentence(message: &str) -> &str {
    message.split_once(", expected ").map_or(message, |(first, _)| first)
}

/// What was probably meant: the nearest of the names that would have been right.
fn nearest(message: &str) -> Option<String> {
    let (first, expected) = message.split_once(", expected ")?;
    let wrong = first.split('`').nth(1)?;
    let right: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let near = right.iter().min_by_key(|name| distance(wrong, name))?;
    if distance(wrong, near) <= 1 + wrong.len() / 3 {
        return Some(format!("did you mean `{near}`?"));
    }
    Some(format!("known here are {}", right.join(", ")))
}

/// How many characters differ.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut last = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, b) in other.iter().enumerate() {
            let (left, above) = (row.get(j).copied(), row.get(j + 1).copied());
            let (left, above) = (left.unwrap_or_default(), above.unwrap_or_default());
            let best = (last + usize::from(a != *b)).min(left + 1).min(above + 1);
            last = above;
            if let Some(cell) = row.get_mut(j + 1) {
                *cell = best;
            }
        }
    }
    row.last().copied().unwrap_or_default()
}
