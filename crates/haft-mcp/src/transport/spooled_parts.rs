//! The large parts of messages, until they are taken.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use haft_core::BoxFuture;
use haft_core::spool::{SpoolError, SpoolKey, SpoolReader, SpoolStore};
use haft_core::tool::{ByteStream, ToolFailure};
use rmcp::model::RequestId;

use super::PartEncoding;

/// The large parts of received messages. Cheap to clone: a handle.
///
/// A message has a placeholder where a part was. The server cannot know the placeholders of a connection, so that it
/// cannot refer to the parts of other results.
#[derive(Clone)]
pub struct SpooledParts(Arc<Shared>);

struct Shared {
    store: Arc<dyn SpoolStore>,
    marker: Arc<str>,
    next: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    parts: HashMap<String, WaitingPart>,
    /// The requests that wait for a response.
    in_flight: HashSet<RequestId>,
    /// The requests of the server whose responses were not sent yet.
    unanswered: HashSet<RequestId>,
}

struct WaitingPart {
    request: RequestId,
    part: SpooledPart,
}

impl SpooledParts {
    /// Stores parts in a spool store, below the keys `mcp/`. One value serves one connection.
    #[must_use]
    pub fn new(store: Arc<dyn SpoolStore>) -> Self {
        let marker = uuid::Uuid::new_v4().simple().to_string().into();
        let next = AtomicUsize::new(0);
        let state = Mutex::default();
        Self(Arc::new(Shared { store, marker, next, state }))
    }

    /// Takes the part that a placeholder stands for. Returns `None` if the text is not a placeholder of this
    /// connection.
    #[must_use]
    pub fn take(&self, placeholder: &str) -> Option<SpooledPart> {
        self.state().parts.remove(placeholder).map(|waiting| waiting.part)
    }

    /// Discards the parts of the response to a request, also of one that is being received.
    pub fn discard(&self, request: &RequestId) {
        let discarded: Vec<_> = {
            let mut state = self.state();
            state.in_flight.remove(request);
            state.parts.extract_if(|_, waiting| waiting.request == *request).collect()
        };
        drop(discarded);
    }

    pub(super) fn marker(&self) -> Arc<str> {
        Arc::clone(&self.0.marker)
    }

    pub(super) fn store(&self) -> &Arc<dyn SpoolStore> {
        &self.0.store
    }

    /// Reserves numbers for the parts of a message, and returns the first.
    pub(super) fn reserve_numbers(&self, count: usize) -> usize {
        self.0.next.fetch_add(count, Ordering::Relaxed)
    }

    pub(super) fn key(&self, number: usize) -> SpoolKey {
        SpoolKey::new(format!("mcp/{}/{number}", self.0.marker))
    }

    pub(super) fn placeholder(&self, number: usize) -> String {
        super::placeholder(&self.0.marker, number)
    }

    /// Notes that a request was sent.
    pub(super) fn begin_request(&self, request: RequestId) {
        self.state().in_flight.insert(request);
    }

    pub(super) fn is_in_flight(&self, request: &RequestId) -> bool {
        self.state().in_flight.contains(request)
    }

    /// Ends a request, and makes the parts of its response available. Parts of a response that no request waits for are
    /// dropped.
    pub(super) fn end_request(&self, request: &RequestId, parts: Vec<(String, SpooledPart)>) {
        let mut state = self.state();
        if state.in_flight.remove(request) {
            let waiting = parts.into_iter().map(|(placeholder, part)| {
                (placeholder, WaitingPart { request: request.clone(), part })
            });
            state.parts.extend(waiting);
        }
    }

    /// Notes that the server has sent a request. Says whether it can be answered: not if very many wait already, nor if
    /// one with the same id does.
    pub(super) fn begin_answer(&self, request: &RequestId) -> bool {
        let unanswered = &mut self.state().unanswered;
        unanswered.len() < MAX_UNANSWERED && unanswered.insert(request.clone())
    }

    /// Notes that the response to a request of the server was sent, or that the server does not want one.
    pub(super) fn end_answer(&self, request: &RequestId) {
        self.state().unanswered.remove(request);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SpooledParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpooledParts").field("waiting", &self.state().parts.len()).finish()
    }
}

/// A large part of a result, in the spool. Its content is deleted when it is dropped, unless it is [kept](Self::keep).
pub struct SpooledPart {
    store: Arc<dyn SpoolStore>,
    key: Option<SpoolKey>,
    reader: Arc<dyn SpoolReader>,
    encoding: PartEncoding,
}

impl SpooledPart {
    pub(super) fn new(
        store: Arc<dyn SpoolStore>,
        key: SpoolKey,
        reader: Arc<dyn SpoolReader>,
        encoding: PartEncoding,
    ) -> Self {
        Self { store, key: Some(key), reader, encoding }
    }

    /// What its bytes are.
    #[must_use]
    pub const fn encoding(&self) -> PartEncoding {
        self.encoding
    }

    /// How many bytes it has.
    #[must_use]
    pub fn byte_length(&self) -> u64 {
        self.reader.byte_length()
    }

    /// Reads its content.
    #[must_use]
    pub fn reader(&self) -> &Arc<dyn SpoolReader> {
        &self.reader
    }

    /// Leaves the content in the store, and returns its key and reader.
    #[must_use]
    pub fn keep(mut self) -> Option<(SpoolKey, Arc<dyn SpoolReader>)> {
        let key = self.key.take()?;
        Some((key, Arc::clone(&self.reader)))
    }

    /// Its content as a stream, which deletes the content when it ends.
    #[must_use]
    pub fn into_stream(self) -> ByteStream {
        ByteStream::new(PartStream { part: Arc::new(self), offset: 0, read: None })
    }
}

impl Drop for SpooledPart {
    fn drop(&mut self) {
        // Without a runtime the program ends, and the content is left to the next clean-up of the store.
        if let (Some(key), Ok(runtime)) = (self.key.take(), tokio::runtime::Handle::try_current()) {
            let store = Arc::clone(&self.store);
            runtime.spawn(async move { store.delete(key).await });
        }
    }
}

impl fmt::Debug for SpooledPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpooledPart")
            .field("encoding", &self.encoding)
            .field("bytes", &self.byte_length())
            .finish_non_exhaustive()
    }
}

type PartRead = BoxFuture<'static, Result<Bytes, SpoolError>>;

struct PartStream {
    part: Arc<SpooledPart>,
    offset: u64,
    read: Option<PartRead>,
}

impl Stream for PartStream {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.offset >= this.part.byte_length() {
            return Poll::Ready(None);
        }
        let read = this.read.get_or_insert_with(|| {
            let part = Arc::clone(&this.part);
            let offset = this.offset;
            Box::pin(async move { part.reader.read_at(offset, MAX_READ).await })
        });
        let result = std::task::ready!(read.as_mut().poll(cx));
        this.read = None;
        Poll::Ready(match result {
            Ok(bytes) if bytes.is_empty() => None,
            Ok(bytes) => {
                this.offset = this.offset.saturating_add(bytes.len() as u64);
                Some(Ok(bytes))
            }
            Err(error) => {
                Some(Err(ToolFailure::new("the stored result cannot be read").with_source(error)))
            }
        })
    }
}

/// How much of a part is read at once, in bytes.
const MAX_READ: usize = 256 * 1024;

/// The maximum number of requests of a server that wait for a response. Each is a task, and holds memory.
pub(super) const MAX_UNANSWERED: usize = 64;
