//! Styled output, progress indicators, and sanitizing of text that comes from models, tools and files.

use std::borrow::Cow;
use std::io::{IsTerminal as _, stderr, stdout};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Whether standard output and standard error get styled text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    is_stdout_styled: bool,
    is_stderr_styled: bool,
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
    pub(crate) fn detect(choice: ColorChoice) -> Self {
        let choice = match choice {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        Self {
            is_stdout_styled: AutoStream::choice(&stdout()) != anstream::ColorChoice::Never,
            is_stderr_styled: AutoStream::choice(&stderr()) != anstream::ColorChoice::Never,
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
        match stdout().is_terminal() && text.contains(is_terminal_control) {
            true => Cow::Owned(sanitize(text)),
            false => Cow::Borrowed(text),
        }
    }

    /// Starts a spinner. It appears only if standard error is a terminal, and after a short delay.
    pub(crate) fn start_spinner(self, label: impl Into<String>) -> Progress {
        start_progress(None, label.into(), "{spinner} {msg} ({elapsed})")
    }

    /// Starts a progress bar over a number of bytes, or a byte counter if the number is unknown.
    pub(crate) fn start_byte_progress(
        self,
        label: impl Into<String>,
        bytes: Option<u64>,
    ) -> Progress {
        let template = match bytes {
            Some(_) => "{spinner} {msg} {wide_bar} {bytes}/{total_bytes} ({eta})",
            None => "{spinner} {msg} {bytes} ({elapsed})",
        };
        start_progress(bytes, label.into(), template)
    }
}

/// A progress indicator that is removed from the screen when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// Sets how many bytes are done.
    pub(crate) fn set_position(&self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.set_position(bytes);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn start_progress(bytes: Option<u64>, label: String, template: &str) -> Progress {
    if !stderr().is_terminal() {
        return Progress(None);
    }
    let bar = ProgressBar::with_draw_target(bytes, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.set_message(label);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    Progress(Some(bar))
}

fn styled(is_styled: bool, role: TextRole, text: &str) -> String {
    if !is_styled {
        return text.to_owned();
    }
    let style = role.style();
    format!("{style}{text}{style:#}")
}

/// Replaces the characters of untrusted text that would move the cursor or change colours.
pub(crate) fn sanitize(text: &str) -> String {
    text.replace(is_terminal_control, "\u{fffd}")
}

/// Whether a terminal interprets a character instead of displaying it.
fn is_terminal_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}
