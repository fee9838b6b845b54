//! Requests and responses in a file, for tests without a network.
//!
//! A [`Recorder`] stands around a transport and writes down what goes through it; a [`Cassette`] is a transport that
//! answers from such a file; [`Once`] records if there is no file yet and replays otherwise. The file is JSON that can be
//! read and reviewed: bodies that are JSON stand in it as JSON, streams as their chunks. Credentials are not in it: those
//! of headers and of the query of the URL, wherever they appear, and what is named with `scrub`.
//!
//! ```
//! use std::sync::Arc;
//!
//! use haft_providers::cassette::{Cassette, Recorder};
//! use haft_providers::transport::{Body, Request, Response, Secret, Transport, TransportFuture};
//!
//! /// Stands for a provider.
//! #[derive(Debug)]
//! struct Echo;
//!
//! impl Transport for Echo {
//!     fn send(&self, request: Request) -> TransportFuture<'_> {
//!         Box::pin(async move { Ok(Response::new(200, Body::from(request.body))) })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("haft-cassette-{}", std::process::id()));
//! let path = folder.join("echo.json");
//! let ask = |body| Request::post("https://api.example.com/v1", body).header("x-api-key", Secret::new("sk-1234"));
//!
//! let recorder = Recorder::around(Arc::new(Echo), &path);
//! recorder.send(ask(r#"{"a": 1, "b": 2}"#)).await?.body.bytes(100).await?;
//! recorder.finish()?;
//! assert!(!std::fs::read_to_string(&path)?.contains("sk-1234"));
//!
//! let cassette = Cassette::open(&path)?;
//! // The order of keys does not matter, and neither does the credential.
//! let response = cassette.send(ask(r#"{"b": 2, "a": 1}"#)).await?;
//! assert_eq!(response.body.bytes(100).await?, r#"{"a": 1, "b": 2}"#);
//! cassette.finish()?;
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```

mod asked;
mod differ;
mod error;
mod file;
mod once;
mod recorder;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use self::asked::Asked;
use self::file::{Answered, Exchange};
use super::transport::scrub::Scrubber;
use super::transport::{
    Body, Headers, Request, Response, Secret, Transport, TransportError, TransportFuture,
};

pub use self::error::CassetteError;
pub use self::once::Once;
pub use self::recorder::Recorder;

/// A transport that answers from a recording. Each exchange is used once.
///
/// A request gets the response of the first unused exchange with the same method, path and body; the host does not
/// matter, and bodies of JSON are compared as values. If there is none, the error tells where the request differs from
/// the first unused one.
pub struct Cassette {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// What was recorded; nothing where it was used.
    exchanges: Vec<Option<Exchange>>,
    scrubber: Scrubber,
}

impl Cassette {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a recording.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        let path = path.as_ref().to_owned();
        let exchanges = file::read(&path)?.into_iter().map(Some).collect();
        let state = State { exchanges, scrubber: Scrubber::default() };
        Ok(Self { path, state: Mutex::new(state) })
    }

    /// Names a text that was scrubbed when it was recorded, so that requests which have it are found.
    #[must_use]
    pub fn scrub(self, secret: impl Into<Secret>) -> Self {
        self.with(|state| state.scrubber.add(secret.into().expose()));
        self
    }

    /// Checks that every exchange was used.
    ///
    /// # Errors
    ///
    /// [`CassetteError::Unused`], which lists the others.
    pub fn finish(&self) -> Result<(), CassetteError> {
        let left: Vec<String> = self.with(|state| {
            let left = (1..).zip(&state.exchanges);
            left.filter_map(|(at, it)| Some(format!("{at}: {}", it.as_ref()?.request))).collect()
        });
        if left.is_empty() {
            return Ok(());
        }
        Err(CassetteError::Unused { path: self.path.clone(), left })
    }

    fn take(&self, request: &Request) -> Result<Answered, TransportError> {
        self.with(|state| {
            state.scrubber.extend(&Scrubber::of(request));
            let asked = Asked::of(request, &state.scrubber);
            let same = |it: &&mut Option<Exchange>| {
                it.as_ref().is_some_and(|it| it.request.difference(&asked).is_none())
            };
            if let Some(Exchange { response, .. }) =
                state.exchanges.iter_mut().find(same).and_then(Option::take)
            {
                return Ok(response);
            }
            let mut left = (1..).zip(state.exchanges.iter().flatten());
            let reason = match left.next() {
                None => format!("all exchanges were used before {asked}"),
                Some((at, next)) => {
                    let difference = next.request.difference(&asked).unwrap_or_default();
                    format!("{asked} differs from unused exchange {at}: {difference}")
                }
            };
            Err(TransportError::NotRecorded { reason })
        })
    }

    fn with<T>(&self, run: impl FnOnce(&mut State) -> T) -> T {
        run(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Transport for Cassette {
    fn send(&self, request: Request) -> TransportFuture<'_> {
        Box::pin(async move {
            let Answered { status, headers, body } = self.take(&request)?;
            let body = body.into_iter().map(file::Frame::into_bytes);
            let body = Body::from_chunks(body.collect::<Result<Vec<_>, _>>()?);
            let headers = headers.into_iter().collect::<Headers>();
            Ok(Response { status, headers, body: body.of("a recording".to_owned()) })
        })
    }
}

impl fmt::Debug for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cassette").field("path", &self.path).finish_non_exhaustive()
    }
}
