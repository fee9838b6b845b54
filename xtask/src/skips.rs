//! What was left out: tests record it below `target/skipped`, steps of `ci` do so too, and the end of `ci` tells.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Forgets what earlier runs left out.
pub(crate) fn clear(root: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir(root)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(dir(root)),
    }
}

/// Records that a step was left out.
pub(crate) fn record(root: &Path, need: &str, what: &str, reason: &str) -> io::Result<()> {
    let file = dir(root).join("steps.txt");
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    writeln!(file, "{need}\t{what}\t{reason}")
}

fn dir(root: &Path) -> PathBuf {
    root.join("target").join("skipped")
}

/// What was left out in one run.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Skips {
    /// For every need its reason and the tests or steps that miss it.
    needs: BTreeMap<String, (String, BTreeSet<String>)>,
    /// The needs that are named as exceptions.
    exceptions: BTreeSet<String>,
}

impl Skips {
    /// Reads what was recorded since [`clear`].
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut skips = Self::default();
        for name in ["steps.txt", "tests.txt"] {
            match fs::read_to_string(dir(root).join(name)) {
                Ok(text) => skips.add(&text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let exceptions = fs::read_to_string(root.join("xtask/exceptions.txt"))?;
        skips.exceptions = needs_of(&exceptions).map(|(need, _)| need.to_owned()).collect();
        Ok(skips)
    }

    fn add(&mut self, text: &str) {
        for line in text.lines() {
            let mut parts = line.splitn(3, '\t');
            let (Some(need), Some(what), Some(reason)) = (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let entry = self.needs.entry(need.to_owned()).or_default();
            reason.clone_into(&mut entry.0);
            entry.1.insert(what.to_owned());
        }
    }

    /// The needs that are missing and no exception.
    pub(crate) fn unexpected(&self) -> Vec<&str> {
        let needs = self.needs.keys().map(String::as_str);
        needs.filter(|need| !self.exceptions.contains(*need)).collect()
    }

    /// Prints everything that was left out, with its reason.
    pub(crate) fn print(&self) {
        let count: usize = self.needs.values().map(|(_, what)| what.len()).sum();
        println!("left out: {count}");
        for (need, (reason, what)) in &self.needs {
            let mark = if self.exceptions.contains(need) { "exception" } else { "MISSING" };
            println!("  {need} ({mark}): {reason}");
            for what in what {
                println!("    {what}");
            }
        }
    }
}

/// The needs of `exceptions.txt` with their reasons.
pub(crate) fn needs_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter(|it| !it.starts_with('#') && !it.trim().is_empty());
    lines.map(|it| it.split_once(' ').map_or((it, ""), |(need, why)| (need, why.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exceptions_may_be_left_out() {
        let mut skips = Skips::default();
        skips.add("suite:a\tx::one\twhy\nsuite:a\tx::two\twhy\nprogram:b\tx::three\twhy\n");
        assert_eq!(skips.unexpected(), ["program:b", "suite:a"]);
        skips.exceptions.insert("suite:a".to_owned());
        assert_eq!(skips.unexpected(), ["program:b"]);
        assert_eq!(skips.needs["suite:a"].1.len(), 2);
    }

    #[test]
    fn every_exception_has_a_reason() {
        let text = include_str!("../exceptions.txt");
        let needs: Vec<(&str, &str)> = needs_of(text).collect();
        assert!(needs.len() <= 10, "the list is short");
        for (need, reason) in needs {
            assert!(need.contains(':') && reason.ends_with('.'), "{need}: {reason}");
        }
    }
}
