//! Baselines: what a test did when it was last accepted.
//!
//! A baseline holds what is stable from run to run: the outcome, the calls by their content keys, and the tokens, which are
//! compared within a bound. Every test has one file, and a prompt has one for each model.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use haft::TurnReport;
use serde::{Deserialize, Serialize};

use crate::text_file::{MAX_TEXT_BYTES, read_regular_text};
use crate::user_error::{SourceLocation, UserError};

/// What a turn did.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Baseline {
    version: u32,
    outcome: String,
    calls: Vec<BaselineCall>,
    tokens: u64,
}

/// A call, by the tool and the key of its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineCall {
    tool: String,
    key: String,
    state: String,
}

/// The version of the file.
const VERSION: u32 = 1;

/// How many differences are listed.
const MAX_LISTED: usize = 20;

impl Baseline {
    pub(super) fn of_report(report: &TurnReport) -> Self {
        let calls = report.calls.iter().map(|call| BaselineCall {
            tool: call.tool().to_owned(),
            key: call.call_id().to_string(),
            state: call.state().to_string(),
        });
        let outcome = report.status().as_str().to_owned();
        Self { version: VERSION, outcome, calls: calls.collect(), tokens: report.usage.total }
    }

    /// The file of a test: `tests/baselines/NAME.json` in the directory of the agent.
    pub(super) fn path(agent_dir: &Path, test: &str) -> PathBuf {
        let name = test.strip_prefix("tests/").unwrap_or(test).replace(" with ", "@");
        let safe = |it: char| if it.is_alphanumeric() || "._-@".contains(it) { it } else { '_' };
        let name: String = name.chars().map(safe).collect();
        agent_dir.join("tests/baselines").join(format!("{name}.json"))
    }

    /// Reads the baseline of a test; nothing if it has none.
    pub(super) fn read(path: &Path) -> Result<Option<Self>> {
        let exists = path.try_exists();
        if !exists.with_context(|| format!("cannot read `{}`", path.display()))? {
            return Ok(None);
        }
        let text = read_regular_text(path, MAX_TEXT_BYTES)?;
        let located = |line: Option<usize>, message: String| {
            let file = path.to_owned();
            UserError::new(message)
                .at(SourceLocation { file, line, key: None })
                .hint("`haft test AGENT --save-baselines` writes it anew")
        };
        let baseline: Self = serde_json::from_str(&text)
            .map_err(|error| located(Some(error.line()), format!("no baseline: {error}")))?;
        if baseline.version != VERSION {
            let message = format!("version {} of baselines is not known", baseline.version);
            return Err(located(None, message).into());
        }
        Ok(Some(baseline))
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let failed = || format!("cannot write `{}`", path.display());
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).with_context(failed)?;
        }
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(path, format!("{text}\n")).with_context(failed)
    }

    /// Says in what a turn differs from the baseline; nothing if it does the same. Tokens may differ by a percentage.
    pub(super) fn find_difference(&self, now: &Self, tokens_within: u32) -> Option<String> {
        let mut text = String::new();
        if self.outcome != now.outcome {
            let _ = writeln!(text, "the outcome was `{}` and is `{}`", self.outcome, now.outcome);
        }
        let only_in = |these: &[BaselineCall], others: &[BaselineCall]| {
            let mut rest = others.to_vec();
            let missing = these.iter().filter(|call| {
                let found = rest.iter().position(|it| it == *call);
                found.map(|at| rest.remove(at)).is_none()
            });
            missing.cloned().collect::<Vec<_>>()
        };
        let (gone, new) = (only_in(&self.calls, &now.calls), only_in(&now.calls, &self.calls));
        let has_other_order = gone.is_empty() && new.is_empty() && self.calls != now.calls;
        for (calls, word) in [(gone, "not made any more"), (new, "new")] {
            for BaselineCall { tool, key, state } in calls.iter().take(MAX_LISTED) {
                let key: String = key.chars().take(8).collect();
                let _ = writeln!(text, "call `{tool}` {key} ({state}) is {word}");
            }
            if calls.len() > MAX_LISTED {
                let _ = writeln!(text, "and {} more", calls.len() - MAX_LISTED);
            }
        }
        if has_other_order {
            text.push_str("the calls have another order\n");
        }
        let allowed = self.tokens.saturating_mul(u64::from(tokens_within)) / 100;
        if self.tokens.abs_diff(now.tokens) > allowed {
            let (before, tokens) = (self.tokens, now.tokens);
            let _ = writeln!(
                text,
                "the turn took {before} tokens and takes {tokens}; they may differ by {tokens_within} %"
            );
        }
        if text.is_empty() {
            return None;
        }
        text.push_str("`haft test AGENT --save-baselines` accepts the difference");
        Some(format!("differs from its baseline:\n{text}"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Baseline, BaselineCall, VERSION};

    fn baseline(tools: &[&str], tokens: u64) -> Baseline {
        let calls = tools.iter().map(|tool| BaselineCall {
            tool: (*tool).to_owned(),
            key: "0123456789".to_owned(),
            state: "succeeded".to_owned(),
        });
        let outcome = "completed".to_owned();
        Baseline { version: VERSION, outcome, calls: calls.collect(), tokens }
    }

    #[track_caller]
    fn check(before: &Baseline, now: &Baseline, expected: &[&str]) {
        let found = before.find_difference(now, 20).unwrap_or_default();
        for part in expected {
            assert!(found.contains(part), "{found}");
        }
        assert_eq!(found.is_empty(), expected.is_empty(), "{found}");
    }

    #[test]
    fn differences_are_found() {
        let before = baseline(&["a", "b", "b"], 100);
        check(&before, &baseline(&["a", "b", "b"], 120), &[]);
        check(&before, &baseline(&["a", "b", "b"], 121), &["100 tokens and takes 121"]);
        check(&before, &baseline(&["b", "a", "b"], 100), &["another order"]);
        check(&before, &baseline(&["a", "b", "c"], 100), &["`b` 01234567", "`c` 01234567"]);
        let failed = Baseline { outcome: "failed".to_owned(), ..baseline(&["a", "b", "b"], 100) };
        check(&before, &failed, &["was `completed` and is `failed`"]);
    }

    #[test]
    fn every_test_and_model_has_a_file_of_its_own() {
        let path = |test| Baseline::path(Path::new("a"), test).to_string_lossy().into_owned();
        assert_eq!(path("script.yaml"), "a/tests/baselines/script.yaml.json");
        assert_eq!(
            path("tests/time.toml with openai:gpt-5/x"),
            "a/tests/baselines/time.toml@openai_gpt-5_x.json"
        );
        assert_eq!(path("../up"), "a/tests/baselines/.._up.json");
    }
}
