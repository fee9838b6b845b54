//! The stage inside of the namespaces: checks the mounts, gives up rights, and becomes the program.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::fs::StatVfsMountFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::layout::{Layout, Mount};
use super::syscall_filter;
use crate::{SandboxError, VARIABLE_PREFIX};

/// The first argument of a process that is a stage.
pub(super) const STAGE_NAME: &str = "haft-sandbox-stage";

/// What the stage expects to find, and which paths stay writable.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    writable: Vec<PathBuf>,
    expected: Vec<Expected>,
}

/// A path and the file at it outside of the sandbox. Between the search and the mounts, someone may have moved it.
#[derive(Debug, Serialize, Deserialize)]
struct Expected {
    path: PathBuf,
    device: u64,
    inode: u64,
    view: View,
}

/// What the program must see at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum View {
    Same,
    SameReadOnly,
    Other,
}

impl Plan {
    pub(super) fn of(layout: &Layout) -> Result<Self, SandboxError> {
        let mut plan = Self { writable: Vec::new(), expected: Vec::new() };
        for (path, mount) in layout.mounts() {
            let view = match mount {
                Mount::Private | Mount::Devices => {
                    plan.writable.push(path.to_owned());
                    continue;
                }
                Mount::Processes => continue,
                Mount::Writable => {
                    plan.writable.push(path.to_owned());
                    View::Same
                }
                Mount::Pinned => View::Same,
                Mount::Readable | Mount::Protected => View::SameReadOnly,
                Mount::Hidden { .. } => View::Other,
            };
            let found = fs::symlink_metadata(path).map_err(|it| SandboxError::path(path, it))?;
            let path = path.to_owned();
            plan.expected.push(Expected { path, device: found.dev(), inode: found.ino(), view });
        }
        Ok(plan)
    }

    pub(super) fn to_argument(&self) -> Result<String, SandboxError> {
        let text = serde_json::to_string(self);
        text.map_err(|it| SandboxError::io("passing on the paths", it.into()))
    }
}

/// Does the work of a helper process, if this process is one: the program calls this at the beginning of `main`, before it
/// starts a thread, and ends with the code that is returned. A stage that succeeds becomes the confined program and does not
/// return.
#[must_use]
pub fn run_helper() -> Option<u8> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != STAGE_NAME {
        return None;
    }
    let error = match confine(args) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    // Nobody is left to be told if this fails.
    let _ = writeln!(io::stderr(), "haft: {error}");
    Some(CANNOT_RUN)
}

enum Never {}

fn confine(mut args: impl Iterator<Item = OsString>) -> io::Result<Never> {
    let incomplete = || io::Error::other("the arguments of the sandbox are not complete");
    let plan = args.next().ok_or_else(incomplete)?;
    let plan: Plan = serde_json::from_str(&plan.to_string_lossy())?;
    let program = args.next().ok_or_else(incomplete)?;
    close_inherited()?;
    for expected in &plan.expected {
        expected.check()?;
    }
    limit_resources()?;
    restrict_writes(&plan.writable)?;
    syscall_filter::install()?;
    let mut command = Command::new(&program);
    command.args(args).env_clear().envs(variables());
    let error = command.exec();
    let shown = Path::new(&program).display().to_string();
    Err(io::Error::new(error.kind(), format!("`{shown}` cannot be run in the sandbox: {error}")))
}

/// The variables of the program, by their own names.
fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.as_bytes().strip_prefix(VARIABLE_PREFIX.as_bytes())?;
        // Its directories for temporary files are its own.
        (name != b"TMPDIR").then(|| (OsStr::from_bytes(name).to_owned(), value))
    })
}

impl Expected {
    fn check(&self) -> io::Result<()> {
        let found = fs::symlink_metadata(&self.path)?;
        let is_same = (found.dev(), found.ino()) == (self.device, self.inode);
        let is_right = match self.view {
            View::Same => is_same,
            View::SameReadOnly => is_same && is_read_only(&self.path)?,
            View::Other => !is_same && is_read_only(&self.path)?,
        };
        // What hides a file is a device that cannot be opened.
        let is_right =
            is_right && (is_same || found.is_dir() || found.file_type().is_char_device());
        match is_right {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "`{}` has changed while the sandbox was prepared",
                self.path.display()
            ))),
        }
    }
}

fn is_read_only(path: &Path) -> io::Result<bool> {
    Ok(rustix::fs::statvfs(path)?.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Closes everything but the standard streams.
fn close_inherited() -> io::Result<()> {
    let entries = fs::read_dir("/proc/self/fd")?;
    let numbers: Vec<i32> =
        entries.flatten().filter_map(|it| it.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|it| *it > 2) {
        // One of them was the directory itself.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}

fn limit_resources() -> io::Result<()> {
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    let limit =
        getrlimit(Resource::Nproc).maximum.map_or(MAX_PROCESSES, |it| it.min(MAX_PROCESSES));
    setrlimit(Resource::Nproc, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    Ok(())
}

/// Takes away the right to write outside of these paths. What else the kernel can restrict, it does.
fn restrict_writes(writable: &[PathBuf]) -> io::Result<()> {
    let abi = ABI::V6;
    let handled = AccessFs::from_write(abi);
    // A directory holds no new devices.
    let devices: BitFlags<AccessFs> = AccessFs::MakeChar | AccessFs::MakeBlock;
    let ruleset = landlock::Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let restricted = ruleset
        .handle_access(handled)
        .and_then(|it| it.scope(Scope::from_all(abi)))
        .and_then(landlock::Ruleset::create)
        .and_then(|it| it.add_rules(path_beneath_rules(writable, handled & !devices)))
        .and_then(landlock::RulesetCreated::restrict_self)
        .map_err(io::Error::other)?;
    match restricted.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::other("Landlock is not enforced")),
        _ => Ok(()),
    }
}

/// The exit status of a program that did not start.
const CANNOT_RUN: u8 = 126;

/// How many processes an ordinary user can have in the sandbox.
const MAX_PROCESSES: u64 = 4096;
