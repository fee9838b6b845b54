//! Bytes that arrive in chunks.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;

use crate::failure::ToolFailure;

/// Bytes that come bit by bit and can fail on the way.
pub struct ByteStream(Pin<Box<dyn Stream<Item = Result<Bytes, ToolFailure>> + Send>>);

impl ByteStream {
    /// Takes a stream of bytes.
    pub fn new(stream: impl Stream<Item = Result<Bytes, ToolFailure>> + Send + 'static) -> Self {
        Self(Box::pin(stream))
    }
}

impl Stream for ByteStream {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for ByteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteStream")
    }
}
