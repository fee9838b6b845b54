//! Sanitizes content before it enters a prompt.

use std::borrow::Cow;

use super::control_tokens::neutralize_tokens;
use super::fold::{SEPARATOR, fold, is_invisible, is_less_than, is_replaced, may_begin_suspect};
use super::prompt::RESERVED;

use crate::invariant::OrReport as _;

/// The maximum number of characters of an attribute or a file name.
const MAX_CHARS: usize = 256;

/// Longest reserved name, and one character behind it.
const NAME_WINDOW: usize = 20;

/// A body that may stand inside an envelope.
pub(super) struct Clean<'a>(Cow<'a, str>);

impl<'a> Clean<'a> {
    /// Makes every reserved tag of a text inert and replaces controls; all else stays as it is.
    pub(super) fn of(body: &'a str) -> Self {
        Self(neutralize(body))
    }

    /// As [`of`](Self::of), and with control tokens of chat templates made inert.
    pub(super) fn without_tokens(body: &'a str) -> Self {
        Self(match neutralize_tokens(body) {
            Cow::Borrowed(body) => neutralize(body),
            // The text is not that of the body any more.
            Cow::Owned(text) => Cow::Owned(neutralize(&text).into_owned()),
        })
    }

    /// An envelope within an envelope.
    pub(super) fn nested(inner: String) -> Self {
        Self(Cow::Owned(inner))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn into_cow(self) -> Cow<'a, str> {
        self.0
    }

    pub(super) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

/// Why a slice of the body exists.
const AT_CHARACTER: &str = "a scanned character begins and ends at a boundary";

/// The body with the `<` of everything that reads like a reserved tag written as `&lt;`, and with
/// controls as U+FFFD. Takes linear time and changes nothing the second time.
///
/// A tag is whatever a lenient reader takes for one: any letter case, width and alphabet, space and slashes
/// between `<` and the name, other separators than `_` or none between its words, invisible characters anywhere, an end or
/// none. A `<` that is written as
/// an entity already is what this function would make of it, and stays.
pub(super) fn neutralize(body: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut from = 0;
    while let Some((at, ch)) = next_suspect(body, from) {
        from = at + ch.len_utf8();
        let instead = if is_replaced(ch) {
            "\u{FFFD}"
        } else if is_less_than(ch)
            && names_reserved(body.get(from..).or_report_default(AT_CHARACTER))
        {
            "&lt;"
        } else {
            continue;
        };
        out.push_str(body.get(kept..at).or_report_default(AT_CHARACTER));
        out.push_str(instead);
        kept = from;
    }
    if kept == 0 {
        return Cow::Borrowed(body);
    }
    out.push_str(body.get(kept..).or_report_default(AT_CHARACTER));
    Cow::Owned(out)
}

/// The next character at or behind `from` that may have to be replaced.
fn next_suspect(body: &str, from: usize) -> Option<(usize, char)> {
    let rest = body.as_bytes().get(from..)?;
    // Nearly all text is passed block by block, each looked at as a whole.
    let has_none = |block: &&[u8; BLOCK]| {
        !block.iter().fold(false, |found, byte| found | may_begin_suspect(*byte))
    };
    let from = from + rest.as_chunks().0.iter().take_while(has_none).count() * BLOCK;
    let rest = body.as_bytes().get(from..)?;
    let at = from + rest.iter().position(|byte| may_begin_suspect(*byte))?;
    Some((at, body.get(at..)?.chars().next()?))
}

/// How many bytes are looked at together.
const BLOCK: usize = 32;

/// Whether the text behind a `<` reads like the rest of a reserved tag. It looks no further than the
/// next `<`, so that looking behind every `<` takes linear time.
fn names_reserved(rest: &str) -> bool {
    let mut name = Name::default();
    let mut gap = false;
    'name: for ch in rest.chars() {
        let looks = fold(ch);
        if looks.as_bytes().is_empty() {
            gap = true;
        }
        for &look in looks.as_bytes() {
            if look == SEPARATOR || (name.len == 0 && look == b'/') {
                gap = true;
                continue;
            }
            let goes_on = !gap && ch.is_ascii_alphanumeric();
            gap = false;
            if !look.is_ascii_alphanumeric() || !name.push(look, goes_on) {
                break 'name;
            }
        }
    }
    name.is_reserved()
}

/// The start of a tag's name, as it looks.
#[derive(Default)]
struct Name {
    looks: [u8; NAME_WINDOW],
    /// Whether the character is a letter or digit beyond doubt, right behind the one before: only such
    /// a one makes a longer name of a reserved one, as in `messages`.
    goes_on: [bool; NAME_WINDOW],
    len: usize,
}

impl Name {
    /// Takes one more character. False when it cannot become a reserved name or is long enough.
    fn push(&mut self, look: u8, goes_on: bool) -> bool {
        let begins = |name: &&str| name.as_bytes().first() == Some(&look);
        if self.len == 0 && !RESERVED.iter().any(begins) {
            return false;
        }
        let (Some(to), Some(sure)) = (self.looks.get_mut(self.len), self.goes_on.get_mut(self.len))
        else {
            return false;
        };
        (*to, *sure) = (look, goes_on);
        self.len += 1;
        true
    }

    fn is_reserved(&self) -> bool {
        let matches = |name: &&str| {
            let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
            let len = letters.clone().count();
            self.looks.iter().copied().zip(letters).all(|(look, letter)| look == letter)
                && !self.goes_on.get(len).copied().unwrap_or(false)
        };
        self.len > 0 && RESERVED.iter().any(matches)
    }
}

/// The value of an attribute: `&`, `<`, `>` and `"` as entities, without controls and invisible
/// characters, cut behind 256 characters.
pub(super) fn attribute(value: &str) -> Cow<'_, str> {
    let is_plain =
        |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'&' | b'<' | b'>' | b'"');
    if value.len() <= MAX_CHARS && value.bytes().all(is_plain) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len().min(MAX_CHARS));
    for ch in shortened(value, |_| true) {
        match ch {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(ch),
        }
    }
    // What is left are characters that only look like `<`.
    Cow::Owned(neutralize(&out).into_owned())
}

/// A file name that can be shown: without `<`, `>`, controls and invisible characters, cut behind 256
/// characters, and `unnamed` if nothing is left.
///
/// ```
/// use haft_core::trust::sanitized_file_name;
///
/// assert_eq!(sanitized_file_name("a<b>\n.png"), "ab.png");
/// assert_eq!(sanitized_file_name("\u{202E}"), "unnamed");
/// ```
#[must_use]
pub fn sanitized_file_name(name: &str) -> String {
    let name: String = shortened(name, |ch| !matches!(ch, '<' | '>')).collect();
    if name.trim().is_empty() { "unnamed".to_owned() } else { neutralize(&name).into_owned() }
}

/// A MIME type that can stand in a header or a data URI: `type/subtype` of letters, digits, `_`, `.`,
/// `+` and `-`, or else `application/octet-stream`. Parameters are not accepted.
///
/// ```
/// use haft_core::trust::sanitized_mime_type;
///
/// assert_eq!(sanitized_mime_type("image/svg+xml"), "image/svg+xml");
/// assert_eq!(sanitized_mime_type("text/html;base64,x"), "application/octet-stream");
/// ```
#[must_use]
pub fn sanitized_mime_type(mime_type: &str) -> &str {
    let is_token = |text: &str| {
        let allowed =
            |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'.' | b'+' | b'-');
        !text.is_empty() && text.bytes().all(allowed)
    };
    let well_formed = mime_type.len() <= MAX_CHARS
        && mime_type.split_once('/').is_some_and(|(a, b)| is_token(a) && is_token(b));
    if well_formed { mime_type } else { "application/octet-stream" }
}

/// A name that stands on one line of a body: as an attribute, without the entities.
pub(super) fn one_line(text: &str) -> String {
    shortened(text, |_| true).collect()
}

/// A size for people: bytes below 1024, then one decimal.
pub(super) fn human_size(bytes: Option<u64>) -> String {
    const UNITS: [&str; 3] = ["KB", "MB", "GB"];
    let Some(bytes) = bytes else { return "unknown size".to_owned() };
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // Tenths of the unit, in integers so that every machine rounds alike.
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = "KB";
    for next in UNITS.iter().skip(1) {
        if tenths < 10 * 1024 {
            break;
        }
        tenths /= 1024;
        unit = next;
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// The characters of a name that can be seen, at most 256, and an ellipsis if there were more.
fn shortened(text: &str, keep: impl Fn(char) -> bool) -> impl Iterator<Item = char> {
    let seen = move |ch: &char| !ch.is_control() && !is_invisible(*ch) && keep(*ch);
    let ends = |(n, ch)| if n < MAX_CHARS { ch } else { '…' };
    text.chars().filter(seen).take(MAX_CHARS + 1).enumerate().map(ends)
}
