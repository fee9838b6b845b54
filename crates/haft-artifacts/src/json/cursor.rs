//! A position in the content, with the window of bytes around it.

use haft_core::json::ParseErrorKind;
use haft_core::spool::SpoolError;

use super::blocking_source::BlockingSource;
use super::error::{FaultReason, JsonFault, ScanError};
use crate::invariant;
use crate::scan::saturating_len;
use haft_core::spool::AlignedBuffer;

/// Reads the content one window at a time, forward and by jumps.
pub(super) struct ContentCursor {
    source: BlockingSource,
    window: AlignedBuffer,
    /// The offset of the first byte in the window.
    base: u64,
    /// The position of the cursor in the window.
    at: usize,
    /// Nothing is read past this offset.
    end: u64,
    /// Bytes from this offset on stay in the window when it moves.
    mark: Option<u64>,
    window_bytes: usize,
    /// How many bytes were read in all.
    read: u64,
}

impl ContentCursor {
    pub(super) fn new(source: BlockingSource, window_bytes: usize) -> Self {
        let end = source.length();
        let window = AlignedBuffer::default();
        let window_bytes = window_bytes.max(1);
        Self { source, window, base: 0, at: 0, end, mark: None, window_bytes, read: 0 }
    }

    /// How many bytes the content has.
    pub(super) fn length(&self) -> u64 {
        self.source.length()
    }

    /// How many bytes were read in all.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The offset of the cursor in the content.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Sets a limit that the cursor treats as the end of the content.
    pub(super) fn set_end(&mut self, end: u64) {
        self.end = end.min(self.source.length());
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Removes the limit that [`ContentCursor::set_end`] has set.
    pub(super) fn clear_end(&mut self) {
        self.end = self.source.length();
    }

    /// Keeps the bytes from here on in the window until [`ContentCursor::unmark`].
    pub(super) fn mark(&mut self) {
        self.mark = Some(self.offset());
    }

    pub(super) fn unmark(&mut self) {
        self.mark = None;
    }

    /// The bytes from the mark until before the cursor.
    pub(super) fn bytes_since_mark(&self) -> &[u8] {
        let mark =
            invariant::or_default(self.mark, "bytes since a mark are asked for after a mark");
        self.window_bytes_at(mark, self.offset())
    }

    /// The bytes between two offsets, which must both be in the window.
    pub(super) fn window_bytes_at(&self, start: u64, end: u64) -> &[u8] {
        let index = |offset: u64| saturating_len(offset.wrapping_sub(self.base));
        invariant::slice(self.window.data(), index(start)..index(end))
    }

    pub(super) fn seek(&mut self, offset: u64) {
        let inside = offset.checked_sub(self.base).and_then(|it| usize::try_from(it).ok());
        match inside.filter(|at| *at <= self.window.data().len()) {
            Some(at) => self.at = at,
            None => {
                self.window.next(0, 0);
                self.base = offset;
                self.at = 0;
            }
        }
    }

    /// The bytes available from the cursor on.
    #[inline]
    pub(super) fn rest(&self) -> &[u8] {
        let data = self.window.data();
        let left = self.end.saturating_sub(self.base);
        let end = usize::try_from(left).map_or(data.len(), |left| left.min(data.len()));
        invariant::slice(data, self.at..end)
    }

    /// Reads the next window; false at the end.
    pub(super) fn read_more(&mut self) -> Result<bool, SpoolError> {
        let data = self.window.data().len();
        let next = self.base + data as u64;
        if next >= self.end {
            return Ok(false);
        }
        let marked = self.mark.and_then(|mark| mark.checked_sub(self.base));
        let marked = marked.and_then(|it| usize::try_from(it).ok()).unwrap_or(self.at);
        let kept = data - marked.min(self.at).min(data);
        let left = saturating_len(self.source.length() - next);
        let len = left.min(self.window_bytes);
        let buffer = self.window.next(kept, len);
        self.source.read(next, buffer)?;
        self.window.filled(len);
        self.read += len as u64;
        let dropped = data - kept;
        self.base += dropped as u64;
        self.at -= dropped;
        Ok(true)
    }

    /// Reads until this many bytes are available or the content ends.
    pub(super) fn ensure(&mut self, count: usize) -> Result<(), SpoolError> {
        while self.rest().len() < count && self.read_more()? {}
        Ok(())
    }

    /// The next byte; `None` at the end.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Option<u8>, SpoolError> {
        match self.rest().first() {
            Some(byte) => Ok(Some(*byte)),
            None => self.peek_further(),
        }
    }

    #[cold]
    fn peek_further(&mut self) -> Result<Option<u8>, SpoolError> {
        self.read_more()?;
        Ok(self.rest().first().copied())
    }

    /// Skips bytes that are available.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) {
        self.at += count;
    }

    /// Skips white space and gives the byte after it.
    #[inline]
    pub(super) fn skip_space(&mut self) -> Result<Option<u8>, SpoolError> {
        loop {
            let rest = self.rest();
            match rest.iter().position(|byte| !is_space(*byte)) {
                Some(at) => {
                    let byte = rest.get(at).copied();
                    self.at += at;
                    return Ok(byte);
                }
                None => {
                    self.at += rest.len();
                    if !self.read_more()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// The error for an unexpected byte at the cursor.
    #[cold]
    pub(super) fn expected(&mut self, what: &'static str) -> ScanError {
        if let Err(error) = self.ensure(4) {
            return error.into();
        }
        let rest = self.rest();
        let start = rest.get(..4).unwrap_or(rest);
        let Some(found) = String::from_utf8_lossy(start).chars().next() else {
            return self.fault(ParseErrorKind::Truncated);
        };
        self.fault(ParseErrorKind::Expected { what, found })
    }

    /// A syntax error at the cursor.
    pub(super) fn fault(&self, kind: ParseErrorKind) -> ScanError {
        JsonFault { reason: FaultReason::Syntax(kind), offset: self.offset() }.into()
    }
}

#[inline]
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}
