//! Chores of this repository. `cargo xtask --help` lists them.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program prints")]

mod api;
mod changes;
mod ci;
mod dist;
mod figures;
mod mistakes;
mod mutants;
mod prices;
mod recording;
mod resolve;
mod schemas;
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
use dist::Edition;
use mistakes::Mode;

const HELP: &str = "\
Chores of this repository.

Usage: cargo xtask <command>

Commands:
  ci      Every check that a change needs, in order; stops at the first that fails, ends with the list of
          what was left out, and fails if this machine lacks more than xtask/exceptions.txt names.
          With --quick: formatting, lints and tests alone, with what is installed.
          With --complete: also other sets of features, which otherwise wait for a change of manifests,
          and tests that take long
  setup   Installs the servers, suites and programs that tests use
  tidy    The rules about files, manifests and documents alone.
          With --figures: counts of names and shapes, for reviewers
  api     Writes the public items of every library crate to xtask/api.
          With --check: fails if they differ from what is written
  schemas Writes the JSON Schemas of what `haft` prints to docs/schema
  resolve Finds versions for programs that use Haft next to other users of SQLite, compiles the ends
          of the range of rusqlite, and runs examples/with-sqlx
  mistakes  Compares what the compiler says about programs with mistakes in them.
          With --write: writes it anew
  mutants Changes the code in small ways and lists the changes that no test notices.
          With --sample N, --seed S, --only MODULE: how many and which; --list prints them.
          With --edge: of what users and other programs meet, instead of the core
  prices  Writes the table of prices from the package that xtask/registry/prices.txt names
  dist    Builds the archive of a release for this machine, checks which glibc it needs, and runs it in a
          bare Debian 12. With --cluster: the one with what several machines share
  recording  Draws the terminal of the README from what the program prints
  soak    What takes long: more cases of properties, crashes again and again, large contents
  help    This text (also --help, -h)

Steps of `ci`:
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["ci"] => ci::run(root(), Extent::Usual),
        ["ci", "--complete"] => ci::run(root(), Extent::Complete),
        ["ci", "--quick"] => ci::run(root(), Extent::Quick),
        ["setup"] => setup::run(root()),
        ["tidy"] => ci::run_plain(root(), &[ci::tidy()]),
        ["tidy", "--figures"] => figures::print(root()),
        ["api"] => api::write(root()),
        ["api", "--check"] => api::check(root()),
        ["schemas"] => schemas::write(root()),
        ["mistakes"] => mistakes::run(root(), Mode::Compare),
        ["mistakes", "--write"] => mistakes::run(root(), Mode::Write),
        ["resolve"] => resolve::run(root()),
        ["mutants", options @ ..] => match mutants::Sample::parse(options) {
            Some(sample) => mutants::run(root(), &sample),
            None => {
                eprintln!(
                    "usage: cargo xtask mutants [--edge] [--sample N] [--skip N] [--seed S] [--only MODULE] [--list]"
                );
                ExitCode::from(2)
            }
        },
        ["prices"] => prices::write(root()),
        ["dist"] => dist::run(root(), Edition::Default),
        ["dist", "--cluster"] => dist::run(root(), Edition::Cluster),
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
            eprintln!(
                "usage: cargo xtask <ci|setup|tidy|api|schemas|mistakes|resolve|mutants|prices|dist|recording|soak|help>"
            );
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
