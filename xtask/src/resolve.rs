//! `cargo xtask resolve`: Haft fits into programs that use SQLite in other ways.
//!
//! Only one version of a native library can be linked into a program, so a dependency on SQLite can make two libraries
//! impossible to combine. Each case is a program of its own, whose lock file is made anew from the registry: the default
//! features of `haft`, and its feature `sqlite`, next to other users of SQLite. The ends of the range of `rusqlite` that
//! `haft-stores` accepts are compiled as well, and `examples/with-sqlx` is compiled and run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// A program with two dependencies.
struct Case {
    name: &'static str,
    haft: &'static str,
    other: &'static str,
    check: Check,
}

#[derive(Clone, Copy, PartialEq)]
enum Check {
    /// There is a version of every dependency.
    Resolve,
    /// The program compiles too.
    Compile,
}

const DEFAULT: &str = "haft = { path = \"{crates}/haft\" }";
const SQLITE: &str = "haft = { path = \"{crates}/haft\", features = [\"sqlite\"] }";
const STORES: &str =
    "haft-stores = { path = \"{crates}/haft-stores\", features = [\"sqlite-bundled\"] }";
const SQLX_0_8: &str = "sqlx = { version = \"0.8\", features = [\"sqlite\"] }";
const SQLX_0_9: &str = "sqlx = { version = \"0.9\", features = [\"sqlite\"] }";
const SEA_ORM: &str = "sea-orm = { version = \"*\", features = [\"sqlx-sqlite\"] }";
const NEWEST: &str = "rusqlite = \"*\"";
const LOWEST: &str = "rusqlite = \"=0.39.0\"";
const HIGHEST: &str = "rusqlite = \"0.41\"";

const CASES: &[Case] = &[
    Case { name: "default-sqlx-0-8", haft: DEFAULT, other: SQLX_0_8, check: Check::Resolve },
    Case { name: "default-sqlx-0-9", haft: DEFAULT, other: SQLX_0_9, check: Check::Resolve },
    Case { name: "default-sea-orm", haft: DEFAULT, other: SEA_ORM, check: Check::Resolve },
    Case { name: "default-rusqlite", haft: DEFAULT, other: NEWEST, check: Check::Resolve },
    Case { name: "sqlite-sqlx-0-9", haft: SQLITE, other: SQLX_0_9, check: Check::Resolve },
    Case { name: "sqlite-rusqlite", haft: SQLITE, other: NEWEST, check: Check::Resolve },
    Case { name: "stores-rusqlite-lowest", haft: STORES, other: LOWEST, check: Check::Compile },
    Case { name: "stores-rusqlite-highest", haft: STORES, other: HIGHEST, check: Check::Compile },
];

/// Checks every case, and lists those that fail.
pub(crate) fn run(root: &Path) -> ExitCode {
    let mut failed = Vec::new();
    for case in CASES {
        match case.run(root) {
            Ok(true) => println!("ok: {}", case.name),
            Ok(false) => failed.push(case.name.to_owned()),
            Err(error) => failed.push(format!("{}: {error}", case.name)),
        }
    }
    match run_example(root) {
        Ok(true) => println!("ok: {EXAMPLE}"),
        Ok(false) => failed.push(EXAMPLE.to_owned()),
        Err(error) => failed.push(format!("{EXAMPLE}: {error}")),
    }
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    for failure in failed {
        eprintln!("failed: {failure}");
    }
    ExitCode::FAILURE
}

/// The example that uses sqlx and a store of Haft in one program. It is a workspace of its own.
const EXAMPLE: &str = "examples/with-sqlx";

/// Runs a copy of the example below `target/resolve`, so that its lock file is made anew there. The example fails if the
/// database does not have what its tools wrote.
fn run_example(root: &Path) -> io::Result<bool> {
    let from = root.join(EXAMPLE);
    let to = root.join("target/resolve/with-sqlx");
    fs::create_dir_all(to.join("src"))?;
    for file in ["script.yaml", "src/main.rs"] {
        fs::copy(from.join(file), to.join(file))?;
    }
    let crates = root.join("crates").display().to_string();
    let manifest = fs::read_to_string(from.join("Cargo.toml"))?.replace("../../crates", &crates);
    fs::write(to.join("Cargo.toml"), manifest)?;
    remove_lock_file(&to)?;
    run_cargo(&to, &["run", "--quiet"])
}

/// Removes the lock file of a program: an old one would hide that a newer version does not fit.
fn remove_lock_file(dir: &Path) -> io::Result<()> {
    match fs::remove_file(dir.join("Cargo.lock")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Case {
    fn run(&self, root: &Path) -> io::Result<bool> {
        let dir = self.write_package(root)?;
        remove_lock_file(&dir)?;
        let is_resolved = run_cargo(&dir, &["generate-lockfile", "--quiet"])?;
        Ok(is_resolved && (self.check == Check::Resolve || run_cargo(&dir, &["check", "--quiet"])?))
    }

    /// Writes the program below `target/resolve`.
    fn write_package(&self, root: &Path) -> io::Result<PathBuf> {
        let dir = root.join("target/resolve").join(self.name);
        fs::create_dir_all(&dir)?;
        let haft = self.haft.replace("{crates}", &root.join("crates").display().to_string());
        let name = self.name;
        let other = self.other;
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [lib]\npath = \"lib.rs\"\n\n[dependencies]\n{haft}\n{other}\n\n[workspace]\n"
        );
        fs::write(dir.join("Cargo.toml"), manifest)?;
        fs::write(dir.join("lib.rs"), "")?;
        Ok(dir)
    }
}

/// Runs cargo in a directory, and returns whether it succeeds.
fn run_cargo(dir: &Path, args: &[&str]) -> io::Result<bool> {
    // All cases share one target directory, so that what they have in common is compiled once.
    let target = dir.with_file_name("target");
    let mut cargo = Command::new("cargo");
    cargo.args(args).current_dir(dir).env("CARGO_TARGET_DIR", target);
    // These programs are not debugged, and need less disk space without debug information.
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
    Ok(cargo.status()?.success())
}
