//! Tests of permissions, which do not bind root.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::record_skip;

/// The user and the group that own nothing.
const NOBODY: u32 = 65534;

/// Set in the child that runs a test again.
const CHILD: &str = "HAFT_UNPRIVILEGED_CHILD";

/// Runs `body` as a user whom permissions bind.
///
/// If they bind the current user, that is all. Root starts the test binary again as a user without rights, with the
/// test `name` alone (its path without the crate), and the child runs `body`.
///
/// # Panics
///
/// If the test fails in the child.
#[expect(clippy::panic, reason = "a test that fails in its child fails")]
pub fn run_unprivileged(name: &str, body: impl FnOnce()) {
    if permissions_bind() {
        return body();
    }
    if std::env::var_os(CHILD).is_some() {
        panic!("permissions do not bind the user of the child");
    }
    let Some(temporary) = directory_of_nobody() else {
        return record_skip("user:unprivileged", "no directory can be given to another user");
    };
    // The path itself may lead through directories that only root can enter; this link does not.
    let binary = Path::new("/proc/self/exe");
    let binary = if binary.exists() { Ok(binary.to_path_buf()) } else { std::env::current_exe() };
    let output = binary.and_then(|binary| {
        let mut child = Command::new(binary);
        child.args([name, "--exact", "--nocapture", "--test-threads=1"]);
        child.env(CHILD, "1").env("TMPDIR", &temporary).current_dir(&temporary);
        child.gid(NOBODY).uid(NOBODY).output()
    });
    let _ = fs::remove_dir_all(&temporary);
    match output {
        Err(error) => {
            record_skip("user:unprivileged", &format!("no child can be started: {error}"))
        }
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            let ran = output.status.success() && text.contains("1 passed");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(ran, "as a user without rights:\n{text}\n{errors}");
        }
    }
}

/// Whether the current user cannot write into a directory that is read-only.
fn permissions_bind() -> bool {
    let dir = fresh_directory();
    let probe = fs::set_permissions(&dir, fs::Permissions::from_mode(0o555))
        .and_then(|()| fs::write(dir.join("probe"), ""));
    let _ = fs::set_permissions(&dir, fs::Permissions::from_mode(0o755));
    let _ = fs::remove_dir_all(&dir);
    probe.is_err()
}

fn directory_of_nobody() -> Option<PathBuf> {
    let dir = fresh_directory();
    chown(&dir, Some(NOBODY), Some(NOBODY)).ok()?;
    Some(dir)
}

#[expect(clippy::panic, reason = "without a temporary directory there is no test")]
fn fresh_directory() -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id());
    let number: String = thread.chars().filter(char::is_ascii_digit).collect();
    let dir = std::env::temp_dir().join(format!("haft-{}-{number}", std::process::id()));
    let made = fs::create_dir_all(&dir)
        .and_then(|()| fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)));
    if let Err(error) = made {
        panic!("{}: {error}", dir.display());
    }
    dir
}
