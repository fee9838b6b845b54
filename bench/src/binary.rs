//! The program `haft` itself: what it costs to start, and how large it is.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::Sink;
use crate::turns::table::{Bound, Entry, Table};
use crate::valgrind::{Counted, Valgrind};

/// Measures the program in the build directory of this one.
///
/// # Errors
///
/// When there is no such program, or a row cannot be printed.
pub(crate) fn run(print: Sink<'_>) -> Result<(), String> {
    let program = find_program()?;
    let mut started = Vec::new();
    for (name, words, aim) in STARTS {
        let Some(count) = count_instructions(&program, words)? else {
            crate::note("valgrind is not installed: instructions are not counted");
            break;
        };
        let entry = Entry::new(*name, count);
        started.push(aim.map_or(entry.clone(), |aim| entry.aim(Bound::AtMost(aim))));
    }
    print(&Table::new("binary/start", "instructions", started))?;
    let size = fs::metadata(&program).map_err(|error| error.to_string())?.len();
    let mut sizes = vec![Entry::new("haft, as built", size as f64 / 1e6)];
    match strip(&program)? {
        Some(stripped) => sizes.push(Entry::new("haft, stripped", stripped as f64 / 1e6)),
        None => crate::note("strip is not installed: the stripped size is not measured"),
    }
    print(&Table::new("binary/size", "MB", sizes))
}

/// What is started, and the instructions that it should take at most.
const STARTS: &[(&str, &[&str], Option<f64>)] =
    &[("haft --version", &["--version"], Some(1_300_000.0)), ("haft --help", &["--help"], None)];

fn find_program() -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = this.with_file_name("haft");
    if program.is_file() {
        return Ok(program);
    }
    Err("there is no `haft` in the directory of this program: `cargo build --release -p haft-cli` makes it"
        .into())
}

fn count_instructions(program: &Path, words: &[&str]) -> Result<Option<f64>, String> {
    let valgrind = Valgrind::new(Counted::Instructions)?;
    let outer = valgrind.words();
    let words = words.iter().map(OsStr::new);
    let all = outer.iter().skip(1).map(AsRef::as_ref).chain([program.as_os_str()]).chain(words);
    let Some(valgrind_program) = outer.first() else { return Ok(None) };
    match Command::new(valgrind_program).args(all).stdout(Stdio::null()).status() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
        Ok(status) if status.success() => valgrind.read_count().map(Some),
        Ok(status) => Err(format!("`haft` ended with {status}")),
    }
}

/// The size of a copy without symbols; `None` if there is no program that makes one.
fn strip(program: &Path) -> Result<Option<u64>, String> {
    let dir = TempDir::new().map_err(|error| error.to_string())?;
    let copy = dir.path().join("haft");
    match Command::new("strip").arg("-o").arg(&copy).arg(program).status() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
        Ok(status) if status.success() => {
            fs::metadata(&copy).map(|it| Some(it.len())).map_err(|error| error.to_string())
        }
        Ok(status) => Err(format!("`strip` ended with {status}")),
    }
}
