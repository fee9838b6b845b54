//! Work that a cancellation ends at once.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use haft_core::cancel::{Cancellation, CancelledFuture};

use super::ClientError;
use crate::transport::{Body, TransportError};

/// Waits for work, unless it is cancelled first.
pub(super) async fn or_cancelled<T>(
    cancellation: &Cancellation,
    work: impl Future<Output = T>,
) -> Result<T, ClientError> {
    tokio::select! {
        biased;
        reason = cancellation.cancelled() => Err(ClientError::Cancelled { reason }),
        done = work => Ok(done),
    }
}

/// A body that ends when it is cancelled.
pub(super) struct Stoppable {
    body: Body,
    cancelled: CancelledFuture,
    host: String,
}

impl Stoppable {
    pub(super) fn new(body: Body, cancelled: CancelledFuture, host: String) -> Self {
        Self { body, cancelled, host }
    }
}

impl Stream for Stoppable {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if Pin::new(&mut self.cancelled).poll(cx).is_ready() {
            // The connection goes now, not when the stream does.
            self.body = Body::empty();
            return Poll::Ready(Some(Err(TransportError::Cancelled { host: self.host.clone() })));
        }
        Pin::new(&mut self.body).poll_next(cx)
    }
}
