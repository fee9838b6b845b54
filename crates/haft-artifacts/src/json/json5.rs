//! JSON5 as JSON: the same values in the notation that everything else here reads.
//!
//! `NaN` and the infinities, which JSON does not have, become `null`, as ECMAScript writes them.
//! Hexadecimal integers become decimal ones with all their digits.

use std::fmt::Write as _;

use haft_core::json::{Document, MAX_DEPTH, ParseErrorKind};

use super::error::{FaultReason, JsonFault};
use crate::invariant;

/// The text as JSON.
pub(super) fn to_json(text: &str) -> Result<String, JsonFault> {
    let mut reader = Json5Reader { text, at: 0, out: String::with_capacity(text.len()) };
    reader.skip_space()?;
    if reader.peek().is_none() {
        return Err(reader.fault(ParseErrorKind::Empty));
    }
    reader.parse_value(0)?;
    reader.skip_space()?;
    match reader.peek() {
        None => Ok(reader.out),
        Some(_) => Err(reader.fault(ParseErrorKind::TrailingText)),
    }
}

/// A recursive descent; the recursion is bounded by [`MAX_DEPTH`].
struct Json5Reader<'a> {
    text: &'a str,
    at: usize,
    out: String,
}

impl<'a> Json5Reader<'a> {
    fn parse_value(&mut self, depth: usize) -> Result<(), JsonFault> {
        match self.peek() {
            Some('{') => self.parse_object(depth),
            Some('[') => self.parse_array(depth),
            Some(quote @ ('"' | '\'')) => {
                let text = self.parse_string(quote)?;
                self.write_string(&text);
                Ok(())
            }
            Some('+' | '-' | '.' | '0'..='9' | 'I' | 'N') => self.parse_number(),
            _ => {
                for word in ["true", "false", "null"] {
                    if self.eat_word(word) {
                        self.out.push_str(word);
                        return Ok(());
                    }
                }
                Err(self.expected("a value"))
            }
        }
    }

    fn parse_object(&mut self, depth: usize) -> Result<(), JsonFault> {
        self.open(depth, '{')?;
        let mut first = true;
        while self.peek() != Some('}') {
            if !first {
                self.out.push(',');
            }
            first = false;
            let name = match self.peek() {
                Some(quote @ ('"' | '\'')) => self.parse_string(quote)?,
                _ => self.parse_identifier()?,
            };
            self.write_string(&name);
            self.skip_space()?;
            if self.peek() != Some(':') {
                return Err(self.expected("`:`"));
            }
            self.at += 1;
            self.out.push(':');
            self.skip_space()?;
            self.parse_value(depth + 1)?;
            self.parse_comma('}', "`,` or `}`")?;
        }
        self.at += 1;
        self.out.push('}');
        Ok(())
    }

    fn parse_array(&mut self, depth: usize) -> Result<(), JsonFault> {
        self.open(depth, '[')?;
        let mut first = true;
        while self.peek() != Some(']') {
            if !first {
                self.out.push(',');
            }
            first = false;
            self.parse_value(depth + 1)?;
            self.parse_comma(']', "`,` or `]`")?;
        }
        self.at += 1;
        self.out.push(']');
        Ok(())
    }

    fn open(&mut self, depth: usize, bracket: char) -> Result<(), JsonFault> {
        if depth >= MAX_DEPTH {
            return Err(self.fault(ParseErrorKind::TooDeep));
        }
        self.at += 1;
        self.out.push(bracket);
        self.skip_space()
    }

    /// From after a value to the next one or to the closing bracket.
    fn parse_comma(&mut self, close: char, what: &'static str) -> Result<(), JsonFault> {
        self.skip_space()?;
        match self.peek() {
            Some(',') => {
                self.at += 1;
                self.skip_space()
            }
            Some(it) if it == close => Ok(()),
            _ => Err(self.expected(what)),
        }
    }

    fn parse_identifier(&mut self) -> Result<String, JsonFault> {
        let mut name = String::new();
        loop {
            match self.peek() {
                Some('\\') => {
                    let escape = self.at;
                    self.at += 1;
                    if self.peek() != Some('u') {
                        return Err(self.fault_at(ParseErrorKind::BadEscape, escape));
                    }
                    self.at += 1;
                    name.push(self.parse_unicode_escape(escape)?);
                }
                Some(it)
                    if it == '$'
                        || it == '_'
                        || it.is_alphabetic()
                        || !name.is_empty() && (it.is_alphanumeric() || is_joiner(it)) =>
                {
                    self.at += it.len_utf8();
                    name.push(it);
                }
                _ if name.is_empty() => {
                    return Err(self.expected("a key, quoted or a plain name"));
                }
                _ => return Ok(name),
            }
        }
    }

    fn parse_string(&mut self, quote: char) -> Result<String, JsonFault> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let Some(it) = self.peek() else { return Err(self.expected("a closing quote")) };
            match it {
                '\\' => self.parse_escape(&mut text)?,
                '\n' | '\r' => return Err(self.fault(ParseErrorKind::ControlCharacter)),
                _ => {
                    self.at += it.len_utf8();
                    if it == quote {
                        return Ok(text);
                    }
                    text.push(it);
                }
            }
        }
    }

    fn parse_escape(&mut self, text: &mut String) -> Result<(), JsonFault> {
        let escape = self.at;
        self.at += 1;
        let Some(it) = self.peek() else { return Err(self.expected("an escape")) };
        self.at += it.len_utf8();
        text.push(match it {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0' if !self.peek().is_some_and(|it| it.is_ascii_digit()) => '\0',
            '0'..='9' => return Err(self.fault_at(ParseErrorKind::BadEscape, escape)),
            'x' => {
                let unit = self.parse_hex(2, escape)?;
                char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            'u' => self.parse_unicode_escape(escape)?,
            // A line that goes on in the next one.
            '\r' => {
                self.at += usize::from(self.peek() == Some('\n'));
                return Ok(());
            }
            '\n' | '\u{2028}' | '\u{2029}' => return Ok(()),
            other => other,
        });
        Ok(())
    }

    /// After `\u`.
    fn parse_unicode_escape(&mut self, escape: usize) -> Result<char, JsonFault> {
        let lone = self.fault_at(ParseErrorKind::LoneSurrogate, escape);
        let high = self.parse_hex(4, escape)?;
        if let Some(it) = char::from_u32(high) {
            return Ok(it);
        }
        if high >= 0xDC00 || !self.eat_word("\\u") {
            return Err(lone);
        }
        let low = self.parse_hex(4, escape)?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(lone);
        }
        char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)).ok_or(lone)
    }

    fn parse_hex(&mut self, count: usize, escape: usize) -> Result<u32, JsonFault> {
        let mut unit = 0;
        for _ in 0..count {
            let Some(it) = self.peek() else { return Err(self.expected("an escape")) };
            let bad = self.fault_at(ParseErrorKind::BadEscape, escape);
            unit = unit << 4 | it.to_digit(16).ok_or(bad)?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn parse_number(&mut self) -> Result<(), JsonFault> {
        let start = self.at;
        let negative = self.peek() == Some('-');
        if let Some('+' | '-') = self.peek() {
            self.at += 1;
        }
        if self.eat_word("Infinity") || self.eat_word("NaN") {
            self.out.push_str("null");
            return Ok(());
        }
        let sign = if negative { "-" } else { "" };
        if self.eat_word("0x") || self.eat_word("0X") {
            return self.parse_hex_digits(start, sign);
        }
        let literal = self.parse_decimal_literal(sign)?;
        if Document::parse(&literal).is_err() {
            return Err(self.fault_at(ParseErrorKind::NumberOutOfRange, start));
        }
        self.out.push_str(&literal);
        Ok(())
    }

    /// Parses the digits after `0x`, of a number that begins at `start`.
    fn parse_hex_digits(&mut self, start: usize, sign: &str) -> Result<(), JsonFault> {
        let digits = self.take_digits(16);
        if digits.is_empty() {
            return Err(self.expected("a hexadecimal digit"));
        }
        let beyond = self.fault_at(ParseErrorKind::NumberOutOfRange, start);
        let value = u128::from_str_radix(digits, 16).map_err(|_| beyond)?;
        let _ = write!(self.out, "{sign}{value}");
        Ok(())
    }

    /// Parses a decimal number after its sign. Returns it as strict JSON writes it.
    fn parse_decimal_literal(&mut self, sign: &str) -> Result<String, JsonFault> {
        let first = self.at;
        let whole = self.take_digits(10);
        if whole.len() > 1 && whole.starts_with('0') {
            return Err(self.fault_at(ParseErrorKind::LeadingZero, first));
        }
        let fraction = if self.eat_word(".") { self.take_digits(10) } else { "" };
        if whole.is_empty() && fraction.is_empty() {
            return Err(self.expected("a digit"));
        }
        let whole = if whole.is_empty() { "0" } else { whole };
        let fraction = if fraction.is_empty() { "0" } else { fraction };
        let mut literal = format!("{sign}{whole}.{fraction}");
        if fraction == "0" {
            literal = format!("{sign}{whole}");
        }
        if self.eat_word("e") || self.eat_word("E") {
            let minus = self.peek() == Some('-');
            if let Some('+' | '-') = self.peek() {
                self.at += 1;
            }
            let exponent = self.take_digits(10);
            if exponent.is_empty() {
                return Err(self.expected("a digit"));
            }
            literal.push_str(if minus { "e-" } else { "e" });
            literal.push_str(exponent);
        }
        Ok(literal)
    }

    fn take_digits(&mut self, radix: u32) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(|it| it.is_digit(radix)) {
            self.at += 1;
        }
        invariant::text(self.text, start..self.at)
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) -> Result<(), JsonFault> {
        loop {
            let rest = self.rest();
            let space = |it: char| it.is_whitespace() && it != '\u{85}' || it == '\u{FEFF}';
            let trimmed = rest.trim_start_matches(space);
            self.at += rest.len() - trimmed.len();
            let ends = ['\n', '\r', '\u{2028}', '\u{2029}'];
            if trimmed.starts_with("//") {
                self.at += trimmed.find(ends).unwrap_or(trimmed.len());
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    self.at = self.text.len();
                    return Err(self.fault(ParseErrorKind::Truncated));
                };
                self.at += end + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn rest(&self) -> &'a str {
        invariant::text(self.text, self.at..)
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn fault(&self, kind: ParseErrorKind) -> JsonFault {
        self.fault_at(kind, self.at)
    }

    fn fault_at(&self, kind: ParseErrorKind, at: usize) -> JsonFault {
        JsonFault { reason: FaultReason::Syntax(kind), offset: at as u64 }
    }

    fn expected(&self, what: &'static str) -> JsonFault {
        self.fault(match self.peek() {
            None => ParseErrorKind::Truncated,
            Some(found) => ParseErrorKind::Expected { what, found },
        })
    }

    fn write_string(&mut self, text: &str) {
        self.out.push('"');
        for it in text.chars() {
            match it {
                '"' | '\\' => self.out.extend(['\\', it]),
                '\u{0}'..='\u{1f}' => {
                    let _ = write!(self.out, "\\u{:04x}", u32::from(it));
                }
                _ => self.out.push(it),
            }
        }
        self.out.push('"');
    }
}

/// Joiners may stand within names.
fn is_joiner(it: char) -> bool {
    matches!(it, '\u{200c}' | '\u{200d}')
}
