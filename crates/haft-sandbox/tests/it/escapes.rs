//! Programs that try to leave a sandbox: each succeeds without one, and none within.
//!
//! They use the variables `A` (the agent's directory, which is writable), `W` (another writable directory), `O` (a directory
//! that is not), `VICTIM` (another process), `PORT`, `UDP`, `NAME` and `KEY` (servers and memory of others). A program has
//! succeeded if it prints `ESCAPED` or a secret, or if something outside has changed or was reached.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::confined::{can_confine, helper};
use crate::world::{TOKEN, World};

#[test]
fn no_escape_succeeds() {
    check_all();
}

#[test]
fn no_escape_succeeds_as_an_ordinary_user() {
    haft_testkit::run_unprivileged("escapes::no_escape_succeeds_as_an_ordinary_user", check_all);
}

/// Runs every program without and within a sandbox.
fn check_all() {
    if !can_confine() {
        return;
    }
    let is_root = fs::read_to_string("/proc/self/status").unwrap().contains("Uid:\t0");
    let all: Vec<Escape> = escapes().into_iter().filter(|it| is_root || !it.needs_root).collect();
    let next = AtomicUsize::new(0);
    let harmless = Mutex::new(Vec::new());
    let escaped = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(escape) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (outside, text) = escape.run(false);
                    if outside.is_none() {
                        harmless.lock().unwrap().push(format!("{}: {text}", escape.name));
                    }
                    let (within, text) = escape.run(true);
                    if let Some(evidence) = within {
                        escaped
                            .lock()
                            .unwrap()
                            .push(format!("{}: {evidence}: {text}", escape.name));
                    }
                }
            });
        }
    });
    let escaped = escaped.into_inner().unwrap();
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
    // Some kernels do not have all that the programs use.
    let harmless = harmless.into_inner().unwrap();
    assert!(all.len() - harmless.len() >= 80, "{}", harmless.join("\n"));
}

struct Escape {
    name: &'static str,
    is_python: bool,
    needs_root: bool,
    script: &'static str,
}

fn escapes() -> Vec<Escape> {
    let parts = include_str!("escapes.txt").split("\n=== ").skip(1);
    let escape = |part: &'static str| {
        let (head, script) = part.split_once('\n').unwrap();
        let (language, name) = head.split_once(' ').unwrap();
        let needs_root = name.ends_with("(root)");
        Escape { name, is_python: language == "py", needs_root, script }
    };
    parts.map(escape).collect()
}

impl Escape {
    /// Runs the program. Returns the evidence of its success, and what it printed.
    fn run(&self, is_confined: bool) -> (Option<String>, String) {
        let mut world = World::new();
        let mut command = Command::new("/usr/bin/timeout");
        command.args(["30", "/bin/sh", "-c", OPEN_AND_RUN, "sh"]);
        if is_confined {
            command.arg(helper()).arg(world.policy().to_argument().unwrap());
        }
        match self.is_python {
            true => command
                .args(["/usr/bin/python3", "-I", "-S", "-c"])
                .arg(PRELUDE.to_owned() + self.script),
            false => command.args(["/bin/sh", "-c", self.script]),
        };
        command.env_clear().envs(world.variables()).current_dir(world.path("agent"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let output = thread::spawn(move || {
            let mut text = Vec::new();
            stdout.read_to_end(&mut text).unwrap();
            text
        });
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).unwrap();
            text
        });
        let status = child.wait().unwrap();
        // What has outlived the command does its work now.
        fs::write(world.path("agent/go"), "").unwrap();
        let output = output.join().unwrap();
        let errors = String::from_utf8_lossy(&errors.join().unwrap()).into_owned();
        let output = String::from_utf8_lossy(&output).into_owned();
        let last = errors.trim_end().lines().last().unwrap_or_default();
        assert!(!errors.contains("haft: "), "{}: {errors}", self.name);
        let is_printed = output.contains(TOKEN) || output.contains("ESCAPED");
        let evidence = is_printed.then(|| "printed".to_owned()).or_else(|| world.evidence());
        (evidence, format!("{status}, {last}"))
    }
}

/// Leaves descriptors open, as a careless program would.
const OPEN_AND_RUN: &str = r#"exec 7<"$O" 8<"$O/hidden.txt"; exec "$@""#;

const PRELUDE: &str = r#"
import ctypes, fcntl, mmap, os, resource, socket, struct, subprocess, threading, time
A = os.environ["A"]; W = os.environ["W"]; O = os.environ["O"]; NAME = os.environ["NAME"]; KEY = os.environ["KEY"]
VICTIM = int(os.environ["VICTIM"]); PORT = int(os.environ["PORT"]); UDP = int(os.environ["UDP"])
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *args):
    return libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
"#;
