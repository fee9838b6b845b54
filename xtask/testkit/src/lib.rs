//! What the tests of the workspace share: finding what is not part of the repository, and saying so when it is missing.
//!
//! A test that needs a suite, a server or a program that is not there calls one of these functions and returns. The
//! missing thing is recorded below `target/skipped`; `cargo xtask ci` prints the list at its end, and fails if it holds
//! something that `xtask/exceptions.txt` does not name.

#[cfg(unix)]
mod privileges;
#[cfg(unix)]
mod servers;
#[cfg(all(unix, feature = "terminal"))]
mod terminal;

#[cfg(unix)]
pub use privileges::run_unprivileged;
#[cfg(unix)]
pub use servers::{PostgresServer, RestateServer, S3Server};
#[cfg(all(unix, feature = "terminal"))]
pub use terminal::{Terminal, attach_terminal, render_screen, set_size};

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Records that the current test is left out, and returns from it.
///
/// The first argument names the need as `kind:name`, which is what `xtask/exceptions.txt` lists; the rest is the
/// reason, as for `format!`.
#[macro_export]
macro_rules! skip {
    ($need:expr, $($reason:tt)+) => {{
        $crate::record_skip($need, &format!($($reason)+));
        return;
    }};
}

/// Records that the current test leaves something out, without ending it.
///
/// # Panics
///
/// If the record cannot be written: an invisible skip must not pass.
#[expect(clippy::panic, reason = "a skip that cannot be recorded fails its test")]
pub fn record_skip(need: &str, reason: &str) {
    let file = workspace().join("target/skipped/tests.txt");
    let line = format!("{need}\t{}\t{}\n", test_name(), reason.replace(['\n', '\t'], " "));
    let written = fs::create_dir_all(file.parent().unwrap_or(&file))
        .and_then(|()| OpenOptions::new().create(true).append(true).open(&file))
        .and_then(|mut open| open.write_all(line.as_bytes()));
    if let Err(error) = written {
        panic!("the skip `{}` cannot be recorded in {}: {error}", line.trim(), file.display());
    }
}

/// A file or a directory of the external suites: below `HAFT_SUITES`, or where `cargo xtask setup` installs what the
/// package registries have. Records a skip if it is in neither.
#[must_use]
pub fn suite(name: &str) -> Option<PathBuf> {
    let given = std::env::var_os("HAFT_SUITES").map(PathBuf::from);
    let places = [given, Some(workspace().join("target/suites"))];
    let found = places.into_iter().flatten().map(|it| it.join(name)).find(|it| it.exists());
    if found.is_none() {
        let reason = "`cargo xtask setup` installs it, or the directory in HAFT_SUITES holds it";
        record_skip(&format!("suite:{name}"), reason);
    }
    found
}

/// The directory of installed servers, if it has this file. Records a skip for `server:name` otherwise.
#[must_use]
pub fn server(name: &str, file: &str) -> Option<PathBuf> {
    let dir = workspace().join("target/servers");
    if dir.join(file).exists() {
        return Some(dir);
    }
    record_skip(&format!("server:{name}"), "`cargo xtask setup` installs it");
    None
}

/// Whether a program is on this machine. Records a skip if it is not.
#[must_use]
pub fn has_program(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let found = command.status().is_ok();
    if !found {
        record_skip(&format!("program:{name}"), "it is not installed");
    }
    found
}

/// How many cases a property test tries: `usual`, times the factor in `HAFT_CASES_FACTOR`, which `cargo xtask soak`
/// sets.
#[must_use]
pub fn cases(usual: u32) -> u32 {
    let factor: u64 = variable("HAFT_CASES_FACTOR").unwrap_or(1);
    u32::try_from(u64::from(usual).saturating_mul(factor)).unwrap_or(u32::MAX)
}

/// The size of a large content: `usual` bytes, or those in `HAFT_LARGE_BYTES`, which `cargo xtask soak` sets.
#[must_use]
pub fn large_bytes(usual: u64) -> u64 {
    variable("HAFT_LARGE_BYTES").unwrap_or(usual)
}

fn variable(name: &str) -> Option<u64> {
    std::env::var_os(name)?.to_str()?.parse().ok()
}

/// The root of the workspace whose test runs: the closest directory above the tested crate with a `Cargo.lock`.
fn workspace() -> PathBuf {
    let tested = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = tested.ancestors().find(|it| it.join("Cargo.lock").is_file());
    root.map_or_else(|| tested.clone(), Path::to_path_buf)
}

/// The name of the test that calls, as its runner knows it.
fn test_name() -> String {
    let package = std::env::var_os("CARGO_PKG_NAME").unwrap_or_default();
    let thread = std::thread::current();
    // The main thread runs the test itself if it is asked for by its exact name.
    let asked = || std::env::args().nth(1).filter(|it| !it.starts_with('-'));
    let name = match thread.name() {
        Some("main") | None => asked().unwrap_or_else(|| "?".to_owned()),
        Some(name) => name.to_owned(),
    };
    format!("{}::{name}", package.to_string_lossy())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_skip_names_the_test() {
        assert_eq!(super::test_name(), "haft-testkit::tests::a_skip_names_the_test");
    }

    #[test]
    fn the_workspace_is_above_this_crate() {
        assert!(super::workspace().join("xtask/testkit/Cargo.toml").is_file());
    }

    #[cfg(unix)]
    #[test]
    fn permissions_bind_in_the_body() {
        use std::os::unix::fs::PermissionsExt as _;
        crate::run_unprivileged("tests::permissions_bind_in_the_body", || {
            let file = std::env::temp_dir().join(format!("haft-read-only-{}", std::process::id()));
            std::fs::write(&file, "a").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
            std::fs::write(&file, "b").unwrap_err();
            std::fs::remove_file(&file).unwrap();
        });
    }
}
