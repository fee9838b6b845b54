//! The steps of `cargo xtask ci`. Each is one command that also works on its own.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::changes;
use crate::skips::{self, Skips};
use crate::tools::{self, Tool};

const WASM: &str = "wasm32-unknown-unknown";

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Extent {
    /// Formatting, lints and tests, with what is installed.
    Quick,
    /// What every change needs; what this machine leaves out must be a written exception.
    Usual,
    /// Every step.
    Complete,
}

/// When a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Occasion {
    /// In every run.
    Quick,
    /// In every run but those with `--quick`.
    Usual,
    /// When manifests or features have changed, with `--complete`, and in `soak`.
    Features,
    /// With `--complete`, and in `soak`, which has it in a form of its own.
    Complete,
}

/// One command from the root of the workspace, or the reason why it is left out on this machine.
#[derive(Debug)]
pub(crate) struct Step {
    program: Program,
    env: Vec<(&'static str, String)>,
    args: Vec<String>,
    missing: Option<Missing>,
    occasion: Occasion,
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
        Self { program, env: Vec::new(), args, missing: None, occasion: Occasion::Usual }
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

    fn on(mut self, occasion: Occasion) -> Self {
        self.occasion = occasion;
        self
    }

    fn status(&self) -> io::Result<ExitStatus> {
        let program = match &self.program {
            Program::Cargo => OsString::from("cargo"),
            Program::Tool(tool) => tool.install()?.into_os_string(),
        };
        let env = self.env.iter().map(|(name, value)| (*name, value.as_str()));
        command(program).args(&self.args).envs(env).status()
    }
}

/// A command that runs at the root of the workspace as if it had been typed there.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(crate::root());
    // `cargo run` describes this package to its child. Build scripts that watch those variables
    // would see them change between `cargo xtask ci` and the same command typed by hand.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_about_this_package) {
            command.env_remove(name);
        }
    }
    command
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
    let mut steps = build_steps();
    steps.extend(document_steps());
    steps.extend(target_steps(root));
    steps.extend(package_steps());
    steps.extend(feature_steps(root));
    steps
}

/// What builds the workspace once, with all features, and uses it.
fn build_steps() -> Vec<Step> {
    let has_nextest = has_cargo_command("nextest");
    let tests = match has_nextest {
        true => "nextest run --locked --all-features",
        false => "test --locked --all-features --bins --lib --tests --examples",
    };
    let mut steps = vec![
        Step::cargo("fmt --all --check").on(Occasion::Quick),
        Step::cargo("run --locked --quiet --package xtask -- setup"),
        Step::cargo("clippy --locked --all-targets --all-features -- -D warnings")
            .on(Occasion::Quick),
        Step::cargo(tests).on(Occasion::Quick),
    ];
    // Without nextest, the tests include the scenarios.
    if has_nextest {
        steps.push(scenarios().on(Occasion::Quick));
    }
    steps.push(Step::cargo("run --locked --quiet --package xtask -- mistakes").on(Occasion::Quick));
    // `cargo test` does not know what takes long: it has run everything.
    if has_nextest {
        steps.push(Step::cargo(&format!("{tests} --profile long")).on(Occasion::Complete));
    }
    steps
}

fn document_steps() -> [Step; 3] {
    [
        Step::cargo("test --locked --doc --all-features"),
        Step::cargo("doc --locked --no-deps --all-features").env("RUSTDOCFLAGS", "-D warnings"),
        Step::tool(tools::MDBOOK, "build docs/book --dest-dir target/book"),
    ]
}

/// What other targets and toolchains say.
fn target_steps(root: &Path) -> [Step; 2] {
    let msrv = minimum_version(root);
    let packages = libraries(root).join(" -p ");
    [
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
    ]
}

/// What would be published, and what comes with it.
fn package_steps() -> [Step; 4] {
    [
        Step::tool(tools::SHEAR, "--locked"),
        Step::tool(tools::DENY, "--workspace check bans licenses sources"),
        Step::tool(tools::DENY, "--workspace check advisories").needs(
            "database:advisories",
            has_advisories(),
            "the database of advisories is not fetched; set HAFT_ADVISORIES=1 to fetch it",
        ),
        Step::cargo("publish --workspace --dry-run --no-verify --locked --allow-dirty --quiet"),
    ]
}

/// Other sets of features than all of them. Each step checks the same code again, so that all but one wait for a
/// change of what decides about features.
pub(crate) fn feature_steps(root: &Path) -> Vec<Step> {
    let mut steps = vec![
        // The binary for one machine says that others need the feature `cluster`.
        Step::cargo("test --locked -p haft-cli --test it missing_features"),
        // That step builds a `haft` for one machine in the place where people look for the complete one.
        Step::cargo("build --locked --all-features -p haft-cli"),
        // `cargo test` without flags must build, and so must the library with any of its features left out.
        Step::cargo("check --locked --all-targets"),
    ];
    for features in ["tools", "http,rustls", "schemars", "sqlite"] {
        let check = "check --locked -p haft --no-default-features --features";
        steps.push(Step::cargo(&format!("{check} {features}")));
    }
    // One by one: together they would have the features that the others ask for.
    for library in libraries(root) {
        let step = Step::cargo(&format!("doc --locked --no-deps -p {library}"));
        steps.push(step.env("RUSTDOCFLAGS", "-D warnings"));
    }
    steps.push(Step::cargo("check --locked --manifest-path fuzz/Cargo.toml --no-default-features"));
    steps.push(Step::cargo("run --locked --quiet --package xtask -- resolve"));
    let steps = steps.into_iter().map(|it| it.on(Occasion::Features));
    // A use of what only a feature brings fails without any of them.
    let without = Step::cargo("check --locked -p haft --no-default-features");
    std::iter::once(without).chain(steps).collect()
}

/// The step that runs the scenarios of `acceptance` against the binary that the tests have built. It has the packages
/// and features of the tests, so that nothing else is built.
pub(crate) fn scenarios() -> Step {
    Step::cargo("test --locked --all-features --test scenarios")
}

/// The same with the scenarios that take long.
pub(crate) fn all_scenarios() -> Step {
    Step::cargo("test --locked --all-features --test scenarios -- --include-ignored")
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
    let last = last_occasion(root, extent);
    let (steps, omitted): (Vec<Step>, Vec<Step>) =
        steps(root).into_iter().partition(|it| it.occasion <= last);
    if !run_steps(root, &steps) {
        return ExitCode::FAILURE;
    }
    print_omitted(extent, &omitted);
    match Skips::read(root) {
        Err(error) => {
            eprintln!("what was left out cannot be read: {error}");
            ExitCode::FAILURE
        }
        Ok(skips) => judge(&skips, extent),
    }
}

/// The last of the occasions whose steps run.
fn last_occasion(root: &Path, extent: Extent) -> Occasion {
    match extent {
        Extent::Quick => Occasion::Quick,
        Extent::Usual if changes::may_concern_features(root) => Occasion::Features,
        Extent::Usual => Occasion::Usual,
        Extent::Complete => Occasion::Complete,
    }
}

fn print_omitted(extent: Extent, omitted: &[Step]) {
    for step in omitted {
        match (extent, step.occasion) {
            (Extent::Quick, _) => println!("left out by --quick: {step}"),
            (_, Occasion::Features) => println!("left out, no manifest or feature changed: {step}"),
            _ => println!("left out, takes long: {step}"),
        }
    }
    if extent != Extent::Quick && !omitted.is_empty() {
        println!("these run in `cargo xtask ci --complete` and in `cargo xtask soak`");
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
