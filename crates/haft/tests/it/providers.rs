//! What talks to model providers, over sockets of this machine and from files.

pub(crate) mod answers;
mod assembly;
mod cassette;
mod chat_completions;
#[cfg(feature = "testing")]
mod down_schema;
mod hostile;
mod messages;
mod provider;
mod responses;
mod retry;
mod server;
mod sse;
pub(crate) mod transcripts;
mod transport;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use haft::providers::transport::{Request, Response, Transport, TransportError, TransportFuture};

/// Gives these answers, one after the other, and keeps what was asked.
#[derive(Debug, Default)]
struct Scripted {
    answers: Mutex<VecDeque<Result<Response, TransportError>>>,
    asked: Mutex<Vec<Request>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = Result<Response, TransportError>>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Transport for Scripted {
    fn send(&self, request: Request) -> TransportFuture<'_> {
        self.asked.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front().expect("asked too often");
        Box::pin(async move { answer })
    }
}
