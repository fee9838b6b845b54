//! Whether the process that holds a lease is provably dead.
//!
//! A lease whose holder died is free when it expires. On one machine the others can know it at once: the mark of a process
//! names the running system, the namespace of its process id, the id, and the time at which the process started. Only if
//! all of this can be read, and the first two are those of the process that asks, the end of the other one is certain.

/// The mark of this process, or `None` if the system does not tell it.
pub(crate) fn read_own_mark() -> Option<String> {
    #[cfg(target_os = "linux")]
    {
        let pid = std::process::id();
        // Another namespace may have mounted its view of the processes here.
        let seen = std::fs::read_link("/proc/self").ok()?;
        if seen.to_str()? != pid.to_string() {
            return None;
        }
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
        let start = read_start(pid)?;
        Some(format!("{} {} {pid} {start}", boot.trim(), namespace.to_str()?))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Whether the process of a mark has ended, as the process with the mark `own` sees it. Everything that is not certain
/// counts as alive.
pub(crate) fn is_dead(mark: &str, own: &str) -> bool {
    let Some((machine, pid, start)) = split_mark(mark) else { return false };
    let is_same_machine = split_mark(own).is_some_and(|(own, ..)| own == machine);
    is_same_machine && has_ended(pid, start)
}

/// The machine with its namespace, the process id, and the start of the process.
fn split_mark(mark: &str) -> Option<(&str, u32, u64)> {
    let (rest, start) = mark.rsplit_once(' ')?;
    let (machine, pid) = rest.rsplit_once(' ')?;
    Some((machine, pid.parse().ok()?, start.parse().ok()?))
}

#[cfg(target_os = "linux")]
fn has_ended(pid: u32, start: u64) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let Some(raw) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    match test_kill_process(raw) {
        // The files of a process may be hidden from other users, and its id is not.
        Err(error) => error == rustix::io::Errno::SRCH,
        // Another process may have got the id.
        Ok(()) => read_start(pid).is_some_and(|found| found != start),
    }
}

#[cfg(not(target_os = "linux"))]
fn has_ended(_: u32, _: u64) -> bool {
    false
}

/// When a process started, in ticks since the system did.
#[cfg(target_os = "linux")]
fn read_start(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program comes before, in parentheses, and can have any characters.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(START_FIELD)?.parse().ok()
}

/// The place of the start among the fields behind the name of the program.
#[cfg(target_os = "linux")]
const START_FIELD: usize = 19;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{is_dead, read_own_mark, read_start};

    #[test]
    fn only_what_is_certain_counts_as_dead() {
        let own = read_own_mark().unwrap();
        let (machine, pid, start) = super::split_mark(&own).unwrap();
        let mark = |pid: u32, start: u64| format!("{machine} {pid} {start}");
        assert!(!is_dead(&own, &own), "this process lives");
        assert!(is_dead(&mark(pid, start + 1), &own), "another process has the id");
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = mark(child.id(), read_start(child.id()).unwrap());
        assert!(!is_dead(&of_child, &own));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_dead(&of_child, &own));
        for unsure in [format!("elsewhere {}", &of_child), String::new(), mark(0, 1)] {
            assert!(!is_dead(&unsure, &own), "{unsure}");
        }
        assert!(!is_dead(&of_child, ""));
    }
}
