//! The transport over a pair of byte streams.

use std::io;
use std::time::Duration;

use haft_core::invariant::OrReport as _;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::ReadLimits;
use super::message_reader::{MessageReader, ReceivedMessage};
use super::spooled_parts::SpooledParts;

/// Exchanges messages with a server over a pair of byte streams: one message a line.
///
/// The streams are read and written by tasks that end with this value.
#[derive(Debug)]
pub struct StreamTransport {
    parts: SpooledParts,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    /// Nothing after the transport was closed.
    outgoing: Option<mpsc::Sender<OutgoingLine>>,
    _tasks: JoinSet<()>,
}

/// A message could not be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The server has ended, or the transport was closed.
    #[error("the connection to the server is closed")]
    Closed,
    /// The message has no JSON form.
    #[error("the message cannot be encoded")]
    Encode(#[from] serde_json::Error),
    /// The stream failed.
    #[error("the message cannot be written")]
    Io(#[from] io::Error),
    /// The server does not read its input.
    #[error("the server has not read its input for {} seconds", .0.as_secs())]
    Stalled(Duration),
}

#[derive(Debug)]
struct OutgoingLine {
    line: Vec<u8>,
    written: oneshot::Sender<Result<(), TransportError>>,
}

impl StreamTransport {
    /// Connects to a server by its output and its input.
    #[must_use]
    pub fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        parts: SpooledParts,
        limits: ReadLimits,
    ) -> Self {
        let (sender, incoming) = mpsc::channel(MAX_WAITING);
        let (outgoing, lines) = mpsc::channel(MAX_WAITING);
        let mut tasks = JoinSet::new();
        let messages = MessageReader::new(parts.clone(), limits);
        tasks.spawn(read_messages(reader, messages, sender));
        tasks.spawn(write_lines(writer, lines));
        Self { parts, incoming, outgoing: Some(outgoing), _tasks: tasks }
    }
}

impl Transport<RoleClient> for StreamTransport {
    type Error = TransportError;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), TransportError>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        note_sent(&self.parts, &item);
        let parts = self.parts.clone();
        async move {
            let sent = send_line(outgoing, &item).await;
            note_answered(&parts, &item);
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), TransportError> {
        // The input of the server ends, which is how it is asked to end.
        self.outgoing = None;
        Ok(())
    }
}

/// Notes which requests wait for a response, and which were given up.
pub(super) fn note_sent(parts: &SpooledParts, message: &ClientJsonRpcMessage) {
    match message {
        JsonRpcMessage::Request(request) => parts.begin_request(request.id.clone()),
        JsonRpcMessage::Notification(notification) => {
            if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                && let Some(request) = &cancelled.params.request_id
            {
                parts.discard(request);
            }
        }
        _ => {}
    }
}

/// Notes that a response to a request of the server was sent.
pub(super) fn note_answered(parts: &SpooledParts, message: &ClientJsonRpcMessage) {
    let id = match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    };
    if let Some(id) = id {
        parts.end_answer(id);
    }
}

/// Sends a message and waits until it is written.
async fn send_line(
    outgoing: Option<mpsc::Sender<OutgoingLine>>,
    message: &ClientJsonRpcMessage,
) -> Result<(), TransportError> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let (written, result) = oneshot::channel();
    let outgoing = outgoing.ok_or(TransportError::Closed)?;
    let sent = outgoing.send(OutgoingLine { line, written }).await;
    sent.map_err(|_| TransportError::Closed)?;
    result.await.unwrap_or(Err(TransportError::Closed))
}

async fn read_messages(
    mut reader: impl AsyncRead + Unpin,
    mut messages: MessageReader,
    sender: mpsc::Sender<ServerJsonRpcMessage>,
) {
    let mut buffer = vec![0; MAX_READ];
    loop {
        let read = match reader.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        let mut rest = buffer.get(..read).or_report_default("a read stays within its buffer");
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            messages.push(line).await;
            if pass_on(messages.finish(), &sender).await.is_err() {
                return;
            }
            rest = after.split_first().map_or(&[], |(_, after)| after);
        }
        messages.push(rest).await;
    }
    // A last message may lack its newline.
    let _ = pass_on(messages.finish(), &sender).await;
}

/// Passes a message on. Fails if the transport was dropped.
async fn pass_on(
    received: ReceivedMessage,
    sender: &mpsc::Sender<ServerJsonRpcMessage>,
) -> Result<(), TransportError> {
    match received {
        ReceivedMessage::Message(message, _) => {
            sender.send(*message).await.map_err(|_| TransportError::Closed)
        }
        ReceivedMessage::Ignored(reason) => {
            tracing::warn!("{reason}");
            Ok(())
        }
        ReceivedMessage::Blank => Ok(()),
    }
}

async fn write_lines(mut writer: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<OutgoingLine>) {
    while let Some(OutgoingLine { line, written }) = lines.recv().await {
        let write = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        let result = match tokio::time::timeout(MAX_WRITE_TIME, write).await {
            Ok(result) => result.map_err(TransportError::Io),
            Err(_) => Err(TransportError::Stalled(MAX_WRITE_TIME)),
        };
        // A line that was written in part cannot be followed by another one.
        let is_over = result.is_err();
        let _ = written.send(result);
        if is_over {
            return;
        }
    }
}

/// How many messages wait in each direction.
const MAX_WAITING: usize = 64;
/// How much is read at once, in bytes.
const MAX_READ: usize = 256 * 1024;
/// How long a server may leave a message unread.
const MAX_WRITE_TIME: Duration = Duration::from_secs(60);
