//! Chores of this repository. `cargo xtask --help` lists them.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program prints")]

mod ci;
mod figures;
mod servers;
mod source;
#[cfg(test)]
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

const HELP: &str = "\
Chores of this repository.

Usage: cargo xtask <command>

Commands:
  ci      Every check, in order; stops at the first that fails
  servers Installs the servers that some tests talk to, below target/servers
  tidy    The rules about files, manifests and documents alone;
          with --figures: counts of names and shapes, for reviewers
  help    This text (also --help, -h)

Steps of `ci`:
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["ci"] => ci::run(&ci::steps(root())),
        ["servers"] => servers::install(root()),
        ["tidy"] => ci::run(&[ci::tidy()]),
        ["tidy", "--figures"] => figures::print(root()),
        ["help" | "--help" | "-h"] | ["ci" | "servers" | "tidy", "--help" | "-h"] => {
            print!("{HELP}");
            for step in ci::steps(root()) {
                println!("  {step}");
            }
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: cargo xtask <ci|servers|tidy|help>");
            ExitCode::from(2)
        }
    }
}

/// The folder of the workspace. Cargo names it when it starts this program; the folder at compile
/// time can be another one, where two checkouts share a target folder.
fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let own = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        own.parent().map_or_else(|| own.clone(), Path::to_path_buf)
    });
    &ROOT
}
