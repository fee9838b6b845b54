//! Why a server cannot be used.

use std::io;
use std::time::Duration;

use haft_core::error::{Coded, ErrorCode, codes};
use haft_core::tool::ToolFailure;

/// A server cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpClientError {
    /// The server could not be started.
    #[error("the MCP server `{server}` cannot be started")]
    Start {
        /// The name of the server.
        server: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The server does not implement the protocol, or refused the connection.
    #[error("the MCP server `{server}` cannot be used: {reason}")]
    Handshake {
        /// The name of the server.
        server: String,
        /// Why.
        reason: String,
    },
    /// The server requires the user to sign in.
    #[error("the MCP server `{server}` requires authorization")]
    Unauthorized {
        /// The name of the server.
        server: String,
        /// What the server says about how to authorize.
        challenge: String,
    },
    /// The server did not respond in time.
    #[error("the MCP server `{server}` did not respond within {} seconds", .limit.as_secs())]
    Timeout {
        /// The name of the server.
        server: String,
        /// How long it had.
        limit: Duration,
    },
    /// The server offers more than the limits allow.
    #[error("the MCP server `{server}` offers more than {limit} tools")]
    TooManyTools {
        /// The name of the server.
        server: String,
        /// The limit.
        limit: usize,
    },
}

impl McpClientError {
    /// The failure of a call that needs the server.
    pub(super) fn into_failure(self) -> ToolFailure {
        ToolFailure::new(self.to_string()).with_source(self)
    }
}

impl Coded for McpClientError {
    fn code(&self) -> ErrorCode {
        codes::TOOL_DOWNSTREAM_ERROR
    }
}
