//! A small process between this program and a command that it runs.
//!
//! If this program ends, in whatever way, the kernel closes its end of the control socket. The supervisor sees that
//! and kills the command with all its descendants. On Linux it adopts descendants that leave the process group and
//! lose their parent, so a daemon does not escape either.
//!
//! A command that is confined runs in a sandbox that the supervisor prepares. The supervisor itself stays outside, where the
//! command cannot reach it.
//!
//! Messages of the supervisor are lines: `failed ERRNO`, `refused REASON`, or `started PID` and later `exited STATUS`, where
//! the status is the number that `wait` returns.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use haft_sandbox::{Policy, Sandbox, VARIABLE_PREFIX};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, wait,
};

use crate::user_error::UserError;

/// The name under which this program runs as a supervisor: its first argument, before all others.
pub(crate) const SUPERVISOR_NAME: &str = "haft-supervisor";

/// The name under which it supervises a command that also reads: its standard output is a socket, which becomes the input
/// and the output of the command.
pub(crate) const STREAM_SUPERVISOR_NAME: &str = "haft-stream-supervisor";

/// The executable of this program. The link of the kernel still works when the file was replaced.
pub(crate) fn own_executable() -> io::Result<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if link.exists() { Ok(link.to_owned()) } else { std::env::current_exe() }
}

/// Supervises a command if this process was started for that.
pub(crate) fn run_if_supervisor() -> Option<ExitCode> {
    let mut args = std::env::args_os();
    let name = args.next()?;
    let has_input = name == OsStr::new(STREAM_SUPERVISOR_NAME);
    if !has_input && name != OsStr::new(SUPERVISOR_NAME) {
        return None;
    }
    let policy = args.next()?;
    let program = args.next()?;
    // The program that started this one cannot be told if the socket is broken.
    let _ = supervise(&policy, Path::new(&program), &args.collect::<Vec<_>>(), has_input);
    Some(ExitCode::SUCCESS)
}

/// The argument of a supervisor that says how its command is confined.
pub(crate) fn policy_argument(policy: Option<&Policy>) -> io::Result<String> {
    let Some(policy) = policy else { return Ok(NOT_CONFINED.to_owned()) };
    if std::env::var_os(NO_SANDBOX).is_some() {
        return Err(io::Error::other(format!("it is confined, and {NO_SANDBOX} is set")));
    }
    Ok(policy.to_argument()?)
}

/// The environment of a supervisor: that of its command, under other names if the command is confined. What the command
/// can write must not decide what runs outside of its sandbox.
pub(crate) fn environment(
    policy: Option<&Policy>,
    variables: impl IntoIterator<Item = (String, OsString)>,
) -> impl Iterator<Item = (String, OsString)> {
    let prefix = if policy.is_some() { VARIABLE_PREFIX } else { "" };
    variables.into_iter().map(move |(name, value)| (format!("{prefix}{name}"), value))
}

/// Checks whether this machine can confine programs.
pub(crate) fn check_sandbox() -> Result<(), UserError> {
    if std::env::var_os(NO_SANDBOX).is_some() {
        return Err(UserError::new(format!("nothing can be confined: {NO_SANDBOX} is set")));
    }
    haft_sandbox::check_system().map_err(|error| {
        let explained = UserError::new(with_causes(&error));
        match error.hint() {
            Some(hint) => explained.hint(hint),
            None => explained,
        }
    })
}

fn supervise(policy: &OsStr, program: &Path, args: &[OsString], has_input: bool) -> io::Result<()> {
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // It must live as long as the command.
    let sandbox = match prepare_sandbox(policy, program) {
        Ok(sandbox) => sandbox,
        Err(error) => return refuse(&mut control, &error),
    };
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let input = match has_input {
        true => Stdio::from(io::stdout().as_fd().try_clone_to_owned()?),
        false => Stdio::null(),
    };
    let command = match &sandbox {
        Some(sandbox) => sandbox.command(program, args).map_err(io::Error::other),
        None => Ok(new_command(program, args)),
    };
    let mut command = match command {
        Ok(command) => command,
        Err(error) => return refuse(&mut control, &error),
    };
    let child = match command.stdin(input).process_group(0).spawn() {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            return writeln!(control, "failed {}", error.raw_os_error().unwrap_or_default());
        }
    };
    // It holds the input of the command, which must close when the command closes it.
    drop(command);
    let watcher = spawn_kill_on_close(control.try_clone()?, child);
    // The ends of the pipes must close when the command closes them.
    let null = OwnedFd::from(File::options().write(true).open("/dev/null")?);
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    let _ = writeln!(control, "started {child}");
    while let Ok(Some((pid, status))) = wait(WaitOptions::empty()) {
        if pid == child {
            let status = match sandbox {
                Some(_) => status_within(status),
                None => status.as_raw(),
            };
            // Without a reader, the watcher is about to kill what is left.
            let _ = writeln!(control, "exited {status}");
        }
    }
    // What the command has left behind may still write output. It ends with the call.
    let _ = watcher.join();
    Ok(())
}

fn new_command(program: &Path, args: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

/// The sandbox of a command that is confined.
fn prepare_sandbox(policy: &OsStr, program: &Path) -> io::Result<Option<Sandbox>> {
    if policy == NOT_CONFINED {
        return Ok(None);
    }
    // Inside, the program could not be told from one that fails.
    if !is_there(program) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let policy = Policy::from_argument(&policy.to_string_lossy())?;
    Sandbox::prepare(&policy).map(Some).map_err(|error| {
        let hint = error.hint().map(|it| format!("; {it}")).unwrap_or_default();
        io::Error::other(format!("it cannot be confined: {}{hint}", with_causes(&error)))
    })
}

/// An error with what caused it.
fn with_causes(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_causes(cause)),
        None => error.to_string(),
    }
}

/// Whether a program exists: at its path, or, if it is a name, in `PATH`.
fn is_there(program: &Path) -> bool {
    if program.components().count() > 1 {
        return program.exists();
    }
    let path = std::env::var_os(format!("{VARIABLE_PREFIX}PATH")).unwrap_or_default();
    std::env::split_paths(&path).any(|it| it.join(program).is_file())
}

/// Says why nothing was started.
fn refuse(control: &mut UnixStream, error: &io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound && error.get_ref().is_none() {
        return writeln!(control, "failed {}", rustix::io::Errno::NOENT.raw_os_error());
    }
    let reason: String = error.to_string().replace('\n', " ").chars().take(MAX_REASON).collect();
    writeln!(control, "refused {reason}")
}

/// The status of a command in a sandbox. The program around it reports a signal as a shell does, by an exit status above 128.
fn status_within(status: WaitStatus) -> i32 {
    match status.exit_status() {
        Some(code @ 129..=192) => code - 128,
        _ => status.as_raw(),
    }
}

/// Waits until the other end of the control socket closes, and kills the command.
fn spawn_kill_on_close(mut control: UnixStream, child: Pid) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut buffer = [0; 16];
        while matches!(control.read(&mut buffer), Ok(1..)) {}
        kill_descendants(child);
    })
}

/// Kills the process group of the command, and then every child of this process until there is none. The children of
/// a killed child become children of this process.
fn kill_descendants(child: Pid) {
    // This fails if no process is left, which is fine.
    let _ = kill_process_group(child, Signal::KILL);
    for _ in 0..KILL_ROUNDS {
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        let children = list_children();
        if children.is_empty() {
            return;
        }
        for child in children {
            let _ = kill_process(child, Signal::KILL);
        }
        thread::sleep(KILL_PAUSE);
    }
}

/// The children of this process, where the system has `/proc`.
fn list_children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let children = entries.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read(entry.path().join("stat")).ok()?;
        (parent_of(&String::from_utf8_lossy(&stat))? == own).then_some(pid)
    });
    children.filter_map(Pid::from_raw).collect()
}

/// The parent in the text of `/proc/PID/stat`. The name of the program may contain spaces and parentheses.
fn parent_of(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

/// Instead of a policy: the command runs with all rights of the user.
const NOT_CONFINED: &str = "-";

/// Set in tests: the system cannot confine anything.
const NO_SANDBOX: &str = "HAFT_NO_SANDBOX";

/// How long a reason can be, in characters.
const MAX_REASON: usize = 1000;

const KILL_ROUNDS: usize = 1000;
const KILL_PAUSE: Duration = Duration::from_millis(5);
