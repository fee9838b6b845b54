//! Styled output, progress indicators, and sanitizing of text that comes from models, tools and files.

mod progress;

use std::borrow::Cow;
use std::fmt;
use std::io::{IsTerminal as _, Write as _, stderr, stdin, stdout};
use std::time::Duration;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use haft::trust::is_invisible;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

pub(crate) use self::progress::Progress;

/// Whether standard output and standard error get styled text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    is_stdout_styled: bool,
    is_stderr_styled: bool,
    pub(crate) verbosity: Verbosity,
}

/// How much is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Results, questions and errors.
    Quiet,
    Normal,
    Verbose,
}

impl Verbosity {
    pub(crate) const fn of(is_verbose: bool, is_quiet: bool) -> Self {
        match (is_verbose, is_quiet) {
            (_, true) => Self::Quiet,
            (true, _) => Self::Verbose,
            _ => Self::Normal,
        }
    }
}

/// The role of a piece of text, which decides its style.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextRole {
    /// A name or a number that the user looks for.
    Key,
    Success,
    Error,
    /// A warning, or something that waits.
    Warning,
    /// Something of minor importance.
    Muted,
}

impl TextRole {
    const fn style(self) -> Style {
        match self {
            Self::Key => AnsiColor::Cyan.on_default(),
            Self::Success => AnsiColor::Green.on_default(),
            Self::Error => AnsiColor::Red.on_default().bold(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Muted => Style::new().dimmed(),
        }
    }
}

impl Terminal {
    /// Detects which streams get styles.
    ///
    /// `--color always` and `--color never` decide alone. With `auto`, `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR`
    /// and `TERM` are read, and a stream that is not a terminal gets no styles.
    pub(crate) fn detect(choice: ColorChoice, verbosity: Verbosity) -> Self {
        let choice = match choice {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        Self {
            is_stdout_styled: AutoStream::choice(&stdout()) != anstream::ColorChoice::Never,
            is_stderr_styled: AutoStream::choice(&stderr()) != anstream::ColorChoice::Never,
            verbosity,
        }
    }

    /// Styles text for standard output.
    pub(crate) fn style_stdout(self, role: TextRole, text: impl AsRef<str>) -> String {
        styled(self.is_stdout_styled, role, text.as_ref())
    }

    /// Styles text for standard error.
    pub(crate) fn style_stderr(self, role: TextRole, text: impl AsRef<str>) -> String {
        styled(self.is_stderr_styled, role, text.as_ref())
    }

    /// Sanitizes untrusted text if standard output is a terminal. Another program gets the text unchanged.
    pub(crate) fn sanitize_for_stdout(self, text: &str) -> Cow<'_, str> {
        match stdout().is_terminal() && text.contains(is_deceptive) {
            true => Cow::Owned(sanitize(text)),
            false => Cow::Borrowed(text),
        }
    }

    /// How many columns standard output has, if it is a terminal.
    pub(crate) fn stdout_columns(self) -> Option<usize> {
        let size = tcgetwinsize(stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    /// Whether Markdown is styled on standard output.
    pub(crate) fn styles_markdown(self) -> bool {
        self.is_stdout_styled && stdout().is_terminal()
    }

    /// Starts a spinner for something that has taken some time already. It appears as [`start_spinner`] says.
    ///
    /// [`start_spinner`]: Self::start_spinner
    pub(crate) fn start_spinner_since(self, label: &str, elapsed: Duration) -> Progress {
        let progress = self.start_spinner(label);
        progress.set_elapsed(elapsed);
        progress
    }

    /// Starts a spinner. It appears only if standard error is a terminal, and after a short delay.
    pub(crate) fn start_spinner(self, label: &str) -> Progress {
        match self.verbosity {
            Verbosity::Quiet => Progress::hidden(),
            _ => Progress::start(None, label, "{spinner} {msg} ({elapsed})"),
        }
    }

    /// Starts a progress bar over a number of bytes, or a byte counter if the number is unknown.
    pub(crate) fn start_byte_progress(self, label: &str, bytes: Option<u64>) -> Progress {
        let template = match bytes {
            Some(_) => "{spinner} {msg} {wide_bar} {bytes}/{total_bytes} ({eta})",
            None => "{spinner} {msg} {bytes} ({elapsed})",
        };
        Progress::start(bytes, label, template)
    }
}

fn styled(is_styled: bool, role: TextRole, text: &str) -> String {
    if !is_styled {
        return text.to_owned();
    }
    let style = role.style();
    format!("{style}{text}{style:#}")
}

/// Prints a line to standard error. A line that cannot be printed is left out: a closed screen must not decide how a
/// command ends.
pub(crate) fn print_line(text: fmt::Arguments<'_>) {
    // Standard error is not buffered: a line in several writes could be torn by the lines of standard output.
    let _ = stderr().write_all(format!("{text}\n").as_bytes());
}

/// Prints a prompt to standard error, without a line end.
pub(crate) fn print_prompt(text: &str) {
    let _ = write!(stderr(), "{text}");
}

/// The settings of the terminal, which the line editor changes while it waits for a line.
#[derive(Debug)]
pub(crate) struct TerminalMode(Option<Termios>);

impl TerminalMode {
    pub(crate) fn save() -> Self {
        Self(tcgetattr(stdin()).ok())
    }

    /// Restores the settings, if this process may change them: a terminal stops background processes that try.
    pub(crate) fn restore(&self) {
        let is_foreground =
            tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp());
        if let Some(mode) = self.0.as_ref().filter(|_| is_foreground) {
            // A terminal that is gone has no settings.
            let _ = tcsetattr(stdin(), OptionalActions::Now, mode);
        }
    }
}

/// Replaces the characters of untrusted text that would deceive the user: those that move the cursor or change colours
/// by U+FFFD, and those that are invisible or change the direction of text by an escape such as `\u{202e}`.
pub(crate) fn sanitize(text: &str) -> String {
    if !text.contains(is_deceptive) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut previous = '\0';
    for character in text.chars() {
        if is_terminal_control(character) {
            out.push('\u{fffd}');
        } else if is_invisible(character) && !joins_symbols(previous, character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
        previous = character;
    }
    out
}

/// Whether a user who reads this character could be deceived.
fn is_deceptive(character: char) -> bool {
    is_terminal_control(character) || is_invisible(character)
}

/// Whether an invisible character belongs to the visible one before it: a joiner of some scripts and of emoji, or the
/// choice between two forms of a symbol. Between ASCII characters none of them has a meaning.
fn joins_symbols(previous: char, character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
        && !previous.is_ascii()
        && !is_invisible(previous)
}

/// Whether a terminal interprets a character instead of displaying it.
fn is_terminal_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::sanitize;

    #[test]
    fn deceptive_characters_are_replaced_or_escaped() {
        for (text, shown) in [
            ("plain äöü 漢字\n\ttext", "plain äöü 漢字\n\ttext"),
            ("\u{1b}[2J\u{9b}x\r", "\u{fffd}[2J\u{fffd}x\u{fffd}"),
            ("alice\u{202e}\u{2066}ecila", "alice\\u{202e}\\u{2066}ecila"),
            ("1\u{200b}00", "1\\u{200b}00"),
            ("a\u{200d}b\u{fe0f}\u{feff}\u{2028}", "a\\u{200d}b\\u{fe0f}\\u{feff}\\u{2028}"),
            ("tag\u{e0041}\u{ad}", "tag\\u{e0041}\\u{ad}"),
            ("👨\u{200d}👩 ❤\u{fe0f} می\u{200c}خواهم", "👨\u{200d}👩 ❤\u{fe0f} می\u{200c}خواهم"),
            ("❤\u{fe0f}\u{200d}", "❤\u{fe0f}\\u{200d}"),
        ] {
            assert_eq!(sanitize(text), shown);
        }
    }
}
