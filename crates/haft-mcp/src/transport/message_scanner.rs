//! Scans a message in pieces of any size: checks that it is JSON, and takes large values out of it.

use std::sync::Arc;

use haft_core::invariant::OrReport as _;

use super::base64_decoder::Base64Decoder;
use super::json_string::{
    RawSink, StringPiece, StringReader, StringSink as _, TextSink, push_unescaped,
};
use super::number::NumberState;
use super::part_path::PartPath;
use super::scan_error::ScanError;
use super::{PartEncoding, ReadLimits};

/// What a scanned piece of a message brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScanEvent {
    /// A large value begins. Its number is in the placeholder.
    Started(usize, PartEncoding),
    /// Bytes of the large value.
    Bytes(Vec<u8>),
    /// The large value is complete.
    Ended,
}

/// Scans one message.
///
/// The message without its large values stays in memory. Each of those is replaced by a string that the server cannot
/// know: the marker and a number.
#[derive(Debug)]
pub(super) struct MessageScanner {
    marker: Arc<str>,
    /// The number of the first part.
    first_part: usize,
    limits: ReadLimits,
    /// The message without its large values.
    kept: Vec<u8>,
    /// The id of the message, as JSON.
    id: Vec<u8>,
    /// Where the id begins in the kept bytes, while it is read.
    id_start: Option<usize>,
    stack: Vec<Frame>,
    state: State,
    /// The place of the value that is expected or read.
    path: PartPath,
    key: KeyBuffer,
    string: StringReader,
    candidate: Option<Candidate>,
    part: Option<Part>,
    parts: usize,
    part_bytes: u64,
    /// Bytes of the part that were not passed on yet.
    pending: Vec<u8>,
    /// An empty buffer for the next bytes.
    spare: Option<Vec<u8>>,
    is_blank: bool,
    /// Whether the message has a method, so that its id is not one of ours.
    has_method: bool,
    /// Why the message cannot be used. The rest of it is read for its id only.
    failure: Option<ScanError>,
}

/// A message that cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScanFailure {
    pub(super) error: ScanError,
    /// The id of the response, as JSON, if it was read.
    pub(super) id: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    is_object: bool,
    path: PartPath,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A value, or the end of an array that is empty so far.
    Value {
        may_close: bool,
    },
    /// A key, or the end of an object that is empty so far.
    Key {
        may_close: bool,
    },
    Colon,
    AfterValue,
    String {
        is_key: bool,
    },
    Number(NumberState),
    Literal(&'static [u8]),
    /// The message is complete.
    End,
    /// The message is not JSON.
    Broken,
}

/// A value that may turn out to be large.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// Where it begins in the kept bytes.
    start: usize,
    encoding: PartEncoding,
    /// The depth around the value.
    depth: usize,
}

/// A large value.
#[derive(Debug)]
struct Part {
    decoder: PartDecoder,
    depth: usize,
}

#[derive(Debug)]
enum PartDecoder {
    Text,
    Base64(Base64Decoder),
    Json,
}

/// The start of a key, decoded.
#[derive(Debug, Default)]
struct KeyBuffer {
    bytes: Vec<u8>,
    is_long: bool,
}

impl MessageScanner {
    pub(super) fn new(marker: Arc<str>, first_part: usize, limits: ReadLimits) -> Self {
        Self {
            marker,
            first_part,
            limits,
            kept: Vec::new(),
            id: Vec::new(),
            id_start: None,
            stack: Vec::new(),
            state: State::Value { may_close: false },
            path: PartPath::Message,
            key: KeyBuffer::default(),
            string: StringReader::default(),
            candidate: None,
            part: None,
            parts: 0,
            part_bytes: 0,
            pending: Vec::new(),
            spare: None,
            is_blank: true,
            has_method: false,
            failure: None,
        }
    }

    /// The id of the message, as JSON, or `None` if it was not read yet.
    pub(super) fn id(&self) -> Option<&[u8]> {
        (!self.id.is_empty()).then_some(&self.id)
    }

    /// Whether only white space was read.
    pub(super) const fn is_blank(&self) -> bool {
        self.is_blank
    }

    /// Why the message cannot be used, if that is known already.
    pub(super) const fn failure(&self) -> Option<&ScanError> {
        self.failure.as_ref()
    }

    /// Gives up the message: the rest of it is read for its id only.
    pub(super) fn fail(&mut self, error: ScanError) {
        self.failure.get_or_insert(error);
        (self.part, self.candidate) = (None, None);
        self.pending.clear();
        if self.id_start.is_none() {
            self.kept.clear();
        }
    }

    /// Takes back the memory of bytes that were passed on, to reuse it.
    pub(super) fn reuse_buffer(&mut self, buffer: Vec<u8>) {
        self.spare = Some(buffer);
    }

    /// Scans bytes.
    pub(super) fn push(&mut self, bytes: &[u8], events: &mut Vec<ScanEvent>) {
        let mut rest = bytes;
        while !rest.is_empty() && self.state != State::Broken {
            let scanned = match self.state {
                State::String { is_key } => self.push_string(rest, is_key, events),
                _ => self.push_structure(rest, events),
            };
            match scanned {
                Ok(left) => {
                    rest = left;
                    self.check_size(events);
                }
                Err(error) => {
                    self.fail(error);
                    self.state = State::Broken;
                }
            }
        }
    }

    /// Ends the message and returns it without its large values.
    pub(super) fn finish(self) -> Result<Vec<u8>, ScanFailure> {
        let early = || (self.state != State::End).then_some(ScanError::Syntax("it ends too early"));
        match self.failure.clone().or_else(early) {
            None => Ok(self.kept),
            Some(error) => {
                let id = (!self.id.is_empty() && !self.has_method).then_some(self.id);
                Err(ScanFailure { error, id })
            }
        }
    }

    /// Scans one byte outside of strings.
    fn push_structure<'b>(
        &mut self,
        bytes: &'b [u8],
        events: &mut Vec<ScanEvent>,
    ) -> Result<&'b [u8], ScanError> {
        let Some((byte, rest)) = bytes.split_first() else { return Ok(bytes) };
        if let State::Number(number) = self.state {
            match number.push(*byte) {
                Some(next) => {
                    self.keep(*byte);
                    self.state = State::Number(next);
                    return Ok(rest);
                }
                None if number.is_complete() => self.end_value(events),
                None => return Err(ScanError::Syntax("a malformed number")),
            }
        }
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') && !matches!(self.state, State::Literal(_))
        {
            return Ok(rest);
        }
        self.is_blank = false;
        match self.state {
            State::Value { may_close } => self.begin_value(*byte, may_close, events)?,
            State::Key { may_close } => self.begin_key(*byte, may_close, events)?,
            State::Colon if *byte == b':' => {
                self.keep(b':');
                self.state = State::Value { may_close: false };
            }
            State::Colon => return Err(ScanError::Syntax("a key without a colon")),
            State::AfterValue => self.after_value(*byte, events)?,
            State::Literal(expected) => {
                let (first, expected) = expected.split_first().unwrap_or((&0, &[]));
                if first != byte {
                    return Err(ScanError::Syntax("an unknown word"));
                }
                self.keep(*byte);
                self.state = State::Literal(expected);
                if expected.is_empty() {
                    self.end_value(events);
                }
            }
            State::End => return Err(ScanError::Syntax("something follows the message")),
            State::String { .. } | State::Number(_) | State::Broken => {}
        }
        Ok(rest)
    }

    fn begin_value(
        &mut self,
        byte: u8,
        may_close: bool,
        events: &mut Vec<ScanEvent>,
    ) -> Result<(), ScanError> {
        if byte == b']' && may_close {
            self.close(false, events);
            return Ok(());
        }
        if self.stack.is_empty() && byte != b'{' {
            return Err(ScanError::Syntax("a message is an object"));
        }
        self.begin_candidate(byte);
        self.keep(byte);
        match byte {
            b'{' => self.open(true)?,
            b'[' => self.open(false)?,
            b'"' => {
                self.string = StringReader::default();
                self.state = State::String { is_key: false };
            }
            b't' => self.state = State::Literal(b"rue"),
            b'f' => self.state = State::Literal(b"alse"),
            b'n' => self.state = State::Literal(b"ull"),
            _ => {
                let number = NumberState::start(byte);
                let number = number.ok_or(ScanError::Syntax("a value is missing"))?;
                self.state = State::Number(number);
            }
        }
        Ok(())
    }

    /// Notes that the value which begins here may be large.
    fn begin_candidate(&mut self, first: u8) {
        if self.path == PartPath::Id && self.stack.len() == 1 {
            self.id_start = Some(self.kept.len());
        }
        if self.is_inside_part() || self.failure.is_some() {
            return;
        }
        let encoding = match self.path {
            PartPath::Text if first == b'"' => PartEncoding::Text,
            PartPath::Base64 if first == b'"' => PartEncoding::Bytes,
            PartPath::Structured => PartEncoding::Json,
            _ => return,
        };
        let start = self.kept.len();
        let depth = self.stack.len();
        self.candidate = Some(Candidate { start, encoding, depth });
    }

    fn begin_key(
        &mut self,
        byte: u8,
        may_close: bool,
        events: &mut Vec<ScanEvent>,
    ) -> Result<(), ScanError> {
        match byte {
            b'}' if may_close => {
                self.close(true, events);
                Ok(())
            }
            b'"' => {
                self.keep(byte);
                self.key = KeyBuffer::default();
                self.string = StringReader::default();
                self.state = State::String { is_key: true };
                Ok(())
            }
            _ => Err(ScanError::Syntax("a key is missing")),
        }
    }

    fn after_value(&mut self, byte: u8, events: &mut Vec<ScanEvent>) -> Result<(), ScanError> {
        let is_object = self.stack.last().is_some_and(|frame| frame.is_object);
        match (byte, is_object) {
            (b',', true) => {
                self.keep(byte);
                self.state = State::Key { may_close: false };
                Ok(())
            }
            (b',', false) => {
                self.keep(byte);
                self.path = self.stack.last().map_or(PartPath::Other, |it| it.path.element());
                self.state = State::Value { may_close: false };
                Ok(())
            }
            (b'}', true) | (b']', false) => {
                self.close(is_object, events);
                Ok(())
            }
            _ => Err(ScanError::Syntax("a comma is missing")),
        }
    }

    fn open(&mut self, is_object: bool) -> Result<(), ScanError> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(ScanError::TooDeep(MAX_DEPTH));
        }
        // Nothing inside of a structured value is looked at.
        let path = if self.is_inside_part() { PartPath::Other } else { self.path };
        self.stack.push(Frame { is_object, path });
        self.path = path.element();
        self.state = match is_object {
            true => State::Key { may_close: true },
            false => State::Value { may_close: true },
        };
        Ok(())
    }

    fn close(&mut self, is_object: bool, events: &mut Vec<ScanEvent>) {
        self.keep(if is_object { b'}' } else { b']' });
        self.stack.pop();
        self.end_value(events);
    }

    /// Ends the value that was read.
    fn end_value(&mut self, events: &mut Vec<ScanEvent>) {
        let depth = self.stack.len();
        self.state = if depth == 0 { State::End } else { State::AfterValue };
        if depth == 1
            && let Some(start) = self.id_start.take()
        {
            let id = self.kept.get(start..).or_report_default("an id begins in the kept bytes");
            self.id = id.to_vec();
        }
        if self.part.as_ref().is_some_and(|part| part.depth == depth) {
            self.end_part(events);
        }
        if self.candidate.is_some_and(|it| it.depth == depth) {
            self.candidate = None;
        }
    }

    fn push_string<'b>(
        &mut self,
        bytes: &'b [u8],
        is_key: bool,
        events: &mut Vec<ScanEvent>,
    ) -> Result<&'b [u8], ScanError> {
        // A value in pieces, so that a large one is noticed before all of it is kept.
        let (now, later) = bytes.split_at(bytes.len().min(MAX_PIECE));
        let Self { string, kept, key, part, pending, .. } = self;
        let mut is_decoded = true;
        let ended = match part.as_mut().map(|part| &mut part.decoder) {
            Some(PartDecoder::Text) => string.read(now, &mut TextSink(pending)),
            Some(PartDecoder::Json) => string.read(now, &mut RawSink(pending)),
            Some(PartDecoder::Base64(decoder)) => {
                string.read(now, &mut |piece: StringPiece<'_>| {
                    is_decoded &= decoder.push_piece(piece, pending).is_ok();
                })
            }
            None if is_key => string.read(now, &mut |piece: StringPiece<'_>| {
                RawSink(kept).push(piece);
                key.push(piece);
            }),
            None => string.read(now, &mut RawSink(kept)),
        }?;
        if !is_decoded {
            self.fail(ScanError::Base64);
        }
        self.check_candidate(events);
        let is_own_part = matches!(
            self.part,
            Some(Part { decoder: PartDecoder::Text | PartDecoder::Base64(_), .. })
        );
        let Some(read) = ended else { return Ok(later) };
        let (_, rest) = bytes.split_at(read);
        if is_key {
            self.keep(b'"');
            self.end_key();
        } else {
            // The quotes of a string that is a part of its own belong to the placeholder.
            if !is_own_part {
                self.keep(b'"');
            }
            self.end_value(events);
        }
        Ok(rest)
    }

    fn end_key(&mut self) {
        let parent = self.stack.last().map_or(PartPath::Other, |frame| frame.path);
        self.path = match self.key.is_long {
            true => PartPath::Other,
            false => parent.member(&self.key.bytes),
        };
        if parent == PartPath::Message && self.stack.len() == 1 {
            self.has_method |= self.key.bytes == b"method";
        }
        self.state = State::Colon;
    }

    /// Whether the value that is read is, or may become, a structured part.
    fn is_inside_part(&self) -> bool {
        self.part.is_some() || self.candidate.is_some()
    }

    /// Keeps a byte of the structure.
    fn keep(&mut self, byte: u8) {
        match &self.part {
            Some(_) => self.pending.push(byte),
            None => self.kept.push(byte),
        }
    }

    /// Turns a value that has become large into a part, and bounds what is kept.
    fn check_size(&mut self, events: &mut Vec<ScanEvent>) {
        self.check_candidate(events);
        if self.failure.is_some() && (self.id_start.is_none() || self.kept.len() > MAX_PIECE) {
            self.kept.clear();
            self.id_start = None;
        } else if self.kept.len() > self.limits.max_message_bytes {
            self.fail(ScanError::TooLarge(self.limits.max_message_bytes));
        }
        if self.pending.len() >= MAX_PENDING {
            self.pass_on(events);
            self.pending = self.spare.take().unwrap_or_default();
            self.pending.reserve(MAX_PENDING + 2 * MAX_PIECE);
        }
    }

    /// Turns the value that is read into a part if it has become large.
    fn check_candidate(&mut self, events: &mut Vec<ScanEvent>) {
        if let Some(candidate) = self.candidate
            && self.kept.len().saturating_sub(candidate.start) > self.limits.spool_above
        {
            self.candidate = None;
            if let Err(error) = self.begin_part(candidate, events) {
                self.fail(error);
            }
        }
    }

    fn begin_part(
        &mut self,
        candidate: Candidate,
        events: &mut Vec<ScanEvent>,
    ) -> Result<(), ScanError> {
        let Candidate { start, encoding, depth } = candidate;
        if self.parts >= self.limits.max_parts {
            return Err(ScanError::TooManyParts(self.limits.max_parts));
        }
        let value = self.kept.split_off(start);
        // What was kept of a string begins with its quote and consists of whole pieces.
        let body = value.split_first().map_or(&[][..], |(_, body)| body);
        let pending = &mut self.pending;
        let decoder = match encoding {
            PartEncoding::Json => {
                pending.extend_from_slice(&value);
                PartDecoder::Json
            }
            PartEncoding::Text => {
                StringReader::default().read(body, &mut TextSink(pending))?;
                PartDecoder::Text
            }
            PartEncoding::Bytes => {
                let mut text = Vec::with_capacity(body.len());
                StringReader::default().read(body, &mut TextSink(&mut text))?;
                let mut decoder = Base64Decoder::default();
                decoder.push(&text, pending)?;
                PartDecoder::Base64(decoder)
            }
        };
        events.push(ScanEvent::Started(self.first_part + self.parts, encoding));
        self.part = Some(Part { decoder, depth });
        self.part_bytes = 0;
        Ok(())
    }

    fn end_part(&mut self, events: &mut Vec<ScanEvent>) {
        let Some(part) = self.part.take() else { return };
        if let PartDecoder::Base64(decoder) = part.decoder
            && let Err(error) = decoder.finish(&mut self.pending)
        {
            return self.fail(error);
        }
        self.pass_on(events);
        if self.failure.is_some() {
            return;
        }
        events.push(ScanEvent::Ended);
        let placeholder = super::placeholder(&self.marker, self.first_part + self.parts);
        self.kept.push(b'"');
        self.kept.extend_from_slice(placeholder.as_bytes());
        self.kept.push(b'"');
        self.parts += 1;
    }

    /// Passes on the bytes of the part.
    fn pass_on(&mut self, events: &mut Vec<ScanEvent>) {
        if self.pending.is_empty() {
            return;
        }
        self.part_bytes = self.part_bytes.saturating_add(self.pending.len() as u64);
        if self.part_bytes > self.limits.max_part_bytes {
            return self.fail(ScanError::PartTooLarge(self.limits.max_part_bytes));
        }
        events.push(ScanEvent::Bytes(std::mem::take(&mut self.pending)));
    }
}

impl KeyBuffer {
    fn push(&mut self, piece: StringPiece<'_>) {
        if !self.is_long {
            match piece {
                StringPiece::Literal(bytes) => {
                    self.bytes.extend(bytes.iter().take(PartPath::MAX_KEY + 1));
                }
                StringPiece::Escape(_) | StringPiece::Unicode(_) => {
                    push_unescaped(&mut self.bytes, piece);
                }
            }
            self.is_long = self.bytes.len() > PartPath::MAX_KEY;
        }
    }
}

/// As deep as `serde_json` reads.
const MAX_DEPTH: usize = 128;
/// How much of a string is read before its size is looked at, in bytes.
const MAX_PIECE: usize = 16 * 1024;
/// How much of a part is collected before it is passed on, in bytes.
const MAX_PENDING: usize = 256 * 1024;
