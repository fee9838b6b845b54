//! What a tenant, a client and a connection may use.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::serve::Listener;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};

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
    /// How many connections are open at a time, of all clients (default: 1024).
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

/// How long a connection can be without a byte in either direction. Streams of events send something more often.
const MAX_IDLE: Duration = Duration::from_secs(120);
/// How long the client of a connection can take for a request: from its first byte to the first byte of the response, as far
/// as bytes of it still arrive. One that sends a byte now and then would hold its connection for ever.
const MAX_REQUEST_TIME: Duration = Duration::from_secs(120);
/// How long to wait after an error of the listener, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Accepts a limited number of connections at a time.
pub(super) struct LimitedListener {
    listener: TcpListener,
    connections: Arc<Semaphore>,
}

impl LimitedListener {
    pub(super) fn new(listener: TcpListener, connections: usize) -> Self {
        let connections = Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS));
        Self { listener, connections: Arc::new(connections) }
    }
}

impl Listener for LimitedListener {
    type Io = CountedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            // The semaphore is never closed.
            let Ok(permit) = Arc::clone(&self.connections).acquire_owned().await else {
                sleep_until(Instant::now() + ACCEPT_PAUSE).await;
                continue;
            };
            match self.listener.accept().await {
                Ok((stream, address)) => return (CountedStream::new(stream, permit), address),
                Err(_) => sleep_until(Instant::now() + ACCEPT_PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that counts until it is closed, and that is closed when nothing happens on it, or too little.
pub(super) struct CountedStream {
    stream: TcpStream,
    idle: Pin<Box<Sleep>>,
    request: RequestTime,
    _permit: OwnedSemaphorePermit,
}

/// How long a request takes to arrive.
#[derive(Default)]
struct RequestTime {
    /// When the first byte arrived after the last one that was sent.
    began: Option<Instant>,
}

impl RequestTime {
    /// Notes that bytes of a request arrived, or fails if they have done so for too long.
    fn note_read(&mut self, now: Instant) -> io::Result<()> {
        let began = *self.began.get_or_insert(now);
        match now.saturating_duration_since(began) > MAX_REQUEST_TIME {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }

    /// Notes that bytes of a response were sent.
    const fn note_written(&mut self) {
        self.began = None;
    }
}

impl CountedStream {
    fn new(stream: TcpStream, permit: OwnedSemaphorePermit) -> Self {
        let idle = Box::pin(sleep_until(Instant::now() + MAX_IDLE));
        Self { stream, idle, request: RequestTime::default(), _permit: permit }
    }

    /// Notes that something happened, or fails if nothing has for too long.
    fn check_idle<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.idle.as_mut().reset(Instant::now() + MAX_IDLE);
            return polled;
        }
        match self.idle.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.request.note_read(Instant::now())?;
        }
        self.check_idle(cx, polled)
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buffer);
        if polled.is_ready() {
            self.request.note_written();
        }
        self.check_idle(cx, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
