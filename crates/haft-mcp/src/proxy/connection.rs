//! Connections to servers.

use std::fmt;

use bytes::Bytes;
use haft_core::invariant::OrReport as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::transport::{RawFailure, RawMessage, RawReader};

/// How many messages wait to be written.
pub(super) const MAX_WAITING: usize = 64;

/// How many bytes are read at once.
const MAX_READ: usize = 256 * 1024;

/// A server behind a proxy.
pub struct Upstream {
    pub(super) name: String,
    pub(super) address: Address,
}

/// Where a server is.
pub(super) enum Address {
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
    #[cfg(feature = "http")]
    Http(super::http_connection::HttpAddress),
}

impl Upstream {
    /// A server that is reached by its output and its input, such as those of a child process. The name becomes the
    /// prefix of a tool whose own name is taken.
    pub fn streams(
        name: impl Into<String>,
        output: impl AsyncRead + Send + Unpin + 'static,
        input: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self { name: name.into(), address: Address::Streams(Box::new(output), Box::new(input)) }
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Something that arrived from a server.
pub(super) enum Received {
    Message(RawMessage),
    /// Bytes that are not a message.
    Failure(RawFailure),
    /// The server has ended.
    Closed,
}

/// Connects to a server over streams: messages of the channel go to it, and what it sends comes back.
pub(super) fn connect_streams(
    tasks: &mut JoinSet<()>,
    reader: RawReader,
    output: Box<dyn AsyncRead + Send + Unpin>,
    input: Box<dyn AsyncWrite + Send + Unpin>,
) -> (mpsc::Sender<Bytes>, mpsc::Receiver<Received>) {
    let (sender, lines) = mpsc::channel(MAX_WAITING);
    let (received, receiver) = mpsc::channel(MAX_WAITING);
    tasks.spawn(write_lines(input, lines));
    tasks.spawn(read_messages(output, reader, received));
    (sender, receiver)
}

/// Writes lines until the channel or the stream ends.
pub(super) async fn write_lines(
    mut stream: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<Bytes>,
) {
    while let Some(line) = lines.recv().await {
        if stream.write_all(&line).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
    let _ = stream.shutdown().await;
}

async fn read_messages(
    mut stream: impl AsyncRead + Unpin,
    mut reader: RawReader,
    received: mpsc::Sender<Received>,
) {
    let mut buffer = vec![0; MAX_READ];
    loop {
        let bytes = match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(count) => buffer.get(..count).or_report_default("a read stays within its buffer"),
        };
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            reader.push(line).await;
            rest = after.split_first().map_or(&[], |(_, after)| after);
            if let Some(message) = finish(&mut reader)
                && received.send(message).await.is_err()
            {
                return;
            }
        }
        reader.push(rest).await;
    }
    let _ = received.send(Received::Closed).await;
}

/// Ends a message.
pub(super) fn finish(reader: &mut RawReader) -> Option<Received> {
    Some(match reader.finish()? {
        Ok(message) => Received::Message(message),
        Err(failure) => Received::Failure(failure),
    })
}
