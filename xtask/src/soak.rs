//! `cargo xtask soak`: what takes too long for every change.
//!
//! - Every property test with twenty times its cases (`HAFT_CASES_FACTOR`) and a seed of its own, which the printed
//!   command repeats (`PROPTEST_RNG_SEED`; other runs have the seed of `.cargo/config.toml`), and the comparison of Markdown with another
//!   parser on 200 000 new documents (`HAFT_CASES`).
//! - Turns that are killed 300 times at random moments, with five seeds (`HAFT_KILLS`, `HAFT_SEED`), and every other
//!   test of kills and leases, five times each.
//! - Sweeps of faults, with five seeds: processes that sleep longer than their lease, SIGTERM at random, disks that are full
//!   at every write (`HAFT_SWEEP`), providers of which every third response fails, and 200 processes on one store
//!   (`HAFT_PROCESSES`).
//! - A thousand turns of twenty calls on four workers and one PostgreSQL server, which are killed, stopped and restarted
//!   (`HAFT_TURNS`, `HAFT_CALLS`).
//! - Ten thousand random calls and queries through the MCP proxy, with a seed of their own.
//! - Contents of one gibibyte (`HAFT_LARGE_BYTES`).
//! - The scenarios of `acceptance`, those that take long among them, with the program that `cargo xtask dist` has packed
//!   and unpacked again.
//! - Every package, built from what would be published.
//! - Other sets of features than all of them, which `cargo xtask ci` leaves out while no manifest changes.
//! - A sample of 300 mutants of the core and of 60 of the edge, of which nine in ten must be caught
//!   (`cargo xtask mutants`).
//!
//! It needs cargo-nextest, whose profile `soak` bounds every test and leaves none out.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::Path;
use std::process::ExitCode;

use crate::ci::{self, Step};
use crate::dist::{self, Edition};

const TESTS: &str = "nextest run --locked --all-features --profile soak";

/// Runs everything, and stops at the first step that fails.
pub(crate) fn run(root: &Path) -> ExitCode {
    let mut steps = vec![
        Step::cargo("run --locked --quiet --package xtask -- setup"),
        Step::cargo(TESTS)
            .env("HAFT_CASES_FACTOR", "20")
            .env("PROPTEST_RNG_SEED", new_seed().to_string()),
        Step::cargo(&format!("{TESTS} differential")).env("HAFT_CASES", "200000"),
    ];
    for seed in 1..=5 {
        let kills = Step::cargo(&format!("{TESTS} kills_at_random"));
        steps.push(kills.env("HAFT_KILLS", "300").env("HAFT_SEED", seed.to_string()));
        steps.push(Step::cargo(&format!("{TESTS} crash kill lease")));
        let sweeps = Step::cargo(&format!("{TESTS} a_sweep_of"));
        let sweeps = sweeps.env("HAFT_SWEEP", "40").env("HAFT_PROCESSES", "200");
        steps.push(sweeps.env("HAFT_SEED", seed.to_string()));
        let chaos = Step::cargo(&format!("{TESTS} in_the_chaos_of_its_provider"));
        steps.push(chaos.env("HAFT_SEED", seed.to_string()).env("HAFT_CASES_FACTOR", "20"));
    }
    let workers = Step::cargo(&format!("{TESTS} killed_workers_lose_and_double_nothing"));
    steps.push(workers.env("HAFT_TURNS", "1000").env("HAFT_CALLS", "20"));
    let calls = Step::cargo(&format!("{TESTS} no_answer_exceeds_the_limits_of_the_client"));
    let calls = calls.env("PROPTEST_RNG_SEED", new_seed().to_string());
    steps.push(calls.env("HAFT_CASES_FACTOR", "60"));
    steps.push(Step::cargo(&format!("{TESTS} large")).env("HAFT_LARGE_BYTES", "1073741824"));
    let shipped = match dist::unpacked_program(root, Edition::Default) {
        Ok(program) => program.display().to_string(),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    steps.push(Step::cargo("run --locked --quiet --package xtask -- dist"));
    steps.push(ci::all_scenarios().env("HAFT_BIN", shipped));
    steps.extend(ci::feature_steps(root));
    steps.push(Step::cargo("publish --workspace --dry-run --locked --allow-dirty"));
    steps.push(Step::cargo("run --locked --quiet --package xtask -- mutants"));
    steps.push(Step::cargo("run --locked --quiet --package xtask -- mutants --edge --sample 60"));
    ci::run_plain(root, &steps)
}

/// A seed that differs from run to run: the keys of hash maps do.
fn new_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
