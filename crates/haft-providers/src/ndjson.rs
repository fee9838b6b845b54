//! JSON values, one a line, as they come.
//!
//! ```
//! use haft_providers::ndjson::Decoder;
//!
//! let mut decoder = Decoder::new(1 << 20);
//! decoder.feed("{\"a\":1}\r\n{\"b\"".into());
//! assert_eq!(decoder.next_line()?, Some(&br#"{"a":1}"#[..]));
//! assert_eq!(decoder.next_line()?, None);
//! decoder.feed(":2}".into());
//! assert_eq!(decoder.next_line()?, None);
//! assert_eq!(decoder.finish(), Some(&br#"{"b":2}"#[..]));
//! # Ok::<(), haft_providers::sse::FrameTooLarge>(())
//! ```

use bytes::Bytes;
use memchr::memchr;

use super::sse::FrameTooLarge;

/// Takes a stream of bytes apart into lines that have something in them. Lines end in LF or CRLF; a byte order mark at
/// the beginning is skipped.
///
/// Chunks may be cut anywhere, and the lines are the same. A line that lies within a chunk is not copied.
#[derive(Clone, Debug)]
pub struct Decoder {
    max: usize,
    chunk: Bytes,
    /// How much of the chunk was read.
    at: usize,
    /// The beginning of a line that the last chunk cut off.
    line: Vec<u8>,
    /// The line that was given last is still in the buffer.
    given: bool,
    first_line: bool,
    too_large: bool,
}

impl Decoder {
    /// A decoder for one stream. No line may have more than this many bytes.
    #[must_use]
    pub fn new(max_line_bytes: usize) -> Self {
        Self {
            max: max_line_bytes,
            chunk: Bytes::new(),
            at: 0,
            line: Vec::new(),
            given: false,
            first_line: true,
            too_large: false,
        }
    }

    /// Takes the next bytes of the stream. Lines of earlier ones that were not taken yet come first.
    pub fn feed(&mut self, bytes: Bytes) {
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        self.chunk = if rest.is_empty() { bytes } else { [rest, &bytes].concat().into() };
        self.at = 0;
    }

    /// The next line; nothing until more is fed.
    ///
    /// # Errors
    ///
    /// A line is too large; then this is all that ever comes.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, FrameTooLarge> {
        loop {
            self.forget_given();
            let rest = self.chunk.get(self.at..).unwrap_or_default();
            let found = memchr(b'\n', rest);
            let len = found.unwrap_or(rest.len());
            self.too_large |= self.line.len() + len > self.max;
            if self.too_large {
                return Err(FrameTooLarge { limit: self.max });
            }
            let (start, end) = (self.at, self.at + len);
            let whole = found.is_some() && self.line.is_empty();
            if !whole {
                self.line.extend_from_slice(self.chunk.get(start..end).unwrap_or_default());
            }
            self.at = end + usize::from(found.is_some());
            if found.is_none() {
                return Ok(None);
            }
            self.given = !whole;
            let first = std::mem::take(&mut self.first_line);
            let line =
                if whole { self.chunk.get(start..end).unwrap_or_default() } else { &self.line };
            if !bare(line, first).is_empty() {
                // Looked up again, because a loop cannot give away what it may come back to.
                let line = if whole { self.chunk.get(start..end) } else { Some(&*self.line) };
                return Ok(line.map(|line| bare(line, first)));
            }
        }
    }

    /// The last line, if the stream ended without a line end; it may be whole or not.
    pub fn finish(&mut self) -> Option<&[u8]> {
        self.forget_given();
        let first = std::mem::take(&mut self.first_line);
        self.given = true;
        Some(bare(&self.line, first)).filter(|line| !line.is_empty() && !self.too_large)
    }

    fn forget_given(&mut self) {
        if std::mem::take(&mut self.given) {
            self.line.clear();
        }
    }
}

/// A line without what is around the value.
fn bare(line: &[u8], first: bool) -> &[u8] {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").filter(|_| first).unwrap_or(line);
    line.trim_ascii()
}
