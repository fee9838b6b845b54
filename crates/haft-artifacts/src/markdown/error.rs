//! Why a query of Markdown fails.

/// Why front matter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrontMatterError {
    /// The text is not YAML, or exceeds the limits.
    #[error("the front matter is not valid at line {}, column {}: {reason}", line.saturating_add(1), column.saturating_add(1))]
    Invalid {
        /// The line in the document, from 0.
        line: usize,
        /// The character in that line, from 0.
        column: usize,
        /// What is wrong.
        reason: Box<str>,
    },
    /// The text is TOML, which is not parsed.
    #[error("the front matter is TOML, which is not parsed: read lines 1 to {} as text", end_line.saturating_add(1))]
    Toml {
        /// The line of its closing mark, from 0.
        end_line: usize,
    },
}
