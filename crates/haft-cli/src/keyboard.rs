//! What somebody types.

use std::io::{IsTerminal as _, Write as _, stderr, stdin};
use std::sync::mpsc as blocking;

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use tokio::sync::mpsc;

/// What came of waiting for a line.
#[derive(Debug)]
pub(crate) enum Typed {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or nobody is there.
    End,
}

/// How a line is asked for.
enum Ask {
    /// With keys that edit, and what was typed before.
    Edited { prompt: String },
    /// As the terminal itself gives it.
    Plain,
}

/// The keyboard. A thread of its own waits for it, so that a turn goes on meanwhile.
pub(crate) struct Keyboard {
    asks: Option<blocking::Sender<Ask>>,
    lines: mpsc::Receiver<Typed>,
    /// Whether a line is waited for by somebody who gave up: it belongs to the next who asks.
    is_open: bool,
}

impl Keyboard {
    pub(crate) fn new() -> Self {
        let (asks, asked) = blocking::channel();
        let (typed, lines) = mpsc::channel(1);
        let spawned = std::thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            let mut editor = None;
            for ask in asked {
                if typed.blocking_send(read(ask, &mut editor)).is_err() {
                    break;
                }
            }
        });
        Self { asks: spawned.ok().map(|_| asks), lines, is_open: false }
    }

    /// Whether somebody sits in front of it.
    pub(crate) fn is_attended() -> bool {
        stdin().is_terminal()
    }

    /// Waits for a line of a talk.
    pub(crate) async fn prompt(&mut self, prompt: &str) -> Typed {
        if self.is_open && Self::is_attended() {
            // The line is waited for without an editor. Who cannot see the prompt can still type.
            let _unseen = stderr().write_all(prompt.as_bytes());
        }
        self.wait(Ask::Edited { prompt: prompt.to_owned() }).await
    }

    /// Waits for the answer to a question that stands on the screen already.
    pub(crate) async fn answer(&mut self) -> Typed {
        self.wait(Ask::Plain).await
    }

    /// Whoever drops this future loses nothing: the line goes to the next who asks.
    async fn wait(&mut self, ask: Ask) -> Typed {
        if !self.is_open {
            let sent = self.asks.as_ref().is_some_and(|asks| asks.send(ask).is_ok());
            if !sent {
                return Typed::End;
            }
            self.is_open = true;
        }
        let typed = self.lines.recv().await;
        self.is_open = false;
        typed.unwrap_or(Typed::End)
    }
}

fn read(ask: Ask, editor: &mut Option<DefaultEditor>) -> Typed {
    match ask {
        Ask::Edited { prompt } if Keyboard::is_attended() => {
            if editor.is_none() {
                *editor = DefaultEditor::new().ok();
            }
            match editor {
                Some(editor) => edited(editor, &prompt),
                None => plain(),
            }
        }
        Ask::Edited { .. } | Ask::Plain => plain(),
    }
}

fn edited(editor: &mut DefaultEditor, prompt: &str) -> Typed {
    match editor.readline(prompt) {
        Ok(line) => {
            // A line that cannot be remembered was still typed.
            let _remembered = editor.add_history_entry(line.as_str());
            Typed::Line(line)
        }
        Err(ReadlineError::Interrupted) => Typed::Interrupted,
        Err(_) => Typed::End,
    }
}

fn plain() -> Typed {
    let mut line = String::new();
    match stdin().read_line(&mut line) {
        Ok(0) | Err(_) => Typed::End,
        Ok(_) => Typed::Line(line.trim_end_matches(['\r', '\n']).to_owned()),
    }
}
