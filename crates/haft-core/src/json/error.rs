//! Why a text is not JSON.

use std::fmt;

use crate::invariant::OrReport as _;

/// Why a text is not JSON, and where.
///
/// ```
/// use haft_core::json::{Document, ParseErrorKind};
///
/// let error = Document::parse("{\n  \"a\": 1,\n}").unwrap_err();
/// assert_eq!((error.kind, error.offset), (ParseErrorKind::TrailingComma, 10));
/// assert_eq!(
///     error.to_string(),
///     "a comma stands before the closing bracket at byte 10 (line 2, column 9)"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Byte offset into the text; zero if there was no text.
    pub offset: usize,
    /// Counted from one; zero if not known.
    line: u32,
    column: u32,
}

/// The ways in which a text can fail to be JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Nothing but white space.
    #[error("the text is empty")]
    Empty,
    /// The text ends inside a value. It may have been truncated.
    #[error("the text ends before the JSON value is complete")]
    Truncated,
    /// The grammar expects `what` here, and the text has something else.
    #[error("expected {what} but found {found:?}")]
    Expected {
        /// What may stand here, in words.
        what: &'static str,
        /// The character that was found.
        found: char,
    },
    /// More text behind the end of the value.
    #[error("more text follows after the end of the JSON value")]
    TrailingText,
    /// `[1,]`
    #[error("a comma stands before the closing bracket")]
    TrailingComma,
    /// `01`
    #[error("a number starts with a superfluous zero")]
    LeadingZero,
    /// A number that no double can hold, such as `1e999`.
    #[error("the number is too large")]
    NumberOutOfRange,
    /// A backslash followed by something that JSON does not know.
    #[error(
        "unknown escape in a string; write a backslash as `\\\\` and use only \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u with four hexadecimal digits"
    )]
    BadEscape,
    /// Half of a surrogate pair.
    #[error("the escape is one half of a surrogate pair without the other half")]
    LoneSurrogate,
    /// A line break, tab or other control character inside a string.
    #[error("a raw control character stands inside a string; write it as an escape such as `\\n`")]
    ControlCharacter,
    /// The text starts with U+FEFF.
    #[error("the text starts with a byte order mark")]
    ByteOrderMark,
    /// Nested beyond [`super::MAX_DEPTH`].
    #[error("nested deeper than {} levels", super::MAX_DEPTH)]
    TooDeep,
    /// Longer than [`super::MAX_TEXT`].
    #[error("longer than {} bytes", super::MAX_TEXT)]
    TooLong,
}

impl ParseError {
    /// An error at a byte of `text`.
    pub(super) fn new(kind: ParseErrorKind, text: &str, offset: usize) -> Self {
        if kind == ParseErrorKind::TooLong {
            // Its place is no fault, and counting lines up to there would be work for nothing.
            return Self { offset, ..Self::without_text(kind) };
        }
        let before = text
            .as_bytes()
            .get(..offset)
            .or_report("the parser stops within its text", text.as_bytes());
        let line = before.iter().filter(|byte| **byte == b'\n').count();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        // Counts characters: every byte that does not continue one.
        let column = before.iter().skip(start).filter(|byte| **byte & 0xC0 != 0x80).count();
        let number = |at: usize| {
            u32::try_from(at + 1).or_report("a text has fewer than 2^32 bytes", u32::MAX)
        };
        Self { kind, offset, line: number(line), column: number(column) }
    }

    /// An error in a value that never was text.
    pub(super) const fn without_text(kind: ParseErrorKind) -> Self {
        Self { kind, offset: 0, line: 0, column: 0 }
    }

    /// The line, counted from one, or `None` if the value never was text or
    /// was too long to be read.
    #[must_use]
    pub const fn line(&self) -> Option<u32> {
        if self.line == 0 { None } else { Some(self.line) }
    }

    /// The column in characters, counted from one, or `None` if the value never was text or
    /// was too long to be read.
    #[must_use]
    pub const fn column(&self) -> Option<u32> {
        if self.column == 0 { None } else { Some(self.column) }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if self.line > 0 {
            write!(f, " at byte {} (line {}, column {})", self.offset, self.line, self.column)?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}
