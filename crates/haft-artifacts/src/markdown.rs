//! The structure of a Markdown text of any size, and queries on parts of it.
//!
//! [`MarkdownIndex::builder`] reads a document in pieces and keeps where its headings, code blocks, link
//! definitions and front matter are, never the document. The index knows CommonMark 0.31 with tables:
//! headings of both kinds, fences, HTML blocks, definitions, quotes and lists. [`MarkdownIndex::fragment`]
//! parses the text of a part, such as one section, and answers for its links, images, plain text and tree.
//!
//! Lines are counted from 0 in the whole document, and ends are inclusive. A line ends with LF or CRLF; a
//! byte order mark is skipped; bytes that are not UTF-8 become the replacement character.
//!
//! Everything that is kept is capped: see [`MarkdownIndex::n_left_out`].

mod builder;
mod cursor;
mod definition;
mod fragment;
mod front_matter;
mod html;
mod index;
mod outline;
mod plain;
mod queries;
mod scanner;
mod syntax;

#[cfg(test)]
mod tests;

pub use self::queries::MarkdownFormat;
pub use builder::MarkdownIndexBuilder;
pub use fragment::{Fragment, Image, Link};
pub use front_matter::{FrontMatter, FrontMatterKind};
pub use index::MarkdownIndex;

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Heading {
    /// From 1 to 6.
    pub depth: u8,
    /// The text without markup.
    pub text: Box<str>,
    /// The first line of the heading.
    pub start_line: usize,
    /// The line before the next heading of the same or a smaller depth, or the last line.
    ///
    /// A heading inside a quote or a list ends with it, and ends nothing outside of it.
    pub end_line: usize,
    /// Whether it is inside a quote or a list.
    pub nested: bool,
}

/// A code block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodeBlock {
    /// The first word after the opening fence.
    pub lang: Option<Box<str>>,
    /// The line of the opening fence, or the first line of an indented block.
    pub start_line: usize,
    /// The line of the closing fence, or the last line of the block.
    pub end_line: usize,
    /// Whether it has fences. Otherwise it is indented.
    pub fenced: bool,
    /// Whether it is inside a quote or a list.
    pub nested: bool,
}

/// A heading and the lines that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section<'a> {
    /// From 1 to 6.
    pub depth: u8,
    /// The heading's text without markup.
    pub heading: &'a str,
    /// The first line of the heading.
    pub heading_line: usize,
    /// The line after the first line of the heading.
    pub body_start_line: usize,
    /// The last line. It is `heading_line` if the section has no other line.
    pub body_end_line: usize,
    /// Whether it is inside a quote or a list.
    pub nested: bool,
}

impl<'a> Section<'a> {
    fn of(heading: &'a Heading) -> Self {
        Self {
            depth: heading.depth,
            heading: &heading.text,
            heading_line: heading.start_line,
            body_start_line: heading.start_line + 1,
            body_end_line: heading.end_line,
            nested: heading.nested,
        }
    }
}

/// What a link reference stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkDefinition {
    /// Where it leads.
    pub url: Box<str>,
    /// Its title.
    pub title: Option<Box<str>>,
}

/// Why front matter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrontMatterError {
    /// The text is not YAML, or is more than is read.
    #[error("the front matter is not valid at line {line}, column {column}: {reason}")]
    Invalid {
        /// The line in the document, from 0.
        line: usize,
        /// The character in that line, from 0.
        column: usize,
        /// What is wrong.
        reason: Box<str>,
    },
    /// The text is TOML, which is not read.
    #[error("the front matter is TOML, which is not parsed: read lines 0 to {end_line} as text")]
    Toml {
        /// The line of its closing mark.
        end_line: usize,
    },
}
