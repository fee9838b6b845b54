//! The structure of a Markdown text of any size, and queries on parts of it.
//!
//! [`MarkdownIndex::builder`] reads a document in chunks and stores the positions of its headings, code
//! blocks, link definitions and front matter, never the document. The index knows CommonMark 0.31 with tables:
//! headings of both kinds, fences, HTML blocks, definitions, quotes and lists. [`MarkdownIndex::links`] parses a
//! part of the text, such as one section, and returns its links.
//!
//! Lines are counted from 0 in the whole document, and ends are inclusive. A line ends with LF or CRLF; a
//! byte order mark is skipped; bytes that are not UTF-8 become the replacement character.
//!
//! The size of the index is limited: see [`MarkdownIndex::omitted_count`].

mod builder;
mod cursor;
mod elements;
mod error;
mod format;
mod front_matter;
mod html;
mod index;
mod link_definition;
mod links;
mod outline;
mod plain;
mod scan;
mod syntax;
mod view;

#[cfg(test)]
mod tests;

pub use self::builder::MarkdownIndexBuilder;
pub use self::elements::{CodeBlock, Heading, LinkDefinition, Section};
pub use self::error::FrontMatterError;
pub use self::format::MarkdownFormat;
pub use self::front_matter::{FrontMatter, FrontMatterKind};
pub use self::index::MarkdownIndex;
pub use self::links::MarkdownLink;
