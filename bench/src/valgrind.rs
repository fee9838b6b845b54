//! Figures that are the same on every run: instructions and allocations of a process, counted by `valgrind`.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Hashes are computed in software there: `valgrind` offers no instructions for them.
    Instructions,
    Allocations,
}

/// One run below `valgrind`, which writes its summary into a directory of its own.
#[derive(Debug)]
pub(crate) struct Valgrind {
    counted: Counted,
    dir: TempDir,
}

impl Valgrind {
    pub(crate) fn new(counted: Counted) -> Result<Self, String> {
        let dir = TempDir::new().map_err(|error| error.to_string())?;
        Ok(Self { counted, dir })
    }

    /// The words that stand before the command that is measured.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let option = |name: &str, file: PathBuf| {
            let mut word = OsString::from(name);
            word.push(file);
            word
        };
        let output = self.dir.path().join("output");
        let (tool, output) = match self.counted {
            Counted::Instructions => ("--tool=callgrind", option("--callgrind-out-file=", output)),
            Counted::Allocations => ("--tool=dhat", option("--dhat-out-file=", output)),
        };
        let log = option("--log-file=", self.log());
        vec!["valgrind".into(), tool.into(), output, log]
    }

    /// Reads the figure after the process has ended.
    pub(crate) fn read_count(&self) -> Result<f64, String> {
        let log = fs::read_to_string(self.log()).map_err(|error| error.to_string())?;
        parse_count(self.counted, &log).ok_or_else(|| format!("valgrind counted nothing: {log}"))
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }
}

/// The figure in a summary, such as `Collected : 1315063` or `Total: 1,234 bytes in 56 blocks`.
fn parse_count(counted: Counted, log: &str) -> Option<f64> {
    let line = |name: &str| log.lines().find_map(|line| line.split_once(name).map(|it| it.1));
    let number = match counted {
        Counted::Instructions => line("Collected :")?.trim(),
        Counted::Allocations => line("Total:")?.split_once(" bytes in ")?.1.split(' ').next()?,
    };
    number.replace(',', "").parse().ok()
}
