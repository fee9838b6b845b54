//! Base64, whole and in pieces.

use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;
use proptest::prelude::{any, proptest};

use super::super::base64::{decode_base64, encode_base64};
use super::super::{Base64Stream, Media, MediaFile, MediaKind};
use super::{file, pieces};
use crate::byte_stream::ByteStream;
use crate::failure::ToolFailure;

/// Bit by bit, as the definition says.
fn naive(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    while !bits.len().is_multiple_of(6) {
        bits.push('0');
    }
    let digits = bits.as_bytes().chunks(6).map(|six| {
        let six = std::str::from_utf8(six).unwrap();
        char::from(DIGITS[usize::from_str_radix(six, 2).unwrap()])
    });
    let mut text: String = digits.collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

async fn collect(mut stream: Base64Stream) -> (String, Option<String>) {
    let mut out = String::new();
    while let Some(piece) = std::future::poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
        match piece {
            Ok(piece) => out.push_str(std::str::from_utf8(&piece).unwrap()),
            Err(failure) => {
                let next = std::future::poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await;
                assert!(next.is_none());
                return (out, Some(failure.message().to_owned()));
            }
        }
    }
    (out, None)
}

#[track_caller]
fn check(bytes: &[u8], text: &str) {
    assert_eq!(encode_base64(bytes), text);
    assert_eq!(naive(bytes), text);
    assert_eq!(decode_base64(text.as_bytes()).as_deref(), Some(bytes));
}

#[test]
fn the_vectors_of_rfc_4648() {
    check(b"", "");
    check(b"f", "Zg==");
    check(b"fo", "Zm8=");
    check(b"foo", "Zm9v");
    check(b"foob", "Zm9vYg==");
    check(b"fooba", "Zm9vYmE=");
    check(b"foobar", "Zm9vYmFy");
    check(b"\x89PNG", "iVBORw==");
    check(&[0xFB, 0xFF, 0xBF], "+/+/");
}

#[test]
fn only_what_is_written_is_read() {
    for bad in [
        "Z", "Zg", "Zg=", "Zg===", "====", "Zh==", "Zm9=", "Zm9v\n", "Zg==Zm9v", "Z===", "Zm-_",
        "=Zg=",
    ] {
        assert_eq!(decode_base64(bad.as_bytes()), None, "{bad}");
    }
}

#[tokio::test]
async fn media_are_encoded_bit_by_bit() {
    let media = Media::tool_generated(MediaKind::Image, file());
    for _ in 0..2 {
        assert_eq!(collect(media.base64()).await, ("iVBORw==".to_owned(), None));
    }
    let split = pieces(&[Ok(b"f"), Ok(b"oo"), Ok(b""), Ok(b"b"), Ok(b"a")]);
    assert_eq!(collect(split.base64()).await.0, "Zm9vYmE=");
    let broken = pieces(&[Ok(b"foob"), Err("gone"), Ok(b"x")]);
    assert_eq!(collect(broken.base64()).await, ("Zm9v".to_owned(), Some("gone".to_owned())));
}

#[tokio::test]
async fn a_large_medium_is_never_whole_as_text() {
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let file = MediaFile::new("large", "a/b", bytes.clone());
    let mut stream = Media::tool_generated(MediaKind::Video, file).base64();
    let mut out = Vec::new();
    while let Some(piece) = std::future::poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
        let piece = piece.unwrap();
        assert!(piece.len() <= 64 * 1024);
        out.extend_from_slice(&piece);
    }
    assert_eq!(out, naive(&bytes).into_bytes());
}

struct Chunks(std::vec::IntoIter<Vec<u8>>);

impl Stream for Chunks {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.next().map(|bytes| Ok(bytes.into())))
    }
}

proptest! {
    #[test]
    fn chunking_does_not_matter(chunks in proptest::collection::vec(any::<Vec<u8>>(), 0..8)) {
        let whole = chunks.concat();
        let stream = Base64Stream::new(ByteStream::new(Chunks(chunks.into_iter())));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (text, error) = runtime.block_on(collect(stream));
        assert_eq!((text.as_str(), error), (naive(&whole).as_str(), None));
        assert_eq!(encode_base64(&whole), text);
        assert_eq!(decode_base64(text.as_bytes()), Some(whole));
    }

    #[test]
    fn what_is_read_is_written_the_same(text in "[A-Za-z0-9+/=]{0,24}") {
        if let Some(bytes) = decode_base64(text.as_bytes()) {
            assert_eq!(encode_base64(&bytes), text);
        }
    }
}
