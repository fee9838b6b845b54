//! Reads the body of a JSON string in pieces of any size.

use std::str;

use super::scan_error::ScanError;

/// A piece of a string body, decoded as far as it has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StringPiece<'b> {
    /// Bytes that stand for themselves. A character may continue in the next piece.
    Literal(&'b [u8]),
    /// A character behind a backslash, such as `n`.
    Escape(u8),
    /// A character of a `\u` escape. An unpaired surrogate is the replacement character.
    Unicode(char),
}

/// The state between two pieces of a string body.
#[derive(Debug, Default)]
pub(super) struct StringReader {
    escape: EscapeState,
    /// The first half of a surrogate pair.
    high_surrogate: Option<u16>,
    partial_char: PartialChar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum EscapeState {
    #[default]
    None,
    Backslash,
    Hex {
        value: u16,
        digits: u8,
    },
}

impl StringReader {
    /// Reads bytes of the body and passes on what they say. Returns how many bytes were read if the string has ended,
    /// and nothing if all of them were.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        mut piece: impl FnMut(StringPiece<'_>),
    ) -> Result<Option<usize>, ScanError> {
        let mut rest = bytes;
        loop {
            match self.escape {
                EscapeState::None => {
                    let end = memchr::memchr2(b'"', b'\\', rest);
                    let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
                    if !run.is_empty() {
                        self.flush_surrogate(&mut piece);
                        self.check_text(run)?;
                        piece(StringPiece::Literal(run));
                    }
                    let Some((sign, after)) = after.split_first() else { return Ok(None) };
                    if !self.partial_char.is_empty() {
                        return Err(ScanError::Utf8);
                    }
                    if *sign == b'"' {
                        self.flush_surrogate(&mut piece);
                        return Ok(Some(bytes.len() - after.len()));
                    }
                    self.escape = EscapeState::Backslash;
                    rest = after;
                }
                EscapeState::Backslash => {
                    let Some((sign, after)) = rest.split_first() else { return Ok(None) };
                    rest = after;
                    self.escape = match sign {
                        b'u' => EscapeState::Hex { value: 0, digits: 0 },
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                            self.flush_surrogate(&mut piece);
                            piece(StringPiece::Escape(*sign));
                            EscapeState::None
                        }
                        _ => return Err(ScanError::Syntax("an unknown escape in a string")),
                    };
                }
                EscapeState::Hex { value, digits } => {
                    let Some((sign, after)) = rest.split_first() else { return Ok(None) };
                    rest = after;
                    let digit = char::from(*sign).to_digit(16);
                    let digit = digit.and_then(|digit| u16::try_from(digit).ok());
                    let digit = digit.ok_or(ScanError::Syntax("a `\\u` needs four digits"))?;
                    let value = (value << 4) | digit;
                    self.escape = match digits {
                        3 => {
                            self.take_unit(value, &mut piece);
                            EscapeState::None
                        }
                        _ => EscapeState::Hex { value, digits: digits + 1 },
                    };
                }
            }
        }
    }

    /// Takes the value of a `\u` escape.
    fn take_unit(&mut self, unit: u16, piece: &mut impl FnMut(StringPiece<'_>)) {
        if let Some(high) = self.high_surrogate
            && let Some(Ok(paired)) = char::decode_utf16([high, unit]).next()
        {
            self.high_surrogate = None;
            return piece(StringPiece::Unicode(paired));
        }
        self.flush_surrogate(piece);
        if matches!(unit, 0xD800..=0xDBFF) {
            self.high_surrogate = Some(unit);
        } else {
            let character = char::from_u32(u32::from(unit));
            piece(StringPiece::Unicode(character.unwrap_or(char::REPLACEMENT_CHARACTER)));
        }
    }

    /// Passes on an unpaired surrogate. Programs that cut strings by UTF-16 units write them.
    fn flush_surrogate(&mut self, piece: &mut impl FnMut(StringPiece<'_>)) {
        if self.high_surrogate.take().is_some() {
            piece(StringPiece::Unicode(char::REPLACEMENT_CHARACTER));
        }
    }

    /// Requires valid UTF-8 without control characters.
    fn check_text(&mut self, run: &[u8]) -> Result<(), ScanError> {
        if run.iter().any(|byte| *byte < 0x20) {
            return Err(ScanError::Syntax("a control character in a string"));
        }
        self.partial_char.check(run)
    }
}

/// The first bytes of a character whose other bytes have not been read.
#[derive(Debug, Default)]
struct PartialChar {
    bytes: [u8; 4],
    len: usize,
}

impl PartialChar {
    const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Checks that bytes go on as UTF-8, and remembers an incomplete character at their end.
    fn check(&mut self, mut run: &[u8]) -> Result<(), ScanError> {
        while !self.is_empty() {
            let Some((byte, rest)) = run.split_first() else { return Ok(()) };
            *self.bytes.get_mut(self.len).ok_or(ScanError::Utf8)? = *byte;
            self.len += 1;
            run = rest;
            match str::from_utf8(self.bytes.get(..self.len).unwrap_or_default()) {
                Ok(_) => self.len = 0,
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(ScanError::Utf8),
            }
        }
        let Err(error) = str::from_utf8(run) else { return Ok(()) };
        if error.error_len().is_some() {
            return Err(ScanError::Utf8);
        }
        let (_, tail) = run.split_at(error.valid_up_to());
        self.len = tail.len();
        self.bytes.get_mut(..tail.len()).ok_or(ScanError::Utf8)?.copy_from_slice(tail);
        Ok(())
    }
}

/// Adds a piece as JSON text.
pub(super) fn push_raw(out: &mut Vec<u8>, piece: StringPiece<'_>) {
    match piece {
        StringPiece::Literal(bytes) => out.extend_from_slice(bytes),
        StringPiece::Escape(sign) => out.extend_from_slice(&[b'\\', sign]),
        StringPiece::Unicode(character) => {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
    }
}

/// Adds what a piece means.
pub(super) fn push_unescaped(out: &mut Vec<u8>, piece: StringPiece<'_>) {
    match piece {
        StringPiece::Literal(bytes) => out.extend_from_slice(bytes),
        StringPiece::Escape(sign) => out.push(match sign {
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            other => other,
        }),
        StringPiece::Unicode(character) => {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}
