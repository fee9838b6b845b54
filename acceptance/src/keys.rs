//! Runs a dialogue at a terminal. One line is one step:
//!
//! - `file PATH`: the lines up to a line `end` are written to a file.
//! - `do COMMAND`: a command that must succeed, without a terminal.
//! - `size 40x100`: the rows and columns of the terminal, also while a program runs.
//! - `run COMMAND`: starts a program at the terminal.
//! - `type TEXT`: types a text, without Enter. `press KEY`: `Enter`, `Tab`, `Esc`, `Backspace`, `Up`, `Down`, `Left`,
//!   `Right`, `^C` and other letters with Ctrl.
//! - `see TEXT`: waits until new output contains a text, in one line and with the placeholders of [`crate::matcher`].
//! - `screen TEXT`, `gone TEXT`: waits until the screen as a person sees it has such a text, or has it no more.
//! - `exit N`: waits for the end of the program, which must have this exit status.

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use haft_testkit::{Terminal, render_screen};

use crate::matcher::{self, placeholder::Values};
use crate::sandbox::{Sandbox, end_group, has_ended};

/// How long a step may wait.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// Runs a dialogue.
///
/// # Errors
///
/// The program shows or does something else.
pub fn run(file: &Path, text: &str, sandbox: &Sandbox) -> Result<()> {
    let mut dialogue = Dialogue { sandbox, terminal: None, size: (40, 100), read: 0 };
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let place = || format!("{}:{number}: `{line}`", file.display());
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let result = match verb {
            "" | "#" => Ok(()),
            "file" => {
                let content = lines.by_ref().map(|(_, it)| it).take_while(|it| *it != "end");
                let content: String = content.flat_map(|it| [it, "\n"]).collect();
                write_file(sandbox, rest, &content)
            }
            _ => dialogue.perform(verb, rest),
        };
        result.with_context(place)?;
    }
    match dialogue.terminal {
        Some(_) => bail!("{}: say how the program ends: `exit 0`", file.display()),
        None => Ok(()),
    }
}

fn write_file(sandbox: &Sandbox, path: &str, content: &str) -> Result<()> {
    let path = sandbox.work().join(path);
    fs::create_dir_all(path.parent().context("a file needs a directory")?)?;
    Ok(fs::write(path, content)?)
}

/// A program at a terminal, and how much of its output was waited for.
struct Dialogue<'a> {
    sandbox: &'a Sandbox,
    terminal: Option<Terminal>,
    size: (u16, u16),
    /// How many bytes of the output without escape sequences were waited for.
    read: usize,
}

impl Dialogue<'_> {
    fn perform(&mut self, verb: &str, rest: &str) -> Result<()> {
        match verb {
            "do" => self.execute(rest),
            "size" => self.resize(rest),
            "run" => self.start(rest),
            "type" => Ok(self.running()?.type_keys(rest)?),
            "press" => {
                let keys = key(rest).with_context(|| format!("`{rest}` is no key"))?;
                Ok(self.running()?.type_keys(&keys)?)
            }
            "see" => self.see(rest),
            "screen" => self.wait_for_screen(rest, true),
            "gone" => self.wait_for_screen(rest, false),
            "exit" => self.exit(rest.parse()?),
            _ => bail!("there is no step `{verb}`"),
        }
    }

    fn running(&mut self) -> Result<&mut Terminal> {
        self.terminal.as_mut().context("no program runs; `run COMMAND` starts one")
    }

    fn execute(&self, text: &str) -> Result<()> {
        let mut command = self.sandbox.command("/bin/sh");
        command.args(["-c", text]);
        let ended = self.sandbox.run(command)?;
        match ended.status {
            Some(status) if status.success() => Ok(()),
            status => bail!("{status:?}\n{}", ended.output),
        }
    }

    fn start(&mut self, text: &str) -> Result<()> {
        if self.terminal.is_some() {
            bail!("the program before must end: `exit 0`");
        }
        let mut command: Command = self.sandbox.command("setsid");
        // The terminal controls the program, so that it sends a signal for Ctrl-C.
        command.args(["--ctty", "/bin/sh", "-c"]).arg(format!("exec {text}"));
        self.terminal = Some(Terminal::start(command, self.size.0, self.size.1)?);
        self.read = 0;
        Ok(())
    }

    fn resize(&mut self, size: &str) -> Result<()> {
        let (rows, columns) = size.split_once('x').context("write rows and columns as 40x100")?;
        self.size = (rows.parse()?, columns.parse()?);
        match &self.terminal {
            Some(terminal) => Ok(terminal.resize(self.size.0, self.size.1)?),
            None => Ok(()),
        }
    }

    fn see(&mut self, wanted: &str) -> Result<()> {
        let values = self.sandbox.values();
        let read = self.read;
        let mut end = 0;
        let seen = self.wait_until(|terminal, _| {
            let text = plain_text(terminal.printed());
            let new = text.get(read..).unwrap_or_default();
            end = matcher::find(wanted, new, &values).map_err(|it| anyhow!(it))?.unwrap_or(0);
            Ok((end > 0, new.to_owned()))
        })?;
        self.read += end;
        seen.map_or(Ok(()), |it| bail!("it is not in\n{it}"))
    }

    fn wait_for_screen(&mut self, wanted: &str, is_wanted: bool) -> Result<()> {
        let values: Values = self.sandbox.values();
        let seen = self.wait_until(|terminal, (rows, columns)| {
            let screen = render_screen(terminal.printed(), rows, columns);
            let found = matcher::find(wanted, &screen, &values).map_err(|it| anyhow!(it))?;
            Ok((found.is_some() == is_wanted, screen))
        })?;
        seen.map_or(Ok(()), |it| bail!("the screen is\n{it}"))
    }

    /// Reads output until a condition holds; otherwise returns what it has seen last.
    fn wait_until(
        &mut self,
        mut condition: impl FnMut(&Terminal, (u16, u16)) -> Result<(bool, String)>,
    ) -> Result<Option<String>> {
        let size = self.size;
        let start = read_instant();
        let terminal = self.running()?;
        loop {
            let (holds, seen) = condition(terminal, size)?;
            if holds {
                return Ok(None);
            }
            let left = MAX_WAIT.saturating_sub(start.elapsed());
            if left.is_zero() || !terminal.read_piece(left) {
                return Ok(Some(seen));
            }
        }
    }

    fn exit(&mut self, expected: i32) -> Result<()> {
        let mut terminal = self.terminal.take().context("no program runs")?;
        let start = read_instant();
        while !has_ended(terminal.child())? {
            if start.elapsed() >= MAX_WAIT {
                end_group(terminal.child())?;
                bail!("it did not end; it printed\n{}", plain_text(terminal.printed()));
            }
            // A program whose output nobody reads would stop. One that has closed its terminal prints no more.
            if !terminal.read_piece(Duration::from_millis(10)) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let status = end_group(terminal.child())?;
        if status.code() == Some(expected) {
            return Ok(());
        }
        while terminal.read_piece(Duration::from_millis(200)) {}
        bail!("{status}; it printed\n{}", plain_text(terminal.printed()))
    }
}

impl Drop for Dialogue<'_> {
    fn drop(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            let _ = end_group(terminal.child());
        }
    }
}

/// What a terminal sends for a key.
fn key(name: &str) -> Option<String> {
    let keys = match name {
        "Enter" => "\r",
        "Tab" => "\t",
        "Esc" => "\u{1b}",
        "Backspace" => "\u{7f}",
        "Up" => "\u{1b}[A",
        "Down" => "\u{1b}[B",
        "Right" => "\u{1b}[C",
        "Left" => "\u{1b}[D",
        _ => {
            let letter = name.strip_prefix('^').and_then(|it| it.chars().next());
            let letter = letter.filter(|it| name.len() == 2 && it.is_ascii_uppercase())?;
            // Ctrl keeps the last five bits of a letter.
            return Some(char::from(u8::try_from(letter).ok()? & 0x1f).to_string());
        }
    };
    Some(keys.to_owned())
}

/// Output without escape sequences and carriage returns. A sequence that is not complete is left out.
fn plain_text(printed: &[u8]) -> String {
    let text = String::from_utf8_lossy(printed);
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '\r' => {}
            '\u{1b}' => match rest.next() {
                Some('[') => _ = rest.find(|it| ('@'..='~').contains(it)),
                Some(']') => _ = rest.find(|it| *it == '\u{7}' || *it == '\u{1b}'),
                _ => {}
            },
            _ => plain.push(letter),
        }
    }
    plain
}

#[expect(clippy::disallowed_methods, reason = "a step has a bound in real time")]
fn read_instant() -> Instant {
    Instant::now()
}
