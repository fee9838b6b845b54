//! Spellings of other dialects, which RFC 9535 does not have.

use super::{PathParser, hints, is_name_first};
use crate::jsonpath::PathError;
use crate::jsonpath::ast::SegmentReach;
use crate::jsonpath::ast::{
    FilterExpr, MatchExtent, Matches, Operand, PatternSource, Segment, Selector,
};

impl PathParser<'_> {
    /// A path whose `$` was left out. What starts with a dot or a bracket is left to the caller.
    pub(super) fn without_root(&mut self, out: &mut Vec<Segment>) -> Result<(), PathError> {
        match self.peek() {
            Some('.' | '[') => Ok(()),
            Some(first) if is_name_first(first) || first == '*' => {
                let selectors = vec![self.parse_after_dot()?];
                out.push(Segment { reach: SegmentReach::Children, selectors });
                Ok(())
            }
            _ => Err(self.error("`$`", hints::NO_ROOT)),
        }
    }

    /// `(@.length-1)`, the only script whose meaning is an index.
    pub(super) fn parse_script(&mut self) -> Result<Selector, PathError> {
        let start = self.at;
        let mut position = None;
        if ["(", "@", ".", "length", "-"].iter().all(|token| {
            let found = self.eat_token(token);
            self.skip_blank();
            found
        }) {
            position = self.parse_optional_integer()?;
            self.skip_blank();
        }
        match position.and_then(|it| u64::try_from(it).ok()) {
            Some(position) if position > 0 && self.eat_token(")") => {
                Ok(Selector::FromEnd(position))
            }
            _ => Err(self.error_at(start, "an index, a name or a filter", hints::SCRIPT)),
        }
    }

    /// `/x/i.test(@.s)`
    pub(super) fn parse_regex_test(&mut self) -> Result<FilterExpr, PathError> {
        let start = self.at;
        let source = self.parse_regex()?;
        if !self.eat_token(".test(") {
            return Err(self.error("`.test(@.name)`", hints::REGEX));
        }
        let pattern =
            PatternSource::Literal(self.compile_pattern(&source, MatchExtent::Part, start)?);
        let text = self.parse_nested(Self::parse_argument)?;
        self.skip_blank();
        if !self.eat_token(")") {
            return Err(self.error("`)`", hints::REGEX));
        }
        Ok(FilterExpr::Matches(Box::new(Matches { extent: MatchExtent::Part, text, pattern })))
    }

    /// Parses the operand of `=~`.
    pub(super) fn parse_regex_operand(&mut self, text: Operand) -> Result<FilterExpr, PathError> {
        if self.peek() != Some('/') {
            return Err(self.error("a regular expression such as `/x/i`", hints::REGEX));
        }
        let start = self.at;
        let source = self.parse_regex()?;
        let pattern =
            PatternSource::Literal(self.compile_pattern(&source, MatchExtent::Part, start)?);
        Ok(FilterExpr::Matches(Box::new(Matches { extent: MatchExtent::Part, text, pattern })))
    }

    /// A regular expression between slashes, as the pattern that `search` takes.
    fn parse_regex(&mut self) -> Result<String, PathError> {
        self.at += 1;
        let mut source = String::new();
        let mut in_brackets = false;
        loop {
            source.push_str(self.take_while(|it| !matches!(it, '/' | '\\' | '[' | ']')));
            let Some(special) = self.peek() else {
                return Err(self.error("the closing `/`", hints::REGEX));
            };
            self.at += special.len_utf8();
            match special {
                '/' if !in_brackets => break,
                '\\' => {
                    let Some(escaped) = self.peek() else { continue };
                    self.at += escaped.len_utf8();
                    source.push_str(if escaped == '/' { "" } else { "\\" });
                    source.push(escaped);
                }
                _ => {
                    in_brackets = special == '[' || special == '/';
                    source.push(special);
                }
            }
        }
        let start = self.at;
        let flags = self.take_while(|it| it.is_ascii_alphanumeric());
        let mut kept = String::new();
        for flag in flags.chars() {
            match flag {
                'i' | 'm' if !kept.contains(flag) => kept.push(flag),
                // All matches or the first, code points or not: no difference here.
                'i' | 'm' | 'g' | 'u' => {}
                _ => return Err(self.error_at(start, "the flags `i` or `m`", hints::REGEX)),
            }
        }
        Ok(if kept.is_empty() { source } else { format!("(?{kept}){source}") })
    }
}
