//! Requests and responses in a file, for tests without a network.
//!
//! A [`CassetteRecorder`] wraps a transport and records what goes through it; a [`Cassette`] is a transport that responds
//! from such a file; [`RecordOrReplay`] records if there is no file yet and replays otherwise. The file is JSON that can
//! be read and reviewed: JSON bodies are in it as JSON, streams as their chunks. It contains no credentials: those of
//! headers and of the query of the URL are removed wherever they appear, and so is what is named with `scrub`.
//!
//! ```
//! use std::sync::Arc;
//!
//! use bytes::Bytes;
//! use haft_core::BoxFuture;
//! use haft_providers::cassette::{Cassette, CassetteRecorder};
//! use haft_providers::transport::{
//!     Body, Request, Response, Secret, Transport, TransportError, post, response,
//! };
//!
//! /// A provider that sends the request back.
//! #[derive(Debug)]
//! struct Echo;
//!
//! impl Transport for Echo {
//!     fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, TransportError>> {
//!         Box::pin(async move { response(200, Body::from(request.into_body())) })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = std::env::temp_dir().join(format!("haft-cassette-{}", std::process::id()));
//! let path = dir.join("echo.json");
//! let ask = |body: &'static str| {
//!     let mut request = post("https://api.example.com/v1", body)?;
//!     let key = Secret::new("sk-1234").to_header_value()?;
//!     request.headers_mut().insert("x-api-key", key);
//!     Ok::<_, Box<dyn std::error::Error>>(request)
//! };
//!
//! let recorder = CassetteRecorder::new(Arc::new(Echo), &path);
//! recorder.send(ask(r#"{"a": 1, "b": 2}"#)?).await?.into_body().read_all(100).await?;
//! recorder.finish()?;
//! assert!(!std::fs::read_to_string(&path)?.contains("sk-1234"));
//!
//! let cassette = Cassette::open(&path)?;
//! // The order of keys does not matter, and neither does the credential.
//! let response = cassette.send(ask(r#"{"b": 2, "a": 1}"#)?).await?;
//! assert_eq!(response.into_body().read_all(100).await?, r#"{"a": 1, "b": 2}"#);
//! cassette.finish()?;
//! # std::fs::remove_dir_all(dir)?;
//! # Ok(())
//! # }
//! ```

mod error;
mod file;
mod record_or_replay;
mod recorder;
mod request;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use haft_core::BoxFuture;
use haft_http::{Scrubber, Secret};
use http::Request;

use self::file::{RecordedExchange, RecordedResponse};
use self::request::RecordedRequest;
use crate::transport::{Body, Response};
use crate::transport::{Transport, TransportError};

pub use self::error::CassetteError;
pub use self::record_or_replay::RecordOrReplay;
pub use self::recorder::CassetteRecorder;

/// A transport that responds from a recording. Each exchange is used once.
///
/// A request gets the response of the first unused exchange with the same method, path and body; the host does not
/// matter, and bodies of JSON are compared as values. If there is none, the error says where the request differs from
/// the first unused one.
pub struct Cassette {
    path: PathBuf,
    state: Mutex<ReplayState>,
}

struct ReplayState {
    /// The recorded exchanges; `None` for those that were used.
    exchanges: Vec<Option<RecordedExchange>>,
    scrubber: Scrubber,
}

impl Cassette {
    /// Reads a recording.
    ///
    /// ```
    /// use haft_providers::cassette::Cassette;
    ///
    /// assert!(Cassette::open("no/such/recording.json").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a recording.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        let path = path.as_ref().to_owned();
        let exchanges = file::read_file(&path)?.into_iter().map(Some).collect();
        let state = ReplayState { exchanges, scrubber: Scrubber::default() };
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

    fn take(&self, request: &Request<Bytes>) -> Result<RecordedResponse, TransportError> {
        self.with(|state| {
            state.scrubber.extend(&Scrubber::for_request(request));
            let sent = RecordedRequest::new(request, &state.scrubber);
            let same = |it: &&mut Option<RecordedExchange>| {
                it.as_ref().is_some_and(|it| it.request.difference(&sent).is_none())
            };
            if let Some(RecordedExchange { response, .. }) =
                state.exchanges.iter_mut().find(same).and_then(Option::take)
            {
                return Ok(response);
            }
            let mut left = (1..).zip(state.exchanges.iter().flatten());
            let reason = match left.next() {
                None => format!("all exchanges were used before {sent}"),
                Some((at, next)) => {
                    let difference = next.request.difference(&sent).unwrap_or_default();
                    format!("{sent} differs from unused exchange {at}: {difference}")
                }
            };
            Err(TransportError::NotRecorded { reason })
        })
    }

    fn with<T>(&self, run: impl FnOnce(&mut ReplayState) -> T) -> T {
        run(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Transport for Cassette {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<Body>, TransportError>> {
        Box::pin(async move { self.take(&request)?.into_response() })
    }
}

impl fmt::Debug for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cassette").field("path", &self.path).finish_non_exhaustive()
    }
}
