//! The steps of `cargo xtask ci`. Each is one command that also works on its own.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const WASM: &str = "wasm32-unknown-unknown";

/// One command from the root of the workspace, or the reason why it is left out on this machine.
#[derive(Debug)]
pub(crate) struct Step {
    env: &'static [(&'static str, &'static str)],
    args: Vec<&'static str>,
    skipped: Option<&'static str>,
}

impl Step {
    /// A cargo command, its arguments parted by spaces.
    fn cargo(args: &'static str) -> Self {
        Self { env: &[], args: args.split(' ').collect(), skipped: None }
    }

    /// The same command with these environment variables.
    fn env(mut self, env: &'static [(&'static str, &'static str)]) -> Self {
        self.env = env;
        self
    }

    fn skip_unless(mut self, possible: bool, reason: &'static str) -> Self {
        self.skipped = (!possible).then_some(reason);
        self
    }

    fn status(&self) -> io::Result<ExitStatus> {
        let mut command = Command::new("cargo");
        command.args(&self.args).envs(self.env.iter().copied()).current_dir(crate::root());
        // `cargo run` describes this package to its child. Build scripts that watch those variables
        // would see them change between `cargo xtask ci` and the same command typed by hand.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(is_about_this_package) {
                command.env_remove(name);
            }
        }
        command.status()
    }
}

/// The command as one would type it.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.env {
            write!(f, "{name}=\"{value}\" ")?;
        }
        write!(f, "cargo {}", self.args.join(" "))
    }
}

/// Every step, in order: the quick ones first.
///
/// Only the default members are built; `bench` is left out because it builds its peers.
pub(crate) fn steps(root: &Path) -> Vec<Step> {
    let tests = if has_cargo_command("nextest") {
        "nextest run --locked --all-features"
    } else {
        "test --locked --all-features --bins --lib --tests --examples"
    };
    vec![
        Step::cargo("fmt --all --check"),
        Step::cargo("clippy --locked --all-targets --all-features -- -D warnings"),
        Step::cargo("run --locked --quiet --package xtask -- servers"),
        Step::cargo(tests),
        Step::cargo("test --locked --doc --all-features"),
        Step::cargo("doc --locked --no-deps --all-features")
            .env(&[("RUSTDOCFLAGS", "-D warnings")]),
        Step::cargo("check --locked --target wasm32-unknown-unknown -p haft-core")
            .skip_unless(has_target(WASM), "the target is not installed"),
        Step::cargo("check --locked --manifest-path fuzz/Cargo.toml --no-default-features")
            .skip_unless(root.join("fuzz").is_dir(), "there is no `fuzz` folder"),
        Step::cargo("deny check bans licenses sources")
            .skip_unless(has_cargo_command("deny"), "cargo-deny is not installed"),
    ]
}

/// The step that runs the tidy tests of this crate and nothing else.
pub(crate) fn tidy() -> Step {
    Step::cargo("test --locked --quiet --package xtask tidy::")
}

/// Runs the steps one after the other and stops at the first that fails.
pub(crate) fn run(steps: &[Step]) -> ExitCode {
    let count = steps.len();
    let start = now();
    for (at, step) in (1..).zip(steps) {
        if let Some(reason) = step.skipped {
            println!("[{at}/{count}] skipped, {reason}: {step}");
            continue;
        }
        println!("[{at}/{count}] {step}");
        let began = now();
        let result = step.status();
        let took = Seconds(began.elapsed());
        match result {
            Ok(status) if status.success() => println!("[{at}/{count}] passed in {took}"),
            Ok(status) => {
                eprintln!("[{at}/{count}] failed in {took} ({status}); to repeat it:\n  {step}");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("[{at}/{count}] could not start ({error}); to repeat it:\n  {step}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("all passed in {}", Seconds(start.elapsed()));
    ExitCode::SUCCESS
}

#[expect(clippy::disallowed_methods, reason = "only shown to the person who waits")]
fn now() -> Instant {
    Instant::now()
}

struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.0.as_secs_f64())
    }
}

fn is_about_this_package(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

fn has_cargo_command(name: &str) -> bool {
    Command::new("cargo")
        .args([name, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|it| it.success())
}

/// Whether the compiler in use has the standard library of `target`, whoever installed it.
fn has_target(target: &str) -> bool {
    Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .is_ok_and(|it| PathBuf::from(String::from_utf8_lossy(&it.stdout).trim()).is_dir())
}
