//! `cargo xtask mistakes`: programs with mistakes in them, and what the compiler says about each.
//!
//! No program below `crates/haft/tests/ui` compiles, and what the compiler says is the text beside it: part of what users
//! of the macros get. The programs are checked against the library that the tests were built with, so that no
//! dependency is built for them. `--write` writes the texts anew.

mod text;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// What is done with the texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    /// A text that differs is a failure.
    Compare,
    /// The texts are written anew.
    Write,
}

/// Where the programs are.
const CASES: &str = "crates/haft/tests/ui";

/// Checks every program, and lists those whose text is another.
pub(crate) fn run(root: &Path, mode: Mode) -> ExitCode {
    match check_all(root, mode) {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => {
            failures.iter().for_each(|it| eprintln!("{it}\n"));
            eprintln!("{} programs are explained in another way", failures.len());
            eprintln!("if that is right: cargo xtask mistakes --write");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn check_all(root: &Path, mode: Mode) -> io::Result<Vec<String>> {
    let compiler = Compiler::find(root)?;
    let cases = list_cases(&root.join(CASES))?;
    if cases.is_empty() {
        return Err(io::Error::other("there is no program with a mistake"));
    }
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let failure = check(&compiler, case, mode).unwrap_or_else(|it| Some(it.to_string()));
            let failure = failure.map(|it| format!("{}: {it}", case.display()));
            failures.lock().unwrap_or_else(PoisonError::into_inner).extend(failure);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    println!("{} programs with mistakes", cases.len());
    let mut failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    failures.sort();
    Ok(failures)
}

/// The programs, sorted. A text without its program is an error.
fn list_cases(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut cases = Vec::new();
    for group in fs::read_dir(dir)? {
        for file in fs::read_dir(group?.path())? {
            let path = file?.path();
            if path.extension().is_some_and(|it| it == "rs") {
                cases.push(path);
            } else if !path.with_extension("rs").is_file() {
                return Err(io::Error::other(format!("{}: no program", path.display())));
            }
        }
    }
    cases.sort();
    Ok(cases)
}

/// Says what is wrong with a program, if something is.
fn check(compiler: &Compiler, case: &Path, mode: Mode) -> io::Result<Option<String>> {
    let Some(said) = compiler.complain(case)? else {
        return Ok(Some("compiles, but has a mistake".to_owned()));
    };
    let file = case.with_extension("stderr");
    if mode == Mode::Write {
        fs::write(file, said)?;
        return Ok(None);
    }
    let expected = fs::read_to_string(file).unwrap_or_default();
    let differs = said != expected;
    Ok(differs.then(|| format!("\n--- expected\n{expected}\n--- the compiler says\n{said}")))
}

/// The compiler, with the library that programs use.
struct Compiler {
    root: PathBuf,
    library: PathBuf,
    /// Where what it makes is written.
    out: PathBuf,
}

impl Compiler {
    /// Builds what the tests use, unless they have built it, and finds the library in it.
    fn find(root: &Path) -> io::Result<Self> {
        let mut cargo = crate::ci::command("cargo");
        cargo.args(["test", "--no-run", "--locked", "--all-features", "--quiet"]);
        cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
        let output = cargo.output()?;
        let messages = String::from_utf8_lossy(&output.stdout);
        let library = messages.lines().find_map(read_library);
        let library = library.ok_or_else(|| io::Error::other("cargo names no library `haft`"))?;
        let out = root.join("target/mistakes");
        fs::create_dir_all(&out)?;
        Ok(Self { root: root.to_owned(), library, out })
    }

    /// What the compiler says about a program, in a form that depends neither on this machine nor on lines of the
    /// library; nothing if it compiles.
    fn complain(&self, case: &Path) -> io::Result<Option<String>> {
        // As cargo does it, so that the compiler finds the sources of the library to show them.
        let relative = case.strip_prefix(&self.root).unwrap_or(case);
        let name = relative.to_string_lossy().replace(['/', '.'], "_");
        let mut library = OsString::from("haft=");
        library.push(&self.library);
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.current_dir(&self.root).args([
            "--edition=2024",
            "--crate-type=bin",
            "--emit=metadata",
        ]);
        rustc.args(["--color=never", "--diagnostic-width=140", "-L"]);
        rustc.arg(self.library.with_file_name(""));
        rustc.arg("--extern").arg(library).arg("-o").arg(self.out.join(name)).arg(relative);
        let output = rustc.stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        Ok((!output.status.success()).then(|| text::normalize(&said, &self.root)))
    }
}

/// The path of the library `haft`, if this message of cargo says that it was built for use by others.
fn read_library(line: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let target = message.get("target")?;
    let is_library = target.get("kind")?.as_array()?.iter().any(|it| it == "lib");
    let is_test = message.get("profile")?.get("test")?.as_bool()?;
    if target.get("name")? != "haft" || !is_library || is_test {
        return None;
    }
    let files = message.get("filenames")?.as_array()?.iter().filter_map(Value::as_str);
    files.map(PathBuf::from).find(|it| it.extension().is_some_and(|it| it == "rlib"))
}
