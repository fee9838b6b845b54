//! What a tenant may use.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

/// The limits of a service. Those of a tenant hold for all of its tokens together, in one process.
///
/// ```
/// use haft_server::ServiceLimits;
///
/// let limits = ServiceLimits::default().unfinished_turns(1000).streams(8);
/// assert_eq!((limits.unfinished_turns, limits.streams, limits.requests), (1000, 8, 64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceLimits {
    /// The longest body of a request, in bytes (default: 4 MiB).
    pub body_bytes: usize,
    /// How many requests of a tenant are served at a time (default: 64).
    pub requests: usize,
    /// How many streams of events of a tenant are open at a time (default: 32).
    pub streams: usize,
    /// How many turns of a tenant are unfinished before no more can be submitted (default: 256).
    pub unfinished_turns: usize,
    /// How many connections of clients with a token are open at a time (default: 1024). Those without one have places of their
    /// own, so that probes are answered.
    pub connections: usize,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self {
            body_bytes: 4 << 20,
            requests: 64,
            streams: 32,
            unfinished_turns: 256,
            connections: 1024,
        }
    }
}

impl ServiceLimits {
    /// Sets the longest body of a request, in bytes.
    #[must_use]
    pub const fn body_bytes(mut self, bytes: usize) -> Self {
        self.body_bytes = bytes;
        self
    }

    /// Sets how many requests of a tenant are served at a time.
    #[must_use]
    pub const fn requests(mut self, count: usize) -> Self {
        self.requests = count;
        self
    }

    /// Sets how many streams of events of a tenant are open at a time.
    #[must_use]
    pub const fn streams(mut self, count: usize) -> Self {
        self.streams = count;
        self
    }

    /// Sets how many turns of a tenant can be unfinished.
    #[must_use]
    pub const fn unfinished_turns(mut self, count: usize) -> Self {
        self.unfinished_turns = count;
        self
    }

    /// Sets how many connections are open at a time.
    #[must_use]
    pub const fn connections(mut self, count: usize) -> Self {
        self.connections = count;
        self
    }
}

/// A body that counts until it was sent, or its client is gone.
pub(super) struct CountedBody {
    body: Body,
    _permit: OwnedSemaphorePermit,
}

impl CountedBody {
    pub(super) fn new(body: Body, permit: OwnedSemaphorePermit) -> Self {
        Self { body, _permit: permit }
    }
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
