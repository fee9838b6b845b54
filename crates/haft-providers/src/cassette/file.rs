//! The file of a recording.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use bytes::Bytes;
use haft_core::media::{decode_base64, encode_base64};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::CassetteError;
use super::asked::Asked;
use crate::transport::TransportError;

#[derive(Serialize, Deserialize)]
struct Recording {
    version: u32,
    exchanges: Vec<Exchange>,
}

/// A request and its response.
#[derive(Serialize, Deserialize)]
pub(super) struct Exchange {
    pub(super) request: Asked,
    pub(super) response: Answered,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Answered {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    /// The chunks, as they came.
    pub(super) body: Vec<Frame>,
}

/// A chunk: a string if it is text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Frame {
    Text(String),
    Bytes { base64: String },
}

impl Frame {
    pub(super) fn of(bytes: Vec<u8>) -> Self {
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

pub(super) fn read(path: &Path) -> Result<Vec<Exchange>, CassetteError> {
    let io = |source| CassetteError::Io { path: path.to_owned(), source };
    let malformed = |reason| CassetteError::Malformed { path: path.to_owned(), reason };
    let text = fs::read_to_string(path).map_err(io)?;
    let recording: Recording =
        serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
    match recording.version {
        VERSION => Ok(recording.exchanges),
        other => Err(malformed(format!("version {other} is not known"))),
    }
}

/// Writes the file as a whole: whoever looks finds the old one or the new one.
pub(super) fn write(path: &Path, exchanges: Vec<Exchange>) -> Result<(), CassetteError> {
    let io = |source| CassetteError::Io { path: path.to_owned(), source };
    let recording = Recording { version: VERSION, exchanges };
    let mut text = serde_json::to_vec_pretty(&recording).map_err(|error| io(error.into()))?;
    text.push(b'\n');
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(io)?;
    }
    let draft = path.with_extension(format!("{}.tmp", Uuid::new_v4().simple()));
    let written = File::create_new(&draft)
        .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&draft, path));
    written.map_err(|error| {
        // Nothing is lost if it stays: it is named as what it is.
        let _ = fs::remove_file(&draft);
        io(error)
    })
}

const VERSION: u32 = 1;
