//! Why a query of Markdown fails.

/// Why front matter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrontMatterError {
    /// The text is not YAML, or exceeds the limits.
    #[error("the front matter is not valid at line {line}, column {column}: {reason}")]
    Invalid {
        /// The line in the document, from 0.
        line: usize,
        /// The character in that line, from 0.
        column: usize,
        /// What is wrong.
        reason: Box<str>,
    },
    /// The text is TOML, which is not parsed.
    #[error("the front matter is TOML, which is not parsed: read lines 0 to {end_line} as text")]
    Toml {
        /// The line of its closing mark.
        end_line: usize,
    },
}
