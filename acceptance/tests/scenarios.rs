//! Runs every scenario below `acceptance/scenarios` and every page in `acceptance/documents.txt`. Those that take long
//! are left out unless `--include-ignored` is given, as `cargo xtask soak` does.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a test runner prints")]

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use haft_acceptance::scenario::{self, Outcome, Scenario};
use haft_acceptance::{sandbox, servers};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// Scenarios mostly wait for other processes.
const THREADS: usize = 4;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(THREADS);
    let (scenarios, known) = match scenario::find() {
        Ok(found) => found,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::FAILURE;
        }
    };
    if let Some(source) = sandbox::newer_source() {
        eprintln!("warning: {} is newer than the binary under test", source.display());
    }
    let trials = scenarios.into_iter().map(|it| {
        let reason = known.reason(&it.name).map(str::to_owned);
        let takes_long = it.takes_long;
        let trial = Trial::ignorable_test(it.name.clone(), move || run_named(it, reason));
        trial.with_ignored_flag(takes_long)
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    servers::stop();
    for (name, time) in scenario::slowest(5) {
        println!("{:6.2} s  {name}", time.as_secs_f64());
    }
    conclusion.exit_code()
}

/// Runs a scenario on a thread of its name, by which a skip is recorded.
fn run_named(scenario: Scenario, reason: Option<String>) -> Result<Completion, Failed> {
    let thread = std::thread::Builder::new().name(scenario.name.clone());
    let thread = thread.spawn(move || scenario.run(reason.as_deref()));
    let result = thread.map_err(anyhow::Error::from).and_then(|it| {
        it.join().unwrap_or_else(|_| Err(anyhow!("the runner panicked; see above")))
    });
    match result {
        Ok(Outcome::Skipped) => Ok(Completion::ignored_with("the machine lacks what it needs")),
        Ok(_) => Ok(Completion::Completed),
        Err(error) => Err(Failed::from(format!("{error:#}"))),
    }
}
