//! Reads messages in pieces, stores their large parts, and gives the rest to the protocol.

use std::sync::Arc;

use rmcp::model::{ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification};
use serde_json::Value;

use super::message_scanner::{MessageScanner, ScanEvent, ScanFailure};
use super::part_writer::PartWriter;
use super::scan_error::ScanError;
use super::spooled_parts::{SpooledPart, SpooledParts};
use super::{PartEncoding, ReadLimits};

/// Reads the bytes of one message after the other, without a look at what they mean. If it is dropped, nothing of the
/// message that it reads stays in the spool.
#[derive(Debug)]
pub(crate) struct RawReader {
    parts: SpooledParts,
    limits: ReadLimits,
    scanner: MessageScanner,
    writer: Option<OpenPart>,
    /// The parts of the message that are complete, with their placeholders.
    stored: Vec<(String, SpooledPart)>,
    events: Vec<ScanEvent>,
    /// The received bytes of the message, while it has no large part.
    received: Option<Vec<u8>>,
    /// Whether the received bytes are kept.
    is_verbatim: bool,
}

#[derive(Debug)]
struct OpenPart {
    number: usize,
    encoding: PartEncoding,
    writer: PartWriter,
}

/// A message without its large parts.
#[derive(Debug)]
pub(crate) struct RawMessage {
    /// The message, with a string in place of each large part. Without large parts, and if that was requested, the
    /// received bytes.
    pub(crate) json: Vec<u8>,
    /// The large parts, with the strings that stand for them, in the order of the message.
    pub(crate) parts: Vec<(String, SpooledPart)>,
}

/// Bytes that are not a message.
#[derive(Debug)]
pub(crate) struct RawFailure {
    /// What is wrong with them.
    pub(crate) reason: String,
    /// The id of the response that they are, if it was read.
    pub(crate) response_id: Option<Value>,
}

impl RawReader {
    pub(crate) fn new(parts: SpooledParts, limits: ReadLimits) -> Self {
        let scanner = begin_message(&parts, limits);
        let stored = Vec::new();
        let events = Vec::new();
        let received = None;
        let is_verbatim = false;
        Self { parts, limits, scanner, writer: None, stored, events, received, is_verbatim }
    }

    /// Keeps the received bytes of messages without large parts.
    #[cfg(feature = "proxy")]
    pub(crate) fn verbatim(mut self) -> Self {
        (self.received, self.is_verbatim) = (Some(Vec::new()), true);
        self
    }

    /// Reads bytes of the message.
    pub(crate) async fn push(&mut self, bytes: &[u8]) {
        self.scanner.push(bytes, &mut self.events);
        if let Some(received) = &mut self.received {
            received.extend_from_slice(bytes);
        }
        let events = std::mem::take(&mut self.events);
        for event in events {
            if self.scanner.failure().is_none() {
                self.handle(event).await;
            }
        }
        if self.scanner.failure().is_some() {
            self.writer = None;
            self.stored.clear();
            self.received = None;
        }
    }

    /// Whether a large part is being read.
    fn has_open_part(&self) -> bool {
        self.writer.is_some()
    }

    async fn handle(&mut self, event: ScanEvent) {
        let is_stored = match event {
            ScanEvent::Started(number, encoding) => {
                let store = Arc::clone(self.parts.store());
                let writer = PartWriter::spawn(store, self.parts.key(number));
                self.writer = Some(OpenPart { number, encoding, writer });
                self.received = None;
                true
            }
            ScanEvent::Bytes(bytes) => match &mut self.writer {
                Some(open) => {
                    let is_taken = open.writer.write(bytes).await;
                    if let Some(buffer) = open.writer.take_buffer() {
                        self.scanner.reuse_buffer(buffer);
                    }
                    is_taken
                }
                None => false,
            },
            ScanEvent::Ended => self.end_part().await.is_some(),
        };
        if !is_stored {
            self.scanner.fail(ScanError::NotStored);
        }
    }

    async fn end_part(&mut self) -> Option<()> {
        let OpenPart { number, encoding, writer } = self.writer.take()?;
        let reader = writer.finish().await?;
        let store = Arc::clone(self.parts.store());
        let part = SpooledPart::new(store, self.parts.key(number), reader, encoding);
        self.stored.push((self.parts.placeholder(number), part));
        Some(())
    }

    /// Ends the message. Returns `None` if there was only white space.
    pub(crate) fn finish(&mut self) -> Option<Result<RawMessage, RawFailure>> {
        self.writer = None;
        let parts = std::mem::take(&mut self.stored);
        let next = self.is_verbatim.then(Vec::new);
        let received = std::mem::replace(&mut self.received, next);
        let next = begin_message(&self.parts, self.limits);
        let scanner = std::mem::replace(&mut self.scanner, next);
        if scanner.is_blank() {
            return None;
        }
        Some(match scanner.finish() {
            Ok(kept) => Ok(RawMessage { json: received.unwrap_or(kept), parts }),
            Err(ScanFailure { error, id }) => {
                let response_id = id.and_then(|id| serde_json::from_slice(&id).ok());
                Err(RawFailure { reason: error.to_string(), response_id })
            }
        })
    }
}

/// Reads one message of the protocol after the other.
#[derive(Debug)]
pub(super) struct MessageReader {
    raw: RawReader,
}

/// The result of reading the bytes up to the end of a message.
#[derive(Debug)]
pub(super) enum ReceivedMessage {
    /// A message for the protocol, and its JSON.
    Message(
        Box<ServerJsonRpcMessage>,
        #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only HTTP passes it on"))]
        Vec<u8>,
    ),
    /// Bytes that are not a message, and why.
    Ignored(String),
    /// Nothing but white space.
    Blank,
}

impl MessageReader {
    pub(super) fn new(parts: SpooledParts, limits: ReadLimits) -> Self {
        Self { raw: RawReader::new(parts, limits) }
    }

    /// Reads bytes of the message.
    pub(super) async fn push(&mut self, bytes: &[u8]) {
        self.raw.push(bytes).await;
        if self.raw.has_open_part() && !self.is_awaited() {
            self.raw.scanner.fail(ScanError::NotRequested);
            self.raw.writer = None;
        }
    }

    /// Whether a request waits for the message, as far as that is known.
    fn is_awaited(&self) -> bool {
        let id = self.raw.scanner.id().and_then(|id| serde_json::from_slice(id).ok());
        id.is_none_or(|id| self.raw.parts.is_in_flight(&id))
    }

    /// Ends the message.
    pub(super) fn finish(&mut self) -> ReceivedMessage {
        let parsed = match self.raw.finish() {
            None => return ReceivedMessage::Blank,
            Some(Ok(raw)) => parse_message(&raw.json).map(|message| (message, raw)),
            Some(Err(failure)) => Err(failure),
        };
        match parsed {
            Ok((message, raw)) => {
                let id = match &message {
                    JsonRpcMessage::Response(response) => Some(&response.id),
                    JsonRpcMessage::Error(error) => error.id.as_ref(),
                    _ => None,
                };
                if let Some(id) = id {
                    self.raw.parts.end_request(id, raw.parts);
                }
                if !self.accepts(&message) {
                    let reason = "too many requests of the server wait for a response";
                    return ReceivedMessage::Ignored(reason.to_owned());
                }
                ReceivedMessage::Message(Box::new(message), raw.json)
            }
            Err(failure) => self.fail_request(failure),
        }
    }

    /// Whether there is room for a message: requests of the server wait until they are answered.
    fn accepts(&self, message: &ServerJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Request(request) => self.raw.parts.begin_answer(&request.id),
            JsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(it) = &notification.notification
                    && let Some(request) = &it.params.request_id
                {
                    self.raw.parts.end_answer(request);
                }
                true
            }
            _ => true,
        }
    }

    /// Fails the request that waits for a malformed response.
    fn fail_request(&self, failure: RawFailure) -> ReceivedMessage {
        let RawFailure { reason, response_id } = failure;
        let id: Option<RequestId> = response_id.and_then(|id| serde_json::from_value(id).ok());
        let reason = format!("the server sent a message that cannot be used: {reason}");
        let Some(id) = id.filter(|id| self.raw.parts.is_in_flight(id)) else {
            return ReceivedMessage::Ignored(reason);
        };
        self.raw.parts.end_request(&id, Vec::new());
        let error = ErrorData::internal_error(reason, None);
        let message = ServerJsonRpcMessage::error(error, Some(id));
        match serde_json::to_vec(&message) {
            Ok(json) => ReceivedMessage::Message(Box::new(message), json),
            Err(error) => ReceivedMessage::Ignored(error.to_string()),
        }
    }
}

fn begin_message(parts: &SpooledParts, limits: ReadLimits) -> MessageScanner {
    MessageScanner::new(parts.marker(), parts.reserve_numbers(limits.max_parts), limits)
}

/// Parses a message without its large values.
fn parse_message(json: &[u8]) -> Result<ServerJsonRpcMessage, RawFailure> {
    serde_json::from_slice(json).map_err(|error| {
        // The scanner has accepted the JSON, so that the message has another shape than the protocol.
        let value = serde_json::from_slice::<Value>(json).ok();
        let response = value.filter(|it| it.get("method").is_none());
        let response_id = response.and_then(|it| it.get("id").cloned());
        RawFailure { reason: format!("it is not a message of the protocol: {error}"), response_id }
    })
}
