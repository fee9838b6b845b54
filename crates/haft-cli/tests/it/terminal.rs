//! `haft` in front of somebody: a real terminal, keys and all.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{asking_agent, haft, ran};

/// A program at a terminal.
struct Seat {
    child: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
}

impl Seat {
    fn new(folder: &Path, words: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let open = || Stdio::from(OpenOptions::new().read(true).write(true).open(&name).unwrap());
        let mut command = haft(folder);
        command.args(words).env("TERM", "xterm").stdin(open()).stdout(open()).stderr(open());
        let child = command.spawn().unwrap();
        drop(command);
        let keys = File::from(master);
        let (mut read, (send, screen)) = (keys.try_clone().unwrap(), channel());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = read.read(&mut buffer) {
                if send.send(buffer.get(..n).unwrap().to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keys, screen, seen: String::new() }
    }

    /// Waits until something stands on the screen that was not there before.
    #[track_caller]
    fn waits_for(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let piece = self.screen.recv_timeout(Duration::from_secs(60));
            let piece = piece.unwrap_or_else(|_| panic!("no `{text}` in {}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
        let (_, rest) = self.seen.split_once(text).unwrap();
        self.seen = rest.to_owned();
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Ctrl-C, as a terminal tells a program of it.
    fn interrupts(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    fn ends(mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap()
    }
}

/// An agent whose question would clear the screen.
fn agent(folder: &Path) {
    asking_agent(folder, r"May I \u001b[2Jmake this file?");
}

#[test]
fn whoever_is_there_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    agent(folder.path());
    let made = folder.path().join("a/made");
    let mut no = Seat::new(folder.path(), &["run", "a"]);
    // What would clear the screen is shown instead.
    no.waits_for("May I \u{fffd}[2Jmake this file?");
    no.waits_for("allow it? [y/N] ");
    no.types("n\n");
    no.waits_for("E_TURN_GATE_REJECTED");
    no.waits_for("completed: 2 steps, 1 call");
    assert_eq!((no.ends(), made.exists()), (0, false));
    let mut yes = Seat::new(folder.path(), &["run", "a"]);
    yes.waits_for("allow it? [y/N] ");
    yes.types("y\n");
    yes.waits_for("over");
    assert_eq!((yes.ends(), made.exists()), (0, true));
}

#[test]
fn ctrl_c_at_a_question_cancels_the_turn() {
    let folder = tempfile::tempdir().unwrap();
    agent(folder.path());
    let mut seat = Seat::new(folder.path(), &["run", "a"]);
    seat.waits_for("allow it? [y/N] ");
    seat.interrupts();
    seat.waits_for("cancelled");
    assert_eq!(seat.ends(), 130);
    assert!(!folder.path().join("a/made").exists());
}

#[test]
fn somebody_else_may_answer_first() {
    let folder = tempfile::tempdir().unwrap();
    agent(folder.path());
    let mut seat = Seat::new(folder.path(), &["run", "a"]);
    seat.waits_for("allow it? [y/N] ");
    let gates = ran(folder.path(), &["gates", "--json"]);
    let gate = gates.split("\"gate\":\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(ran(folder.path(), &["approve", gate]).starts_with("exit 0"));
    seat.waits_for("it was answered elsewhere");
    seat.waits_for("over");
    assert_eq!(seat.ends(), 0);
}

/// Ctrl-C ends an answer; the talk goes on, with what was said before.
#[test]
fn a_talk_outlives_its_turns() {
    let folder = tempfile::tempdir().unwrap();
    agent(folder.path());
    let mut seat = Seat::new(folder.path(), &["chat", "a"]);
    seat.waits_for("--conversation ");
    seat.waits_for("> ");
    seat.types("first\r");
    seat.waits_for("allow it? [y/N] ");
    seat.interrupts();
    seat.waits_for("cancelled");
    seat.waits_for("> ");
    seat.types("second\n");
    seat.waits_for("allow it? [y/N] ");
    seat.types("y\n");
    seat.waits_for("completed");
    seat.waits_for("> ");
    // Ctrl-C with nothing to stop.
    seat.types("\u{3}");
    seat.waits_for("ends the talk");
    seat.waits_for("> ");
    seat.types("\u{4}");
    assert_eq!(seat.ends(), 0);
    let turns = ran(folder.path(), &["turns", "--json"]);
    let conversation =
        turns.split("\"conversation\":\"").nth(1).unwrap().split('"').next().unwrap();
    let said = |words: &[&str]| {
        ran(folder.path(), words);
        let newest = ran(folder.path(), &["turns", "--limit", "1", "--json"]);
        let id = newest.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        ran(folder.path(), &["show", &id])
    };
    let shown = said(&["turns"]);
    assert!(shown.contains("first") && shown.contains("second"), "{shown}");
    // Another process goes on with it; its end of input is the end of the talk.
    let third = folder.path().join("third");
    std::fs::write(&third, "third\n").unwrap();
    let mut later = haft(folder.path());
    later.args(["chat", "a", "--yes", "--conversation", conversation]);
    assert!(later.stdin(File::open(third).unwrap()).output().unwrap().status.success());
    let shown = said(&["turns"]);
    for word in ["first", "second", "over", "third"] {
        assert!(shown.contains(word), "{shown}");
    }
    let unknown = ran(folder.path(), &["chat", "a", "--conversation", "nope"]);
    assert!(unknown.starts_with("exit 3"), "{unknown}");
}
