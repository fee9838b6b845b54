//! Reads lines that the user types.

use std::io::{IsTerminal as _, Write as _, stderr, stdin};
use std::sync::mpsc as blocking;

use rustix::termios::tcgetattr;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::sync::mpsc;

/// The result of reading a line.
#[derive(Debug)]
pub(crate) enum KeyboardInput {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of standard input.
    End,
}

/// Whether a reply means yes.
pub(crate) fn is_yes(reply: &str) -> bool {
    matches!(reply.trim().to_lowercase().as_str(), "y" | "yes")
}

/// How the reader thread reads a line.
enum ReadMode {
    /// With line editing and history.
    Edited { prompt: String },
    /// As the terminal delivers it.
    Plain,
}

/// The keyboard. A separate thread reads from it, so that a turn can proceed meanwhile.
pub(crate) struct Keyboard {
    requests: Option<blocking::Sender<ReadMode>>,
    lines: mpsc::Receiver<KeyboardInput>,
    /// Whether the thread still reads a line for an earlier, cancelled request. The next request gets that line.
    is_reading: bool,
}

impl Keyboard {
    /// Starts the reader thread.
    pub(crate) fn spawn() -> Self {
        let (requests, received) = blocking::channel();
        let (sender, lines) = mpsc::channel(1);
        let spawned = std::thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            let mut editor = None;
            for mode in received {
                if sender.blocking_send(read_line(mode, &mut editor)).is_err() {
                    break;
                }
            }
        });
        Self { requests: spawned.ok().map(|_| requests), lines, is_reading: false }
    }

    /// Whether standard input is a terminal, so that the user can be asked.
    pub(crate) fn is_interactive() -> bool {
        stdin().is_terminal()
    }

    /// Whether standard input is a terminal that was closed.
    pub(crate) fn is_hung_up() -> bool {
        matches!(tcgetattr(stdin()), Err(rustix::io::Errno::IO))
    }

    /// Shows a prompt and reads a line of a conversation.
    pub(crate) async fn read_prompt(&mut self, prompt: &str) -> KeyboardInput {
        if self.is_reading && Self::is_interactive() {
            // The pending read has no editor that would show the prompt. If printing fails, the user can still type.
            let _ = stderr().write_all(prompt.as_bytes());
        }
        self.request_line(ReadMode::Edited { prompt: prompt.to_owned() }).await
    }

    /// Reads the reply to a question that is already on the screen.
    pub(crate) async fn read_reply(&mut self) -> KeyboardInput {
        self.request_line(ReadMode::Plain).await
    }

    /// Requests a line and waits for it. Dropping this future loses nothing: the next request gets the line.
    async fn request_line(&mut self, mode: ReadMode) -> KeyboardInput {
        if !self.is_reading {
            let sent = self.requests.as_ref().is_some_and(|it| it.send(mode).is_ok());
            if !sent {
                return KeyboardInput::End;
            }
            self.is_reading = true;
        }
        let input = self.lines.recv().await;
        self.is_reading = false;
        input.unwrap_or(KeyboardInput::End)
    }
}

fn read_line(mode: ReadMode, editor: &mut Option<DefaultEditor>) -> KeyboardInput {
    match mode {
        ReadMode::Edited { prompt } if Keyboard::is_interactive() => {
            if editor.is_none() {
                *editor = DefaultEditor::new().ok();
            }
            match editor {
                Some(editor) => read_edited_line(editor, &prompt),
                None => read_plain_line(),
            }
        }
        ReadMode::Edited { .. } | ReadMode::Plain => read_plain_line(),
    }
}

fn read_edited_line(editor: &mut DefaultEditor, prompt: &str) -> KeyboardInput {
    match editor.readline(prompt) {
        Ok(line) => {
            // The line is valid even if the history does not accept it.
            let _ = editor.add_history_entry(line.as_str());
            KeyboardInput::Line(line)
        }
        Err(ReadlineError::Interrupted) => KeyboardInput::Interrupted,
        Err(_) => KeyboardInput::End,
    }
}

fn read_plain_line() -> KeyboardInput {
    let mut line = String::new();
    match stdin().read_line(&mut line) {
        Ok(0) | Err(_) => KeyboardInput::End,
        Ok(_) => KeyboardInput::Line(line.trim_end_matches(['\r', '\n']).to_owned()),
    }
}
