//! Chores of this repository. `cargo xtask --help` lists them.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program prints")]

mod api;
mod ci;
mod figures;
mod mutants;
mod recording;
mod resolve;
mod setup;
mod skips;
mod soak;
mod source;
#[cfg(test)]
mod tidy;
mod tools;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use ci::Extent;

const HELP: &str = "\
Chores of this repository.

Usage: cargo xtask <command>

Commands:
  ci      Every check, in order; stops at the first that fails, ends with the list of what was left out
          and fails if that is more than xtask/exceptions.txt names.
          With --quick: formatting, lints and tests alone, with what is installed
  setup   Installs the servers, suites and programs that tests use
  tidy    The rules about files, manifests and documents alone.
          With --figures: counts of names and shapes, for reviewers
  api     Writes the public items of every library crate to xtask/api.
          With --check: fails if they differ from what is written
  resolve Finds versions for programs that use Haft next to other users of SQLite, compiles the ends
          of the range of rusqlite, and runs examples/with-sqlx
  mutants Changes the code in small ways and lists the changes that no test notices.
          With --sample N, --seed S, --only MODULE: how many and which; --list prints them
  recording  Draws the terminal of the README from what the program prints
  soak    What takes long: more cases of properties, crashes again and again, large contents
  help    This text (also --help, -h)

Steps of `ci`:
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["ci"] => ci::run(root(), Extent::Complete),
        ["ci", "--quick"] => ci::run(root(), Extent::Quick),
        ["setup"] => setup::run(root()),
        ["tidy"] => ci::run_plain(root(), &[ci::tidy()]),
        ["tidy", "--figures"] => figures::print(root()),
        ["api"] => api::write(root()),
        ["api", "--check"] => api::check(root()),
        ["resolve"] => resolve::run(root()),
        ["mutants", options @ ..] => match mutants::Sample::parse(options) {
            Some(sample) => mutants::run(root(), &sample),
            None => {
                eprintln!(
                    "usage: cargo xtask mutants [--sample N] [--skip N] [--seed S] [--only MODULE] [--list]"
                );
                ExitCode::from(2)
            }
        },
        ["recording"] => recording::write(root()),
        ["soak"] => soak::run(root()),
        ["help" | "--help" | "-h"] | [_, "--help" | "-h"] => {
            print!("{HELP}");
            for step in ci::steps(root()) {
                println!("  {step}");
            }
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: cargo xtask <ci|setup|tidy|api|resolve|mutants|recording|soak|help>");
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
