//! Text to path: the cursor, segments and selectors.

mod filter;
mod hints;
mod literal;
mod spellings;

use std::borrow::Cow;

use super::ast::{Segment, SegmentReach, Selector, Slice};
use super::{MAX_NESTING, MAX_PATH, PathError, PathStep};

use haft_core::invariant::OrReport as _;

/// Parses a whole path into the segments behind its `$`.
pub(super) fn path(text: &str) -> Result<Vec<Segment>, PathError> {
    let mut parser = PathParser { text, at: 0, end: text.len(), depth: 0 };
    if text.len() > MAX_PATH {
        return Err(parser.error("a path of at most 4096 bytes", "write a shorter path"));
    }
    parser.end = text.trim_end_matches(BLANK).len();
    parser.skip_blank();
    let mut segments = Vec::new();
    if !parser.eat_token("$") {
        parser.without_root(&mut segments)?;
    }
    parser.parse_segments(&mut segments)?;
    if parser.at < parser.end {
        return Err(parser.error("a segment or the end of the path", parser.hint_behind_segment()));
    }
    Ok(segments)
}

/// Why a slice at the cursor exists.
const AT_BOUNDARY: &str = "the cursor stands at a character of the path or at its end";

/// What RFC 9535 calls blank.
const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];

/// Largest integer, either way, that every implementation holds exactly: 2^53 - 1.
const MAX_INTEGER: i64 = 9_007_199_254_740_991;

struct PathParser<'t> {
    text: &'t str,
    at: usize,
    end: usize,
    /// How many filters, parentheses and calls are open.
    depth: usize,
}

impl<'t> PathParser<'t> {
    fn remaining_text(&self) -> &'t str {
        self.text.get(self.at..self.end).or_report_default(AT_BOUNDARY)
    }

    fn peek(&self) -> Option<char> {
        self.remaining_text().chars().next()
    }

    fn eat_token(&mut self, token: &str) -> bool {
        let found = self.remaining_text().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Takes the longest run of characters that `wanted` accepts.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.remaining_text();
        let len = rest.find(|it| !wanted(it)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).or_report("a match ends at a boundary", rest)
    }

    fn skip_blank(&mut self) {
        self.take_while(|it| BLANK.contains(&it));
    }

    fn error(&self, expected: &'static str, hint: impl Into<Cow<'static, str>>) -> PathError {
        PathError { offset: self.at, expected, found: self.peek(), hint: hint.into() }
    }

    /// [`PathParser::error`] at an earlier place.
    fn error_at(
        &self,
        at: usize,
        expected: &'static str,
        hint: impl Into<Cow<'static, str>>,
    ) -> PathError {
        let found = self.text.get(at..self.end).and_then(|it| it.chars().next());
        PathError { offset: at, expected, found, hint: hint.into() }
    }

    /// Runs `body` one level deeper.
    fn parse_nested<T>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T, PathError>,
    ) -> Result<T, PathError> {
        if self.depth == MAX_NESTING {
            return Err(self.error("at most 32 levels of nesting", "write a flatter filter"));
        }
        self.depth += 1;
        let result = body(self);
        self.depth -= 1;
        result
    }

    /// `*(S segment)`. Blanks in front of something else are left alone.
    fn parse_segments(&mut self, out: &mut Vec<Segment>) -> Result<(), PathError> {
        loop {
            let before = self.at;
            self.skip_blank();
            let segment = if self.eat_token("..") {
                self.parse_after_dots()?
            } else if self.eat_token(".") {
                Segment { reach: SegmentReach::Children, selectors: vec![self.parse_after_dot()?] }
            } else if self.eat_token("[") {
                Segment { reach: SegmentReach::Children, selectors: self.parse_bracket()? }
            } else {
                self.at = before;
                return Ok(());
            };
            out.push(segment);
        }
    }

    fn parse_after_dots(&mut self) -> Result<Segment, PathError> {
        let selectors =
            if self.eat_token("[") { self.parse_bracket()? } else { vec![self.parse_after_dot()?] };
        Ok(Segment { reach: SegmentReach::Descendants, selectors })
    }

    /// `*` or a name without quotes.
    fn parse_after_dot(&mut self) -> Result<Selector, PathError> {
        if self.eat_token("*") {
            return Ok(Selector::Step(PathStep::Wildcard));
        }
        if !self.peek().is_some_and(is_name_first) {
            return Err(self.error("a name or `*`", self.hint_behind_dot()));
        }
        // Outside of filters there is no subtraction that a hyphen could mean.
        let hyphen = self.depth == 0;
        let name = self.take_while(|it| is_name_char(it) || hyphen && it == '-');
        Ok(Selector::Step(PathStep::Name(name.into())))
    }

    /// Selectors up to the closing bracket.
    fn parse_bracket(&mut self) -> Result<Vec<Selector>, PathError> {
        let mut selectors = Vec::new();
        loop {
            self.skip_blank();
            selectors.push(self.parse_selector()?);
            self.skip_blank();
            if self.eat_token("]") {
                return Ok(selectors);
            }
            if !self.eat_token(",") {
                return Err(self.error("`,` or `]`", self.hint_behind_selector()));
            }
        }
    }

    fn parse_selector(&mut self) -> Result<Selector, PathError> {
        match self.peek() {
            Some('\'' | '"') => Ok(Selector::Step(PathStep::Name(self.parse_string()?.into()))),
            Some('*') => {
                self.at += 1;
                Ok(Selector::Step(PathStep::Wildcard))
            }
            Some('?') => {
                self.at += 1;
                self.parse_nested(|it| {
                    it.skip_blank();
                    it.parse_or().map(Selector::Filter)
                })
            }
            Some('-' | ':' | '0'..='9') => self.parse_index_or_slice(),
            Some('(') => self.parse_script(),
            _ => Err(self.error(
                "a quoted name, an index, a slice, `*` or a filter",
                self.hint_in_bracket(),
            )),
        }
    }

    fn parse_index_or_slice(&mut self) -> Result<Selector, PathError> {
        let start = self.parse_optional_integer()?;
        let behind = self.at;
        self.skip_blank();
        if !self.eat_token(":") {
            self.at = behind;
            // Neither an integer nor a colon: `optional_integer` refuses a lone minus.
            let Some(index) = start else { return Err(self.error("an index", hints::INTEGER)) };
            return Ok(match u64::try_from(index) {
                Ok(index) => Selector::Step(PathStep::Index(index)),
                Err(_) => Selector::FromEnd(index.unsigned_abs()),
            });
        }
        self.skip_blank();
        let end = self.parse_optional_integer()?;
        let behind = self.at;
        self.skip_blank();
        let mut step = None;
        if self.eat_token(":") {
            let behind = self.at;
            self.skip_blank();
            step = self.parse_optional_integer()?;
            if step.is_none() {
                self.at = behind;
            }
        } else {
            self.at = behind;
        }
        Ok(Selector::Slice(Slice { start, end, step: step.unwrap_or(1) }))
    }

    /// An integer as indexes are written: no `+`, no `-0`, no superfluous zero, at most 2^53 - 1.
    fn parse_optional_integer(&mut self) -> Result<Option<i64>, PathError> {
        let start = self.at;
        let negative = self.eat_token("-");
        let digits = self.take_while(|it| it.is_ascii_digit());
        if digits.is_empty() {
            return if negative { Err(self.error("a digit", hints::INTEGER)) } else { Ok(None) };
        }
        if digits.starts_with('0') && (negative || digits.len() > 1) {
            return Err(self.error_at(start, "an integer", hints::INTEGER));
        }
        match digits.parse::<i64>() {
            Ok(value) if value <= MAX_INTEGER => Ok(Some(if negative { -value } else { value })),
            _ => Err(self.error_at(start, "an integer within 2^53", hints::INTEGER)),
        }
    }
}

pub(super) fn is_name_first(char: char) -> bool {
    char.is_ascii_alphabetic() || char == '_' || !char.is_ascii()
}

pub(super) fn is_name_char(char: char) -> bool {
    is_name_first(char) || char.is_ascii_digit()
}
