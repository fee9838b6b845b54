//! Server-sent events.
//!
//! ```
//! use haft_providers::framing::SseDecoder;
//!
//! let mut decoder = SseDecoder::new(1 << 20);
//! decoder.feed("event: delta\ndata: {\"text\":".into());
//! assert_eq!(decoder.next_event()?, None);
//! decoder.feed("\"hi\"}\n\ndata: [DO".into());
//! let event = decoder.next_event()?.unwrap();
//! assert_eq!((event.name, event.data), (&b"delta"[..], &br#"{"text":"hi"}"#[..]));
//! assert_eq!(decoder.next_event()?, None);
//! // The stream ended in the middle of an event.
//! assert_eq!(decoder.finish().unwrap().data, b"[DO");
//! # Ok::<(), haft_providers::framing::FrameTooLarge>(())
//! ```

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use haft_core::invariant::OrReport as _;
use memchr::memchr2;

use super::{FrameTooLarge, text_of};

/// Splits a stream of bytes into events, as the HTML standard says: lines end in LF, CRLF or CR, comments are skipped,
/// several `data` lines are one text, a byte order mark at the beginning is skipped.
///
/// The events do not depend on where the chunks are cut, even inside of a character or a line end. An event that lies
/// within one chunk is not copied, and no event costs an allocation once the buffers have grown.
///
/// Pass a chunk to [`SseDecoder::feed`], read events with [`SseDecoder::next_event`] until there is none, and call
/// [`SseDecoder::finish`] at the end, which returns an incomplete event.
#[derive(Clone, Debug)]
pub struct SseDecoder {
    max: usize,
    chunk: Bytes,
    /// How much of the chunk was read.
    at: usize,
    /// The beginning of a line that the last chunk did not complete.
    line: Vec<u8>,
    data: FieldText,
    name: FieldText,
    /// The last id, which holds until there is another.
    id: Vec<u8>,
    /// The last chunk ended in CR, which may be half of a CRLF.
    after_cr: bool,
    /// Nothing but the byte order mark may be before it.
    first_line: bool,
    /// The event that was given last is still in the buffers.
    returned: bool,
    too_large: bool,
}

/// One event. It borrows from the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseEvent<'a> {
    /// The type of the event; empty if none was given, which means `message`.
    pub name: &'a [u8],
    /// The data. Bytes, because what reads them checks them: they need not be UTF-8.
    pub data: &'a [u8],
    /// The last id that the stream gave, with this event or before; empty if none.
    pub id: &'a [u8],
}

impl<'a> SseEvent<'a> {
    /// The data as text, with U+FFFD for what is not UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        text_of(self.data)
    }
}

/// The value of a field, which may consist of several lines.
#[derive(Clone, Debug, Default)]
struct FieldText {
    at: TextLocation,
    /// Reused from event to event, so that it is not allocated again.
    buffer: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
enum TextLocation {
    /// There is none.
    #[default]
    Nowhere,
    /// In the chunk.
    Chunk(Range<usize>),
    /// In a buffer from there on, because it is of several lines or chunks.
    Buffer(usize),
}

impl FieldText {
    fn get<'a>(&'a self, chunk: &'a [u8]) -> &'a [u8] {
        match &self.at {
            TextLocation::Nowhere => &[],
            TextLocation::Chunk(range) => {
                chunk.get(range.clone()).or_report_default(FIELD_WITHIN_CHUNK)
            }
            TextLocation::Buffer(start) => {
                self.buffer.get(*start..).or_report_default("a value begins within its buffer")
            }
        }
    }

    const fn is_set(&self) -> bool {
        !matches!(self.at, TextLocation::Nowhere)
    }

    fn clear(&mut self) {
        self.at = TextLocation::Nowhere;
        self.buffer.clear();
    }

    /// Copies it out of the chunk, which is about to be dropped.
    fn copy_from_chunk(&mut self, chunk: &[u8]) {
        if let TextLocation::Chunk(range) = &self.at {
            self.buffer
                .extend_from_slice(chunk.get(range.clone()).or_report_default(FIELD_WITHIN_CHUNK));
            self.at = TextLocation::Buffer(0);
        }
    }
}

const READ_WITHIN_CHUNK: &str = "no more of the chunk was read than there is";
const FIELD_WITHIN_CHUNK: &str = "lines and their values lie within the chunk";

impl SseDecoder {
    /// A decoder for one stream. No line and no data of an event may have more than this many bytes.
    ///
    /// ```
    /// use haft_providers::framing::SseDecoder;
    ///
    /// let mut decoder = SseDecoder::new(8);
    /// decoder.feed("data: much too long\n\n".into());
    /// assert!(decoder.next_event().is_err());
    /// ```
    #[must_use]
    pub fn new(max_frame_bytes: usize) -> Self {
        Self {
            max: max_frame_bytes,
            chunk: Bytes::new(),
            at: 0,
            line: Vec::new(),
            data: FieldText::default(),
            name: FieldText::default(),
            id: Vec::new(),
            after_cr: false,
            first_line: true,
            returned: false,
            too_large: false,
        }
    }

    /// Takes the next bytes of the stream. Events of earlier ones that were not taken yet come first.
    pub fn feed(&mut self, bytes: Bytes) {
        self.clear_returned();
        let rest = self.chunk.get(self.at..).or_report_default(READ_WITHIN_CHUNK);
        if rest.is_empty() {
            self.data.copy_from_chunk(&self.chunk);
            self.name.copy_from_chunk(&self.chunk);
            self.chunk = bytes;
        } else {
            let both = [rest, &bytes].concat();
            self.data.copy_from_chunk(&self.chunk);
            self.name.copy_from_chunk(&self.chunk);
            self.chunk = both.into();
        }
        self.at = 0;
    }

    /// The next event; nothing until more is fed.
    ///
    /// ```
    /// use haft_providers::framing::SseDecoder;
    ///
    /// let mut decoder = SseDecoder::new(1024);
    /// decoder.feed("event: ping\ndata: {}\n\ndata: unfin".into());
    /// let event = decoder.next_event()?.ok_or("there is an event")?;
    /// assert_eq!((event.name, &*event.text()), (&b"ping"[..], "{}"));
    /// assert!(decoder.next_event()?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A line or the data of an event is too large; then this is all that ever comes.
    pub fn next_event(&mut self) -> Result<Option<SseEvent<'_>>, FrameTooLarge> {
        self.clear_returned();
        loop {
            match self.scan_common_event() {
                QuickScan::Event => break,
                QuickScan::Cut => return Ok(None),
                QuickScan::No => {}
            }
            let blank = match self.next_line()? {
                None => return Ok(None),
                Some(SseLine::Chunk(line)) if line.is_empty() => true,
                Some(SseLine::Chunk(line)) => {
                    self.read_chunk_field(line)?;
                    false
                }
                Some(SseLine::Buffered) => self.read_buffered_field()?,
            };
            if blank && self.data.is_set() {
                break;
            } else if blank {
                self.name.clear();
            }
        }
        self.returned = true;
        Ok(Some(self.current_event()))
    }

    /// Reads the common kind of event: one line of data and a blank line, both in the chunk except for the beginning of
    /// the data. All other events are read line by line.
    fn scan_common_event(&mut self) -> QuickScan {
        let rest = self.chunk.get(self.at..).or_report_default(READ_WITHIN_CHUNK);
        if self.first_line || self.after_cr || self.too_large || self.data.is_set() {
            return QuickScan::No;
        }
        let cut = self.line.len();
        let is_data = if cut == 0 { rest.starts_with(DATA) } else { self.line.starts_with(DATA) };
        if !is_data {
            return if rest.is_empty() { QuickScan::Cut } else { QuickScan::No };
        }
        let end = memchr2(b'\n', b'\r', rest);
        let len = end.unwrap_or(rest.len());
        let (line, behind) = rest.split_at_checked(len).or_report_default(FIELD_WITHIN_CHUNK);
        if cut + len > self.max || (end.is_some() && !behind.starts_with(b"\n\n")) {
            return QuickScan::No;
        }
        if cut == 0 && end.is_some() {
            self.data.at = TextLocation::Chunk(self.at + DATA.len()..self.at + len);
        } else {
            self.line.extend_from_slice(line);
            if end.is_some() {
                // The buffers change places, so that nothing is copied again.
                std::mem::swap(&mut self.data.buffer, &mut self.line);
                self.line.clear();
                self.data.at = TextLocation::Buffer(DATA.len());
            }
        }
        self.at += len;
        if end.is_none() {
            return QuickScan::Cut;
        }
        self.at += 2;
        QuickScan::Event
    }

    /// What had begun and was not ended when the stream ended, as the event that it would have been, or `None` if the
    /// stream ended between two events. The standard says to drop it, since the end of it may be missing.
    pub fn finish(&mut self) -> Option<SseEvent<'_>> {
        self.clear_returned();
        let cut = !self.line.is_empty();
        let comment = self.line.first() == Some(&b':');
        let begun = self.data.is_set() || self.name.is_set() || (cut && !comment);
        let known = !self.too_large && (!cut || self.read_buffered_field().is_ok());
        self.returned = true;
        (begun && known).then(|| self.current_event())
    }

    fn current_event(&self) -> SseEvent<'_> {
        let name = self.name.get(&self.chunk);
        let data = self.data.get(&self.chunk);
        SseEvent { name, data, id: &self.id }
    }

    fn clear_returned(&mut self) {
        if std::mem::take(&mut self.returned) {
            self.data.clear();
            self.name.clear();
        }
    }

    /// The next whole line, without its end.
    fn next_line(&mut self) -> Result<Option<SseLine>, FrameTooLarge> {
        if self.too_large {
            return Err(FrameTooLarge { limit: self.max });
        }
        if self.after_cr && self.at < self.chunk.len() {
            self.after_cr = false;
            if self.chunk.get(self.at) == Some(&b'\n') {
                self.at += 1;
            }
        }
        let rest = self.chunk.get(self.at..).or_report_default(READ_WITHIN_CHUNK);
        let found = memchr2(b'\n', b'\r', rest);
        let len = found.unwrap_or(rest.len());
        self.check_size(self.line.len() + len)?;
        let range = self.at..self.at + len;
        let whole = self.line.is_empty() && !self.first_line;
        if found.is_none() || !whole {
            self.line.extend_from_slice(
                self.chunk.get(range.clone()).or_report_default(FIELD_WITHIN_CHUNK),
            );
        }
        self.at += len;
        let Some(end) = found.and_then(|at| self.chunk.get(range.start + at)) else {
            return Ok(None);
        };
        self.at += 1;
        if *end == b'\r' {
            match self.chunk.get(self.at) {
                Some(b'\n') => self.at += 1,
                Some(_) => {}
                None => self.after_cr = true,
            }
        }
        Ok(Some(if whole { SseLine::Chunk(range) } else { SseLine::Buffered }))
    }

    /// Reads a line that lies in the chunk.
    fn read_chunk_field(&mut self, line: Range<usize>) -> Result<(), FrameTooLarge> {
        let text = self.chunk.get(line.clone()).or_report_default(FIELD_WITHIN_CHUNK);
        let Some((field, value)) = split_field(text) else { return Ok(()) };
        let value = line.end - value.len()..line.end;
        match field {
            SseField::Data if !self.data.is_set() => self.data.at = TextLocation::Chunk(value),
            SseField::Data => {
                let chunk = self.chunk.clone();
                self.add_data(chunk.get(value).or_report_default(FIELD_WITHIN_CHUNK))?;
            }
            SseField::Event => {
                self.name.clear();
                self.name.at = TextLocation::Chunk(value);
            }
            SseField::Id => {
                let chunk = self.chunk.clone();
                self.set_id(chunk.get(value).or_report_default(FIELD_WITHIN_CHUNK));
            }
        }
        Ok(())
    }

    /// Reads the line in the buffer, and returns whether it is blank.
    fn read_buffered_field(&mut self) -> Result<bool, FrameTooLarge> {
        let first = std::mem::take(&mut self.first_line);
        let mut line = std::mem::take(&mut self.line);
        let text = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| first).unwrap_or(&line);
        let blank = text.is_empty();
        match split_field(text) {
            None => {}
            Some((SseField::Data, value)) if !self.data.is_set() => {
                // The buffers change places, so that nothing is copied again.
                let start = line.len() - value.len();
                std::mem::swap(&mut self.data.buffer, &mut line);
                self.data.at = TextLocation::Buffer(start);
            }
            Some((SseField::Data, value)) => self.add_data(value)?,
            Some((SseField::Event, value)) => {
                self.name.clear();
                self.name.buffer.extend_from_slice(value);
                self.name.at = TextLocation::Buffer(0);
            }
            Some((SseField::Id, value)) => self.set_id(value),
        }
        line.clear();
        self.line = line;
        Ok(blank)
    }

    /// Adds a line to the data that are there.
    fn add_data(&mut self, value: &[u8]) -> Result<(), FrameTooLarge> {
        self.data.copy_from_chunk(&self.chunk);
        let len = self.data.get(&self.chunk).len();
        self.check_size(len + 1 + value.len())?;
        self.data.buffer.push(b'\n');
        self.data.buffer.extend_from_slice(value);
        Ok(())
    }

    fn set_id(&mut self, value: &[u8]) {
        if !value.contains(&0) {
            self.id.clear();
            self.id.extend_from_slice(value);
        }
    }

    fn check_size(&mut self, len: usize) -> Result<(), FrameTooLarge> {
        self.too_large |= len > self.max;
        if self.too_large { Err(FrameTooLarge { limit: self.max }) } else { Ok(()) }
    }
}

/// What the quick look at a chunk found.
enum QuickScan {
    /// An event, which is in the buffers now.
    Event,
    /// The beginning of a line, which is kept.
    Cut,
    /// Something else.
    No,
}

enum SseLine {
    /// It lies in the chunk.
    Chunk(Range<usize>),
    /// It is in the line buffer.
    Buffered,
}

#[derive(Clone, Copy)]
enum SseField {
    Data,
    Event,
    Id,
}

/// Name and value of a field that matters.
fn split_field(line: &[u8]) -> Option<(SseField, &[u8])> {
    for (name, field) in
        [(&b"data"[..], SseField::Data), (b"event", SseField::Event), (b"id", SseField::Id)]
    {
        match line.strip_prefix(name) {
            Some([]) => return Some((field, &[])),
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => return Some((field, value)),
            _ => {}
        }
    }
    None
}

/// How a line of data nearly always begins.
const DATA: &[u8] = b"data: ";

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
