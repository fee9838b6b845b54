//! Server-sent events, as they come.
//!
//! ```
//! use haft_providers::sse::Decoder;
//!
//! let mut decoder = Decoder::new(1 << 20);
//! decoder.feed("event: delta\ndata: {\"text\":".into());
//! assert_eq!(decoder.next_event()?, None);
//! decoder.feed("\"hi\"}\n\ndata: [DO".into());
//! let event = decoder.next_event()?.unwrap();
//! assert_eq!((event.name, event.data), (&b"delta"[..], &br#"{"text":"hi"}"#[..]));
//! assert_eq!(decoder.next_event()?, None);
//! // The stream ended in the middle of an event.
//! assert_eq!(decoder.finish().unwrap().data, b"[DO");
//! # Ok::<(), haft_providers::sse::FrameTooLarge>(())
//! ```

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use memchr::memchr2;

/// Takes a stream of bytes apart into events, as the HTML standard says: lines end in LF, CRLF or CR, comments are
/// passed over, several `data` lines are one text, a byte order mark at the beginning is skipped.
///
/// Chunks may be cut anywhere, also inside of characters and line ends, and the events are the same. An event that lies
/// within a chunk is not copied, and none costs an allocation once the buffers have grown.
///
/// Give it a chunk with [`Decoder::feed`], take events with [`Decoder::next_event`] until there is none, and ask
/// [`Decoder::finish`] at the end whether something is missing.
#[derive(Clone, Debug)]
pub struct Decoder {
    max: usize,
    chunk: Bytes,
    /// How much of the chunk was read.
    at: usize,
    /// The beginning of a line that the last chunk cut off.
    line: Vec<u8>,
    data: Text,
    name: Text,
    /// The last id, which holds until there is another.
    id: Vec<u8>,
    /// The last chunk ended in CR, which may be half of a CRLF.
    after_cr: bool,
    /// Nothing but the byte order mark may be before it.
    first_line: bool,
    /// The event that was given last is still in the buffers.
    given: bool,
    too_large: bool,
}

/// One event. What it borrows lasts until the decoder is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event<'a> {
    /// The type of the event; empty if none was given, which means `message`.
    pub name: &'a [u8],
    /// The data. Bytes, because what reads them checks them: they need not be UTF-8.
    pub data: &'a [u8],
    /// The last id that the stream gave, with this event or before; empty if none.
    pub id: &'a [u8],
}

impl<'a> Event<'a> {
    /// The data as text, with U+FFFD for what is not UTF-8.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        text_of(self.data)
    }
}

/// Bytes as text, with U+FFFD for what is not UTF-8. Looks at many bytes at once, which replacing ones does not.
pub(super) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// A frame is larger than may be held in memory. Nothing comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of the stream has more than {limit} bytes")]
#[non_exhaustive]
pub struct FrameTooLarge {
    /// The most bytes that a frame may have.
    pub limit: usize,
}

/// A text that is put together from lines.
#[derive(Clone, Debug, Default)]
struct Text {
    at: Place,
    /// Kept from event to event, so that it is not allocated anew.
    own: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
enum Place {
    /// There is none.
    #[default]
    Nowhere,
    /// In the chunk.
    Chunk(Range<usize>),
    /// In a buffer from there on, because it is of several lines or chunks.
    Own(usize),
}

impl Text {
    fn get<'a>(&'a self, chunk: &'a [u8]) -> &'a [u8] {
        match &self.at {
            Place::Nowhere => &[],
            Place::Chunk(range) => chunk.get(range.clone()).unwrap_or_default(),
            Place::Own(start) => self.own.get(*start..).unwrap_or_default(),
        }
    }

    const fn is_there(&self) -> bool {
        !matches!(self.at, Place::Nowhere)
    }

    fn clear(&mut self) {
        self.at = Place::Nowhere;
        self.own.clear();
    }

    /// Copies it out of the chunk, which is about to go.
    fn keep(&mut self, chunk: &[u8]) {
        if let Place::Chunk(range) = &self.at {
            self.own.extend_from_slice(chunk.get(range.clone()).unwrap_or_default());
            self.at = Place::Own(0);
        }
    }
}

impl Decoder {
    /// A decoder for one stream. No line and no data of an event may have more than this many bytes.
    #[must_use]
    pub fn new(max_frame_bytes: usize) -> Self {
        Self {
            max: max_frame_bytes,
            chunk: Bytes::new(),
            at: 0,
            line: Vec::new(),
            data: Text::default(),
            name: Text::default(),
            id: Vec::new(),
            after_cr: false,
            first_line: true,
            given: false,
            too_large: false,
        }
    }

    /// Takes the next bytes of the stream. Events of earlier ones that were not taken yet come first.
    pub fn feed(&mut self, bytes: Bytes) {
        self.forget_given();
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            self.data.keep(&self.chunk);
            self.name.keep(&self.chunk);
            self.chunk = bytes;
        } else {
            let both = [rest, &bytes].concat();
            self.data.keep(&self.chunk);
            self.name.keep(&self.chunk);
            self.chunk = both.into();
        }
        self.at = 0;
    }

    /// The next event; nothing until more is fed.
    ///
    /// # Errors
    ///
    /// A line or the data of an event is too large; then this is all that ever comes.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, FrameTooLarge> {
        self.forget_given();
        loop {
            match self.common_event() {
                Common::Event => break,
                Common::Cut => return Ok(None),
                Common::No => {}
            }
            let blank = match self.next_line()? {
                None => return Ok(None),
                Some(Line::Chunk(line)) if line.is_empty() => true,
                Some(Line::Chunk(line)) => {
                    self.field_of_chunk(line)?;
                    false
                }
                Some(Line::Own) => self.field_of_line()?,
            };
            if blank && self.data.is_there() {
                break;
            } else if blank {
                self.name.clear();
            }
        }
        self.given = true;
        Ok(Some(self.event()))
    }

    /// Takes what nearly every event is: one line of data and a blank line, both in the chunk but for the beginning of the
    /// data. Everything else is left to be read line by line.
    fn common_event(&mut self) -> Common {
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        if self.first_line || self.after_cr || self.too_large || self.data.is_there() {
            return Common::No;
        }
        let cut = self.line.len();
        let is_data = if cut == 0 { rest.starts_with(DATA) } else { self.line.starts_with(DATA) };
        if !is_data {
            return if rest.is_empty() { Common::Cut } else { Common::No };
        }
        let end = memchr2(b'\n', b'\r', rest);
        let len = end.unwrap_or(rest.len());
        let (line, behind) = rest.split_at_checked(len).unwrap_or_default();
        if cut + len > self.max || (end.is_some() && !behind.starts_with(b"\n\n")) {
            return Common::No;
        }
        if cut == 0 && end.is_some() {
            self.data.at = Place::Chunk(self.at + DATA.len()..self.at + len);
        } else {
            self.line.extend_from_slice(line);
            if end.is_some() {
                // The buffers change places, so that nothing is copied again.
                std::mem::swap(&mut self.data.own, &mut self.line);
                self.line.clear();
                self.data.at = Place::Own(DATA.len());
            }
        }
        self.at += len;
        if end.is_none() {
            return Common::Cut;
        }
        self.at += 2;
        Common::Event
    }

    /// What had begun and was not ended when the stream ended, as the event that it would have been; nothing if the
    /// stream ended between two events. The standard says to drop it, since the end of it may be missing.
    pub fn finish(&mut self) -> Option<Event<'_>> {
        self.forget_given();
        let (cut, comment) = (!self.line.is_empty(), self.line.first() == Some(&b':'));
        let begun = self.data.is_there() || self.name.is_there() || (cut && !comment);
        let known = !self.too_large && (!cut || self.field_of_line().is_ok());
        self.given = true;
        (begun && known).then(|| self.event())
    }

    fn event(&self) -> Event<'_> {
        let (name, data) = (self.name.get(&self.chunk), self.data.get(&self.chunk));
        Event { name, data, id: &self.id }
    }

    fn forget_given(&mut self) {
        if std::mem::take(&mut self.given) {
            self.data.clear();
            self.name.clear();
        }
    }

    /// The next whole line, without its end.
    fn next_line(&mut self) -> Result<Option<Line>, FrameTooLarge> {
        if self.too_large {
            return Err(FrameTooLarge { limit: self.max });
        }
        if self.after_cr && self.at < self.chunk.len() {
            self.after_cr = false;
            if self.chunk.get(self.at) == Some(&b'\n') {
                self.at += 1;
            }
        }
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        let found = memchr2(b'\n', b'\r', rest);
        let len = found.unwrap_or(rest.len());
        self.check(self.line.len() + len)?;
        let range = self.at..self.at + len;
        let whole = self.line.is_empty() && !self.first_line;
        if found.is_none() || !whole {
            self.line.extend_from_slice(self.chunk.get(range.clone()).unwrap_or_default());
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
        Ok(Some(if whole { Line::Chunk(range) } else { Line::Own }))
    }

    /// Reads a line that lies in the chunk.
    fn field_of_chunk(&mut self, line: Range<usize>) -> Result<(), FrameTooLarge> {
        let Some((field, value)) = split(self.chunk.get(line.clone()).unwrap_or_default()) else {
            return Ok(());
        };
        let value = line.end - value.len()..line.end;
        match field {
            Field::Data if !self.data.is_there() => self.data.at = Place::Chunk(value),
            Field::Data => {
                let chunk = self.chunk.clone();
                self.add_data(chunk.get(value).unwrap_or_default())?;
            }
            Field::Event => {
                self.name.clear();
                self.name.at = Place::Chunk(value);
            }
            Field::Id => {
                let chunk = self.chunk.clone();
                self.set_id(chunk.get(value).unwrap_or_default());
            }
        }
        Ok(())
    }

    /// Reads a line that was put together, and tells whether it is blank.
    fn field_of_line(&mut self) -> Result<bool, FrameTooLarge> {
        let first = std::mem::take(&mut self.first_line);
        let mut line = std::mem::take(&mut self.line);
        let text = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| first).unwrap_or(&line);
        let blank = text.is_empty();
        match split(text) {
            None => {}
            Some((Field::Data, value)) if !self.data.is_there() => {
                // The buffers change places, so that nothing is copied again.
                let start = line.len() - value.len();
                std::mem::swap(&mut self.data.own, &mut line);
                self.data.at = Place::Own(start);
            }
            Some((Field::Data, value)) => self.add_data(value)?,
            Some((Field::Event, value)) => {
                self.name.clear();
                self.name.own.extend_from_slice(value);
                self.name.at = Place::Own(0);
            }
            Some((Field::Id, value)) => self.set_id(value),
        }
        line.clear();
        self.line = line;
        Ok(blank)
    }

    /// Adds a line to the data that are there.
    fn add_data(&mut self, value: &[u8]) -> Result<(), FrameTooLarge> {
        self.data.keep(&self.chunk);
        let len = self.data.get(&self.chunk).len();
        self.check(len + 1 + value.len())?;
        self.data.own.push(b'\n');
        self.data.own.extend_from_slice(value);
        Ok(())
    }

    fn set_id(&mut self, value: &[u8]) {
        if !value.contains(&0) {
            self.id.clear();
            self.id.extend_from_slice(value);
        }
    }

    fn check(&mut self, len: usize) -> Result<(), FrameTooLarge> {
        self.too_large |= len > self.max;
        if self.too_large { Err(FrameTooLarge { limit: self.max }) } else { Ok(()) }
    }
}

/// What the quick look at a chunk found.
enum Common {
    /// An event, which is in the buffers now.
    Event,
    /// The beginning of a line, which is kept.
    Cut,
    /// Something else.
    No,
}

enum Line {
    /// It lies in the chunk.
    Chunk(Range<usize>),
    /// It was put together.
    Own,
}

#[derive(Clone, Copy)]
enum Field {
    Data,
    Event,
    Id,
}

/// Name and value of a field that matters.
fn split(line: &[u8]) -> Option<(Field, &[u8])> {
    for (name, field) in [(&b"data"[..], Field::Data), (b"event", Field::Event), (b"id", Field::Id)]
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
