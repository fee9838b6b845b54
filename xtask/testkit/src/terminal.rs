//! A program at a pseudo-terminal, with a user who types.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// How long a program may print nothing that is waited for.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A process at a terminal. It is killed with this value.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keys: File,
    pieces: Receiver<Vec<u8>>,
    /// Everything that was printed.
    printed: Vec<u8>,
    /// What was printed and not yet waited for.
    seen: String,
}

impl Terminal {
    /// Starts a command at a terminal of this size; 0 if the terminal does not tell it.
    ///
    /// # Errors
    ///
    /// The system has no terminal, or the command cannot be started.
    pub fn start(mut command: Command, rows: u16, columns: u16) -> io::Result<Self> {
        let keys = attach_terminal(command.env("TERM", "xterm"))?;
        set_size(&keys, rows, columns)?;
        let child = command.spawn()?;
        // The command holds the other end of the terminal, which must end with the child.
        drop(command);
        let (mut read, (send, pieces)) = (keys.try_clone()?, channel());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = read.read(&mut buffer) {
                let piece = buffer.get(..count).unwrap_or_default().to_vec();
                if send.send(piece).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, keys, pieces, printed: Vec::new(), seen: String::new() })
    }

    /// Waits until new text contains this text, and returns what is before it.
    ///
    /// # Panics
    ///
    /// If the text does not come.
    #[track_caller]
    #[expect(clippy::panic, reason = "a text that does not come fails the test")]
    pub fn wait_for(&mut self, text: &str) -> String {
        loop {
            if let Some((before, rest)) = self.seen.split_once(text) {
                let before = before.to_owned();
                let rest = rest.to_owned();
                self.seen = rest;
                return before;
            }
            if !self.read_piece(MAX_WAIT) {
                panic!("no `{text}` in {}", self.seen);
            }
        }
    }

    /// Reads what the program prints next; `false` if it prints nothing for so long, or has ended.
    pub fn read_piece(&mut self, limit: Duration) -> bool {
        let Ok(piece) = self.pieces.recv_timeout(limit) else { return false };
        self.seen.push_str(&String::from_utf8_lossy(&piece));
        self.printed.extend(piece);
        true
    }

    /// Everything that was printed until now.
    #[must_use]
    pub fn printed(&self) -> &[u8] {
        &self.printed
    }

    /// Sends keys.
    ///
    /// # Errors
    ///
    /// The terminal is closed.
    pub fn type_keys(&mut self, keys: &str) -> io::Result<()> {
        self.keys.write_all(keys.as_bytes())
    }

    /// Changes the size of the terminal, of which the program is told.
    ///
    /// # Errors
    ///
    /// The terminal is closed.
    pub fn resize(&self, rows: u16, columns: u16) -> io::Result<()> {
        set_size(&self.keys, rows, columns)
    }

    /// The process.
    #[must_use]
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends the signal of Ctrl-C to the process.
    ///
    /// # Errors
    ///
    /// The process has ended.
    pub fn interrupt(&self) -> io::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::INT)?)
    }

    /// Waits for the end of the process and returns its exit code.
    ///
    /// # Errors
    ///
    /// A signal ended the process, or the system cannot say how it ended.
    pub fn wait_for_exit(mut self) -> io::Result<i32> {
        let status = self.child.wait()?;
        status.code().ok_or_else(|| io::Error::other(status.to_string()))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Fails if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connects a command to a new pseudo-terminal, and returns the other end of it.
///
/// # Errors
///
/// The system has no terminal.
pub fn attach_terminal(command: &mut Command) -> io::Result<File> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let name = name.to_str().map_err(io::Error::other)?.to_owned();
    let open = || OpenOptions::new().read(true).write(true).open(&name).map(Stdio::from);
    command.stdin(open()?).stdout(open()?).stderr(open()?);
    Ok(File::from(master))
}

/// Tells a terminal its size.
///
/// # Errors
///
/// The terminal is closed.
pub fn set_size(terminal: &File, rows: u16, columns: u16) -> io::Result<()> {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(terminal, size)?)
}

/// What a person sees after a program has printed this to a terminal, without white space at the end of lines.
#[must_use]
pub fn render_screen(printed: &[u8], rows: u16, columns: u16) -> String {
    let size = |it| NonZero::new(it).unwrap_or(NonZero::<u16>::MIN);
    let mut parser = vt100::Parser::new(size(rows), size(columns), 0);
    parser.process(printed);
    let screen = parser.screen().contents();
    screen.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
