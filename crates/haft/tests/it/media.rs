//! Media from files, stores and the network.

mod files;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod sending;
#[cfg(feature = "http")]
mod server;
mod stored;
#[cfg(feature = "http")]
mod urls;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_core::Stream;
use haft::ToolFailure;
use haft::error::Coded as _;
use haft::media::{Media, MediaFile, MediaKind, MediaReader};
use haft::tools::ByteStream;

/// Everything that a reader reads.
async fn read(reader: &impl MediaReader) -> Result<Vec<u8>, ToolFailure> {
    let mut stream = reader.open();
    let mut bytes = Vec::new();
    while let Some(chunk) = next(&mut stream).await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

async fn next(stream: &mut ByteStream) -> Result<Option<Bytes>, ToolFailure> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await.transpose()
}

/// The error of a reader behind what a stream said.
#[track_caller]
fn cause<E: std::error::Error + 'static>(failure: &ToolFailure) -> &E {
    let source = failure.source().unwrap_or_else(|| panic!("no source: {failure:?}"));
    source.downcast_ref().unwrap_or_else(|| panic!("another error: {failure:?}"))
}

fn media(reader: impl MediaReader + 'static) -> Media {
    let file = MediaFile::read_by("m", "a/b", Arc::new(reader));
    Media::user_attachment(MediaKind::Document, file)
}

/// All of a base64 stream.
async fn base64(media: &Media) -> String {
    let mut stream = media.base64();
    let mut text = String::new();
    while let Some(piece) = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
        text.push_str(str::from_utf8(&piece.unwrap()).unwrap());
    }
    text
}

/// Base64 by the book, one bit after the other.
fn base64_of(bytes: &[u8]) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> =
        bytes.iter().flat_map(|it| (0..8).rev().map(move |n| it >> n & 1)).collect();
    let mut text: String = bits
        .chunks(6)
        .map(|six| six.iter().fold(0, |all, bit| all << 1 | bit) << (6 - six.len()))
        .map(|digit| char::from(alphabet[usize::from(digit)]))
        .collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    use haft::media::{MemoryReader, ReaderResolvers};
    let make = |content| async { Arc::new(MemoryReader::new(content)) as Arc<dyn MediaReader> };
    haft_conformance::media_reader(make, &ReaderResolvers::default()).await.unwrap();
}

#[test]
fn a_medium_that_cannot_be_read_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gone");
    std::fs::write(&path, "x").unwrap();
    let reader = haft::media::FileReader::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error = runtime.block_on(media(reader).bytes(9)).unwrap_err();
    assert_eq!(error.code(), "E_TOOL_DOWNSTREAM_ERROR");
    assert!(error.to_string().ends_with("gone\": entity not found"), "{error}");
}
