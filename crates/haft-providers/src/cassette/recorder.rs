//! Recording what goes through a transport.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use haft_core::BoxFuture;
use haft_http::{Scrubber, Secret};
use http::{HeaderMap, Request, Response, StatusCode};

use super::CassetteError;

use super::file::{self, RecordedChunk, RecordedExchange, RecordedResponse};
use super::request::{RecordedRequest, recorded_headers};
use crate::transport::{Body, Transport, TransportError};

/// A transport that records the exchanges of another one, and writes them to a file at the end.
///
/// Of a body that is dropped early, only the part that was read is recorded. A failed exchange cannot be recorded.
pub struct CassetteRecorder {
    transport: Arc<dyn Transport>,
    path: PathBuf,
    tape: Arc<Mutex<Tape>>,
}

#[derive(Default)]
struct Tape {
    entries: Vec<TapeEntry>,
    scrubber: Scrubber,
}

struct TapeEntry {
    request: Request<Bytes>,
    status: StatusCode,
    headers: HeaderMap,
    chunks: Vec<Bytes>,
    state: ExchangeState,
}

enum ExchangeState {
    InProgress,
    Done,
    Failed(TransportError),
}

impl CassetteRecorder {
    /// Records what goes through a transport. [`CassetteRecorder::finish`] writes the file and replaces an existing
    /// one.
    #[must_use]
    pub fn new(transport: Arc<dyn Transport>, path: impl AsRef<Path>) -> Self {
        Self { transport, path: path.as_ref().to_owned(), tape: Arc::default() }
    }

    /// Names a text that must not be in the file, in addition to the credentials of requests.
    #[must_use]
    pub fn scrub(self, secret: impl Into<Secret>) -> Self {
        lock(&self.tape).scrubber.add(secret.into().expose());
        self
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    ///
    /// An exchange failed or is still under way, or the file cannot be written.
    pub fn finish(&self) -> Result<(), CassetteError> {
        let tape = lock(&self.tape);
        let mut exchanges = Vec::with_capacity(tape.entries.len());
        for (at, entry) in (1..).zip(&tape.entries) {
            let reason = match &entry.state {
                ExchangeState::Done => {
                    exchanges.push(entry.exchange(&tape.scrubber));
                    continue;
                }
                ExchangeState::InProgress => format!("exchange {at} is still under way"),
                ExchangeState::Failed(error) => format!("exchange {at} failed: {error}"),
            };
            return Err(CassetteError::Incomplete { path: self.path.clone(), reason });
        }
        drop(tape);
        file::write_file(&self.path, exchanges)
    }

    async fn record_exchange(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<Body>, TransportError> {
        let at = {
            let mut tape = lock(&self.tape);
            tape.scrubber.extend(&Scrubber::for_request(&request));
            tape.entries.push(TapeEntry {
                request: request.clone(),
                status: StatusCode::OK,
                headers: HeaderMap::new(),
                chunks: Vec::new(),
                state: ExchangeState::InProgress,
            });
            tape.entries.len() - 1
        };
        let slot = TapeSlot { tape: Arc::clone(&self.tape), at };
        let response = match self.transport.send(request).await {
            Ok(response) => response,
            Err(error) => {
                slot.with(|entry| entry.state = ExchangeState::Failed(error.clone()));
                return Err(error);
            }
        };
        slot.with(|entry| {
            entry.status = response.status();
            entry.headers = response.headers().clone();
        });
        Ok(response.map(|body| Body::new(RecordingBody { body, slot })))
    }
}

impl Transport for CassetteRecorder {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<Body>, TransportError>> {
        Box::pin(self.record_exchange(request))
    }
}

impl fmt::Debug for CassetteRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CassetteRecorder")
            .field("transport", &self.transport)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl TapeEntry {
    fn exchange(&self, scrubber: &Scrubber) -> RecordedExchange {
        let chunks: Vec<&[u8]> = self.chunks.iter().map(|it| &**it).collect();
        let body = scrubber.scrub_chunks(&chunks).into_iter().filter(|it| !it.is_empty());
        let response = RecordedResponse {
            status: self.status.as_u16(),
            headers: recorded_headers(&self.headers, scrubber),
            body: body.map(RecordedChunk::new).collect(),
        };
        RecordedExchange { request: RecordedRequest::new(&self.request, scrubber), response }
    }
}

/// The slot of an exchange on the tape.
struct TapeSlot {
    tape: Arc<Mutex<Tape>>,
    at: usize,
}

impl TapeSlot {
    fn with(&self, run: impl FnOnce(&mut TapeEntry)) {
        if let Some(entry) = lock(&self.tape).entries.get_mut(self.at) {
            run(entry);
        }
    }
}

/// A body that is recorded while it is read.
struct RecordingBody {
    body: Body,
    slot: TapeSlot,
}

impl Stream for RecordingBody {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(Pin::new(&mut self.body).poll_next(cx));
        self.slot.with(|entry| match &next {
            Some(Ok(bytes)) => entry.chunks.push(bytes.clone()),
            Some(Err(error)) => entry.state = ExchangeState::Failed(error.clone()),
            None => entry.state = ExchangeState::Done,
        });
        Poll::Ready(next)
    }
}

/// A body that is dropped was read as far as it was needed.
impl Drop for RecordingBody {
    fn drop(&mut self) {
        self.slot.with(|entry| {
            if matches!(entry.state, ExchangeState::InProgress) {
                entry.state = ExchangeState::Done;
            }
        });
    }
}

fn lock(tape: &Mutex<Tape>) -> std::sync::MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}
