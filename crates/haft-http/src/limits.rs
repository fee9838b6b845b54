//! How long a request may take, and how large a response may be.

use std::time::Duration;

/// Limits of one request. Every wait has one.
///
/// ```
/// use std::time::Duration;
///
/// use haft_http::HttpLimits;
///
/// let limits = HttpLimits::default().idle(Duration::from_secs(20));
/// assert_eq!((limits.idle.as_secs(), limits.total.as_secs()), (20, 900));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct HttpLimits {
    /// How long a connection may take: name, socket, TLS and proxy; 10 s.
    pub connect: Duration,
    /// How long the head of the response may take, counted from the request; 120 s.
    pub headers: Duration,
    /// How long no bytes may arrive while the body is awaited; 60 s.
    pub idle: Duration,
    /// How long the whole exchange may take, counted from the request; 15 minutes.
    pub total: Duration,
    /// How many bytes the body may have; 256 MiB.
    pub body_bytes: u64,
}

impl Default for HttpLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connect: seconds(10),
            headers: seconds(120),
            idle: seconds(60),
            total: seconds(15 * 60),
            body_bytes: 256 << 20,
        }
    }
}

impl HttpLimits {
    /// Sets how long a connection may take.
    pub fn connect(self, connect: Duration) -> Self {
        Self { connect, ..self }
    }

    /// Sets how long the head of the response may take.
    pub fn headers(self, headers: Duration) -> Self {
        Self { headers, ..self }
    }

    /// Sets how long no bytes may arrive while the body is awaited.
    pub fn idle(self, idle: Duration) -> Self {
        Self { idle, ..self }
    }

    /// Sets how long the whole exchange may take.
    pub fn total(self, total: Duration) -> Self {
        Self { total, ..self }
    }

    /// Sets how many bytes the body may have.
    pub fn body_bytes(self, body_bytes: u64) -> Self {
        Self { body_bytes, ..self }
    }
}

/// A year: adding it to any time is possible.
pub(crate) const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
