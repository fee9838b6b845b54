//! Limits on the size of one query result.

use std::num::NonZeroUsize;

/// The maximum size of a query result.
///
/// ```
/// use haft_core::artifact::Budget;
///
/// let budget = Budget::new().bytes(1024).line_bytes(4096);
/// assert_eq!(budget.lines.get(), 200);
/// assert_eq!(budget.line_cap(), 1024);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// How many lines.
    pub lines: NonZeroUsize,
    /// How many bytes of text, an LF per line included. The first line is there in any case.
    pub bytes: usize,
    /// How many bytes of one line.
    pub line_bytes: usize,
}

impl Budget {
    /// 200 lines, 16 KiB, 4 KiB per line.
    #[must_use]
    pub fn new() -> Self {
        let lines = NonZeroUsize::MIN.saturating_add(199);
        Self { lines, bytes: 16 * 1024, line_bytes: 4 * 1024 }
    }

    /// Sets the maximum number of lines.
    #[must_use]
    pub fn lines(mut self, lines: NonZeroUsize) -> Self {
        self.lines = lines;
        self
    }

    /// Sets the maximum number of bytes of text.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets the maximum number of bytes of one line.
    #[must_use]
    pub fn line_bytes(mut self, bytes: usize) -> Self {
        self.line_bytes = bytes;
        self
    }

    /// The maximum number of bytes of a line, which is never more than that of the result.
    #[must_use]
    pub fn line_cap(&self) -> usize {
        self.line_bytes.min(self.bytes)
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new()
    }
}
