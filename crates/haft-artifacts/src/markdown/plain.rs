//! Inline Markdown as plain text.

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, Options, Parser, Tag};

use super::outline::Definitions;
use crate::invariant;

/// The extensions that are understood: tables and struck-out text, in addition to CommonMark.
pub(super) const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH);

/// A heading's text without its markup, on one line.
pub(super) fn heading(source: &str, definitions: &Definitions) -> String {
    if !source.bytes().any(is_markup) {
        return one_line(source);
    }
    // Indented lines under a line of text are its paragraph, whatever they begin with.
    let mut document = String::with_capacity(source.len() + 16);
    document.push('x');
    for line in source.split('\n') {
        document.push_str("\n    ");
        document.push_str(line.trim_matches([' ', '\t']));
    }
    let mut resolve = |link: BrokenLink<'_>| {
        definitions.get(&link.reference).map(|_| (CowStr::Borrowed(""), CowStr::Borrowed("")))
    };
    let parser = Parser::new_with_broken_link_callback(&document, OPTIONS, Some(&mut resolve));
    let mut text = String::with_capacity(source.len());
    // The first three events are the paragraph, the `x` and the end of its line.
    for event in parser.skip(3) {
        push_inline(&mut text, &event);
    }
    one_line(&text)
}

/// A text with single spaces between its words.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_ascii_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Adds what a reader sees of an inline event.
pub(super) fn push_inline(text: &mut String, event: &Event<'_>) {
    match event {
        Event::Text(it) | Event::Code(it) => text.push_str(it),
        Event::SoftBreak | Event::HardBreak => text.push(' '),
        _ => {}
    }
}

/// The first word of an info string.
pub(super) fn language(info: &[u8]) -> Option<Box<str>> {
    let info = String::from_utf8_lossy(info);
    let text = if info.contains(['\\', '&']) { unescape_info(&info) } else { info.into_owned() };
    text.split_ascii_whitespace().next().map(Into::into)
}

fn unescape_info(info: &str) -> String {
    let document = format!("~~~ {info}");
    match Parser::new_ext(&document, OPTIONS).next() {
        Some(Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(it)))) => it.into_string(),
        _ => info.to_owned(),
    }
}

/// A text with backslash escapes and character references replaced.
pub(super) fn unescape(source: &str) -> Box<str> {
    if !source.contains(['\\', '&']) {
        return source.into();
    }
    // An info string knows the same escapes, but no line ends.
    let lines: Vec<String> = source
        .split('\n')
        .map(|line| {
            let inner = line.trim_matches([' ', '\t']);
            let (before, after) =
                invariant::or_default(line.split_once(inner), "a trimmed line is within the line");
            format!("{before}{}{after}", unescape_info(inner))
        })
        .collect();
    lines.join("\n").into_boxed_str()
}

/// Whether a byte may be markup, so that a text without any is plain as it is.
fn is_markup(byte: u8) -> bool {
    matches!(byte, b'\\' | b'`' | b'*' | b'_' | b'[' | b']' | b'<' | b'&' | b'!' | b'~' | b'\n' | 0)
}
