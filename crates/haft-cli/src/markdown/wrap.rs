//! Breaking styled lines between words while they arrive.

use unicode_width::UnicodeWidthChar as _;

use crate::text_width::display_width;

/// Writes text with breaks between words, so that no word is cut at the end of a line. Further lines of a paragraph begin
/// below its text: below that of a list item, and not below its mark. The last word is held back until it has ended.
#[derive(Debug, Default)]
pub(super) struct WordWrap {
    /// The columns of the terminal; nothing to break no lines.
    columns: Option<usize>,
    /// The columns that are written of the line.
    column: usize,
    /// What stands at the beginning of further lines.
    hang: String,
    /// The word that has begun, with its styles, and the spaces before it.
    word: String,
    width: usize,
    spaces: usize,
    /// Whether the word is longer than a line, and is written as it comes.
    is_cut: bool,
}

impl WordWrap {
    pub(super) fn new(columns: Option<usize>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// Begins a line with a prefix.
    pub(super) fn begin_line(&mut self, prefix: &str, out: &mut String) {
        out.push_str(prefix);
        self.column = display_width(prefix);
        let is_list = prefix.trim_start().starts_with('•');
        self.hang = if is_list { " ".repeat(self.column) } else { prefix.to_owned() };
    }

    /// Adds to the beginning of further lines: what stands at the beginning of this one takes these columns.
    pub(super) fn indent(&mut self, columns: usize) {
        self.hang.push_str(&" ".repeat(columns));
    }

    /// Writes a character that may stand at a break.
    pub(super) fn push(&mut self, character: char, out: &mut String) {
        let Some(columns) = self.columns else { return out.push(character) };
        let width = character.width().unwrap_or_default();
        if character == ' ' {
            self.end_word(out);
            self.is_cut = false;
            self.spaces += 1;
            return;
        }
        if self.is_cut {
            out.push(character);
            self.column = (self.column + width) % columns;
            return;
        }
        self.word.push(character);
        self.width += width;
        // A word that no line has room for is cut by the terminal.
        if display_width(&self.hang) + self.width > columns {
            self.end_word(out);
            self.column %= columns;
            self.is_cut = true;
        }
    }

    /// Writes a style.
    pub(super) fn push_style(&mut self, style: &str, out: &mut String) {
        match self.columns {
            Some(_) => self.word.push_str(style),
            None => out.push_str(style),
        }
    }

    /// Writes the word that was held back, and the spaces before it unless the line breaks there.
    pub(super) fn end_word(&mut self, out: &mut String) {
        let columns = self.columns.unwrap_or(usize::MAX);
        let hang = display_width(&self.hang);
        let is_full = self.column + self.spaces + self.width > columns;
        if self.width > 0 && self.column > hang && is_full {
            out.push('\n');
            out.push_str(&self.hang);
            self.column = hang;
        } else if self.width > 0 {
            out.push_str(&" ".repeat(self.spaces));
            self.column += self.spaces;
        }
        if self.width > 0 {
            self.spaces = 0;
        }
        out.push_str(&self.word);
        self.column += self.width;
        self.word.clear();
        self.width = 0;
    }

    /// Ends the line.
    pub(super) fn end_line(&mut self, out: &mut String) {
        self.end_word(out);
        self.is_cut = false;
        self.spaces = 0;
        self.column = 0;
        self.hang.clear();
    }
}
