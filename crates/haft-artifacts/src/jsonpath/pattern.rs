//! Regular expressions of the functions `match` and `search`.

use regex::{Regex, RegexBuilder};

use super::ast::MatchExtent;

/// Longest pattern that is compiled, in bytes.
const MAX_PATTERN: usize = 1024;

/// Compiled patterns larger than this match nothing.
const MAX_COMPILED: usize = 256 * 1024;

/// A pattern as written, and its compiled form.
///
/// Patterns are I-Regexp (RFC 9485) and what else the linear-time engine knows, such as `\d`, `\b`,
/// `(?i)` and anchors. Look-around and back-references do not exist.
#[derive(Clone, Debug)]
pub(crate) struct FilterPattern {
    source: Box<str>,
    extent: MatchExtent,
    /// Nothing if it does not compile.
    compiled: Option<Regex>,
}

impl FilterPattern {
    pub(super) fn new(source: &str, extent: MatchExtent) -> Self {
        Self { source: source.into(), extent, compiled: compile(source, extent) }
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn is_valid(&self) -> bool {
        self.compiled.is_some()
    }

    pub(super) fn is_for(&self, source: &str, extent: MatchExtent) -> bool {
        self.extent == extent && *self.source == *source
    }

    /// RFC 9535: what is no pattern matches nothing.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.compiled.as_ref().is_some_and(|it| it.is_match(text))
    }
}

impl PartialEq for FilterPattern {
    fn eq(&self, other: &Self) -> bool {
        self.is_for(&other.source, other.extent)
    }
}

fn compile(source: &str, extent: MatchExtent) -> Option<Regex> {
    if source.len() > MAX_PATTERN {
        return None;
    }
    let mut translated = translate(source)?;
    if extent == MatchExtent::Whole {
        translated = format!(r"\A(?:{translated})\z");
    }
    RegexBuilder::new(&translated)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .build()
        .ok()
}

/// The pattern in the engine's syntax: `.` matches neither of the two line ends, and the engine's
/// set operators inside of brackets are plain characters. Nothing if the parentheses do not match,
/// which would otherwise go unnoticed in the ones around a whole pattern.
fn translate(source: &str) -> Option<String> {
    let mut out = String::with_capacity(source.len() + 16);
    let mut open: u32 = 0;
    let mut brackets: u32 = 0;
    let mut chars = source.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => {
                out.push(char);
                out.extend(chars.next());
                continue;
            }
            '[' => {
                brackets += 1;
                out.push('[');
                // A bracket that closes at once is a plain character.
                if let Some(negation) = chars.next_if_eq(&'^') {
                    out.push(negation);
                }
                if chars.next_if_eq(&']').is_some() {
                    out.push_str(r"\]");
                }
                continue;
            }
            ']' => brackets = brackets.saturating_sub(1),
            '&' | '~' if brackets > 0 => out.push('\\'),
            '.' if brackets == 0 => {
                out.push_str(r"[^\n\r]");
                continue;
            }
            '(' if brackets == 0 => open += 1,
            ')' if brackets == 0 => open = open.checked_sub(1)?,
            _ => {}
        }
        out.push(char);
    }
    Some(out)
}
