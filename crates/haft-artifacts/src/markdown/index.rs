//! The finished index.

use super::front_matter::FrontMatter;
use super::outline::Outline;
use super::{CodeBlock, FrontMatterError, Heading, LinkDefinition, MarkdownIndexBuilder, Section};

/// The structure of a Markdown document: the positions of its parts, not their content.
///
/// All lines are counted from 0, all ends are inclusive.
#[derive(Debug, Default)]
pub struct MarkdownIndex {
    outline: Outline,
    front_matter: Option<FrontMatter>,
    line_count: usize,
}

impl MarkdownIndex {
    pub(super) fn new(
        outline: Outline,
        front_matter: Option<FrontMatter>,
        line_count: usize,
    ) -> Self {
        Self { outline, front_matter, line_count }
    }

    /// Starts an index that reads a document in chunks.
    #[must_use]
    pub fn builder() -> MarkdownIndexBuilder {
        MarkdownIndexBuilder::default()
    }

    /// Builds the index of a text in memory.
    ///
    /// ```
    /// use haft_artifacts::markdown::MarkdownIndex;
    ///
    /// let index = MarkdownIndex::parse("Title\n=====\n\n## *Part* one ##\ntext\n");
    /// let headings: Vec<_> =
    ///     index.headings().iter().map(|it| (it.depth, &*it.text, it.start_line, it.end_line)).collect();
    /// assert_eq!(headings, [(1, "Title", 0, 4), (2, "Part one", 3, 4)]);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut builder = Self::builder();
        builder.push(text.as_bytes());
        builder.finish()
    }

    /// How many lines the document has.
    #[must_use]
    pub fn line_count(&self) -> usize {
        self.line_count
    }

    /// The headings, in order.
    #[must_use]
    pub fn headings(&self) -> &[Heading] {
        &self.outline.headings
    }

    /// The code blocks, in order.
    #[must_use]
    pub fn code_blocks(&self) -> &[CodeBlock] {
        &self.outline.code_blocks
    }

    /// The code blocks of one language, ignoring case. The language `""` selects blocks without
    /// a language.
    ///
    /// ```
    /// use haft_artifacts::markdown::MarkdownIndex;
    ///
    /// let index = MarkdownIndex::parse("```sh\nls\n```\n\n```rust\nfn main() {}\n```\n");
    /// let block = index.code_blocks_in("rust").next().expect("there is a block of Rust");
    /// assert_eq!((block.start_line, block.end_line), (4, 6));
    /// ```
    pub fn code_blocks_in<'a>(&'a self, lang: &'a str) -> impl Iterator<Item = &'a CodeBlock> {
        let is_lang =
            move |it: &&CodeBlock| it.lang.as_deref().unwrap_or("").eq_ignore_ascii_case(lang);
        self.outline.code_blocks.iter().filter(is_lang)
    }

    /// The sections, one per heading.
    pub fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        self.outline.headings.iter().map(Section::of)
    }

    /// The section with a title. An exact match is preferred to one that differs in case, and the first of
    /// several sections is preferred to the others.
    #[must_use]
    pub fn find_section(&self, title: &str) -> Option<Section<'_>> {
        let title = title.trim();
        let title = title.trim_start_matches('#').trim_start();
        let headings = &self.outline.headings;
        let exact = headings.iter().find(|it| &*it.text == title);
        let lower = title.to_lowercase();
        let found = exact.or_else(|| headings.iter().find(|it| it.text.to_lowercase() == lower));
        found.map(Section::of)
    }

    /// The innermost section that a line belongs to.
    ///
    /// ```
    /// use haft_artifacts::markdown::MarkdownIndex;
    ///
    /// let index = MarkdownIndex::parse("# Guide\n\nintro\n\n## Install\n\nrun it\n");
    /// assert_eq!(index.section_at(6).map(|section| section.heading), Some("Install"));
    /// ```
    #[must_use]
    pub fn section_at(&self, line: usize) -> Option<Section<'_>> {
        let headings = &self.outline.headings;
        let after = headings.partition_point(|it| it.start_line <= line);
        headings.iter().take(after).rev().find(|it| line <= it.end_line).map(Section::of)
    }

    /// The definition of a reference such as `[label]`, anywhere in the document.
    #[must_use]
    pub fn definition(&self, label: &str) -> Option<&LinkDefinition> {
        self.outline.definitions.get(label)
    }

    /// How many references are defined.
    #[must_use]
    pub fn definition_count(&self) -> usize {
        self.outline.definitions.len()
    }

    /// How many headings, code blocks and definitions were omitted because of the limits of the index.
    #[must_use]
    pub fn omitted_count(&self) -> usize {
        self.outline.omitted
    }

    /// The front matter as it is written in the document.
    #[must_use]
    pub fn front_matter_source(&self) -> Option<&FrontMatter> {
        self.front_matter.as_ref()
    }

    /// The front matter as JSON, or `None` if there is none. An empty one is `null`.
    ///
    /// ```
    /// use haft_artifacts::markdown::MarkdownIndex;
    ///
    /// let index = MarkdownIndex::parse("---\ntitle: Guide\n---\n\ntext\n");
    /// assert_eq!(index.front_matter()?, Some(serde_json::json!({"title": "Guide"})));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The front matter cannot be read; the error says where and why.
    pub fn front_matter(&self) -> Result<Option<serde_json::Value>, FrontMatterError> {
        self.front_matter.as_ref().map(FrontMatter::parse).transpose()
    }
}
