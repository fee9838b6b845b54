//! The framing of streamed responses: server-sent events, and JSON values one per line.

mod ndjson;
mod sse;

use std::borrow::Cow;

use bytes::Bytes;

pub use self::ndjson::NdjsonDecoder;
pub use self::sse::{SseDecoder, SseEvent};
use crate::dialect::Framing;

/// A frame is larger than is kept in memory. The stream yields nothing after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of the stream has more than {limit} bytes")]
#[non_exhaustive]
pub struct FrameTooLarge {
    /// The most bytes that a frame may have.
    pub limit: usize,
}

/// Splits a stream into frames by the framing of a dialect.
pub(crate) enum FrameDecoder {
    Sse(SseDecoder),
    Ndjson(NdjsonDecoder),
}

/// One frame: the name of a server-sent event, and the data.
pub(crate) type Frame<'f> = (Option<Cow<'f, str>>, Cow<'f, str>);

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
            Self::Ndjson(frames) => frames.next_line()?.map(|line| (None, text_of(line))),
        })
    }

    /// What follows the last complete frame, at the end of the stream.
    pub(crate) fn take_rest(&mut self) -> Option<Frame<'_>> {
        match self {
            Self::Sse(frames) => frames.finish().map(|event| frame_of(&event)),
            Self::Ndjson(frames) => frames.finish().map(|line| (None, text_of(line))),
        }
    }
}

fn frame_of<'f>(event: &SseEvent<'f>) -> Frame<'f> {
    let name = (!event.name.is_empty()).then(|| String::from_utf8_lossy(event.name));
    (name, event.text())
}

/// Bytes as text, with U+FFFD for what is not UTF-8. Validates many bytes at once, which replacing them does not.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// The most bytes of one frame.
const MAX_FRAME: usize = 16 * 1024 * 1024;
