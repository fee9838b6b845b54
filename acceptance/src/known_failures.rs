//! Scenarios that wait for a later change: `acceptance/known-failures.txt`. The list only gets shorter, because a
//! listed scenario that passes fails the run.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

/// Why scenarios fail, by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownFailures(BTreeMap<String, String>);

impl KnownFailures {
    /// Reads lines such as `area/name.md  issue 30: the reason`.
    ///
    /// # Errors
    ///
    /// A line has another form, or names a scenario twice or one that does not exist.
    pub fn parse(text: &str, scenarios: &[String]) -> Result<Self> {
        let mut found = BTreeMap::new();
        let lines = (1..).zip(text.lines());
        for (number, line) in lines.filter(|(_, it)| !it.is_empty() && !it.starts_with('#')) {
            let (name, reason) = line.split_once(' ').unwrap_or((line, ""));
            let reason = reason.trim();
            if !is_reason(reason) {
                bail!("known-failures.txt:{number}: write `{name}  issue NUMBER: reason`");
            }
            if !scenarios.iter().any(|it| it == name) {
                bail!("known-failures.txt:{number}: `{name}` is no scenario; remove the line");
            }
            if found.insert(name.to_owned(), reason.to_owned()).is_some() {
                bail!("known-failures.txt:{number}: `{name}` is there twice");
            }
        }
        Ok(Self(found))
    }

    /// Why a scenario fails, if it is known to.
    #[must_use]
    pub fn reason(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// The result of a scenario, given why it should fail.
///
/// # Errors
///
/// It failed and should pass, or the other way round.
pub fn judge(result: Result<()>, reason: Option<&str>) -> Result<()> {
    match (result, reason) {
        (Ok(()), Some(reason)) => bail!(
            "it passes now: remove its line from acceptance/known-failures.txt, which said `{reason}`"
        ),
        (Err(_), Some(_)) => Ok(()),
        (result, None) => result,
    }
}

/// An issue and a sentence.
fn is_reason(text: &str) -> bool {
    let rest = text.strip_prefix("issue ").and_then(|it| it.split_once(": "));
    rest.is_some_and(|(number, why)| number.parse::<u32>().is_ok() && why.trim().len() > 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: bool) {
        let scenarios = ["a/b.md".to_owned(), "a/c.py".to_owned()];
        assert_eq!(KnownFailures::parse(text, &scenarios).is_ok(), expect, "{text}");
    }

    #[test]
    fn a_line_names_a_scenario_and_an_issue() {
        check("# Why.\n\na/b.md  issue 30: it waits for the leases\n", true);
        check("a/b.md  it waits\n", false);
        check("a/b.md  issue x: it waits\n", false);
        check("a/b.md  issue 30:\n", false);
        check("a/removed.md  issue 30: it waits\n", false);
        check("a/b.md  issue 30: one reason\na/b.md  issue 31: another\n", false);
    }

    #[test]
    fn a_listed_scenario_must_fail() {
        assert!(judge(Ok(()), None).is_ok());
        assert!(judge(Ok(()), Some("issue 30")).is_err());
        assert!(judge(Err(anyhow::anyhow!("x")), Some("issue 30")).is_ok());
        assert!(judge(Err(anyhow::anyhow!("x")), None).is_err());
    }
}
