//! Queries on the text of a part of a document.

mod bare_urls;
mod text;
mod tree;

use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Parser, Tag, TagEnd};
use serde_json::Value;

use super::{MarkdownIndex, plain};
use crate::invariant;

/// The text of some lines of a document, ready for queries.
///
/// References are resolved with the definitions of the whole document, and all lines are lines of the
/// document.
///
/// ```
/// use haft_artifacts::markdown::MarkdownIndex;
///
/// let text = "A *short* [text](https://example.org).\n";
/// let index = MarkdownIndex::parse(text);
/// let fragment = index.fragment(text, 0);
/// assert_eq!(fragment.text(), "A short text.");
/// assert_eq!(fragment.tree()["children"][0]["type"], "paragraph");
/// ```
#[derive(Debug)]
pub struct MarkdownFragment<'a> {
    index: &'a MarkdownIndex,
    /// Code at the start whose fence was opened before.
    lead: &'a str,
    lead_line: usize,
    body: &'a str,
    body_line: usize,
    /// Where the lines of `body` begin.
    starts: Vec<usize>,
    is_cut: bool,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MarkdownLink {
    /// The text that is shown.
    pub text: String,
    /// The target address. An e-mail address begins with `mailto:`.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// The line where it begins.
    pub line: usize,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MarkdownImage {
    /// The text that stands for the image; may be empty.
    pub alt: String,
    /// The address of the image.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// The line where it begins.
    pub line: usize,
}

impl MarkdownIndex {
    /// The text of some lines, ready for queries. `text` must be lines of the indexed document, the first of
    /// them being line `first_line`. Text of more than 1 MiB is cut at the end of a line.
    ///
    /// ```
    /// use haft_artifacts::markdown::MarkdownIndex;
    ///
    /// let document = "# A\n\nsee [the site][s]\n\n# B\n\n[s]: https://example.org\n";
    /// let index = MarkdownIndex::parse(document);
    /// let links = index.fragment("see [the site][s]\n", 2).links();
    /// assert_eq!((&*links[0].text, &*links[0].url, links[0].line), ("the site", "https://example.org", 2));
    /// ```
    #[must_use]
    pub fn fragment<'a>(&'a self, text: &'a str, first_line: usize) -> MarkdownFragment<'a> {
        let (text, is_cut) = cut(text);
        let text = if first_line == 0 { text.trim_start_matches('\u{feff}') } else { text };
        let front = self.front_matter_source().map_or(0, |it| it.end_line() + 1);
        let (_, text) = split_lines(text, front.saturating_sub(first_line));
        let first_line = first_line.max(front);
        let after_code = self.open_code_end(first_line).map_or(0, |end| end + 1 - first_line);
        let (lead, body) = split_lines(text, after_code);
        let starts = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', body.as_bytes()).map(|at| at + 1))
            .collect();
        let body_line = first_line + after_code;
        MarkdownFragment {
            index: self,
            lead,
            lead_line: first_line,
            body,
            body_line,
            starts,
            is_cut,
        }
    }

    /// The end of the code block that a line is inside of, unless the line is its first.
    fn open_code_end(&self, line: usize) -> Option<usize> {
        let blocks = self.code_blocks();
        let after = blocks.partition_point(|it| it.start_line < line);
        let block = blocks.get(after.checked_sub(1)?)?;
        (block.fenced && line <= block.end_line).then_some(block.end_line)
    }
}

impl MarkdownFragment<'_> {
    /// Whether the text was too long and its end was omitted.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The links in order: inline, by reference, in angle brackets, and bare addresses.
    ///
    /// ```
    /// use haft_artifacts::markdown::MarkdownIndex;
    ///
    /// let text = "See [the guide](guide.md) and <https://example.com>.\n";
    /// let index = MarkdownIndex::parse(text);
    /// assert_eq!(index.fragment(text, 0).links().len(), 2);
    /// ```
    #[must_use]
    pub fn links(&self) -> Vec<MarkdownLink> {
        let mut links: Vec<MarkdownLink> = Vec::new();
        let mut open: Option<usize> = None;
        let mut shielded = 0_usize;
        let mut run = TextEvents::default();
        self.parse(|event, Range { start: offset, .. }| {
            if let Event::Text(text) = event
                && open.is_none()
                && shielded == 0
            {
                run.push(text, offset);
                return;
            }
            run.take(|text, offset| self.push_bare_urls(&mut links, text, offset));
            match event {
                Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                    let (url, title) = self.target(*link_type, (dest_url, title), id);
                    open = Some(links.len());
                    let line = self.line_of(offset);
                    links.push(MarkdownLink { text: String::new(), url, title, line });
                }
                Event::End(TagEnd::Link) => open = None,
                Event::Start(Tag::CodeBlock(_) | Tag::Image { .. } | Tag::HtmlBlock) => {
                    shielded += 1
                }
                Event::End(TagEnd::CodeBlock | TagEnd::Image | TagEnd::HtmlBlock) => {
                    shielded = shielded.saturating_sub(1);
                }
                event => {
                    if let Some(link) = open.and_then(|at| links.get_mut(at)) {
                        plain::push_inline(&mut link.text, event, " ");
                    }
                }
            }
        });
        run.take(|text, offset| self.push_bare_urls(&mut links, text, offset));
        links
    }

    /// The images in order, inline and by reference.
    #[must_use]
    pub fn images(&self) -> Vec<MarkdownImage> {
        let mut images: Vec<MarkdownImage> = Vec::new();
        // An image may be in the text of another.
        let mut open = Vec::new();
        self.parse(|event, Range { start: offset, .. }| match event {
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let (url, title) = self.target(*link_type, (dest_url, title), id);
                open.push(images.len());
                images.push(MarkdownImage {
                    alt: String::new(),
                    url,
                    title,
                    line: self.line_of(offset),
                });
            }
            Event::End(TagEnd::Image) => {
                open.pop();
            }
            event => {
                for &at in open.iter().rev().take(NESTED_IMAGES) {
                    if let Some(image) = images.get_mut(at) {
                        plain::push_inline(&mut image.alt, event, " ");
                    }
                }
            }
        });
        images
    }

    /// The text without markup: a blank line between blocks, a line per item of a plain list and per row
    /// of a table, code and HTML blocks as they are.
    ///
    /// ```
    /// use haft_artifacts::markdown::MarkdownIndex;
    ///
    /// let text = "Some *strong* [words](a.md).\n";
    /// let index = MarkdownIndex::parse(text);
    /// assert_eq!(index.fragment(text, 0).text().trim(), "Some strong words.");
    /// ```
    #[must_use]
    pub fn text(&self) -> String {
        let mut writer = text::PlainTextWriter::default();
        writer.push_code(self.lead_code());
        self.parse(|event, _| writer.push_event(event));
        writer.finish()
    }

    /// The syntax tree as JSON: nodes with `type`, `startLine`, `endLine`, the fields of the type, and
    /// `children`. The root says in `omitted` how many nodes were omitted because they are too deep or too
    /// many.
    #[must_use]
    pub fn tree(&self) -> Value {
        let last = self.line_of(self.body.len().saturating_sub(1));
        let mut builder = tree::TreeBuilder::new(self.lead_line, last);
        if !self.lead.is_empty() {
            let end = self.body_line.saturating_sub(1);
            builder.push_code(self.lead_code(), (self.lead_line, end));
        }
        self.parse(|event, range| {
            let last = range.end.max(range.start + 1) - 1;
            let lines = (self.line_of(range.start), self.line_of(last));
            builder.push_event(event, lines, |kind, target, id| self.target(kind, target, id));
        });
        builder.finish()
    }

    /// Reads the body; references are resolved with the definitions of the document.
    fn parse(&self, mut each: impl FnMut(&Event<'_>, Range<usize>)) {
        let mut resolve = |link: BrokenLink<'_>| {
            self.index
                .definition(&link.reference)
                .map(|_| (CowStr::Borrowed(""), CowStr::Borrowed("")))
        };
        let parser =
            Parser::new_with_broken_link_callback(self.body, plain::OPTIONS, Some(&mut resolve));
        for (event, range) in parser.into_offset_iter() {
            each(&event, range);
        }
    }

    /// The target of a link or image, and its title. The first definition in the document decides.
    fn target(
        &self,
        kind: LinkType,
        (url, title): (&str, &str),
        id: &str,
    ) -> (String, Option<String>) {
        match kind {
            LinkType::Inline | LinkType::Autolink | LinkType::WikiLink { .. } => {}
            LinkType::Email => return (format!("mailto:{url}"), None),
            _ => {
                if let Some(it) = self.index.definition(id) {
                    return (it.url.clone().into(), it.title.clone().map(Into::into));
                }
            }
        }
        (url.to_owned(), (!title.is_empty()).then(|| title.to_owned()))
    }

    fn push_bare_urls(&self, links: &mut Vec<MarkdownLink>, text: &str, offset: usize) {
        for (text, url, at) in bare_urls::find(text) {
            links.push(MarkdownLink { text, url, title: None, line: self.line_of(offset + at) });
        }
    }

    /// The code at the start, without the closing fence.
    fn lead_code(&self) -> &str {
        let lead = self.lead.trim_end_matches(['\n', '\r']);
        let (code, last) = lead.rsplit_once('\n').unwrap_or(("", lead));
        let mark = last.trim_start_matches([' ', '\t', '>']).trim_end();
        let is_fence = mark.len() >= 3
            && (mark.bytes().all(|it| it == b'`') || mark.bytes().all(|it| it == b'~'));
        if is_fence { code } else { lead }
    }

    fn line_of(&self, offset: usize) -> usize {
        self.body_line + self.starts.partition_point(|&it| it <= offset).saturating_sub(1)
    }
}

/// Joins text events that follow each other.
#[derive(Debug, Default)]
struct TextEvents {
    text: String,
    start: usize,
}

impl TextEvents {
    fn push(&mut self, text: &str, offset: usize) {
        if self.text.is_empty() {
            self.start = offset;
        }
        self.text.push_str(text);
    }

    fn take(&mut self, then: impl FnOnce(&str, usize)) {
        if !self.text.is_empty() {
            then(&self.text, self.start);
            self.text.clear();
        }
    }
}

/// The part of a text that is parsed: whole lines of at most the limit.
fn cut(text: &str) -> (&str, bool) {
    if text.len() <= FRAGMENT_LIMIT {
        return (text, false);
    }
    let bytes = invariant::slice(text.as_bytes(), ..FRAGMENT_LIMIT);
    // The start of a text is always between characters.
    let whole_lines = memchr::memrchr(b'\n', bytes).map(|at| at + 1);
    let end = whole_lines.unwrap_or_else(|| {
        (1..=FRAGMENT_LIMIT).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0)
    });
    (invariant::text(text, ..end), true)
}

/// The first lines of a text, and the others.
fn split_lines(text: &str, lines: usize) -> (&str, &str) {
    if lines == 0 {
        return ("", text);
    }
    let end = memchr::memchr_iter(b'\n', text.as_bytes()).nth(lines - 1);
    end.and_then(|at| text.split_at_checked(at + 1)).unwrap_or((text, ""))
}

/// How many levels of images inside the text of images are distinguished.
const NESTED_IMAGES: usize = 8;
/// The most text that one query parses.
const FRAGMENT_LIMIT: usize = 1024 * 1024;
