//! Streams of chunks that an async function produces one by one.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use haft_core::BoxFuture;
use haft_core::error::Coded;
use haft_core::tool::{ByteStream, ToolFailure};

use super::stream_failure;

/// Produces chunks until it ends or fails.
pub(super) trait ChunkSource: Sized + Send + 'static {
    type Error: std::error::Error + Coded + Send + Sync + 'static;

    /// Produces the next chunk and the source of the following ones; `None` at the end.
    fn next_chunk(self) -> impl Future<Output = NextChunk<Self>> + Send;
}

pub(super) type NextChunk<P> = Result<Option<(Bytes, P)>, <P as ChunkSource>::Error>;

/// The chunks as a stream. Nothing happens before the first poll and after an error.
pub(super) fn byte_stream<P: ChunkSource>(first: P) -> ByteStream {
    ByteStream::new(ChunkStream::<P>(Some(Box::pin(first.next_chunk()))))
}

struct ChunkStream<P: ChunkSource>(Option<BoxFuture<'static, NextChunk<P>>>);

impl<P: ChunkSource> Stream for ChunkStream<P> {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Some(next) = &mut self.0 {
            match ready!(next.as_mut().poll(cx)) {
                Ok(Some((bytes, rest))) => {
                    self.0 = Some(Box::pin(rest.next_chunk()));
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Ok(None) => self.0 = None,
                Err(error) => {
                    self.0 = None;
                    return Poll::Ready(Some(Err(stream_failure(error))));
                }
            }
        }
        Poll::Ready(None)
    }
}
