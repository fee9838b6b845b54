//! The steps of `cargo xtask ci`. Each is one command that also works on its own.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::skips::{self, Skips};
use crate::tools::{self, Tool};

const WASM: &str = "wasm32-unknown-unknown";

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Extent {
    /// Everything; what is left out must be a written exception.
    Complete,
    /// Formatting, lints and tests, with what is installed.
    Quick,
}

/// One command from the root of the workspace, or the reason why it is left out on this machine.
#[derive(Debug)]
pub(crate) struct Step {
    program: Program,
    env: Vec<(&'static str, String)>,
    args: Vec<String>,
    missing: Option<Missing>,
    /// Whether `--quick` runs it.
    is_quick: bool,
}

/// What a step needs and this machine does not have.
#[derive(Debug)]
struct Missing {
    need: String,
    reason: &'static str,
}

#[derive(Debug)]
enum Program {
    Cargo,
    /// A program in the version that the project is checked with, installed when its step comes.
    Tool(Tool),
}

impl Step {
    /// A cargo command, its arguments parted by spaces.
    pub(crate) fn cargo(args: &str) -> Self {
        Self::new(Program::Cargo, args)
    }

    fn tool(tool: Tool, args: &str) -> Self {
        Self::new(Program::Tool(tool), args)
    }

    fn new(program: Program, args: &str) -> Self {
        let args = args.split(' ').map(str::to_owned).collect();
        Self { program, env: Vec::new(), args, missing: None, is_quick: false }
    }

    /// The same command with this environment variable.
    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Leaves the step out unless the machine has what it needs.
    fn needs(mut self, need: impl Into<String>, is_there: bool, reason: &'static str) -> Self {
        self.missing = (!is_there).then(|| Missing { need: need.into(), reason });
        self
    }

    /// Marks a step that `--quick` runs, too.
    fn quick(mut self) -> Self {
        self.is_quick = true;
        self
    }

    fn status(&self) -> io::Result<ExitStatus> {
        let program = match &self.program {
            Program::Cargo => OsString::from("cargo"),
            Program::Tool(tool) => tool.install()?.into_os_string(),
        };
        let mut command = Command::new(program);
        let env = self.env.iter().map(|(name, value)| (*name, value.as_str()));
        command.args(&self.args).envs(env).current_dir(crate::root());
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
        for (name, value) in &self.env {
            write!(f, "{name}=\"{value}\" ")?;
        }
        let program = match &self.program {
            Program::Cargo => "cargo",
            Program::Tool(tool) => tool.name,
        };
        write!(f, "{program} {}", self.args.join(" "))
    }
}

/// Every step, in order.
///
/// Only the default members are built; `bench` is left out because it builds its peers.
pub(crate) fn steps(root: &Path) -> Vec<Step> {
    let tests = if has_cargo_command("nextest") {
        "nextest run --locked --all-features"
    } else {
        "test --locked --all-features --bins --lib --tests --examples"
    };
    let msrv = minimum_version(root);
    let packages = libraries(root).join(" -p ");
    let mut steps = vec![
        Step::cargo("fmt --all --check").quick(),
        Step::cargo("run --locked --quiet --package xtask -- setup"),
        Step::cargo("clippy --locked --all-targets --all-features -- -D warnings").quick(),
        Step::cargo(tests).quick(),
        Step::cargo("test --locked --doc --all-features"),
        Step::cargo("doc --locked --no-deps --all-features").env("RUSTDOCFLAGS", "-D warnings"),
        Step::cargo("check --locked --target wasm32-unknown-unknown -p haft-core").needs(
            format!("target:{WASM}"),
            has_target(WASM),
            "the target is not installed",
        ),
        Step::cargo(&format!("+{msrv} check --locked --all-features -p {packages}")).needs(
            format!("toolchain:{msrv}"),
            has_toolchain(&msrv),
            "the toolchain is not installed",
        ),
        Step::cargo("check --locked --manifest-path fuzz/Cargo.toml --no-default-features"),
        Step::tool(tools::DENY, "--workspace check bans licenses sources"),
        Step::tool(tools::DENY, "--workspace check advisories").needs(
            "database:advisories",
            has_advisories(),
            "the database of advisories is not fetched; set HAFT_ADVISORIES=1 to fetch it",
        ),
        Step::cargo("run --locked --quiet --package xtask -- resolve"),
        Step::cargo("publish --workspace --dry-run --no-verify --locked --allow-dirty --quiet"),
        Step::tool(tools::MDBOOK, "build docs/book --dest-dir target/book"),
    ];
    // `cargo test` without flags must build, and so must the library with any of its features left out.
    steps.push(Step::cargo("check --locked --all-targets"));
    steps.push(Step::cargo("check --locked -p haft --no-default-features"));
    for features in ["tools", "http,rustls", "conformance,schemars,testing", "sqlite"] {
        let check = "check --locked -p haft --no-default-features --features";
        steps.push(Step::cargo(&format!("{check} {features}")));
    }
    // The binary without its optional parts says what is missing.
    steps.push(Step::cargo(
        "test --locked -p haft-cli --no-default-features --test it missing_features",
    ));
    // One by one: together they would have the features that the others ask for.
    for library in libraries(root) {
        let step = Step::cargo(&format!("doc --locked --no-deps -p {library}"));
        steps.push(step.env("RUSTDOCFLAGS", "-D warnings"));
    }
    steps
}

/// The step that runs the tidy tests of this crate and nothing else.
pub(crate) fn tidy() -> Step {
    Step::cargo("test --locked --quiet --package xtask tidy::")
}

/// Runs `ci`: its steps, then the list of what was left out.
pub(crate) fn run(root: &Path, extent: Extent) -> ExitCode {
    if let Err(error) = skips::clear(root) {
        eprintln!("target/skipped cannot be cleared: {error}");
        return ExitCode::FAILURE;
    }
    let (steps, omitted): (Vec<Step>, Vec<Step>) =
        steps(root).into_iter().partition(|it| extent == Extent::Complete || it.is_quick);
    if !run_steps(root, &steps) {
        return ExitCode::FAILURE;
    }
    for step in &omitted {
        println!("left out by --quick: {step}");
    }
    match Skips::read(root) {
        Err(error) => {
            eprintln!("what was left out cannot be read: {error}");
            ExitCode::FAILURE
        }
        Ok(skips) => judge(&skips, extent),
    }
}

fn judge(skips: &Skips, extent: Extent) -> ExitCode {
    skips.print();
    let unexpected = skips.unexpected();
    if unexpected.is_empty() {
        println!("all passed");
        return ExitCode::SUCCESS;
    }
    let needs = unexpected.join(", ");
    if extent == Extent::Quick {
        println!("passed, with parts left out: {needs}");
        return ExitCode::SUCCESS;
    }
    eprintln!("left out and not in xtask/exceptions.txt: {needs}");
    ExitCode::FAILURE
}

/// Runs single steps, without the list of what was left out.
pub(crate) fn run_plain(root: &Path, steps: &[Step]) -> ExitCode {
    if run_steps(root, steps) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the steps one after the other and stops at the first that fails.
fn run_steps(root: &Path, steps: &[Step]) -> bool {
    let count = steps.len();
    let start = now();
    for (at, step) in (1..).zip(steps) {
        if let Some(Missing { need, reason }) = &step.missing {
            println!("[{at}/{count}] left out, {reason}: {step}");
            if let Err(error) = skips::record(root, need, &step.to_string(), reason) {
                eprintln!("target/skipped cannot be written: {error}");
                return false;
            }
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
                return false;
            }
            Err(error) => {
                eprintln!("[{at}/{count}] could not start ({error}); to repeat it:\n  {step}");
                return false;
            }
        }
    }
    println!("{count} steps in {}", Seconds(start.elapsed()));
    true
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
    answers(Command::new("cargo").args([name, "--version"]))
}

fn answers(command: &mut Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|it| it.success())
}

/// Whether the compiler in use has the standard library of `target`, however it was installed.
fn has_target(target: &str) -> bool {
    Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .is_ok_and(|it| PathBuf::from(String::from_utf8_lossy(&it.stdout).trim()).is_dir())
}

/// Whether rustup has this toolchain; it is not asked to install it.
fn has_toolchain(version: &str) -> bool {
    let mut rustup = Command::new("rustup");
    answers(rustup.args(["run", version, "rustc", "--version"]).env("RUSTUP_AUTO_INSTALL", "0"))
}

/// The database is a git repository elsewhere: it is fetched only where that is asked for.
fn has_advisories() -> bool {
    std::env::var_os("HAFT_ADVISORIES").is_some_and(|it| it == "1")
}

/// The crates that take the `rust-version` of the workspace: all but the binary.
fn libraries(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let takes_it = |name: &String| {
        let manifest = root.join("crates").join(name).join("Cargo.toml");
        std::fs::read_to_string(manifest)
            .is_ok_and(|it| it.contains("rust-version.workspace = true"))
    };
    let names = entries.map(|it| it.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(takes_it).collect();
    names.sort();
    names
}

/// The `rust-version` of the workspace.
fn minimum_version(root: &Path) -> String {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    let line = manifest.lines().find_map(|it| it.strip_prefix("rust-version = "));
    line.unwrap_or_default().trim_matches('"').to_owned()
}
