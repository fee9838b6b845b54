//! A body that is read from a connection, with an eye on the time.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::super::{TransportError, Wait};
use super::{LONGEST, Limits};

type Chunks = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

pub(super) struct Reading {
    chunks: Chunks,
    host: String,
    limits: Limits,
    received: u64,
    total: Pin<Box<Sleep>>,
    idle: Pin<Box<Sleep>>,
    /// Whether `idle` is running: only time counts in which somebody waits for bytes.
    waiting: bool,
}

impl Reading {
    pub(super) fn new(
        response: reqwest::Response,
        host: String,
        limits: Limits,
        deadline: Instant,
    ) -> Self {
        let chunks = Box::pin(response.bytes_stream());
        let (total, idle) = (Box::pin(sleep_until(deadline)), Box::pin(sleep_until(deadline)));
        Self { chunks, host, limits, received: 0, total, idle, waiting: false }
    }

    fn accept(&mut self, bytes: Bytes) -> Result<Bytes, TransportError> {
        self.waiting = false;
        self.received = self.received.saturating_add(bytes.len() as u64);
        if self.received > self.limits.bytes {
            let limit = self.limits.bytes;
            return Err(TransportError::TooLarge { host: self.host.clone(), limit });
        }
        Ok(bytes)
    }

    fn slow(&self, what: Wait) -> TransportError {
        let limit = if what == Wait::Idle { self.limits.idle } else { self.limits.total };
        TransportError::Timeout { host: self.host.clone(), what, limit }
    }
}

impl Stream for Reading {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // First, because a body that never stops coming never lets a timer have its turn.
        if this.total.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(this.slow(Wait::Everything))));
        }
        match this.chunks.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => return Poll::Ready(Some(this.accept(bytes))),
            Poll::Ready(Some(Err(error))) => {
                let (host, received) = (this.host.clone(), this.received);
                let reason = reason(&error.without_url());
                return Poll::Ready(Some(Err(TransportError::Broken { host, received, reason })));
            }
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {}
        }
        if !this.waiting {
            this.waiting = true;
            this.idle.as_mut().reset(Instant::now() + this.limits.idle.min(LONGEST));
        }
        match this.idle.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Some(Err(this.slow(Wait::Idle)))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("host", &self.host).finish_non_exhaustive()
    }
}

/// What an error and its causes say, bounded. Texts of causes that were told already are left out.
pub(super) fn reason(error: &reqwest::Error) -> String {
    let mut said = Vec::new();
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !said.iter().any(|it: &String| it.contains(&text)) {
            said.push(text);
        }
        next = error.source();
    }
    let text = said.join(": ");
    text.chars().filter(|it| !it.is_control()).take(MAX_REASON).collect()
}

const MAX_REASON: usize = 300;
