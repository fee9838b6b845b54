//! Runs programs through the example `confine`.

use std::path::PathBuf;
use std::process::Command;

use haft_sandbox::Policy;

/// The example, which is built with the tests.
pub(crate) fn helper() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("examples/confine")
}

/// A command that runs a program confined.
pub(crate) fn confine(policy: &Policy, program: &str) -> Command {
    let mut command = Command::new(helper());
    command.arg(policy.to_argument().unwrap()).arg(program);
    command
}

/// Runs a shell script in a sandbox. Returns its status and its output with its errors.
pub(crate) fn run_script(policy: &Policy, script: &str) -> (Option<i32>, String) {
    let output = confine(policy, "/bin/sh").args(["-c", script]).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// Whether programs can be confined on this machine. Records a skip if they cannot.
pub(crate) fn can_confine() -> bool {
    let (code, output) = run_script(&Policy::new("/"), "true");
    if code != Some(0) {
        haft_testkit::record_skip("kernel:sandbox", &output);
    }
    code == Some(0)
}
