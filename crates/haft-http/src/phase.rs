//! The phases of a request that limits of time apply to.

use std::fmt;

/// The phase of a request that a limit of time applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HttpPhase {
    /// Connecting: name, socket, TLS, proxy.
    Connect,
    /// The head of the response.
    Headers,
    /// The next bytes of the body.
    Idle,
    /// The whole exchange.
    Total,
}

impl fmt::Display for HttpPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "to connect",
            Self::Headers => "to begin a response",
            Self::Idle => "to send more of the response",
            Self::Total => "to end the response",
        })
    }
}
