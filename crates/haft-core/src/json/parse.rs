//! Parses JSON text into a document: one grammar, strict or lenient.

use super::error::{ParseError, ParseErrorKind};
use super::number;
use super::repair::{Repair, RepairSet};
use super::scan::{plain_len, short_plain_len};
use super::writer::offset;
use super::{Document, MAX_DEPTH, MAX_TEXT, Node, OWN_DEPTH, OWN_TEXT};

use crate::invariant::OrReport as _;

pub(super) fn strict(text: &str) -> Result<Document, ParseError> {
    let parsed = parse_strict(text)?;
    let mut buf = String::with_capacity(text.len() + parsed.unescaped.len());
    buf.push_str(text);
    Ok(parsed.into_document(buf))
}

pub(super) fn strict_owned(text: String) -> Result<Document, ParseError> {
    Ok(parse_strict(&text)?.into_document(text))
}

/// Parses text that this program wrote, which may be larger than text from other sources.
pub(super) fn strict_own(text: &str) -> Result<Document, ParseError> {
    let mut parser = JsonParser::<false>::new(text, 0, text.len());
    (parser.max_depth, parser.max_text) = (OWN_DEPTH, OWN_TEXT);
    let parsed = parser.run().map_err(|fault| ParseError::new(fault.kind, text, fault.offset))?;
    Ok(parsed.into_document(text.to_owned()))
}

fn parse_strict(text: &str) -> Result<ParsedNodes, ParseError> {
    JsonParser::<false>::new(text, 0, text.len())
        .run()
        .map_err(|fault| ParseError::new(fault.kind, text, fault.offset))
}

/// What a run of the parser leaves behind: everything of a document but its source text.
pub(super) struct ParsedNodes {
    nodes: Vec<Node>,
    /// Belongs behind the source text.
    unescaped: String,
    is_compact: bool,
    pub(super) repairs: RepairSet,
}

impl ParsedNodes {
    pub(super) fn into_document(self, mut text: String) -> Document {
        let source = text.len();
        text.push_str(&self.unescaped);
        let is_strict = self.repairs.is_empty();
        let verbatim = if is_strict { source } else { 0 };
        let is_compact = self.is_compact && is_strict;
        Document { buf: text, source, verbatim, is_compact, nodes: self.nodes }
    }
}

/// An error before its line and column are known.
#[derive(Debug)]
pub(super) struct ParseFault {
    pub(super) kind: ParseErrorKind,
    pub(super) offset: usize,
}

/// Why a slice at the cursor exists.
const AT_BOUNDARY: &str = "the cursor stands at a character of the text or at its end";

/// A recursive descent over bytes; the recursion is bounded by `max_depth`.
///
/// `LENIENT` adds the readings of [`super::repair`] to the same grammar.
pub(super) struct JsonParser<'a, const LENIENT: bool> {
    text: &'a str,
    /// The text up to where parsing stops.
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    unescaped: String,
    /// Whether everything so far has the spelling of canonical text, and nothing is between it.
    is_compact: bool,
    repairs: RepairSet,
    max_depth: usize,
    max_text: usize,
}

impl<'a, const LENIENT: bool> JsonParser<'a, LENIENT> {
    /// A parser of `text[start..end]` whose offsets are those of `text`.
    pub(super) fn new(text: &'a str, start: usize, end: usize) -> Self {
        Self {
            text,
            bytes: text.as_bytes().get(..end).or_report_default("the value ends within the text"),
            at: start,
            // Generous for small arguments, so that the list grows once; long texts are mostly
            // long strings.
            nodes: Vec::with_capacity((text.len() / 5 + 2).min(1024)),
            unescaped: String::new(),
            is_compact: start == 0 && end == text.len(),
            repairs: RepairSet::default(),
            max_depth: MAX_DEPTH,
            max_text: MAX_TEXT,
        }
    }

    /// Reads exactly one value and the white space around it.
    pub(super) fn run(mut self) -> Result<ParsedNodes, ParseFault> {
        if self.text.len() > self.max_text {
            return Err(ParseFault { kind: ParseErrorKind::TooLong, offset: self.max_text });
        }
        self.skip_space();
        match self.peek() {
            None => return Err(self.fault_here(ParseErrorKind::Empty)),
            Some(0xEF) if self.at == 0 && self.text.starts_with('\u{FEFF}') => {
                return Err(self.fault_here(ParseErrorKind::ByteOrderMark));
            }
            Some(_) => self.parse_value(0)?,
        }
        self.skip_space();
        if self.at < self.bytes.len() {
            return Err(self.fault_here(ParseErrorKind::TrailingText));
        }
        let Self { nodes, unescaped, is_compact, repairs, .. } = self;
        Ok(ParsedNodes { nodes, unescaped, is_compact, repairs })
    }

    // Every node is pushed where it is made: handing it up first costs more than reading the text.
    fn parse_value(&mut self, depth: usize) -> Result<(), ParseFault> {
        match self.peek() {
            Some(quote @ b'"') => self.parse_string(quote),
            Some(b'-' | b'0'..=b'9') => self.parse_number(),
            Some(b'{') => self.parse_object(depth),
            Some(b'[') => self.parse_array(depth),
            Some(b't') => self.parse_word("true", Node::Bool(true)),
            Some(b'f') => self.parse_word("false", Node::Bool(false)),
            Some(b'n') => self.parse_word("null", Node::Null),
            Some(quote @ b'\'') if LENIENT => self.parse_string(quote),
            Some(b'T') if LENIENT => self.parse_python_word("True", Node::Bool(true)),
            Some(b'F') if LENIENT => self.parse_python_word("False", Node::Bool(false)),
            Some(b'N') if LENIENT => self.parse_python_word("None", Node::Null),
            _ => Err(self.expected_fault("a value")),
        }
    }

    fn parse_object(&mut self, depth: usize) -> Result<(), ParseFault> {
        let head = self.open_container(depth)?;
        let mut len = 0;
        if self.peek() != Some(b'}') {
            loop {
                self.parse_key()?;
                self.parse_value(depth + 1)?;
                len += 1;
                if self.is_last(b'}', "`,` or `}`")? {
                    break;
                }
            }
        }
        self.at += 1;
        let end = offset(self.nodes.len());
        self.set_node(head, Node::Object { len, end });
        Ok(())
    }

    fn parse_array(&mut self, depth: usize) -> Result<(), ParseFault> {
        let head = self.open_container(depth)?;
        let mut len = 0;
        if self.peek() != Some(b']') {
            loop {
                self.parse_value(depth + 1)?;
                len += 1;
                if self.is_last(b']', "`,` or `]`")? {
                    break;
                }
            }
        }
        self.at += 1;
        let end = offset(self.nodes.len());
        self.set_node(head, Node::Array { len, end });
        Ok(())
    }

    /// Steps into a bracket and reserves the node of its container.
    fn open_container(&mut self, depth: usize) -> Result<usize, ParseFault> {
        if depth >= self.max_depth {
            return Err(self.fault_here(ParseErrorKind::TooDeep));
        }
        let head = self.nodes.len();
        self.nodes.push(Node::Null);
        self.at += 1;
        self.skip_space();
        Ok(head)
    }

    fn set_node(&mut self, at: usize, node: Node) {
        if let Some(place) = self.nodes.get_mut(at) {
            *place = node;
        }
    }

    /// Reads a key and its colon and stops at the value.
    fn parse_key(&mut self) -> Result<(), ParseFault> {
        match self.peek() {
            Some(quote @ b'"') => self.parse_string(quote)?,
            Some(quote @ b'\'') if LENIENT => self.parse_string(quote)?,
            _ => return Err(self.expected_fault("a key in double quotes")),
        }
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.expected_fault("`:`"));
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    /// Behind a value inside a container: true at the closing bracket, false at the next value.
    #[inline]
    fn is_last(&mut self, close: u8, what: &'static str) -> Result<bool, ParseFault> {
        self.skip_space();
        match self.peek() {
            Some(b',') => {}
            Some(byte) if byte == close => return Ok(true),
            _ => return Err(self.expected_fault(what)),
        }
        let comma = self.at;
        self.at += 1;
        self.skip_space();
        if self.peek() != Some(close) {
            return Ok(false);
        }
        if LENIENT {
            self.repairs.note(Repair::TrailingComma);
            return Ok(true);
        }
        Err(ParseFault { kind: ParseErrorKind::TrailingComma, offset: comma })
    }

    /// Reads a string from its opening quote. Without escapes it stays a part of the source text.
    #[inline]
    fn parse_string(&mut self, quote: u8) -> Result<(), ParseFault> {
        if LENIENT && quote == b'\'' {
            self.repairs.note(Repair::SingleQuotes);
        }
        let start = self.at + 1;
        let rest = self.bytes.get(start..).or_report_default(AT_BOUNDARY);
        let len = short_plain_len(rest, quote).unwrap_or_else(|| plain_len(rest, quote));
        self.at = start + len;
        if rest.get(len) != Some(&quote)
            && let StringStop::Backslash = self.skip_plain_text(quote)?
        {
            return self.parse_escaped_string(quote, start);
        }
        let len = offset(self.at - start);
        self.at += 1;
        self.nodes.push(Node::Str { start: offset(start), len });
        Ok(())
    }

    /// Copies a string that has escapes; stands at the first backslash.
    #[cold]
    fn parse_escaped_string(&mut self, quote: u8, start: usize) -> Result<(), ParseFault> {
        let target = self.unescaped.len();
        self.is_compact = false;
        // Most strings are short, and what follows is short then too.
        self.unescaped.reserve((self.bytes.len() - start).min(256));
        let mut from = start;
        loop {
            self.unescaped.push_str(self.text.get(from..self.at).or_report_default(AT_BOUNDARY));
            self.parse_escape(quote)?;
            from = self.at;
            if let StringStop::Quote = self.skip_plain_text(quote)? {
                break;
            }
        }
        self.unescaped.push_str(self.text.get(from..self.at).or_report_default(AT_BOUNDARY));
        self.at += 1;
        let len = self.unescaped.len() - target;
        let start = offset(self.text.len() + target);
        self.nodes.push(Node::Str { start, len: offset(len) });
        Ok(())
    }

    /// Moves to the next quote or backslash.
    fn skip_plain_text(&mut self, quote: u8) -> Result<StringStop, ParseFault> {
        loop {
            let rest = self.bytes.get(self.at..).or_report_default(AT_BOUNDARY);
            let len = plain_len(rest, quote);
            self.at += len;
            match rest.get(len) {
                Some(byte) if *byte == quote => return Ok(StringStop::Quote),
                Some(b'\\') => return Ok(StringStop::Backslash),
                Some(_) if LENIENT => {
                    self.repairs.note(Repair::RawControl);
                    self.at += 1;
                }
                Some(_) => return Err(self.fault_here(ParseErrorKind::ControlCharacter)),
                None => return Err(self.fault_here(ParseErrorKind::Truncated)),
            }
        }
    }

    fn parse_escape(&mut self, quote: u8) -> Result<(), ParseFault> {
        let backslash = self.at;
        let character = match self.bytes.get(backslash + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'\'') if quote == b'\'' => '\'',
            Some(b'u') => {
                let character = self.parse_unicode_escape(backslash)?;
                self.unescaped.push(character);
                return Ok(());
            }
            Some(_) => {
                return Err(ParseFault { kind: ParseErrorKind::BadEscape, offset: backslash });
            }
            None => return Err(self.truncated_fault()),
        };
        self.unescaped.push(character);
        self.at = backslash + 2;
        Ok(())
    }

    fn parse_unicode_escape(&mut self, backslash: usize) -> Result<char, ParseFault> {
        let lone = ParseFault { kind: ParseErrorKind::LoneSurrogate, offset: backslash };
        let high = self.parse_hex4(backslash)?;
        if let Some(character) = char::from_u32(high) {
            return Ok(character);
        }
        // A pair is `\uD8xx\uDCxx`; a text that ends before the second half may be a whole one.
        let rest = self.bytes.get(self.at..).or_report_default(AT_BOUNDARY);
        if high >= 0xDC00 || !rest.starts_with(b"\\u") {
            let cut = high < 0xDC00 && b"\\u".starts_with(rest);
            return Err(if cut { self.truncated_fault() } else { lone });
        }
        let low = self.parse_hex4(self.at)?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(lone);
        }
        char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)).ok_or(lone)
    }

    /// The code unit of `\uXXXX` at `backslash`; moves behind it.
    fn parse_hex4(&mut self, backslash: usize) -> Result<u32, ParseFault> {
        let mut unit = 0;
        for at in backslash + 2..backslash + 6 {
            let Some(byte) = self.bytes.get(at) else { return Err(self.truncated_fault()) };
            let digit = char::from(*byte).to_digit(16);
            let bad = ParseFault { kind: ParseErrorKind::BadEscape, offset: backslash };
            unit = unit << 4 | digit.ok_or(bad)?;
        }
        self.at = backslash + 6;
        Ok(unit)
    }

    #[inline]
    fn parse_number(&mut self) -> Result<(), ParseFault> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let first = self.at;
        let whole = self.parse_digits(0)?;
        let digits = self.at - first;
        if digits > 1 && self.bytes.get(first) == Some(&b'0') {
            return Err(ParseFault { kind: ParseErrorKind::LeadingZero, offset: first });
        }
        match self.peek() {
            Some(b'.') => self.parse_fraction(start, whole, negative),
            Some(b'e' | b'E') => self.parse_exponent(start),
            // Eighteen digits always fit; more may, and then all digits are looked at again.
            _ if digits <= 18 => {
                let value = whole.cast_signed();
                // There is no negative zero among integers.
                self.is_compact &= !negative || value != 0;
                self.nodes.push(Node::Int(if negative { -value } else { value }));
                Ok(())
            }
            _ => self.push_literal(start),
        }
    }

    /// Stands at the decimal point.
    fn parse_fraction(
        &mut self,
        start: usize,
        whole: u64,
        negative: bool,
    ) -> Result<(), ParseFault> {
        self.at += 1;
        self.is_compact = false;
        let first = self.at;
        let significand = self.parse_digits(whole)?;
        if let Some(b'e' | b'E') = self.peek() {
            return self.parse_exponent(start);
        }
        // Within 18 characters the significand has not overflowed.
        let node = if self.at - start <= 18 {
            number::short_fraction(significand, self.at - first, negative)
        } else {
            None
        };
        let Some(node) = node else { return self.push_literal(start) };
        self.nodes.push(node);
        Ok(())
    }

    /// Stands at the `e`.
    fn parse_exponent(&mut self, start: usize) -> Result<(), ParseFault> {
        self.at += 1;
        if let Some(b'+' | b'-') = self.peek() {
            self.at += 1;
        }
        self.parse_digits(0)?;
        self.push_literal(start)
    }

    fn push_literal(&mut self, start: usize) -> Result<(), ParseFault> {
        self.is_compact = false;
        let literal = self.text.get(start..self.at).or_report_default(AT_BOUNDARY);
        let node = number::literal_node(literal, &mut self.unescaped, self.text.len())
            .ok_or(ParseFault { kind: ParseErrorKind::NumberOutOfRange, offset: start })?;
        self.nodes.push(node);
        Ok(())
    }

    /// Reads at least one digit and appends it to `value`, which wraps when it overflows.
    #[inline]
    fn parse_digits(&mut self, mut value: u64) -> Result<u64, ParseFault> {
        let first = self.at;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == first { Err(self.expected_fault("a digit")) } else { Ok(value) }
    }

    fn parse_word(&mut self, word: &'static str, node: Node) -> Result<(), ParseFault> {
        let rest = self.bytes.get(self.at..).or_report_default(AT_BOUNDARY);
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            self.nodes.push(node);
            return Ok(());
        }
        if word.as_bytes().starts_with(rest) {
            return Err(self.truncated_fault());
        }
        Err(self.expected_fault("a value"))
    }

    fn parse_python_word(&mut self, word: &'static str, node: Node) -> Result<(), ParseFault> {
        self.repairs.note(Repair::PythonWord);
        self.parse_word(word, node)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.is_compact = false;
            self.at += 1;
        }
    }

    fn fault_here(&self, kind: ParseErrorKind) -> ParseFault {
        ParseFault { kind, offset: self.at }
    }

    fn truncated_fault(&self) -> ParseFault {
        ParseFault { kind: ParseErrorKind::Truncated, offset: self.bytes.len() }
    }

    #[cold]
    fn expected_fault(&self, what: &'static str) -> ParseFault {
        if self.at >= self.bytes.len() {
            return self.truncated_fault();
        }
        let found = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        let found = found.unwrap_or(char::REPLACEMENT_CHARACTER);
        self.fault_here(ParseErrorKind::Expected { what, found })
    }
}

/// Where plain string text ends.
enum StringStop {
    Quote,
    Backslash,
}
