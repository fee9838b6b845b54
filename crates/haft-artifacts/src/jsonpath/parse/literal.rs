//! Strings and numbers.

use super::{PathParser, hints};
use crate::jsonpath::PathError;
use haft_core::invariant::OrReport as _;
use haft_core::json::Document;

impl PathParser<'_> {
    /// A string in either kind of quotes; the cursor stands on the first one.
    pub(super) fn parse_string(&mut self) -> Result<String, PathError> {
        let start = self.at;
        let quote = if self.peek() == Some('\'') { '\'' } else { '"' };
        self.at += 1;
        let mut out = String::new();
        loop {
            let plain = |it| it != quote && it != '\\' && it >= ' ';
            out.push_str(self.take_while(plain));
            match self.peek() {
                Some('\\') => out.push(self.parse_escape(quote)?),
                Some(found) if found == quote => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(_) => return Err(self.error("a printable character", hints::CONTROL)),
                None => {
                    let hint = format!("the string that starts at byte {start} is not closed");
                    return Err(self.error("the closing quote", hint));
                }
            }
        }
    }

    /// The cursor stands on the backslash.
    fn parse_escape(&mut self, quote: char) -> Result<char, PathError> {
        let start = self.at;
        self.at += 1;
        let escaped = self.peek();
        let value = match escaped {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('/' | '\\') => escaped.unwrap_or_default(),
            Some('u') => {
                self.at += 1;
                return self.parse_unicode_escape(start);
            }
            Some(found) if found == quote => found,
            _ => return Err(self.error_at(start, "a known escape", hints::ESCAPE)),
        };
        self.at += 1;
        Ok(value)
    }

    /// Four hexadecimal digits, or two times four that are a surrogate pair.
    fn parse_unicode_escape(&mut self, start: usize) -> Result<char, PathError> {
        let wrong = |parser: &Self| parser.error_at(start, "a Unicode escape", hints::ESCAPE);
        let first = self.take_four_digits().ok_or_else(|| wrong(self))?;
        if let Some(char) = char::from_u32(first) {
            return Ok(char);
        }
        if !(0xD800..0xDC00).contains(&first) || !self.eat_token("\\u") {
            return Err(wrong(self));
        }
        let second = self.take_four_digits().ok_or_else(|| wrong(self))?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(wrong(self));
        }
        let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        char::from_u32(code).ok_or_else(|| wrong(self))
    }

    fn take_four_digits(&mut self) -> Option<u32> {
        let digits = self
            .remaining_text()
            .get(..4)
            .filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    /// A number as JSON writes it; the cursor stands on its first character.
    pub(super) fn parse_number(&mut self) -> Result<Document, PathError> {
        let start = self.at;
        self.eat_token("-");
        if !self.eat_token("0") {
            self.skip_digits()?;
        }
        if self.eat_token(".") {
            self.skip_digits()?;
        }
        if self.eat_token("e") || self.eat_token("E") {
            let _sign = self.eat_token("+") || self.eat_token("-");
            self.skip_digits()?;
        }
        let literal = self.text.get(start..self.at).or_report_default(super::AT_BOUNDARY);
        Document::parse(literal)
            .map_err(|_| self.error_at(start, "a number that a double can hold", hints::NUMBER))
    }

    fn skip_digits(&mut self) -> Result<(), PathError> {
        if self.take_while(|it| it.is_ascii_digit()).is_empty() {
            return Err(self.error("a digit", hints::NUMBER));
        }
        Ok(())
    }
}
