//! The framing of streamed responses: server-sent events, and JSON values one per line.

mod ndjson;
mod sse;

use std::borrow::Cow;

use bytes::Bytes;

pub use self::ndjson::NdjsonDecoder;
pub use self::sse::{SseDecoder, SseEvent};
use crate::dialect::{DecodeError, Framing, StreamEvent};

/// A frame exceeds the size limit. The stream yields nothing after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of the stream has more than {limit} bytes")]
#[non_exhaustive]
pub struct FrameTooLarge {
    /// The maximum number of bytes that a frame may have.
    pub limit: usize,
}

/// Splits a stream into frames by the framing of a dialect.
pub(crate) enum FrameDecoder {
    Sse(SseDecoder),
    Ndjson(NdjsonDecoder),
}

/// One frame: the name of a server-sent event, and the data.
pub(crate) struct Frame<'f> {
    name: Option<Cow<'f, str>>,
    data: &'f [u8],
}

impl Frame<'_> {
    /// The data.
    pub(crate) const fn data(&self) -> &[u8] {
        self.data
    }

    /// The event that a dialect decodes.
    ///
    /// Bytes that are not UTF-8 are not replaced: they may be part of the arguments of a call, which then would be made
    /// with others.
    pub(crate) fn event(&self) -> Result<StreamEvent<'_>, DecodeError> {
        let data = std::str::from_utf8(self.data);
        let data = data.map_err(|_| DecodeError::Malformed("it is not UTF-8".to_owned()))?;
        let event = StreamEvent::new(data);
        Ok(self.name.as_deref().map_or(event, |name| event.with_name(name)))
    }
}

impl FrameDecoder {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Sse => Self::Sse(SseDecoder::new(MAX_FRAME)),
            Framing::Ndjson => Self::Ndjson(NdjsonDecoder::new(MAX_FRAME)),
        }
    }

    pub(crate) fn feed(&mut self, bytes: Bytes) {
        match self {
            Self::Sse(frames) => frames.feed(bytes),
            Self::Ndjson(frames) => frames.feed(bytes),
        }
    }

    /// The next complete frame; `None` until more bytes are fed.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameTooLarge> {
        Ok(match self {
            Self::Sse(frames) => frames.next_event()?.map(|event| frame_of(&event)),
            Self::Ndjson(frames) => frames.next_line()?.map(frame_of_line),
        })
    }

    /// What follows the last complete frame, at the end of the stream.
    pub(crate) fn take_rest(&mut self) -> Option<Frame<'_>> {
        match self {
            Self::Sse(frames) => frames.finish().map(|event| frame_of(&event)),
            Self::Ndjson(frames) => frames.finish().map(frame_of_line),
        }
    }
}

fn frame_of<'f>(event: &SseEvent<'f>) -> Frame<'f> {
    let name = (!event.name.is_empty()).then(|| String::from_utf8_lossy(event.name));
    Frame { name, data: event.data }
}

fn frame_of_line(line: &[u8]) -> Frame<'_> {
    Frame { name: None, data: line }
}

/// Bytes as text, with U+FFFD for invalid UTF-8. Valid bytes are checked in large blocks first, which is faster than
/// the replacing conversion.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// The maximum number of bytes of one frame.
const MAX_FRAME: usize = 16 * 1024 * 1024;
