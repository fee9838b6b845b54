//! What the person in front of the screen sees.

use std::borrow::Cow;
use std::io::{IsTerminal as _, stderr, stdout};

use clap::ColorChoice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How to print: with colour or without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    out: bool,
    err: bool,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tone {
    /// A name or a number that is looked for.
    Key,
    /// Something that went well.
    Good,
    /// Something that went wrong.
    Bad,
    /// Something that waits, or a warning.
    Notice,
    /// Something that matters less.
    Quiet,
}

impl Terminal {
    pub(crate) fn new(choice: ColorChoice) -> Self {
        let silent = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
        let pick = |terminal: bool| match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !silent,
        };
        Self { out: pick(stdout().is_terminal()), err: pick(stderr().is_terminal()) }
    }

    /// A piece of text for standard output.
    pub(crate) fn out(self, tone: Tone, text: impl AsRef<str>) -> String {
        paint(self.out, tone, text.as_ref())
    }

    /// A piece of text for standard error.
    pub(crate) fn err(self, tone: Tone, text: impl AsRef<str>) -> String {
        paint(self.err, tone, text.as_ref())
    }

    /// Text of others for standard output: to a program as it is, to a person without what would move the cursor.
    pub(crate) fn shown(self, text: &str) -> Cow<'_, str> {
        match stdout().is_terminal() && text.contains(is_harmful) {
            true => Cow::Owned(plain(text)),
            false => Cow::Borrowed(text),
        }
    }

    /// A sign of life while something takes long. It appears on a terminal only, and not at once.
    pub(crate) fn spinner(self, what: impl Into<String>) -> Progress {
        progress(None, what.into(), "{spinner} {msg} ({elapsed})")
    }

    /// The same for work on bytes, of which the number may be known.
    pub(crate) fn bar(self, what: impl Into<String>, bytes: Option<u64>) -> Progress {
        let template = match bytes {
            Some(_) => "{spinner} {msg} {wide_bar} {bytes}/{total_bytes} ({eta})",
            None => "{spinner} {msg} {bytes} ({elapsed})",
        };
        progress(bytes, what.into(), template)
    }
}

impl Progress {
    /// How far it is.
    pub(crate) fn at(&self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.set_position(bytes);
        }
    }
}

/// Shown until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(Option<ProgressBar>);

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn progress(bytes: Option<u64>, what: String, template: &str) -> Progress {
    if !stderr().is_terminal() {
        return Progress(None);
    }
    let bar = ProgressBar::with_draw_target(bytes, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.set_message(what);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    Progress(Some(bar))
}

fn paint(colour: bool, tone: Tone, text: &str) -> String {
    if !colour {
        return text.to_owned();
    }
    let code = match tone {
        Tone::Key => "36",
        Tone::Good => "32",
        Tone::Bad => "31;1",
        Tone::Notice => "33",
        Tone::Quiet => "2",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Text of others without what would move the cursor or change colours.
pub(crate) fn plain(text: &str) -> String {
    text.replace(is_harmful, "\u{fffd}")
}

/// Whether a terminal would obey a character rather than show it.
fn is_harmful(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}
