//! JSON text into a document: one grammar, strict or lenient.

use super::error::{ParseError, ParseErrorKind};
use super::number;
use super::repair::{Repair, Repairs};
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

/// [`strict`] for text that was written here, of a document that may be larger than what is read from
/// elsewhere.
pub(super) fn strict_own(text: &str) -> Result<Document, ParseError> {
    let mut parser = Parser::<false>::new(text, 0, text.len());
    (parser.max_depth, parser.max_text) = (OWN_DEPTH, OWN_TEXT);
    let parsed = parser.run().map_err(|fault| ParseError::new(fault.kind, text, fault.offset))?;
    Ok(parsed.into_document(text.to_owned()))
}

fn parse_strict(text: &str) -> Result<Parsed, ParseError> {
    Parser::<false>::new(text, 0, text.len())
        .run()
        .map_err(|fault| ParseError::new(fault.kind, text, fault.offset))
}

/// What a run of the parser leaves behind: everything of a document but its source text.
pub(super) struct Parsed {
    nodes: Vec<Node>,
    /// Belongs behind the source text.
    unescaped: String,
    pub(super) repairs: Repairs,
}

impl Parsed {
    pub(super) fn into_document(self, mut text: String) -> Document {
        let source = text.len();
        text.push_str(&self.unescaped);
        let verbatim = if self.repairs.is_empty() { source } else { 0 };
        Document { buf: text, source, verbatim, nodes: self.nodes }
    }
}

/// An error before its line and column are known.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: ParseErrorKind,
    pub(super) offset: usize,
}

/// Why a slice at the cursor exists.
const AT_BOUNDARY: &str = "the cursor stands at a character of the text or at its end";

/// A recursive descent over bytes; the recursion is bounded by `max_depth`.
///
/// `LENIENT` adds the readings of [`super::repair`] to the same grammar.
pub(super) struct Parser<'a, const LENIENT: bool> {
    text: &'a str,
    /// The text up to where parsing stops.
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    unescaped: String,
    repairs: Repairs,
    max_depth: usize,
    max_text: usize,
}

impl<'a, const LENIENT: bool> Parser<'a, LENIENT> {
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
            repairs: Repairs::default(),
            max_depth: MAX_DEPTH,
            max_text: MAX_TEXT,
        }
    }

    /// Reads exactly one value and the white space around it.
    pub(super) fn run(mut self) -> Result<Parsed, Fault> {
        if self.text.len() > self.max_text {
            return Err(Fault { kind: ParseErrorKind::TooLong, offset: self.max_text });
        }
        self.skip_space();
        match self.peek() {
            None => return Err(self.fault(ParseErrorKind::Empty)),
            Some(0xEF) if self.at == 0 && self.text.starts_with('\u{FEFF}') => {
                return Err(self.fault(ParseErrorKind::ByteOrderMark));
            }
            Some(_) => self.value(0)?,
        }
        self.skip_space();
        if self.at < self.bytes.len() {
            return Err(self.fault(ParseErrorKind::TrailingText));
        }
        Ok(Parsed { nodes: self.nodes, unescaped: self.unescaped, repairs: self.repairs })
    }

    // Every node is pushed where it is made: handing it up first costs more than reading the text.
    fn value(&mut self, depth: usize) -> Result<(), Fault> {
        match self.peek() {
            Some(quote @ b'"') => self.string(quote),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b't') => self.word("true", Node::Bool(true)),
            Some(b'f') => self.word("false", Node::Bool(false)),
            Some(b'n') => self.word("null", Node::Null),
            Some(quote @ b'\'') if LENIENT => self.string(quote),
            Some(b'T') if LENIENT => self.python_word("True", Node::Bool(true)),
            Some(b'F') if LENIENT => self.python_word("False", Node::Bool(false)),
            Some(b'N') if LENIENT => self.python_word("None", Node::Null),
            _ => Err(self.expected("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), Fault> {
        let head = self.open(depth)?;
        let mut len = 0;
        if self.peek() != Some(b'}') {
            loop {
                self.key()?;
                self.value(depth + 1)?;
                len += 1;
                if self.is_last(b'}', "`,` or `}`")? {
                    break;
                }
            }
        }
        self.at += 1;
        let end = offset(self.nodes.len());
        self.set(head, Node::Object { len, end });
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<(), Fault> {
        let head = self.open(depth)?;
        let mut len = 0;
        if self.peek() != Some(b']') {
            loop {
                self.value(depth + 1)?;
                len += 1;
                if self.is_last(b']', "`,` or `]`")? {
                    break;
                }
            }
        }
        self.at += 1;
        let end = offset(self.nodes.len());
        self.set(head, Node::Array { len, end });
        Ok(())
    }

    /// Steps into a bracket and reserves the node of its container.
    fn open(&mut self, depth: usize) -> Result<usize, Fault> {
        if depth >= self.max_depth {
            return Err(self.fault(ParseErrorKind::TooDeep));
        }
        let head = self.nodes.len();
        self.nodes.push(Node::Null);
        self.at += 1;
        self.skip_space();
        Ok(head)
    }

    fn set(&mut self, at: usize, node: Node) {
        if let Some(place) = self.nodes.get_mut(at) {
            *place = node;
        }
    }

    /// Reads a key and its colon and stops at the value.
    fn key(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(quote @ b'"') => self.string(quote)?,
            Some(quote @ b'\'') if LENIENT => self.string(quote)?,
            _ => return Err(self.expected("a key in double quotes")),
        }
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.expected("`:`"));
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    /// Behind a value inside a container: true at the closing bracket, false at the next value.
    #[inline]
    fn is_last(&mut self, close: u8, what: &'static str) -> Result<bool, Fault> {
        self.skip_space();
        match self.peek() {
            Some(b',') => {}
            Some(byte) if byte == close => return Ok(true),
            _ => return Err(self.expected(what)),
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
        Err(Fault { kind: ParseErrorKind::TrailingComma, offset: comma })
    }

    /// Reads a string from its opening quote. Without escapes it stays a part of the source text.
    #[inline]
    fn string(&mut self, quote: u8) -> Result<(), Fault> {
        if LENIENT && quote == b'\'' {
            self.repairs.note(Repair::SingleQuotes);
        }
        let start = self.at + 1;
        let rest = self.bytes.get(start..).or_report_default(AT_BOUNDARY);
        let len = short_plain_len(rest, quote).unwrap_or_else(|| plain_len(rest, quote));
        self.at = start + len;
        if rest.get(len) != Some(&quote)
            && let Stop::Backslash = self.plain_text(quote)?
        {
            return self.escaped_string(quote, start);
        }
        let len = offset(self.at - start);
        self.at += 1;
        self.nodes.push(Node::Str { start: offset(start), len });
        Ok(())
    }

    /// Copies a string that has escapes; stands at the first backslash.
    #[cold]
    fn escaped_string(&mut self, quote: u8, start: usize) -> Result<(), Fault> {
        let target = self.unescaped.len();
        let mut from = start;
        loop {
            self.unescaped.push_str(self.text.get(from..self.at).or_report_default(AT_BOUNDARY));
            self.escape(quote)?;
            from = self.at;
            if let Stop::Quote = self.plain_text(quote)? {
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
    fn plain_text(&mut self, quote: u8) -> Result<Stop, Fault> {
        loop {
            let rest = self.bytes.get(self.at..).or_report_default(AT_BOUNDARY);
            let len = plain_len(rest, quote);
            self.at += len;
            match rest.get(len) {
                Some(byte) if *byte == quote => return Ok(Stop::Quote),
                Some(b'\\') => return Ok(Stop::Backslash),
                Some(_) if LENIENT => {
                    self.repairs.note(Repair::RawControl);
                    self.at += 1;
                }
                Some(_) => return Err(self.fault(ParseErrorKind::ControlCharacter)),
                None => return Err(self.fault(ParseErrorKind::Truncated)),
            }
        }
    }

    fn escape(&mut self, quote: u8) -> Result<(), Fault> {
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
                let character = self.unicode_escape(backslash)?;
                self.unescaped.push(character);
                return Ok(());
            }
            Some(_) => return Err(Fault { kind: ParseErrorKind::BadEscape, offset: backslash }),
            None => return Err(self.truncated()),
        };
        self.unescaped.push(character);
        self.at = backslash + 2;
        Ok(())
    }

    fn unicode_escape(&mut self, backslash: usize) -> Result<char, Fault> {
        let lone = Fault { kind: ParseErrorKind::LoneSurrogate, offset: backslash };
        let high = self.hex4(backslash)?;
        if let Some(character) = char::from_u32(high) {
            return Ok(character);
        }
        // A pair is `\uD8xx\uDCxx`; a text that ends before the second half may be a whole one.
        let rest = self.bytes.get(self.at..).or_report_default(AT_BOUNDARY);
        if high >= 0xDC00 || !rest.starts_with(b"\\u") {
            let cut = high < 0xDC00 && b"\\u".starts_with(rest);
            return Err(if cut { self.truncated() } else { lone });
        }
        let low = self.hex4(self.at)?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(lone);
        }
        char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)).ok_or(lone)
    }

    /// The code unit of `\uXXXX` at `backslash`; moves behind it.
    fn hex4(&mut self, backslash: usize) -> Result<u32, Fault> {
        let mut unit = 0;
        for at in backslash + 2..backslash + 6 {
            let Some(byte) = self.bytes.get(at) else { return Err(self.truncated()) };
            let digit = char::from(*byte).to_digit(16);
            let bad = Fault { kind: ParseErrorKind::BadEscape, offset: backslash };
            unit = unit << 4 | digit.ok_or(bad)?;
        }
        self.at = backslash + 6;
        Ok(unit)
    }

    #[inline]
    fn number(&mut self) -> Result<(), Fault> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let first = self.at;
        let whole = self.digits(0)?;
        let digits = self.at - first;
        if digits > 1 && self.bytes.get(first) == Some(&b'0') {
            return Err(Fault { kind: ParseErrorKind::LeadingZero, offset: first });
        }
        match self.peek() {
            Some(b'.') => self.fraction(start, whole, negative),
            Some(b'e' | b'E') => self.exponent(start),
            // Eighteen digits always fit; more may, and then all digits are looked at again.
            _ if digits <= 18 => {
                let value = whole.cast_signed();
                self.nodes.push(Node::Int(if negative { -value } else { value }));
                Ok(())
            }
            _ => self.literal(start),
        }
    }

    /// Stands at the decimal point.
    fn fraction(&mut self, start: usize, whole: u64, negative: bool) -> Result<(), Fault> {
        self.at += 1;
        let first = self.at;
        let significand = self.digits(whole)?;
        if let Some(b'e' | b'E') = self.peek() {
            return self.exponent(start);
        }
        // Within 18 characters the significand has not overflowed.
        let node = if self.at - start <= 18 {
            number::short_fraction(significand, self.at - first, negative)
        } else {
            None
        };
        let Some(node) = node else { return self.literal(start) };
        self.nodes.push(node);
        Ok(())
    }

    /// Stands at the `e`.
    fn exponent(&mut self, start: usize) -> Result<(), Fault> {
        self.at += 1;
        if let Some(b'+' | b'-') = self.peek() {
            self.at += 1;
        }
        self.digits(0)?;
        self.literal(start)
    }

    fn literal(&mut self, start: usize) -> Result<(), Fault> {
        let literal = self.text.get(start..self.at).or_report_default(AT_BOUNDARY);
        let node = number::literal_node(literal, &mut self.unescaped, self.text.len())
            .ok_or(Fault { kind: ParseErrorKind::NumberOutOfRange, offset: start })?;
        self.nodes.push(node);
        Ok(())
    }

    /// Reads at least one digit and appends it to `value`, which wraps when it overflows.
    #[inline]
    fn digits(&mut self, mut value: u64) -> Result<u64, Fault> {
        let first = self.at;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == first { Err(self.expected("a digit")) } else { Ok(value) }
    }

    fn word(&mut self, word: &'static str, node: Node) -> Result<(), Fault> {
        let rest = self.bytes.get(self.at..).or_report_default(AT_BOUNDARY);
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            self.nodes.push(node);
            return Ok(());
        }
        if word.as_bytes().starts_with(rest) {
            return Err(self.truncated());
        }
        Err(self.expected("a value"))
    }

    fn python_word(&mut self, word: &'static str, node: Node) -> Result<(), Fault> {
        self.repairs.note(Repair::PythonWord);
        self.word(word, node)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn fault(&self, kind: ParseErrorKind) -> Fault {
        Fault { kind, offset: self.at }
    }

    fn truncated(&self) -> Fault {
        Fault { kind: ParseErrorKind::Truncated, offset: self.bytes.len() }
    }

    #[cold]
    fn expected(&self, what: &'static str) -> Fault {
        if self.at >= self.bytes.len() {
            return self.truncated();
        }
        let found = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        let found = found.unwrap_or(char::REPLACEMENT_CHARACTER);
        self.fault(ParseErrorKind::Expected { what, found })
    }
}

/// Where plain string text ends.
enum Stop {
    Quote,
    Backslash,
}
