//! Writing down what goes through a transport.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;

use super::CassetteError;
use super::asked::{Asked, headers};
use super::file::{self, Answered, Exchange, Frame};
use crate::transport::scrub::Scrubber;
use crate::transport::{
    Body, Headers, Request, Response, Secret, Transport, TransportError, TransportFuture,
};

/// A transport that keeps what goes through another one, and writes it to a file at the end.
///
/// A body that is dropped before its end is recorded as far as it was read. An exchange that fails cannot be recorded.
pub struct Recorder {
    transport: Arc<dyn Transport>,
    path: PathBuf,
    tape: Arc<Mutex<Tape>>,
}

#[derive(Default)]
struct Tape {
    entries: Vec<Entry>,
    scrubber: Scrubber,
}

struct Entry {
    request: Request,
    status: u16,
    headers: Headers,
    chunks: Vec<Bytes>,
    state: Progress,
}

enum Progress {
    UnderWay,
    Done,
    Failed(TransportError),
}

impl Recorder {
    /// Records what goes through a transport. The file is written by [`Recorder::finish`], in place of any that is there.
    #[must_use]
    pub fn around(transport: Arc<dyn Transport>, path: impl AsRef<Path>) -> Self {
        Self { transport, path: path.as_ref().to_owned(), tape: Arc::default() }
    }

    /// Names a text that must not be in the file, beside the credentials of requests.
    #[must_use]
    pub fn scrub(self, secret: impl Into<Secret>) -> Self {
        lock(&self.tape).scrubber.add(secret.into().expose());
        self
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    ///
    /// An exchange failed or is still under way, or the file cannot be written.
    pub fn finish(&self) -> Result<(), CassetteError> {
        let tape = lock(&self.tape);
        let mut exchanges = Vec::with_capacity(tape.entries.len());
        for (at, entry) in (1..).zip(&tape.entries) {
            let reason = match &entry.state {
                Progress::Done => {
                    exchanges.push(entry.exchange(&tape.scrubber));
                    continue;
                }
                Progress::UnderWay => format!("exchange {at} is still under way"),
                Progress::Failed(error) => format!("exchange {at} failed: {error}"),
            };
            return Err(CassetteError::Incomplete { path: self.path.clone(), reason });
        }
        drop(tape);
        file::write(&self.path, exchanges)
    }

    async fn record(&self, request: Request) -> Result<Response, TransportError> {
        let at = {
            let mut tape = lock(&self.tape);
            tape.scrubber.extend(&Scrubber::of(&request));
            tape.entries.push(Entry {
                request: request.clone(),
                status: 0,
                headers: Headers::new(),
                chunks: Vec::new(),
                state: Progress::UnderWay,
            });
            tape.entries.len() - 1
        };
        let place = Place { tape: Arc::clone(&self.tape), at };
        let Response { status, headers, body } = match self.transport.send(request).await {
            Ok(response) => response,
            Err(error) => {
                place.with(|entry| entry.state = Progress::Failed(error.clone()));
                return Err(error);
            }
        };
        place.with(|entry| {
            entry.status = status;
            entry.headers = headers.clone();
        });
        Ok(Response { status, headers, body: Body::new(Overheard { body, place }) })
    }
}

impl Transport for Recorder {
    fn send(&self, request: Request) -> TransportFuture<'_> {
        Box::pin(self.record(request))
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("transport", &self.transport)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Entry {
    fn exchange(&self, scrubber: &Scrubber) -> Exchange {
        let chunks: Vec<&[u8]> = self.chunks.iter().map(|it| &**it).collect();
        let body = scrubber.chunks(&chunks).into_iter().filter(|it| !it.is_empty());
        let response = Answered {
            status: self.status,
            headers: headers(&self.headers, scrubber),
            body: body.map(Frame::of).collect(),
        };
        Exchange { request: Asked::of(&self.request, scrubber), response }
    }
}

/// Where an exchange is on the tape.
struct Place {
    tape: Arc<Mutex<Tape>>,
    at: usize,
}

impl Place {
    fn with(&self, run: impl FnOnce(&mut Entry)) {
        if let Some(entry) = lock(&self.tape).entries.get_mut(self.at) {
            run(entry);
        }
    }
}

/// A body that is written down while it is read.
struct Overheard {
    body: Body,
    place: Place,
}

impl Stream for Overheard {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(Pin::new(&mut self.body).poll_next(cx));
        self.place.with(|entry| match &next {
            Some(Ok(bytes)) => entry.chunks.push(bytes.clone()),
            Some(Err(error)) => entry.state = Progress::Failed(error.clone()),
            None => entry.state = Progress::Done,
        });
        Poll::Ready(next)
    }
}

/// Whoever read as far as it was needed is done.
impl Drop for Overheard {
    fn drop(&mut self) {
        self.place.with(|entry| {
            if matches!(entry.state, Progress::UnderWay) {
                entry.state = Progress::Done;
            }
        });
    }
}

fn lock(tape: &Mutex<Tape>) -> std::sync::MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}
