//! Streams out of futures that give one chunk after another.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use haft_core::error::Coded;
use haft_core::tool::{ByteStream, ToolFailure};

use super::failure;

/// Something that gives chunks until it ends or fails.
pub(super) trait Pull: Sized + Send + 'static {
    type Error: std::error::Error + Coded + Send + Sync + 'static;

    /// The next chunk and what gives the ones after it; nothing at the end.
    fn pull(self) -> impl Future<Output = Step<Self>> + Send;
}

pub(super) type Step<P> = Result<Option<(Bytes, P)>, <P as Pull>::Error>;

/// The chunks as a stream. Nothing happens before it is polled, nor after an error.
pub(super) fn stream<P: Pull>(first: P) -> ByteStream {
    ByteStream::new(Pulling::<P>(Some(Box::pin(first.pull()))))
}

struct Pulling<P: Pull>(Option<Pin<Box<dyn Future<Output = Step<P>> + Send>>>);

impl<P: Pull> Stream for Pulling<P> {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Some(next) = &mut self.0 {
            match ready!(next.as_mut().poll(cx)) {
                Ok(Some((bytes, rest))) => {
                    self.0 = Some(Box::pin(rest.pull()));
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Ok(None) => self.0 = None,
                Err(error) => {
                    self.0 = None;
                    return Poll::Ready(Some(Err(failure(error))));
                }
            }
        }
        Poll::Ready(None)
    }
}
