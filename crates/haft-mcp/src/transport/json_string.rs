//! Reads the body of a JSON string in pieces of any size.

use std::str;

use haft_core::invariant::OrReport as _;

use super::scan_error::ScanError;

/// A piece of a string body, decoded as far as necessary.
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

/// Takes what a string body says.
pub(super) trait StringSink {
    /// Takes a piece.
    fn push(&mut self, piece: StringPiece<'_>);

    /// Takes as many of the next bytes as it can without a reader, and returns the rest.
    fn push_plain<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        bytes
    }
}

impl<F: FnMut(StringPiece<'_>)> StringSink for F {
    fn push(&mut self, piece: StringPiece<'_>) {
        self(piece);
    }
}

/// Collects what a string body means.
pub(super) struct TextSink<'o>(pub(super) &'o mut Vec<u8>);

impl StringSink for TextSink<'_> {
    fn push(&mut self, piece: StringPiece<'_>) {
        push_unescaped(self.0, piece);
    }

    fn push_plain<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        copy_plain::<false>(bytes, self.0)
    }
}

/// Collects a string body as JSON text.
pub(super) struct RawSink<'o>(pub(super) &'o mut Vec<u8>);

impl StringSink for RawSink<'_> {
    fn push(&mut self, piece: StringPiece<'_>) {
        push_raw(self.0, piece);
    }

    fn push_plain<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        copy_plain::<true>(bytes, self.0)
    }
}

impl StringReader {
    /// Reads bytes of the body and passes on what they say. Returns how many bytes were read if the string has ended,
    /// and nothing if all of them were.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        sink: &mut impl StringSink,
    ) -> Result<Option<usize>, ScanError> {
        let end = self.read_pieces(bytes, sink)?;
        // Once for all pieces: a backslash or a quote inside of a character is as wrong as any other byte there.
        let read = bytes.get(..end.unwrap_or(bytes.len()));
        self.check_text(read.or_report("a string ends within the bytes that were read", bytes))?;
        Ok(end)
    }

    fn read_pieces(
        &mut self,
        bytes: &[u8],
        sink: &mut impl StringSink,
    ) -> Result<Option<usize>, ScanError> {
        let mut rest = bytes;
        loop {
            match self.escape {
                EscapeState::None => {
                    if self.high_surrogate.is_none() {
                        rest = sink.push_plain(rest);
                    }
                    let end = memchr::memchr2(b'"', b'\\', rest);
                    let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
                    if !run.is_empty() {
                        self.flush_surrogate(sink);
                        sink.push(StringPiece::Literal(run));
                    }
                    let Some((sign, after)) = after.split_first() else { return Ok(None) };
                    if *sign == b'"' {
                        self.flush_surrogate(sink);
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
                            self.flush_surrogate(sink);
                            sink.push(StringPiece::Escape(*sign));
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
                            self.accept_utf16_unit(value, sink);
                            EscapeState::None
                        }
                        _ => EscapeState::Hex { value, digits: digits + 1 },
                    };
                }
            }
        }
    }

    /// Takes the value of a `\u` escape.
    fn accept_utf16_unit(&mut self, unit: u16, sink: &mut impl StringSink) {
        if let Some(high) = self.high_surrogate
            && let Some(Ok(paired)) = char::decode_utf16([high, unit]).next()
        {
            self.high_surrogate = None;
            return sink.push(StringPiece::Unicode(paired));
        }
        self.flush_surrogate(sink);
        if matches!(unit, 0xD800..=0xDBFF) {
            self.high_surrogate = Some(unit);
        } else {
            let character = char::from_u32(u32::from(unit));
            sink.push(StringPiece::Unicode(character.unwrap_or(char::REPLACEMENT_CHARACTER)));
        }
    }

    /// Passes on an unpaired surrogate. Programs that cut strings by UTF-16 units write them.
    fn flush_surrogate(&mut self, sink: &mut impl StringSink) {
        if self.high_surrogate.take().is_some() {
            sink.push(StringPiece::Unicode(char::REPLACEMENT_CHARACTER));
        }
    }

    /// Requires valid UTF-8 without control characters.
    fn check_text(&mut self, text: &[u8]) -> Result<(), ScanError> {
        // The least byte and not the first small one, because the compiler makes wide instructions of it.
        if text.iter().fold(u8::MAX, |least, byte| least.min(*byte)) < 0x20 {
            return Err(ScanError::Syntax("a control character in a string"));
        }
        if self.partial_char.is_empty() && text.is_ascii() {
            return Ok(());
        }
        self.partial_char.check(text)
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
            match str::from_utf8(self.bytes.get(..self.len).ok_or(ScanError::Utf8)?) {
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

/// Copies bytes that stand for themselves, and escapes of one character: as they are if `RAW`, or else what they mean.
/// Returns the rest, which begins with a quote, another escape or a backslash at the end, if it is not empty.
///
/// A word at a time: in most texts a line end is escaped every hundred bytes, so that a search for the next escape costs
/// more than it saves.
fn copy_plain<'b, const RAW: bool>(bytes: &'b [u8], out: &mut Vec<u8>) -> &'b [u8] {
    let mut rest = bytes;
    loop {
        let start = out.len();
        out.resize(start + WINDOW, 0);
        let filled = fill_window::<RAW>(
            rest,
            out.get_mut(start..).or_report_default("the output was extended"),
        );
        out.truncate(out.len() - filled.room);
        rest = filled.rest;
        if filled.is_last {
            return rest;
        }
    }
}

/// The result of filling a window.
struct Filled<'b> {
    rest: &'b [u8],
    /// How many bytes of the window are free.
    room: usize,
    /// Whether the rest cannot be copied, or is empty.
    is_last: bool,
}

/// Fills a window of the output.
fn fill_window<'b, const RAW: bool>(bytes: &'b [u8], window: &mut [u8]) -> Filled<'b> {
    let mut rest = bytes;
    let mut window = window;
    while let Some(place) = window.first_chunk_mut::<{ WORD + ESCAPE }>() {
        let split = rest.split_first_chunk::<WORD>();
        let plain = match (split, place.first_chunk_mut::<WORD>()) {
            (Some((word, _)), Some(place)) => {
                *place = *word;
                count_plain(u128::from_le_bytes(*word))
            }
            _ => copy_tail(rest, place),
        };
        if plain == WORD
            && let Some((_, behind)) = split
        {
            // By a number that is known, so that the processor reads the next word before it has looked at this one.
            rest = behind;
            window = window.get_mut(WORD..).or_report_default("a window has room for a word");
            continue;
        }
        let after = rest.get(plain..).or_report_default("plain bytes are a part of the rest");
        let escape = match after {
            [b'\\', sign, behind @ ..] => unescape(*sign).map(|it| (*sign, it, behind)),
            _ => None,
        };
        let Some((sign, meaning, behind)) = escape else {
            return Filled { rest: after, room: window.len() - plain, is_last: true };
        };
        if let Some(place) = place.get_mut(plain..plain + ESCAPE) {
            place.copy_from_slice(&if RAW { [b'\\', sign] } else { [meaning, 0] });
        }
        rest = behind;
        let written = plain + if RAW { ESCAPE } else { 1 };
        window = window.get_mut(written..).or_report_default("a window has room for a word");
    }
    Filled { rest, room: window.len(), is_last: false }
}

/// Copies the last bytes, which are fewer than a word, up to a quote or a backslash. Returns how many those are.
fn copy_tail(bytes: &[u8], place: &mut [u8]) -> usize {
    let plain = bytes.iter().take_while(|byte| !matches!(byte, b'"' | b'\\')).count();
    place.iter_mut().zip(bytes.iter().take(plain)).for_each(|(to, from)| *to = *from);
    plain
}

/// How many bytes of a word stand before the first quote or backslash.
const fn count_plain(word: u128) -> usize {
    const ONES: u128 = u128::from_le_bytes([0x01; WORD]);
    const HIGH: u128 = u128::from_le_bytes([0x80; WORD]);
    const QUOTES: u128 = u128::from_le_bytes([b'"'; WORD]);
    const BACKSLASHES: u128 = u128::from_le_bytes([b'\\'; WORD]);
    // A byte that is zero has its high bit set in the difference. A borrow reaches only bytes behind it.
    let quotes = word ^ QUOTES;
    let backslashes = word ^ BACKSLASHES;
    let quotes = quotes.wrapping_sub(ONES) & !quotes;
    let backslashes = backslashes.wrapping_sub(ONES) & !backslashes;
    (((quotes | backslashes) & HIGH).trailing_zeros() / 8) as usize
}

/// The byte that an escape of one character means.
const fn unescape(sign: u8) -> Option<u8> {
    Some(match sign {
        b'"' | b'\\' | b'/' => sign,
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}

/// How many bytes are looked at together.
const WORD: usize = 16;

/// The length of an escape of one character.
const ESCAPE: usize = 2;

/// How much of the output is filled at once, in bytes. It is set to zero before.
const WINDOW: usize = 1024;

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
        StringPiece::Escape(sign) => out.push(unescape(sign).unwrap_or(sign)),
        StringPiece::Unicode(character) => {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}
