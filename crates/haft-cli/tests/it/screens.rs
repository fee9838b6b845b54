//! What a person sees of `haft` at a terminal of 120 columns, and what a program reads from a pipe.

use std::fs::File;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use haft_testkit::{attach_terminal, render_screen, set_size};
use insta::assert_snapshot;
use rustix::process::{Pid, Signal, kill_process};

use super::redaction::{is_recent_time, redact_durations};

const COLUMNS: u16 = 120;
const ROWS: u16 = 200;

/// Where the output of a command goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputKind {
    Pipe,
    Terminal,
}

/// A stream of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
    Screen,
}

/// A command that runs, with a user who types.
pub(crate) struct Session {
    kind: OutputKind,
    child: Child,
    keys: Option<Box<dyn std::io::Write>>,
    pieces: Receiver<(Stream, Vec<u8>)>,
    seen: Vec<(Stream, Vec<u8>)>,
}

impl Session {
    /// Starts a command.
    pub(crate) fn start(mut command: Command, kind: OutputKind) -> Self {
        let (send, pieces) = channel();
        let (child, keys): (Child, Box<dyn std::io::Write>) = match kind {
            OutputKind::Terminal => {
                let terminal: File = attach_terminal(command.env("TERM", "xterm")).unwrap();
                set_size(&terminal, ROWS, COLUMNS).unwrap();
                let child = command.spawn().unwrap();
                forward(terminal.try_clone().unwrap(), Stream::Screen, send);
                (child, Box::new(terminal))
            }
            OutputKind::Pipe => {
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
                let mut child = command.spawn().unwrap();
                forward(child.stdout.take().unwrap(), Stream::Out, send.clone());
                forward(child.stderr.take().unwrap(), Stream::Err, send);
                let keys = child.stdin.take().unwrap();
                (child, Box::new(keys))
            }
        };
        Self { kind, child, keys: Some(keys), pieces, seen: Vec::new() }
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the command has printed a text so many times.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str, times: usize) {
        let is_there = |seen: &[(Stream, Vec<u8>)]| {
            let count = |stream| text_of(seen, stream).matches(text).count();
            [Stream::Out, Stream::Err, Stream::Screen].into_iter().map(count).sum::<usize>()
                >= times
        };
        while !is_there(&self.seen) {
            let piece = self.pieces.recv_timeout(Duration::from_secs(60));
            let piece = piece.unwrap_or_else(|_| panic!("no `{text}` in {:?}", self.text()));
            self.seen.push(piece);
        }
    }

    /// Waits until the line editor of a terminal has asked for input so many times. A pipe needs no prompt.
    #[track_caller]
    pub(crate) fn wait_for_prompt(&mut self, times: usize) {
        if self.kind == OutputKind::Terminal {
            // Pasted text is marked from here on.
            self.wait_for("\u{1b}[?2004h", times);
        }
    }

    /// Types keys at the terminal, or writes them to the pipe.
    pub(crate) fn type_keys(&mut self, keys: &str) {
        let input = self.keys.as_mut().unwrap();
        input.write_all(keys.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Sends a signal.
    pub(crate) fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the command has ended, and returns its exit code and what it has printed.
    pub(crate) fn finish(mut self) -> String {
        // A terminal stays open, a pipe ends.
        if self.kind == OutputKind::Pipe {
            self.keys = None;
        }
        while let Ok(piece) = self.pieces.recv_timeout(Duration::from_secs(60)) {
            self.seen.push(piece);
        }
        let code = self.child.wait().unwrap().code();
        let code = code.map_or_else(|| "none".to_owned(), |it| it.to_string());
        format!("exit {code}\n{}", self.text()).trim_end().to_owned()
    }

    /// What was printed until now.
    fn text(&self) -> String {
        let printed = self.seen.iter().filter(|(stream, _)| *stream == Stream::Screen);
        let printed: Vec<u8> = printed.flat_map(|(_, bytes)| bytes).copied().collect();
        let mut text = render_screen(&printed, ROWS, COLUMNS);
        for (name, stream) in [("out", Stream::Out), ("err", Stream::Err)] {
            let part = text_of(&self.seen, stream);
            if !part.is_empty() {
                text.push_str(&format!("--- {name}\n{}\n", part.trim_end()));
            }
        }
        text
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Only fails if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text_of(seen: &[(Stream, Vec<u8>)], wanted: Stream) -> String {
    let bytes = seen.iter().filter(|(stream, _)| *stream == wanted).flat_map(|(_, bytes)| bytes);
    String::from_utf8_lossy(&bytes.copied().collect::<Vec<u8>>()).into_owned()
}

fn forward(mut from: impl Read + Send + 'static, stream: Stream, send: Sender<(Stream, Vec<u8>)>) {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            if send.send((stream, buffer.get(..n).unwrap().to_vec())).is_err() {
                break;
            }
        }
    });
}

/// Compares what a command prints to a pipe and at a terminal. `drive` acts as its user, until it ends.
#[track_caller]
pub(crate) fn check_session(
    dir: &Path,
    name: &str,
    title: &str,
    mut start: impl FnMut() -> Command,
    mut drive: impl FnMut(&mut Session),
) {
    let mut run = |kind| {
        let mut session = Session::start(start(), kind);
        let id = session.id().to_string();
        drive(&mut session);
        redact(&session.finish().replace(&id, "PID"), dir)
    };
    let piped = run(OutputKind::Pipe);
    let shown = run(OutputKind::Terminal);
    assert_snapshot!(name, format!("$ {title} | cat\n{piped}\n\n$ {title}\n{shown}"));
}

/// Replaces what differs from run to run: ids, hashes, ports, the directory of the test, and times and durations that are
/// plausible.
pub(crate) fn redact(text: &str, dir: &Path) -> String {
    let text = text.replace(dir.to_str().unwrap(), "DIR");
    // A worker may be told to stop before it has given the lease of an ended turn back.
    let text = text.replace("waiting for 1 turn\n", "waiting for 0 turns\n");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let token: String = rest.chars().take_while(|it| is_word(*it) == is_word(first)).collect();
        rest = rest.get(token.len()..).unwrap();
        match token.as_str() {
            it if is_recent_time(it) => out.push_str("AT"),
            it if is_random(it) => out.push_str("ID"),
            it if it.starts_with("chat-") => out.push_str("CHAT"),
            it if it.starts_with("127.0.0.1:") => out.push_str("127.0.0.1:PORT"),
            it if it.trim_start_matches(' ').is_empty() && it.len() > 2 && !out.ends_with('\n') => {
                out.push_str("  ");
            }
            it => out.push_str(it),
        }
    }
    redact_durations(&out)
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | ':')
}

/// Eight or more hexadecimal digits, with groups or without.
fn is_random(token: &str) -> bool {
    let digits = token.chars().filter(|it| *it != '-');
    token.len() >= 8
        && digits.clone().all(|it| it.is_ascii_hexdigit())
        && digits.clone().any(|it| it.is_ascii_digit())
}
