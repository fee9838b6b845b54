//! Finds scenarios and runs them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::known_failures::{KnownFailures, judge};
use crate::sandbox::{Sandbox, crate_dir, repository};
use crate::{console, keys, links, needs, program};

/// How a scenario is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A Markdown text with files and commands.
    Markdown,
    /// A page of the repository, with includes and links.
    Document,
    /// A Python program.
    Python,
    /// A JavaScript program.
    JavaScript,
    /// A JavaScript program that drives a browser.
    Page,
    /// A dialogue at a terminal.
    Keys,
}

/// One file that is run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name: the path below `scenarios`, or `documents/` and the path in the repository.
    pub name: String,
    /// Whether it runs in `cargo xtask soak` alone: a comment in it begins with `soak: ` and says why.
    pub takes_long: bool,
    file: PathBuf,
    kind: Kind,
}

/// How a scenario that did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It did what it is expected to do.
    Passed,
    /// The machine lacks something, which is recorded.
    Skipped,
}

/// How long scenarios took.
static TIMES: Mutex<BTreeMap<String, Duration>> = Mutex::new(BTreeMap::new());

/// Every scenario, sorted by name, and those that are known to fail.
///
/// # Errors
///
/// A file is of no known kind, or a list has a wrong line.
pub fn find() -> Result<(Vec<Scenario>, KnownFailures)> {
    let dir = crate_dir().join("scenarios");
    let mut found = Vec::new();
    collect(&dir, &dir, &mut found)?;
    for line in list("documents.txt")?.lines().map(str::trim) {
        if !line.is_empty() && !line.starts_with('#') {
            let name = format!("documents/{line}");
            let file = repository().join(line);
            found.push(Scenario { name, takes_long: false, file, kind: Kind::Document });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    let names: Vec<String> = found.iter().map(|it| it.name.clone()).collect();
    let known = KnownFailures::parse(&list("known-failures.txt")?, &names)?;
    Ok((found, known))
}

fn list(name: &str) -> Result<String> {
    fs::read_to_string(crate_dir().join(name)).with_context(|| name.to_owned())
}

fn collect(root: &Path, dir: &Path, found: &mut Vec<Scenario>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let file = entry?.path();
        if file.is_dir() {
            collect(root, &file, found)?;
            continue;
        }
        let name = file.strip_prefix(root)?.display().to_string();
        let Some(kind) = kind_of(&name) else {
            bail!("acceptance/scenarios/{name}: no scenario ends like this");
        };
        let source = fs::read_to_string(&file).with_context(|| name.clone())?;
        let takes_long = needs::comments(&source).any(|it| it.starts_with("soak: "));
        found.push(Scenario { name, takes_long, file, kind });
    }
    Ok(())
}

fn kind_of(name: &str) -> Option<Kind> {
    let kinds = [
        (".page.mjs", Kind::Page),
        (".mjs", Kind::JavaScript),
        (".py", Kind::Python),
        (".md", Kind::Markdown),
        (".keys", Kind::Keys),
    ];
    kinds.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, kind)| kind)
}

impl Scenario {
    /// Runs the scenario in an empty directory. `reason` says why it is known to fail.
    ///
    /// # Errors
    ///
    /// It fails, or passes although it is known to fail.
    pub fn run(&self, reason: Option<&str>) -> Result<Outcome> {
        let source = fs::read_to_string(&self.file)
            .with_context(|| format!("{} cannot be read", self.file.display()))?;
        if !needs::are_met(self.kind, &source) {
            return Ok(Outcome::Skipped);
        }
        let start = read_instant();
        // Made here, so that a machine without the binary or a server is no known failure.
        let mut sandbox = Sandbox::new(&source)?;
        if self.kind == Kind::Document {
            sandbox = sandbox.with_samples();
        }
        if self.takes_long {
            sandbox = sandbox.with_cargo();
        }
        let result = self.run_in(&sandbox, &source);
        let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
        times.insert(self.name.clone(), start.elapsed());
        judge(result, reason).map(|()| Outcome::Passed)
    }

    fn run_in(&self, sandbox: &Sandbox, source: &str) -> Result<()> {
        match self.kind {
            Kind::Markdown => match console::run(&self.file, source, sandbox)? {
                0 => bail!("{}: there is nothing to run", self.file.display()),
                _ => Ok(()),
            },
            Kind::Document => {
                links::check(&self.file, source)?;
                console::run(&self.file, source, sandbox).map(|_| ())
            }
            Kind::Python => program::run("python3", &self.file, sandbox),
            Kind::Keys => keys::run(&self.file, source, sandbox),
            Kind::JavaScript | Kind::Page => program::run("node", &self.file, sandbox),
        }
    }
}

/// The slowest scenarios of this run, for people who wait.
#[must_use]
pub fn slowest(count: usize) -> Vec<(String, Duration)> {
    let times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut times: Vec<_> = times.iter().map(|(name, it)| (name.clone(), *it)).collect();
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    times.truncate(count);
    times
}

#[expect(clippy::disallowed_methods, reason = "only shown to the person who waits")]
fn read_instant() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_ending_decides() {
        assert_eq!(kind_of("a/b.page.mjs"), Some(Kind::Page));
        assert_eq!(kind_of("a/b.mjs"), Some(Kind::JavaScript));
        assert_eq!(kind_of("a/b.txt"), None);
    }

    /// Also that every line of the known failures names a scenario and an issue.
    #[test]
    fn the_lists_of_this_package_are_valid() {
        let (scenarios, _) = find().unwrap();
        assert!(!scenarios.is_empty());
        assert!(scenarios.iter().all(|it| it.file.is_file()), "{scenarios:?}");
    }
}
