//! JSON values, one per line.
//!
//! ```
//! use haft_providers::framing::NdjsonDecoder;
//!
//! let mut decoder = NdjsonDecoder::new(1 << 20);
//! decoder.feed("{\"a\":1}\r\n{\"b\"".into());
//! assert_eq!(decoder.next_line()?, Some(&br#"{"a":1}"#[..]));
//! assert_eq!(decoder.next_line()?, None);
//! decoder.feed(":2}".into());
//! assert_eq!(decoder.next_line()?, None);
//! assert_eq!(decoder.finish(), Some(&br#"{"b":2}"#[..]));
//! # Ok::<(), haft_providers::framing::FrameTooLarge>(())
//! ```

use bytes::Bytes;
use haft_core::invariant::OrReport as _;
use memchr::memchr;

use super::FrameTooLarge;

/// Splits a stream of bytes into lines that are not blank. Lines end in LF or CRLF; a byte order mark at
/// the beginning is skipped.
///
/// The lines do not depend on where the chunks are cut. A line that lies within one chunk is not copied.
#[derive(Clone, Debug)]
pub struct NdjsonDecoder {
    max: usize,
    chunk: Bytes,
    /// How much of the chunk was read.
    at: usize,
    /// The beginning of a line that the last chunk did not complete.
    line: Vec<u8>,
    /// The line that was given last is still in the buffer.
    returned: bool,
    first_line: bool,
    too_large: bool,
}

impl NdjsonDecoder {
    /// A decoder for one stream. No line may have more than this many bytes.
    #[must_use]
    pub fn new(max_line_bytes: usize) -> Self {
        Self {
            max: max_line_bytes,
            chunk: Bytes::new(),
            at: 0,
            line: Vec::new(),
            returned: false,
            first_line: true,
            too_large: false,
        }
    }

    /// Takes the next bytes of the stream. Lines of earlier ones that were not taken yet come first.
    pub fn feed(&mut self, bytes: Bytes) {
        let rest = self.chunk.get(self.at..).or_report_default(READ_WITHIN_CHUNK);
        self.chunk = if rest.is_empty() { bytes } else { [rest, &bytes].concat().into() };
        self.at = 0;
    }

    /// The next line; nothing until more is fed.
    ///
    /// ```
    /// use haft_providers::framing::NdjsonDecoder;
    ///
    /// let mut decoder = NdjsonDecoder::new(1024);
    /// decoder.feed("{\"a\":1}\n{\"a\"".into());
    /// assert_eq!(decoder.next_line()?, Some(&b"{\"a\":1}"[..]));
    /// assert_eq!(decoder.next_line()?, None);
    /// decoder.feed(":2}\n".into());
    /// assert_eq!(decoder.next_line()?, Some(&b"{\"a\":2}"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A line is too large; then this is all that ever comes.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, FrameTooLarge> {
        loop {
            self.clear_returned();
            let rest = self.chunk.get(self.at..).or_report_default(READ_WITHIN_CHUNK);
            let found = memchr(b'\n', rest);
            let len = found.unwrap_or(rest.len());
            let part = rest.get(..len).or_report(LINE_WITHIN_CHUNK, rest);
            self.too_large |= self.line.len() + len > self.max;
            if self.too_large {
                return Err(FrameTooLarge { limit: self.max });
            }
            let start = self.at;
            let end = self.at + len;
            let whole = found.is_some() && self.line.is_empty();
            if !whole {
                self.line.extend_from_slice(part);
            }
            self.at = end + usize::from(found.is_some());
            if found.is_none() {
                return Ok(None);
            }
            self.returned = !whole;
            let first = std::mem::take(&mut self.first_line);
            let line = if whole { part } else { &self.line };
            if !trim_line(line, first).is_empty() {
                // Looked up again, because a loop cannot give away what it may come back to.
                let part = self.chunk.get(start..end);
                let line =
                    if whole { part.or_report_default(LINE_WITHIN_CHUNK) } else { &self.line };
                return Ok(Some(trim_line(line, first)));
            }
        }
    }

    /// The last line, if the stream ended without a line end; it may be whole or not.
    ///
    /// ```
    /// use haft_providers::framing::NdjsonDecoder;
    ///
    /// let mut decoder = NdjsonDecoder::new(1024);
    /// decoder.feed("{\"a\":1}".into());
    /// assert_eq!(decoder.next_line()?, None);
    /// assert_eq!(decoder.finish(), Some(&b"{\"a\":1}"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(&mut self) -> Option<&[u8]> {
        self.clear_returned();
        let first = std::mem::take(&mut self.first_line);
        self.returned = true;
        Some(trim_line(&self.line, first)).filter(|line| !line.is_empty() && !self.too_large)
    }

    fn clear_returned(&mut self) {
        if std::mem::take(&mut self.returned) {
            self.line.clear();
        }
    }
}

const READ_WITHIN_CHUNK: &str = "no more of the chunk was read than there is";
const LINE_WITHIN_CHUNK: &str = "a line ends within the chunk";

/// A line without white space, and without a byte order mark if it is the first one.
fn trim_line(line: &[u8], first: bool) -> &[u8] {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").filter(|_| first).unwrap_or(line);
    line.trim_ascii()
}
