//! Spinners and progress bars.

use std::io::{self, IsTerminal as _, Write as _, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use rustix::termios::{Winsize, tcgetwinsize};

use super::sanitize;

/// A progress indicator that is removed from the screen when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// An indicator that does not appear.
    pub(super) const fn hidden() -> Self {
        Self(None)
    }

    /// Starts an indicator if standard error is a terminal that can clear a line.
    pub(super) fn start(bytes: Option<u64>, label: &str, template: &str) -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|it| it == "dumb");
        if is_dumb || !stderr().is_terminal() {
            return Self(None);
        }
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(ProgressScreen), 20);
        let bar = ProgressBar::with_draw_target(bytes, target);
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.set_message(sanitize(label));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(Some(bar))
    }

    /// Sets how much time has passed already.
    pub(super) fn set_elapsed(&self, elapsed: Duration) {
        if let Some(bar) = &self.0 {
            bar.set_elapsed(elapsed);
        }
    }

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

/// Standard error as indicators draw on it. They fill their line to the end, and a terminal echoes Ctrl-C as `^C` behind
/// the cursor: on a full line the echo would begin the next one, and the indicator would stay on the screen. The width
/// therefore leaves room for it.
#[derive(Debug)]
struct ProgressScreen;

/// The columns of `^C`, and one more because terminals wrap differently behind the last one.
const ECHO_COLUMNS: u16 = 3;

impl ProgressScreen {
    fn size() -> Option<Winsize> {
        tcgetwinsize(stderr()).ok().filter(|it| it.ws_col > 0 && it.ws_row > 0)
    }

    fn write(text: &str) -> io::Result<()> {
        stderr().write_all(text.as_bytes())
    }

    /// Moves the cursor; a movement by 0 would be one by 1.
    fn move_cursor(n: usize, direction: char) -> io::Result<()> {
        if n == 0 { Ok(()) } else { Self::write(&format!("\x1b[{n}{direction}")) }
    }
}

impl TermLike for ProgressScreen {
    fn width(&self) -> u16 {
        Self::size().map_or(80, |it| it.ws_col).saturating_sub(ECHO_COLUMNS)
    }

    fn height(&self) -> u16 {
        Self::size().map_or(24, |it| it.ws_row)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        Self::move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        Self::move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        Self::move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        Self::move_cursor(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        Self::write(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        Self::write(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        Self::write("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        stderr().flush()
    }
}
