//! Rules about how programs are compiled and tests are run.

use super::read;

/// A tool that panics fails its call, and a turn that panics fails alone: both are caught while the stack unwinds. With
/// `panic = "abort"` they would end the process, and only in the profile that users have.
#[test]
fn panics_unwind_in_every_profile() {
    for name in ["Cargo.toml", ".cargo/config.toml"] {
        let text = read(name);
        let aborts = |line: &&str| line.contains("panic") && line.contains("abort");
        let found = text.lines().find(aborts);
        assert_eq!(found, None, "{name}: panics of handlers are caught, so that they must unwind");
    }
}

/// A test that the usual run leaves out is one of the tests that take long, or a scenario, which a step of its own runs.
#[test]
fn every_test_runs_somewhere() {
    let profiles = read(".config/nextest.toml");
    let scenarios = "binary_id(haft-acceptance::scenarios)";
    let long = filter_of(&profiles, "long");
    assert_eq!(filter_of(&profiles, "default"), format!("not ({scenarios} | {long})"));
    assert_eq!(filter_of(&profiles, "soak"), format!("not {scenarios}"));
    // With nextest a step of its own, and `cargo test` runs all test programs.
    let steps = crate::ci::steps(crate::root()).iter().map(ToString::to_string).collect::<Vec<_>>();
    let runs_them = |step: &String| step.contains(" --test scenarios") || step.contains(" --tests");
    assert!(steps.iter().any(runs_them), "nothing runs the scenarios");
}

/// The filter of the tests that a profile of nextest runs.
#[track_caller]
fn filter_of<'a>(profiles: &'a str, name: &str) -> &'a str {
    let (_, profile) = profiles.split_once(&format!("[profile.{name}]\n")).unwrap();
    let mut lines = profile.lines();
    let line = lines.find_map(|it| it.strip_prefix("default-filter = ")).unwrap();
    line.trim_matches('"')
}
