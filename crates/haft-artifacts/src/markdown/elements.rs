//! What an index contains.

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
///
/// ```
/// use haft_artifacts::markdown::MarkdownIndex;
///
/// let index = MarkdownIndex::parse("# Guide\n\nintro\n\n## Install\n\nrun it\n");
/// let section = index.find_section("install").expect("there is such a section");
/// assert_eq!((section.heading, section.heading_line, section.body_end_line), ("Install", 4, 6));
/// ```
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
    pub(super) fn of(heading: &'a Heading) -> Self {
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

/// The target of a link reference.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkDefinition {
    /// The target address.
    pub url: Box<str>,
    /// Its title.
    pub title: Option<Box<str>>,
}
