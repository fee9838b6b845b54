//! Reads the messages of a server as a stream, so that large results are never in memory as a whole.
//!
//! A message is scanned while it arrives. If a text, a blob or a structured value of a result grows past
//! [`ReadLimits::spool_above`], it is decoded straight into a [`SpoolStore`], and the message has a placeholder in its
//! place. [`SpooledParts`] exchanges placeholders for the stored content. Small messages pass as they are.
//!
//! [`StreamTransport`] reads from any pair of streams, such as those of a child process; `HttpTransportClient` (feature
//! `http`) reads the bodies of streamable HTTP. Both are what `rmcp` calls a transport, so they serve any client that is
//! written with it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use haft_mcp::transport::{ReadLimits, SpooledParts, StreamTransport};
//! use haft_stores::MemorySpoolStore;
//! use rmcp::transport::Transport as _;
//! use tokio::io::AsyncWriteExt as _;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (mut server, client) = tokio::io::duplex(1024);
//! let (reader, writer) = tokio::io::split(client);
//! let parts = SpooledParts::new(Arc::new(MemorySpoolStore::new()));
//! let mut transport = StreamTransport::new(reader, writer, parts, ReadLimits::default());
//!
//! server.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n").await?;
//! assert!(transport.receive().await.is_some());
//! # Ok(())
//! # }
//! ```
//!
//! # What a message may have
//!
//! - Only newlines separate messages, so that a malformed message never hides the next one. A malformed response fails
//!   its request if it has an id, and is ignored otherwise.
//! - A message may have [`ReadLimits::max_message_bytes`] besides its large parts. A longer one fails its request.
//! - An unpaired surrogate in an escape is read as U+FFFD. Servers that cut strings by UTF-16 units write those.
//! - If a part cannot be stored, its request fails. A response to a cancelled request is not stored.

mod base64_decoder;
#[cfg(feature = "http")]
mod http_client;
mod json_string;
mod message_reader;
mod message_scanner;
mod number;
mod part_path;
mod part_writer;
mod scan_error;
mod spooled_parts;
#[cfg(feature = "http")]
mod sse_reader;
mod stream_transport;

#[cfg(test)]
mod tests;

pub(crate) use self::base64_decoder::decode_base64;
#[cfg(feature = "http")]
pub use self::http_client::HttpTransportClient;
#[cfg_attr(
    not(feature = "proxy"),
    expect(unused_imports, reason = "only the proxy reads raw messages")
)]
pub(crate) use self::message_reader::{RawFailure, RawMessage, RawReader};
pub use self::spooled_parts::{SpooledPart, SpooledParts};
#[cfg(all(feature = "http", feature = "proxy"))]
pub(crate) use self::sse_reader::{SsePiece, SseReader};
pub use self::stream_transport::{StreamTransport, TransportError};

#[cfg(doc)]
use haft_core::spool::SpoolStore;

/// What reading a message may take.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ReadLimits {
    /// A text, blob or structured value of more bytes goes to the spool; the default is 64 KiB.
    pub spool_above: usize,
    /// The maximum number of bytes of a message besides its large parts; the default is 8 MiB.
    pub max_message_bytes: usize,
    /// The maximum number of bytes of one large part; the default is 4 GiB.
    pub max_part_bytes: u64,
    /// The most large parts of one message; the default is 256.
    pub max_parts: usize,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            spool_above: 64 * 1024,
            max_message_bytes: 8 * 1024 * 1024,
            max_part_bytes: 4 * 1024 * 1024 * 1024,
            max_parts: 256,
        }
    }
}

/// What the bytes of a large part are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartEncoding {
    /// Text, without the escapes of JSON.
    Text,
    /// Bytes, decoded from base64.
    Bytes,
    /// A JSON value.
    Json,
}

/// The placeholder of a part in a message.
fn placeholder(marker: &str, number: usize) -> String {
    format!("haft-part-{marker}-{number}")
}
