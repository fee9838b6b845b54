//! A small process between this program and a command that it runs.
//!
//! If this program ends, in whatever way, the kernel closes its end of the control socket. The supervisor sees that
//! and kills the command with all its descendants. On Linux it adopts descendants that leave the process group and
//! lose their parent, so a daemon does not escape either.
//!
//! Messages of the supervisor are lines: `failed ERRNO`, or `started PID` and later `exited STATUS`, where the status
//! is the number that `wait` returns.

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

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, wait};

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
    let program = args.next()?;
    // The program that started this one cannot be told if the socket is broken.
    let _ = supervise(&program, args.collect(), has_input);
    Some(ExitCode::SUCCESS)
}

fn supervise(program: &OsStr, args: Vec<OsString>, has_input: bool) -> io::Result<()> {
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let input = match has_input {
        true => Stdio::from(io::stdout().as_fd().try_clone_to_owned()?),
        false => Stdio::null(),
    };
    let spawned = Command::new(program).args(args).stdin(input).process_group(0).spawn();
    let child = match spawned {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            return writeln!(control, "failed {}", error.raw_os_error().unwrap_or_default());
        }
    };
    let watcher = spawn_kill_on_close(control.try_clone()?, child);
    // The ends of the pipes must close when the command closes them.
    let null = OwnedFd::from(File::options().write(true).open("/dev/null")?);
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    let _ = writeln!(control, "started {child}");
    while let Ok(Some((pid, status))) = wait(WaitOptions::empty()) {
        if pid == child {
            // Without a reader, the watcher is about to kill what is left.
            let _ = writeln!(control, "exited {}", status.as_raw());
        }
    }
    // What the command has left behind may still write output. It ends with the call.
    let _ = watcher.join();
    Ok(())
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

const KILL_ROUNDS: usize = 1000;
const KILL_PAUSE: Duration = Duration::from_millis(5);
