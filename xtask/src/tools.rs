//! Programs of others that `ci` runs, each in one version.
//!
//! They are built from the package registry once and stay in a directory of the user's cache, each version next to the
//! others: neither `cargo clean` nor a new clone builds them again. `HAFT_TOOLS` names another directory.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program in the version that the project is checked with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    flags: &'static [&'static str],
}

/// Rules about licences, sources and duplicates.
pub(crate) const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2", flags: &[] };

/// Finds dependencies that nothing uses. From 1.14 on, building it needs Rust 1.98.
pub(crate) const SHEAR: Tool = Tool { name: "cargo-shear", version: "1.13.0", flags: &[] };

/// The book, as HTML. Without its watching and serving parts.
pub(crate) const MDBOOK: Tool =
    Tool { name: "mdbook", version: "0.5.4", flags: &["--no-default-features"] };

/// Changes the code to see whether tests notice it.
pub(crate) const MUTANTS: Tool = Tool { name: "cargo-mutants", version: "27.1.0", flags: &[] };

impl Tool {
    /// The program; installs it first if it is not there.
    pub(crate) fn install(&self) -> io::Result<PathBuf> {
        if self.is_on_path() {
            return Ok(PathBuf::from(self.name));
        }
        let dir = self.dir()?;
        let program = dir.join("bin").join(self.name);
        if program.is_file() {
            return Ok(program);
        }
        println!("building {} {}; this is done once", self.name, self.version);
        let mut cargo = Command::new("cargo");
        cargo.args(["install", "--locked", "--quiet", self.name, "--version", self.version]);
        // These programs run for seconds, so that the time to build them is what counts.
        for (key, value) in [("OPT_LEVEL", "1"), ("LTO", "off"), ("CODEGEN_UNITS", "16")] {
            cargo.env(format!("CARGO_PROFILE_RELEASE_{key}"), value);
        }
        let status = cargo.args(self.flags).arg("--root").arg(&dir).status()?;
        if status.success() {
            return Ok(program);
        }
        Err(io::Error::other(format!("`cargo install {}` failed ({status})", self.name)))
    }

    /// Whether the user has this version already.
    fn is_on_path(&self) -> bool {
        let output = Command::new(self.name).arg("--version").stderr(Stdio::null()).output();
        output.is_ok_and(|it| {
            let text = String::from_utf8_lossy(&it.stdout).into_owned();
            text.split_whitespace().any(|word| word.trim_start_matches('v') == self.version)
        })
    }

    fn dir(&self) -> io::Result<PathBuf> {
        let variable = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty());
        let cache = variable("HAFT_TOOLS")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(variable("XDG_CACHE_HOME")?).join("haft-tools")))
            .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache/haft-tools")));
        let cache = cache.ok_or_else(|| io::Error::other("neither HAFT_TOOLS nor HOME is set"))?;
        Ok(cache.join(format!("{}-{}", self.name, self.version)))
    }
}
