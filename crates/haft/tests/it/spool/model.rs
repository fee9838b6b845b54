//! What queries must answer, in the plainest way there is.

use haft::artifacts::Budget;
use haft::artifacts::text::GrepOptions;
use proptest::prelude::*;
use regex::bytes::RegexBuilder;

/// The bytes of every line's text, before decoding.
pub(super) fn views(content: &[u8]) -> Vec<Vec<u8>> {
    if content.is_empty() {
        return Vec::new();
    }
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let lines = content.split(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec()).collect()
}

/// The text of every line, uncut.
pub(super) fn texts(content: &[u8]) -> Vec<String> {
    views(content).iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

/// A text of at most so many bytes, and whether it was cut.
pub(super) fn cut(text: &str, cap: usize) -> (String, bool) {
    let mut cut = String::new();
    for character in text.chars() {
        if cut.len() + character.len_utf8() > cap {
            return (cut, true);
        }
        cut.push(character);
    }
    (cut, false)
}

/// Lines within a budget: number, text, whether it was cut.
pub(super) fn page(
    texts: &[String],
    numbers: impl Iterator<Item = usize>,
    budget: Budget,
) -> Vec<(u64, String, bool)> {
    let mut page = Vec::new();
    let mut bytes = 0;
    for number in numbers {
        let (text, truncated) = cut(&texts[number], budget.line_bytes.min(budget.bytes));
        bytes += text.len() + 1;
        if page.len() == budget.lines.get() || (bytes > budget.bytes && !page.is_empty()) {
            break;
        }
        page.push((number as u64, text, truncated));
    }
    page
}

/// The numbers of all lines that match.
pub(super) fn matches(content: &[u8], pattern: &str, options: &GrepOptions) -> Vec<usize> {
    let regex = RegexBuilder::new(pattern)
        .case_insensitive(options.ignore_case)
        .multi_line(options.multi_line)
        .dot_matches_new_line(options.dot_all)
        .build()
        .unwrap();
    let views = views(content);
    (0..views.len()).filter(|line| regex.is_match(&views[*line])).collect()
}

/// Content of everything that makes lines difficult.
pub(super) fn content() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"\n"[..],
        b"\n",
        b"\r\n",
        b"\r",
        b"a",
        b"b",
        b"ab",
        b"A",
        b" ",
        b"\0",
        b"\xff",
        b"\xe2\x82",
        b"\xef\xbb\xbf",
        b"\xc3\xa9",
        b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        b"error 17",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

pub(super) fn pattern() -> impl Strategy<Value = &'static str> {
    prop::sample::select(PATTERNS.to_vec())
}

pub(super) const PATTERNS: [&str; 50] = [
    "",
    "a",
    "^a",
    "b$",
    "a.b",
    "^$",
    "$^",
    "[^a]",
    r"\s",
    r"\S+$",
    r"a|\n",
    r"\n",
    r"a\nb",
    r"(\n)*b",
    r"[a\n]b",
    "x*$",
    r"\bab\b",
    r"\B",
    r"\b",
    "(?i)AB",
    r"\Aa",
    r"b\z",
    r"^\z",
    r"\r",
    r"a\r?$",
    r"\r$",
    r"\r\r$",
    "(?R)a$",
    "(?R)^b",
    "(?R).$",
    r"[^\r]$",
    ".$",
    "^.",
    "é",
    r"\w+",
    r"\W",
    r"(?-u)\xff",
    r"(?-u).\xff",
    "(?s).+",
    "(?s-u).",
    "^.{3}$",
    r"(a|b)+\s*x",
    r"\x{feff}",
    r"(?-u:\B)",
    "(?m)^b$",
    r"\b{end}",
    r"[\s\S]b",
    "[[:^alpha:]]$",
    "r 1[0-9]",
    ".*[^A-Z]|[A-Z]",
];
