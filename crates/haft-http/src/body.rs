//! A body that is read from a connection within limits.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::limits::LONGEST;
use crate::{HttpError, HttpLimits, HttpPhase};

type Chunks = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// The body of a response: a stream of chunks that ends with the first error. Dropping it closes the connection.
pub struct HttpBody {
    chunks: Chunks,
    host: String,
    limits: HttpLimits,
    received: u64,
    total: Pin<Box<Sleep>>,
    idle: Pin<Box<Sleep>>,
    /// Whether `idle` is running: only time counts in which the caller waits for bytes.
    waiting: bool,
}

impl HttpBody {
    pub(crate) fn new(
        response: reqwest::Response,
        host: String,
        limits: HttpLimits,
        deadline: Instant,
    ) -> Self {
        let chunks = Box::pin(response.bytes_stream());
        let (total, idle) = (Box::pin(sleep_until(deadline)), Box::pin(sleep_until(deadline)));
        Self { chunks, host, limits, received: 0, total, idle, waiting: false }
    }

    /// Waits for the next chunk. `None` is the end of the body.
    ///
    /// # Errors
    ///
    /// A limit was reached, or the connection broke.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await.transpose()
    }

    /// Removes the limit on the number of bytes, for a caller who reads only the beginning.
    #[cfg(feature = "fetch")]
    pub(crate) fn without_byte_limit(mut self) -> Self {
        self.limits.body_bytes = u64::MAX;
        self
    }

    fn accept(&mut self, bytes: Bytes) -> Result<Bytes, HttpError> {
        self.waiting = false;
        self.received = self.received.saturating_add(bytes.len() as u64);
        if self.received > self.limits.body_bytes {
            let limit = self.limits.body_bytes;
            return Err(HttpError::TooLarge { host: self.host.clone(), limit });
        }
        Ok(bytes)
    }

    fn timeout(&self, phase: HttpPhase) -> HttpError {
        let limit = if phase == HttpPhase::Idle { self.limits.idle } else { self.limits.total };
        HttpError::Timeout { host: self.host.clone(), phase, limit }
    }
}

impl Stream for HttpBody {
    type Item = Result<Bytes, HttpError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // First, because a body that never stops arriving never lets a timer have its turn.
        if this.total.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(this.timeout(HttpPhase::Total))));
        }
        match this.chunks.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => return Poll::Ready(Some(this.accept(bytes))),
            Poll::Ready(Some(Err(error))) => {
                let (host, received) = (this.host.clone(), this.received);
                return Poll::Ready(Some(Err(HttpError::broken_body(error, host, received))));
            }
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {}
        }
        if !this.waiting {
            this.waiting = true;
            this.idle.as_mut().reset(Instant::now() + this.limits.idle.min(LONGEST));
        }
        match this.idle.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Some(Err(this.timeout(HttpPhase::Idle)))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBody").field("host", &self.host).finish_non_exhaustive()
    }
}
