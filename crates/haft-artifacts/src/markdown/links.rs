//! The links in a part of a document.

mod bare_urls;

use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Parser, Tag, TagEnd};

use super::{MarkdownIndex, plain};
use crate::invariant;

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

impl MarkdownIndex {
    /// The links in some lines, in order: inline, by reference, in angle brackets, and bare addresses.
    ///
    /// `text` must be lines of the indexed document, the first of them being line `first_line`. References are
    /// resolved with the definitions of the whole document. Text of more than 1 MiB is cut at the end of a line.
    ///
    /// ```
    /// use haft_artifacts::markdown::MarkdownIndex;
    ///
    /// let document = "# A\n\nsee [the site][s]\n\n# B\n\n[s]: https://example.org\n";
    /// let index = MarkdownIndex::parse(document);
    /// let links = index.links("see [the site][s]\n", 2);
    /// assert_eq!((&*links[0].text, &*links[0].url, links[0].line), ("the site", "https://example.org", 2));
    /// ```
    #[must_use]
    pub fn links(&self, text: &str, first_line: usize) -> Vec<MarkdownLink> {
        let text = cut(text);
        let text = if first_line == 0 { text.trim_start_matches('\u{feff}') } else { text };
        // Front matter and a code block that was opened before have no links.
        let front = self.front_matter_source().map_or(0, |it| it.end_line() + 1);
        let after_front = first_line.max(front);
        let body_line = self.open_code_end(after_front).map_or(after_front, |end| end + 1);
        let body = after_lines(text, body_line - first_line);
        let starts = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', body.as_bytes()).map(|at| at + 1))
            .collect();
        LinkReader { index: self, body, body_line, starts }.links()
    }

    /// The end of the code block that a line is inside of, unless the line is its first.
    fn open_code_end(&self, line: usize) -> Option<usize> {
        let blocks = self.code_blocks();
        let after = blocks.partition_point(|it| it.start_line < line);
        let block = blocks.get(after.checked_sub(1)?)?;
        (block.fenced && line <= block.end_line).then_some(block.end_line)
    }
}

/// Lines of a document that are read for links.
struct LinkReader<'a> {
    index: &'a MarkdownIndex,
    body: &'a str,
    body_line: usize,
    /// Where the lines of `body` begin.
    starts: Vec<usize>,
}

impl LinkReader<'_> {
    fn links(&self) -> Vec<MarkdownLink> {
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
                        plain::push_inline(&mut link.text, event);
                    }
                }
            }
        });
        run.take(|text, offset| self.push_bare_urls(&mut links, text, offset));
        links
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

    /// The target of a link, and its title. The first definition in the document decides.
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
fn cut(text: &str) -> &str {
    if text.len() <= TEXT_LIMIT {
        return text;
    }
    let bytes = invariant::slice(text.as_bytes(), ..TEXT_LIMIT);
    // The start of a text is always between characters.
    let whole_lines = memchr::memrchr(b'\n', bytes).map(|at| at + 1);
    let end = whole_lines.unwrap_or_else(|| {
        (1..=TEXT_LIMIT).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0)
    });
    invariant::text(text, ..end)
}

/// A text without its first lines.
fn after_lines(text: &str, lines: usize) -> &str {
    if lines == 0 {
        return text;
    }
    let end = memchr::memchr_iter(b'\n', text.as_bytes()).nth(lines - 1);
    end.and_then(|at| text.get(at + 1..)).unwrap_or("")
}

/// The most text that one query parses.
const TEXT_LIMIT: usize = 1024 * 1024;
