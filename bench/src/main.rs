//! Haft beside its peers: side-by-side comparisons in one run, as ratios.
//!
//! ```text
//! cargo run --release -p haft-bench -- dispatch
//! cargo run --release -p haft-bench -- callid --json
//! cargo run --release -p haft-bench -- agreement --values 1000000
//! cargo run --release -p haft-bench -- artifacts --bytes 1G
//! cargo run --release -p haft-bench -- stream
//! cargo run --release -p haft-bench -- turns --full
//! cargo run --release -p haft-bench --no-default-features -- conversation
//! cargo run --release -p haft-bench --no-default-features -- growth --full
//! cargo run --release -p haft-bench --no-default-features -- mcp --bytes 1G
//! cargo run --release -p haft-bench --no-default-features -- workers --bytes 1G
//! cargo run --release -p haft-bench --no-default-features -- inspector --bytes 1G
//! cargo run --release -p haft-bench --no-default-features -- tokens --bytes 200M
//! cargo build --release -p haft-cli && cargo run --release -p haft-bench --no-default-features -- binary
//! cargo run --release -p haft-bench --features allocations -- dispatch
//! ```
//!
//! Rows go to stdout, progress to stderr. Compare ratios, never times of different runs: the
//! method is described in [`measure`].
#![expect(clippy::print_stderr, reason = "a command-line program")]

mod agreement;
#[cfg(feature = "allocations")]
mod allocations;
mod args;
mod artifacts;
mod binary;
mod callid;
mod conversation;
mod dispatch;
mod growth;
mod inspector;
mod mcp;
mod measure;
mod node;
mod ours;
mod report;
mod stream;
mod tokens;
mod turns;
mod valgrind;
mod validate;
mod workers;

use std::{env, io, process::ExitCode};

use args::{Args, Bench};
use report::Print;

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let command = words.next();
    let job = words.next();
    // Not 1, by which some programs say that they found nothing.
    let failed = ExitCode::from(3);
    match command.as_deref() {
        Some(artifacts::job::COMMAND) => {
            return exit(artifacts::job::run(job.as_deref(), &mut io::stdout().lock()), failed);
        }
        Some(mcp::SERVER) => return exit(mcp::serve(), failed),
        Some(mcp::PROXY) => return exit(mcp::proxy(job.as_deref()), failed),
        Some(stream::server::COMMAND) => {
            return exit(stream::server::run(&mut io::stdout()), failed);
        }
        Some(turns::job::COMMAND) => {
            return exit(turns::job::run(job.as_deref(), &mut io::stdout().lock()), failed);
        }
        Some(workers::PROCESS) => return exit(workers::process_job(job.as_deref()), failed),
        Some(workers::SPOOL) => return exit(workers::spool_job(job.as_deref()), failed),
        _ => {}
    }
    let args = match Args::parse(env::args().skip(1)) {
        Ok(args) => args,
        Err(error) => {
            eprintln!("haft-bench: {error}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    if cfg!(debug_assertions) {
        note("built without optimisation: build with --release for figures that mean something");
    }
    exit(run(&args), ExitCode::FAILURE)
}

fn exit(outcome: Result<(), String>, failed: ExitCode) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("haft-bench: {error}");
            failed
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let mut print = |row: &dyn Print| {
        row.print(args.format, &mut io::stdout().lock()).map_err(|error| error.to_string())
    };
    match args.bench {
        Bench::Dispatch => dispatch::run(args.plan, &mut print),
        Bench::Validate => validate::run(args.plan, &mut print),
        Bench::CallId => callid::run(args.plan, &mut print),
        Bench::Agreement => agreement::run(args.values, &mut print),
        Bench::Artifacts => artifacts::run(args.artifacts, &mut print),
        Bench::Stream => stream::run(args.stream, &mut print),
        Bench::Turns => turns::run(args.turns, &mut print),
        Bench::Mcp => mcp::run(args.mcp, &mut print),
        Bench::Conversation => conversation::run(args.conversation, &mut print),
        Bench::Inspector => inspector::run(args.inspector, &mut print),
        Bench::Workers => workers::run(args.workers, &mut print),
        Bench::Growth => growth::run(args.growth, &mut print),
        Bench::Tokens => tokens::run(&args.tokens, &mut print),
        Bench::Binary => binary::run(&mut print),
    }
}

/// Takes each row as soon as it is measured.
type Sink<'a> = &'a mut dyn FnMut(&dyn Print) -> Result<(), String>;

/// A line of progress.
fn note(text: &str) {
    eprintln!("haft-bench: {text}");
}
