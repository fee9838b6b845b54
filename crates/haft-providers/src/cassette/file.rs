//! The file of a recording.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use bytes::Bytes;
use haft_core::media::{decode_base64, encode_base64};
use http::Response;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::CassetteError;
use super::request::RecordedRequest;
use crate::transport::{Body, TransportError};

#[derive(Serialize, Deserialize)]
struct CassetteFile {
    version: u32,
    exchanges: Vec<RecordedExchange>,
}

/// A request and its response.
#[derive(Serialize, Deserialize)]
pub(super) struct RecordedExchange {
    pub(super) request: RecordedRequest,
    pub(super) response: RecordedResponse,
}

#[derive(Serialize, Deserialize)]
pub(super) struct RecordedResponse {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    /// The chunks, in their order.
    pub(super) body: Vec<RecordedChunk>,
}

/// A chunk: a string if it is text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum RecordedChunk {
    Text(String),
    Bytes { base64: String },
}

impl RecordedResponse {
    /// The response as a transport returns it.
    pub(super) fn into_response(self) -> Result<Response<Body>, TransportError> {
        let chunks = self.body.into_iter().map(RecordedChunk::into_bytes);
        let body = Body::from_chunks(chunks.collect::<Result<Vec<_>, _>>()?);
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        let response = response.body(body.with_host("a recording".to_owned()));
        response.map_err(|error| TransportError::NotRecorded { reason: error.to_string() })
    }
}

impl RecordedChunk {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Bytes { base64: encode_base64(error.as_bytes()) },
        }
    }

    pub(super) fn into_bytes(self) -> Result<Bytes, TransportError> {
        match self {
            Self::Text(text) => Ok(text.into()),
            Self::Bytes { base64 } => {
                decode_base64(base64.as_bytes()).map(Bytes::from).ok_or_else(|| {
                    TransportError::NotRecorded { reason: "a chunk is not base64".to_owned() }
                })
            }
        }
    }
}

pub(super) fn read_file(path: &Path) -> Result<Vec<RecordedExchange>, CassetteError> {
    let io = |source| CassetteError::Io { path: path.to_owned(), source };
    let malformed = |reason| CassetteError::Malformed { path: path.to_owned(), reason };
    let text = fs::read_to_string(path).map_err(io)?;
    let recording: CassetteFile =
        serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
    match recording.version {
        VERSION => Ok(recording.exchanges),
        other => Err(malformed(format!("version {other} is not known"))),
    }
}

/// Writes the file atomically: a reader finds the old content or the new one.
pub(super) fn write_file(
    path: &Path,
    exchanges: Vec<RecordedExchange>,
) -> Result<(), CassetteError> {
    let io = |source| CassetteError::Io { path: path.to_owned(), source };
    let recording = CassetteFile { version: VERSION, exchanges };
    let mut text = serde_json::to_vec_pretty(&recording).map_err(|error| io(error.into()))?;
    text.push(b'\n');
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(io)?;
    }
    let draft = path.with_extension(format!("{}.tmp", Uuid::new_v4().simple()));
    let written = File::create_new(&draft)
        .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&draft, path));
    written.map_err(|error| {
        // A draft that stays does no harm: its name says what it is.
        let _ = fs::remove_file(&draft);
        io(error)
    })
}

const VERSION: u32 = 1;
