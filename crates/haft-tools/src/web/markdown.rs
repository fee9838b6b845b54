//! Converts HTML to Markdown in one pass: no tree and no recursion, so that neither depth nor size of a page matters.

use haft_http::reqwest::Url;
use html5gum::{StartTag, Token};

use super::tags::{attribute, tokens};

/// The text that a page shows, as Markdown with headings, lists, links, tables and code blocks. Links are absolute.
/// Scripts, styles and comments are left out.
pub(super) fn html_to_markdown(html: &str, url: &str) -> String {
    let mut writer = MarkdownWriter::new(Url::parse(url).ok());
    for token in tokens(html) {
        match token {
            Token::StartTag(tag) => writer.start_tag(&tag),
            Token::EndTag(tag) => writer.end_tag(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => writer.push_text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if writer.out.len() > MAX_MARKDOWN_BYTES {
            writer.out.push_str("\n\n[the page is cut here]");
            break;
        }
    }
    writer.finish()
}

#[derive(Default)]
struct MarkdownWriter {
    out: String,
    /// Whether white space precedes the next word.
    has_pending_space: bool,
    /// The mark of a heading or a list item that has no text yet.
    marker: String,
    /// Whether the row of a table has a cell already.
    has_cell: bool,
    /// The element whose content is left out.
    skipped: Option<String>,
    /// The text of the code block that is open.
    code_block: Option<String>,
    /// The lists that are open, from the outermost one. At most [`MAX_LIST_DEPTH`].
    lists: Vec<ListKind>,
    link: Link,
    link_count: usize,
    base: Option<Url>,
}

enum ListKind {
    Bullets,
    /// The number of the last item.
    Numbers(usize),
}

/// A link becomes `[text](target)` when its first word arrives, and ends with its line at the latest: Markdown has no
/// links across paragraphs.
#[derive(Default)]
enum Link {
    #[default]
    None,
    /// The link has no text yet.
    Pending(String),
    /// The opening bracket is written.
    Open(String),
}

impl MarkdownWriter {
    fn new(base: Option<Url>) -> Self {
        Self { base, ..Self::default() }
    }

    fn start_tag(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        if self.skipped.is_some() {
            return;
        }
        match &*name {
            "script" | "style" | "noscript" | "template" | "svg" | "math" | "iframe"
                if !tag.self_closing =>
            {
                self.skipped = Some(name.into_owned());
            }
            "base" => self.set_base(tag),
            "a" => self.start_link(tag),
            "img" => self.push_image_text(tag),
            "br" => self.end_line(),
            "pre" => {
                self.end_paragraph();
                self.code_block = Some(String::new());
            }
            "li" => self.start_item(),
            "ul" => self.start_list(ListKind::Bullets),
            "ol" => self.start_list(ListKind::Numbers(0)),
            "tr" => {
                self.end_line();
                self.has_cell = false;
            }
            "td" | "th" => self.start_cell(),
            "dt" | "dd" | "option" => self.end_line(),
            _ => self.start_block(&name),
        }
    }

    fn end_tag(&mut self, name: &str) {
        if let Some(skipped) = &self.skipped {
            if skipped == name {
                self.skipped = None;
            }
            return;
        }
        match name {
            "a" => self.end_link(),
            "pre" => self.end_code_block(),
            "ul" | "ol" => self.end_list(),
            "li" => {
                self.marker.clear();
                self.end_line();
            }
            "tr" | "dt" | "dd" | "option" => self.end_line(),
            "title" => self.end_paragraph(),
            _ if heading_level(name).is_some() => {
                self.marker.clear();
                self.end_paragraph();
            }
            _ if is_block(name) => self.end_paragraph(),
            _ => {}
        }
    }

    fn start_block(&mut self, name: &str) {
        if let Some(level) = heading_level(name) {
            self.end_paragraph();
            self.marker = "#".repeat(level) + " ";
        } else if is_block(name) {
            self.end_paragraph();
        }
    }

    fn push_text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        if let Some(code) = &mut self.code_block {
            code.push_str(text);
            return;
        }
        for part in text.split_inclusive(char::is_whitespace) {
            let word = part.trim();
            if !word.is_empty() {
                self.push_word(word);
            }
            self.has_pending_space |= part.ends_with(char::is_whitespace);
        }
    }

    fn push_word(&mut self, word: &str) {
        if self.has_pending_space && !self.out.is_empty() && !self.out.ends_with(['\n', ' ']) {
            self.out.push(' ');
        }
        self.has_pending_space = false;
        self.out.push_str(&std::mem::take(&mut self.marker));
        if let Link::Pending(target) = &mut self.link {
            self.link = Link::Open(std::mem::take(target));
            self.out.push('[');
        }
        self.out.push_str(word);
    }

    fn start_cell(&mut self) {
        self.end_link();
        if self.has_cell {
            self.out.push_str(" | ");
        }
        (self.has_cell, self.has_pending_space) = (true, false);
    }

    fn start_link(&mut self, tag: &StartTag<()>) {
        self.end_link();
        if self.code_block.is_some() || self.link_count == MAX_LINKS {
            return;
        }
        let target = attribute(tag, "href").and_then(|href| self.link_target(href.trim()));
        if let Some(target) = target {
            self.link_count += 1;
            self.link = Link::Pending(target);
        }
    }

    /// The absolute target of a link, if it leads to a page and is not too long.
    fn link_target(&self, href: &str) -> Option<String> {
        if href.is_empty() || href.starts_with('#') || href.len() > MAX_LINK_LENGTH {
            return None;
        }
        let target = match &self.base {
            Some(base) => base.join(href).ok()?,
            None => Url::parse(href).ok()?,
        };
        let is_readable = matches!(target.scheme(), "http" | "https" | "mailto");
        // Brackets would end the link.
        let target = target.as_str().replace('(', "%28").replace(')', "%29");
        (is_readable && target.len() <= MAX_LINK_LENGTH).then_some(target)
    }

    fn end_link(&mut self) {
        self.close_link();
        self.link = Link::None;
    }

    /// Ends a link that has text. One that has none gets the next text.
    fn close_link(&mut self) {
        if let Link::Open(target) = &mut self.link {
            let target = std::mem::take(target);
            self.link = Link::None;
            self.out.push_str("](");
            self.out.push_str(&target);
            self.out.push(')');
        }
    }

    fn set_base(&mut self, tag: &StartTag<()>) {
        let href = attribute(tag, "href").filter(|it| it.len() <= MAX_LINK_LENGTH);
        let base = self.base.as_ref().zip(href).and_then(|(base, href)| base.join(&href).ok());
        self.base = base.or(self.base.take());
    }

    /// The description of an image, where it is the text of a link.
    fn push_image_text(&mut self, tag: &StartTag<()>) {
        if !matches!(self.link, Link::None)
            && let Some(description) = attribute(tag, "alt")
        {
            self.push_text(&description);
        }
    }

    fn start_list(&mut self, kind: ListKind) {
        if self.lists.is_empty() {
            self.end_paragraph();
        }
        if self.lists.len() < MAX_LIST_DEPTH {
            self.lists.push(kind);
        }
    }

    fn end_list(&mut self) {
        self.lists.pop();
        if self.lists.is_empty() {
            self.end_paragraph();
        } else {
            self.end_line();
        }
    }

    fn start_item(&mut self) {
        self.end_line();
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        self.marker = match self.lists.last_mut() {
            Some(ListKind::Numbers(number)) => {
                *number += 1;
                format!("{indent}{number}. ")
            }
            Some(ListKind::Bullets) | None => indent + "- ",
        };
    }

    fn end_code_block(&mut self) {
        let Some(code) = self.code_block.take() else { return };
        let code = code.trim_matches(['\n', '\r']);
        if code.trim().is_empty() {
            return;
        }
        // The fence has to be longer than every run of backticks inside.
        let runs = code.split(|it| it != '`').map(str::len);
        let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
        self.out.push_str(&std::mem::take(&mut self.marker));
        for part in [fence.as_str(), "\n", code, "\n", fence.as_str()] {
            self.out.push_str(part);
        }
        self.end_paragraph();
    }

    fn end_line(&mut self) {
        self.break_lines("\n");
    }

    fn end_paragraph(&mut self) {
        self.break_lines("\n\n");
    }

    /// Ends the line. The text then ends with at least these line breaks and at most two.
    fn break_lines(&mut self, breaks: &str) {
        if self.code_block.is_some() {
            return;
        }
        self.close_link();
        let is_paragraph = self.out.trim_end_matches(' ').ends_with("\n\n");
        let length = self.out.trim_end_matches([' ', '\n']).len();
        self.out.truncate(length);
        if !self.out.is_empty() {
            self.out.push_str(if is_paragraph { "\n\n" } else { breaks });
        }
        self.has_pending_space = false;
    }

    fn finish(mut self) -> String {
        self.end_code_block();
        self.end_link();
        self.out.truncate(self.out.trim_end().len());
        self.out
    }
}

fn heading_level(name: &str) -> Option<usize> {
    ["h1", "h2", "h3", "h4", "h5", "h6"].iter().position(|it| *it == name).map(|at| at + 1)
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "section"
            | "article"
            | "header"
            | "footer"
            | "main"
            | "nav"
            | "aside"
            | "table"
            | "blockquote"
            | "form"
            | "figure"
            | "hr"
            | "dl"
    )
}

const MAX_MARKDOWN_BYTES: usize = 16 * 1024 * 1024;
const MAX_LINKS: usize = 20_000;
const MAX_LINK_LENGTH: usize = 2_000;
const MAX_LIST_DEPTH: usize = 8;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::html_to_markdown;

    #[track_caller]
    fn check(html: &str, expected: &str) {
        assert_eq!(html_to_markdown(html, "https://example.com/docs/start?x=1"), expected);
    }

    #[test]
    fn links_are_kept_and_absolute() {
        check(
            "See <a href='/a b'>the <b>first</b> page</a>.",
            "See [the first page](https://example.com/a%20b).",
        );
        check("<a href=next.html>next</a>", "[next](https://example.com/docs/next.html)");
        check(
            "<a href='https://other.example/x_(y)'>y</a>",
            "[y](https://other.example/x_%28y%29)",
        );
        check("<base href='/v2/'><a href=a>a</a>", "[a](https://example.com/v2/a)");
        check("<a href=mailto:a@example.com>a</a>", "[a](mailto:a@example.com)");
        check("<a href=/x><img alt='the logo' src=l.png></a>", "[the logo](https://example.com/x)");
        // A link without text, to a place on the page or to a script is no link.
        check(
            "a<a href=/x></a>b <a href='#top'>top</a> <a href='javascript:x()'>go</a>",
            "ab top go",
        );
        // A link ends with its paragraph, and where the next one begins.
        check(
            "<a href=/x><h2>Head</h2><p>text</p></a>",
            "## [Head](https://example.com/x)\n\ntext",
        );
        check(
            "<a href=/1>one<a href=/2>two",
            "[one](https://example.com/1)[two](https://example.com/2)",
        );
    }

    #[test]
    fn structure_becomes_markdown() {
        check("<ul><li>a<ul><li>b</ul><li>c</ul>d", "- a\n  - b\n- c\n\nd");
        check("<ol><li>a</li>\n<li>b</li></ol>", "1. a\n2. b");
        check("<p>x</p><pre>a\n  b</pre>y", "x\n\n```\na\n  b\n```\n\ny");
        check("<pre>``` x</pre>", "````\n``` x\n````");
        check("<table><tr><th>h<th>i</th></tr><tr><td>1</td><td>2</td></table>", "h | i\n1 | 2");
        check(
            "<ul><li><p>a</p></li><li></li><li><div>b</div></ul><h2><div>c</div></h2>d",
            "- a\n\n- b\n\n## c\n\nd",
        );
        check("caf&eacute; &rarr; &#x41; &amp;", "café → A &");
        check("a <svg><text>no</text></svg>b<style>p{}</style><!-- c -->", "a b");
    }

    /// Neither depth nor amount makes a page slow or overflows the stack. The limit of time is generous: the slowest
    /// takes a few seconds without optimization.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test measures real time")]
    fn hostile_pages_are_converted_quickly() {
        let attributes: String = (0..100_000).map(|it| format!("a{it}=b ")).collect();
        for (name, html) in [
            ("nested div", "<div>".repeat(100_000) + "x"),
            ("nested b", "<b>".repeat(100_000) + "x"),
            ("nested lists", "<ul><li>x".repeat(100_000)),
            ("nested tables", "<table><tr><td>x".repeat(100_000)),
            (
                "formatting",
                (0..200).map(|it| format!("<b id={it}>")).collect::<String>()
                    + &"<p>x".repeat(100_000),
            ),
            ("one tag", format!("<div {}>x", "a=b ".repeat(2_500_000))),
            ("attributes", format!("<div {attributes}>x")),
            ("links", "<a href=x>y</a>".repeat(200_000)),
            ("breaks", "x<br>".repeat(200_000)),
            ("open brackets", "<".repeat(1_000_000) + " x"),
            ("references", "&".repeat(1_000_000) + " x"),
            ("comment", format!("x<!--{}", "-".repeat(5_000_000))),
            ("code", "<pre>x".repeat(100_000)),
        ] {
            let started = Instant::now();
            let text =
                html_to_markdown(&html, &format!("https://example.com/{}", "a".repeat(1900)));
            assert!(text.contains('x') || text.contains('y'), "{name}");
            assert!(text.len() < 20_000_000, "{name}: {} bytes", text.len());
            assert!(started.elapsed() < Duration::from_secs(20), "{name}: {:?}", started.elapsed());
        }
    }
}
