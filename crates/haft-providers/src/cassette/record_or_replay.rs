//! Recording the first time, replaying from then on.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use haft_core::BoxFuture;
use haft_http::Secret;
use http::Request;

use super::{Cassette, CassetteError, CassetteRecorder};
use crate::transport::{Body, Response, Transport, TransportError};

/// A transport that records if there is no recording yet, and replays it otherwise.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordOrReplay {
    /// There is none yet.
    Record(CassetteRecorder),
    /// There is one.
    Replay(Cassette),
}

impl RecordOrReplay {
    /// Opens the file, or records with the transport of the function if there is none.
    ///
    /// # Errors
    ///
    /// The file is there and cannot be read, or is not a recording.
    pub fn open(
        path: impl AsRef<Path>,
        transport: impl FnOnce() -> Arc<dyn Transport>,
    ) -> Result<Self, CassetteError> {
        let path = path.as_ref();
        match Cassette::open(path) {
            Ok(cassette) => Ok(Self::Replay(cassette)),
            Err(CassetteError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Ok(Self::Record(CassetteRecorder::new(transport(), path)))
            }
            Err(error) => Err(error),
        }
    }

    /// Names a text that must not be in the file, in addition to the credentials of requests.
    #[must_use]
    pub fn scrub(self, secret: impl Into<Secret>) -> Self {
        match self {
            Self::Record(recorder) => Self::Record(recorder.scrub(secret)),
            Self::Replay(cassette) => Self::Replay(cassette.scrub(secret)),
        }
    }

    /// Writes the file, or checks that all of it was used.
    ///
    /// # Errors
    ///
    /// As [`CassetteRecorder::finish`] and [`Cassette::finish`].
    pub fn finish(&self) -> Result<(), CassetteError> {
        match self {
            Self::Record(recorder) => recorder.finish(),
            Self::Replay(cassette) => cassette.finish(),
        }
    }
}

impl Transport for RecordOrReplay {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<Body>, TransportError>> {
        match self {
            Self::Record(recorder) => recorder.send(request),
            Self::Replay(cassette) => cassette.send(request),
        }
    }
}
