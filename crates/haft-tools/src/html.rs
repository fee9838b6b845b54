//! The text of HTML, simply: no tree, no scripts, linear time.

/// The text with its character references resolved. What is none stays as it is.
pub(super) fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        // No reference is longer.
        let end = after.bytes().take(LONGEST).position(|it| it == b';');
        let name = end.and_then(|end| after.get(..end));
        match name.and_then(character) {
            Some(found) => {
                out.push(found);
                rest = after.get(end.map_or(0, |end| end + 1)..).unwrap_or_default();
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out + rest
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|it| *it != '\0');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "hellip" => '…',
        "mdash" => '—',
        "ndash" => '–',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "bull" => '•',
        "middot" => '·',
        "times" => '×',
        "deg" => '°',
        "euro" => '€',
        "pound" => '£',
        "sect" => '§',
        _ => return None,
    })
}

/// The text that a page shows, about as a reader sees it: headings and list items are marked as in Markdown,
/// scripts, styles and comments are left out.
#[cfg(feature = "http")]
pub(super) fn to_text(html: &str) -> String {
    let mut page = Page::default();
    let mut rest = html;
    while let Some((text, tag)) = rest.split_once('<') {
        page.text(text);
        rest = match tag.strip_prefix("!--") {
            Some(comment) => comment.split_once("-->").map_or("", |(_, after)| after),
            None if !tag.starts_with(|it: char| it.is_ascii_alphabetic() || "/!?".contains(it)) => {
                page.text("<");
                tag
            }
            None => page.tag(tag),
        };
    }
    page.text(rest);
    page.finish()
}

#[cfg(feature = "http")]
#[derive(Default)]
struct Page {
    out: String,
    /// Whether white space stands before what comes next.
    space: bool,
    preformatted: bool,
}

#[cfg(feature = "http")]
impl Page {
    /// Takes a tag, without its `<`, and gives what stands behind it.
    fn tag<'h>(&mut self, text: &'h str) -> &'h str {
        let (inside, after) = end_of_tag(text);
        let closing = inside.starts_with('/');
        let name = inside.trim_start_matches('/');
        let end = name.find(|it: char| !it.is_ascii_alphanumeric()).unwrap_or(name.len());
        let name = name.get(..end).unwrap_or_default().to_ascii_lowercase();
        match (name.as_str(), closing) {
            ("script" | "style" | "noscript" | "template" | "svg", false)
                if !inside.ends_with('/') =>
            {
                return past_end(after, &name);
            }
            ("br", _) => self.line(1),
            ("title", true) => self.line(2),
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => {
                self.line(2);
                let level = name.as_bytes().get(1).map_or(1, |digit| digit - b'0');
                self.out.push_str(&"#".repeat(level.into()));
                self.out.push(' ');
            }
            ("li", false) => {
                self.line(1);
                self.out.push_str("- ");
            }
            ("pre", closing) => {
                self.line(2);
                self.preformatted = !closing;
            }
            ("tr" | "dt" | "dd" | "option", _) => self.line(1),
            ("td" | "th", true) => self.out.push_str(" | "),
            (
                "p" | "div" | "section" | "article" | "header" | "footer" | "main" | "nav"
                | "aside" | "ul" | "ol" | "table" | "blockquote" | "form" | "figure" | "hr" | "dl"
                | "h1" | "h2" | "h3" | "h4" | "h5" | "h6",
                _,
            ) => self.line(2),
            _ => {}
        }
        after
    }

    fn text(&mut self, text: &str) {
        let text = entities(text);
        if self.preformatted {
            self.out.push_str(&text);
            return;
        }
        for part in text.split_inclusive(char::is_whitespace) {
            let word = part.trim();
            if !word.is_empty() {
                if self.space && !self.out.ends_with(['\n', ' ']) && !self.out.is_empty() {
                    self.out.push(' ');
                }
                self.out.push_str(word);
                self.space = false;
            }
            self.space |= part.ends_with(char::is_whitespace);
        }
    }

    /// Ends the line, and leaves one empty if `ends` is 2.
    fn line(&mut self, ends: usize) {
        let kept = self.out.trim_end_matches([' ', '\n']).len();
        let had = self.out.get(kept..).unwrap_or_default().matches('\n').count();
        self.out.truncate(kept);
        if !self.out.is_empty() {
            self.out.push_str(if had.max(ends) > 1 { "\n\n" } else { "\n" });
        }
        self.space = false;
    }

    fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end().len());
        self.out
    }
}

/// The inside of a tag and what stands behind it. A `>` in quotes does not end it.
#[cfg(feature = "http")]
fn end_of_tag(text: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, it) in text.char_indices() {
        match (quote, it) {
            (None, '"' | '\'') => quote = Some(it),
            (Some(open), it) if open == it => quote = None,
            (None, '>') => {
                let inside = text.get(..at).unwrap_or_default();
                return (inside, text.get(at + 1..).unwrap_or_default());
            }
            _ => {}
        }
    }
    (text, "")
}

/// What stands behind the end of an element whose content is not shown.
#[cfg(feature = "http")]
fn past_end<'h>(text: &'h str, name: &str) -> &'h str {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("</") {
        rest = after;
        let closes = rest.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name));
        if closes {
            return end_of_tag(rest).1;
        }
    }
    ""
}

const LONGEST: usize = 12;
