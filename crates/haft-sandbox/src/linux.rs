//! Confined programs on Linux: `bwrap` makes namespaces, and a stage of this program inside sets the rest.

mod layout;
mod placeholder;
mod search;
mod stage;
mod syscall_filter;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use landlock::{AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _};
use rustix::io::FdFlags;

use self::layout::{Layout, Mount};
use self::placeholder::Placeholder;
use self::stage::Plan;
pub use self::stage::run_helper;
use crate::{Policy, SandboxError};

/// What a policy means for this system.
#[derive(Debug)]
pub(crate) struct Prepared {
    bwrap: &'static Path,
    /// This program, whose descriptor `bwrap` inherits.
    own: File,
    dir: PathBuf,
    layout: Layout,
    plan: String,
    _placeholders: Vec<Placeholder>,
}

impl Prepared {
    pub(crate) fn of(policy: &Policy) -> Result<Self, SandboxError> {
        let bwrap = find_bwrap()?;
        check_landlock()?;
        let (layout, placeholders) = Layout::of(policy)?;
        let plan = Plan::of(&layout)?.to_argument()?;
        let own = open_own_program().map_err(|it| SandboxError::io("opening this program", it))?;
        let dir = layout.dir().to_owned();
        Ok(Self { bwrap, own, dir, layout, plan, _placeholders: placeholders })
    }

    pub(crate) fn command<S: AsRef<OsStr>>(
        &self,
        program: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Command, SandboxError> {
        let mut command = Command::new(self.bwrap);
        command.args(NAMESPACES);
        command.args(self.mounts());
        command.arg("--chdir").arg(&self.dir).arg("--");
        command.arg(format!("/proc/self/fd/{}", self.own.as_raw_fd()));
        command.arg(stage::STAGE_NAME).arg(&self.plan).arg(program).args(args);
        Ok(command)
    }

    fn mounts(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        let mut read_only = Vec::new();
        for (path, mount) in self.layout.mounts() {
            let option = match mount {
                Mount::Private => {
                    args.extend(["--size".into(), PRIVATE_BYTES.into()]);
                    "--tmpfs"
                }
                Mount::Hidden { is_dir: true } => {
                    read_only.extend(["--remount-ro".into(), path.into()]);
                    "--tmpfs"
                }
                Mount::Hidden { is_dir: false } => {
                    args.extend(["--ro-bind".into(), "/dev/null".into(), path.into()]);
                    continue;
                }
                Mount::Devices => "--dev",
                Mount::Processes => "--proc",
                Mount::Writable | Mount::Pinned => {
                    args.extend(["--bind".into(), path.into()]);
                    args.push(path.into());
                    continue;
                }
                Mount::Readable | Mount::Protected => {
                    args.extend(["--ro-bind".into(), path.into()]);
                    args.push(path.into());
                    continue;
                }
            };
            args.extend([option.into(), path.into()]);
        }
        args.extend(read_only);
        args
    }
}

/// Checks whether programs can be confined here, by running one.
///
/// # Errors
///
/// What is missing.
pub fn check_system() -> Result<(), SandboxError> {
    let sandbox = Prepared::of(&Policy::new("/"))?;
    let mut command = sandbox.command(Path::new("/bin/true"), [""; 0])?;
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null());
    let output = command.output().map_err(|it| SandboxError::io("running `bwrap`", it))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let missing = format!("the system allows no namespaces ({})", text.trim());
    Err(SandboxError::Unavailable { missing, hint: NAMESPACE_HINT })
}

/// `bwrap` where the system installs it. One that another user could have put there is not used.
fn find_bwrap() -> Result<&'static Path, SandboxError> {
    let places = BWRAP_PLACES.iter().map(Path::new);
    let is_safe = |path: &&Path| {
        std::fs::metadata(path)
            .is_ok_and(|it| it.is_file() && it.uid() == 0 && it.mode() & 0o022 == 0)
    };
    let unavailable = || SandboxError::Unavailable {
        missing: "the program `bwrap` is not installed".to_owned(),
        hint: "install it: apt install bubblewrap",
    };
    places.into_iter().find(is_safe).ok_or_else(unavailable)
}

fn check_landlock() -> Result<(), SandboxError> {
    let required = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    // The oldest right of all. Nothing is restricted here.
    let created = required.handle_access(AccessFs::WriteFile).and_then(Ruleset::create);
    let unavailable = |_| SandboxError::Unavailable {
        missing: "the kernel has no Landlock".to_owned(),
        hint: "use Linux 5.13 or newer, with `landlock` among its security modules (`lsm=` of the kernel)",
    };
    created.map(drop).map_err(unavailable)
}

/// The file of this process, even if another one has taken its path.
fn open_own_program() -> io::Result<File> {
    let file = File::open("/proc/self/exe")?;
    rustix::io::fcntl_setfd(file.as_fd(), FdFlags::empty())?;
    Ok(file)
}

const BWRAP_PLACES: [&str; 2] = ["/usr/bin/bwrap", "/bin/bwrap"];

/// What every confined program gets.
const NAMESPACES: [&str; 11] = [
    "--unshare-user",
    "--disable-userns",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
];

const NAMESPACE_HINT: &str = "allow user namespaces to ordinary users; a container needs a filter of system calls that lets `bwrap` make them";

/// How much a private directory can hold.
const PRIVATE_BYTES: &str = "2147483648";
