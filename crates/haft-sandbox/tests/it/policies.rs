//! What a policy refuses, and what is left behind.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use haft_sandbox::Policy;

use crate::confined::{can_confine, run_script};

#[track_caller]
fn check_refused(policy: &Policy, reason: &str) {
    let (code, output) = run_script(policy, "echo started");
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains(reason) && !output.contains("started"), "{output}");
}

#[test]
fn a_policy_that_cannot_be_held_starts_nothing() {
    if !can_confine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let agent = dir.path().join("agent");
    fs::create_dir_all(&agent).unwrap();
    symlink(dir.path(), agent.join("out")).unwrap();
    symlink("/nowhere/at/all", agent.join("dangling")).unwrap();
    fs::write(dir.path().join("real.toml"), "").unwrap();
    symlink(dir.path().join("real.toml"), agent.join("agent.toml")).unwrap();
    let policy = Policy::new(&agent);
    check_refused(&policy.clone().write("out"), "leads out of the directory through a link");
    check_refused(&policy.clone().write("out/new"), "leads out of the directory through a link");
    check_refused(&policy.clone().write("dangling"), "No such file");
    check_refused(&policy.clone().write("/"), "belongs to the system");
    check_refused(&policy.clone().write("/proc"), "belongs to the system");
    check_refused(&policy.clone().write("/tmp"), "belongs to the system");
    check_refused(&policy.write(".").protect("agent.toml"), "could be replaced");
    check_refused(&Policy::new(agent.join("nothing")), "No such file");
}

#[test]
fn nothing_is_left_behind() {
    if !can_confine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let policy = Policy::new(dir.path()).write(".").write("made").reserve(".haft");
    let (code, output) =
        run_script(&policy, "ls -A . made; mkdir .git/x .haft/x; echo a > made/b; echo c > /tmp/d");
    assert_eq!(code, Some(0), "{output}");
    assert_eq!(names(dir.path()), ["made"]);
    assert_eq!(names(&dir.path().join("made")), ["b"]);
}

#[test]
fn a_directory_that_is_not_writable_is_read_only() {
    if !can_confine() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(".env.example"), "example").unwrap();
    fs::write(dir.path().join(".env.production"), "secret").unwrap();
    let policy = Policy::new(dir.path()).write("target");
    let (code, output) =
        run_script(&policy, "cat .env.example; cat .env.production; echo a > target/b; echo a > c");
    assert_eq!(code, Some(2), "{output}");
    assert!(output.starts_with("example") && !output.contains("secret"), "{output}");
    assert_eq!(names(dir.path()), [".env.example", ".env.production", "target"]);
}

/// The names in a directory, sorted.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
