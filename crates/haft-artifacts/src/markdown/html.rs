//! The seven kinds of HTML blocks: how they open and how they end.

use memchr::memmem;

use super::cursor::is_blank;
use crate::invariant;

/// What ends an HTML block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HtmlEnd {
    /// `</script>`, `</pre>`, `</style>` or `</textarea>`.
    RawTag,
    /// `-->`
    Comment,
    /// `?>`
    Instruction,
    /// `>`
    Declaration,
    /// `]]>`
    CData,
    /// A blank line.
    BlankLine,
}

/// Whether any complete tag alone on its line may open a block. It may not interrupt a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoneTag {
    Allowed,
    Refused,
}

/// The end of the HTML block that a line opens.
pub(super) fn opens(text: &[u8], lone_tag: LoneTag) -> Option<HtmlEnd> {
    let inner = text.strip_prefix(b"<")?;
    match inner.first()? {
        b'?' => return Some(HtmlEnd::Instruction),
        b'!' if inner.starts_with(b"!--") => return Some(HtmlEnd::Comment),
        b'!' if inner.starts_with(b"![CDATA[") => return Some(HtmlEnd::CData),
        b'!' if inner.get(1).is_some_and(u8::is_ascii_alphabetic) => {
            return Some(HtmlEnd::Declaration);
        }
        _ => {}
    }
    let (name, after) = split_tag_name(inner);
    if RAW_TAGS.iter().any(|it| it.eq_ignore_ascii_case(name))
        && matches!(after.first(), None | Some(b' ' | b'\t' | b'>'))
    {
        return Some(HtmlEnd::RawTag);
    }
    if opens_block_tag(inner) || (lone_tag == LoneTag::Allowed && is_lone_tag(inner)) {
        return Some(HtmlEnd::BlankLine);
    }
    None
}

/// Whether a line ends the block. The caller checks for a blank line.
pub(super) fn ends(text: &[u8], end: HtmlEnd) -> bool {
    match end {
        HtmlEnd::RawTag => memmem::find_iter(text, b"</").any(|at| {
            let inner = invariant::slice(text, at + 2..);
            RAW_TAGS.iter().any(|tag| {
                inner.get(..tag.len()).is_some_and(|it| it.eq_ignore_ascii_case(tag))
                    && inner.get(tag.len()) == Some(&b'>')
            })
        }),
        HtmlEnd::Comment => memmem::find(text, b"-->").is_some(),
        HtmlEnd::Instruction => memmem::find(text, b"?>").is_some(),
        HtmlEnd::Declaration => memchr::memchr(b'>', text).is_some(),
        HtmlEnd::CData => memmem::find(text, b"]]>").is_some(),
        HtmlEnd::BlankLine => false,
    }
}

/// The name at the start of a tag, and the rest.
fn split_tag_name(text: &[u8]) -> (&[u8], &[u8]) {
    invariant::split(text, text.iter().take_while(|it| it.is_ascii_alphanumeric()).count())
}

fn opens_block_tag(inner: &[u8]) -> bool {
    let inner = inner.strip_prefix(b"/").unwrap_or(inner);
    let (name, after) = split_tag_name(inner);
    (matches!(after.first(), None | Some(b' ' | b'\t' | b'>')) || after.starts_with(b"/>"))
        && name.len() <= 10
        && BLOCK_TAGS.binary_search(&name.to_ascii_lowercase().as_slice()).is_ok()
}

/// Whether a complete tag, open or closing, is alone on the line.
fn is_lone_tag(inner: &[u8]) -> bool {
    let closing = inner.strip_prefix(b"/");
    let text = closing.unwrap_or(inner);
    if !text.first().is_some_and(u8::is_ascii_alphabetic) {
        return false;
    }
    let name = text.iter().take_while(|&&it| it.is_ascii_alphanumeric() || it == b'-').count();
    let mut rest = invariant::slice(text, name..);
    if closing.is_none() {
        let Some(after) = attributes(rest) else {
            return false;
        };
        rest = after;
        rest = rest.strip_prefix(b"/").unwrap_or(rest);
    } else {
        rest = skip_space(rest);
    }
    rest.strip_prefix(b">").is_some_and(is_blank)
}

/// Skips the attributes of an open tag and the white space after them.
fn attributes(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let spaced = skip_space(rest);
        match spaced.first()? {
            b'/' | b'>' => return Some(spaced),
            _ if spaced.len() == rest.len() => return None,
            it if it.is_ascii_alphabetic() || matches!(it, b'_' | b':') => {}
            _ => return None,
        }
        let name = spaced
            .iter()
            .take_while(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'.' | b':' | b'-'));
        rest = spaced.get(name.count()..)?;
        if let Some(value) = skip_space(rest).strip_prefix(b"=") {
            rest = attribute_value(skip_space(value))?;
        }
    }
}

fn attribute_value(text: &[u8]) -> Option<&[u8]> {
    let (&first, inner) = text.split_first()?;
    if first == b'"' || first == b'\'' {
        let end = memchr::memchr(first, inner)?;
        return inner.get(end + 1..);
    }
    let length = text
        .iter()
        .take_while(|it| !matches!(it, b'\'' | b'"' | b' ' | b'\t' | b'=' | b'>' | b'<' | b'`'))
        .count();
    if length == 0 { None } else { text.get(length..) }
}

fn skip_space(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    text
}

const RAW_TAGS: [&[u8]; 4] = [b"pre", b"script", b"style", b"textarea"];

/// Sorted, for binary search.
const BLOCK_TAGS: [&[u8]; 62] = [
    b"address",
    b"article",
    b"aside",
    b"base",
    b"basefont",
    b"blockquote",
    b"body",
    b"caption",
    b"center",
    b"col",
    b"colgroup",
    b"dd",
    b"details",
    b"dialog",
    b"dir",
    b"div",
    b"dl",
    b"dt",
    b"fieldset",
    b"figcaption",
    b"figure",
    b"footer",
    b"form",
    b"frame",
    b"frameset",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"head",
    b"header",
    b"hr",
    b"html",
    b"iframe",
    b"legend",
    b"li",
    b"link",
    b"main",
    b"menu",
    b"menuitem",
    b"nav",
    b"noframes",
    b"ol",
    b"optgroup",
    b"option",
    b"p",
    b"param",
    b"search",
    b"section",
    b"summary",
    b"table",
    b"tbody",
    b"td",
    b"tfoot",
    b"th",
    b"thead",
    b"title",
    b"tr",
    b"track",
    b"ul",
];
