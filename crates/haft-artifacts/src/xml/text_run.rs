//! Text between two tags, without the white space around it.

use super::character_data::is_space;
use crate::invariant;

/// Gathers text up to the next tag. White space that was written as such at either end is omitted;
/// what came from CDATA or a reference stays.
#[derive(Debug, Default)]
pub(super) struct TextRun {
    text: String,
    /// Whether there was white space before the text.
    before: bool,
    /// How many of the last bytes are white space.
    trailing: usize,
}

impl TextRun {
    pub(super) fn push(&mut self, text: &str) {
        let text = if self.text.is_empty() {
            let trimmed = text.trim_start_matches(is_space);
            self.before |= trimmed.len() < text.len();
            trimmed
        } else {
            text
        };
        let trailing = text.len() - text.trim_end_matches(is_space).len();
        self.trailing = if trailing == text.len() { self.trailing + trailing } else { trailing };
        self.text.push_str(text);
    }

    /// Adds text whose white space is significant.
    pub(super) fn push_exact(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.trailing = 0;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Appends the collected text to the text of an element, and starts again. `gap` says whether there was
    /// white space after the text so far, and is set to whether there is after all of it.
    pub(super) fn flush(&mut self, whole: &mut String, gap: &mut bool, has_text: &mut bool) {
        let text = invariant::text(&self.text, ..self.text.len() - self.trailing);
        if text.is_empty() {
            *gap |= self.before || self.trailing > 0;
        } else {
            if *has_text && (*gap || self.before) {
                whole.push(' ');
            }
            whole.push_str(text);
            (*gap, *has_text) = (self.trailing > 0, true);
        }
        self.text.clear();
        (self.before, self.trailing) = (false, 0);
    }
}
