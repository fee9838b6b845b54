//! Base64 (RFC 4648, standard alphabet, with padding), whole and as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_core::Stream;

use crate::byte_stream::ByteStream;
use crate::failure::ToolFailure;

/// The maximum number of bytes that are encoded at once, so that a media item that is in memory is not there again as
/// text. A multiple of three.
const PIECE: usize = 48 * 1024;

/// A byte stream as base64 text, in pieces of ASCII that make one text when put together. It ends with
/// the first error.
pub struct Base64Stream {
    source: Option<ByteStream>,
    pending: Bytes,
    encoder: Base64Encoder,
}

impl Base64Stream {
    /// Encodes a stream.
    #[must_use]
    pub fn new(source: ByteStream) -> Self {
        Self { source: Some(source), pending: Bytes::new(), encoder: Base64Encoder::default() }
    }
}

impl Stream for Base64Stream {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            let mut out = Vec::new();
            if this.pending.is_empty() {
                let Some(source) = &mut this.source else { return Poll::Ready(None) };
                match Pin::new(source).poll_next(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(Ok(bytes))) => this.pending = bytes,
                    Poll::Ready(Some(Err(failure))) => {
                        this.source = None;
                        return Poll::Ready(Some(Err(failure)));
                    }
                    Poll::Ready(None) => {
                        this.source = None;
                        this.encoder.finish(&mut out);
                    }
                }
            } else {
                let piece = this.pending.split_to(this.pending.len().min(PIECE));
                this.encoder.push(&piece, &mut out);
            }
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(out.into())));
            }
        }
    }
}

impl fmt::Debug for Base64Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Base64Stream")
    }
}

/// Encodes pieces of any length: up to two bytes wait for the third.
#[derive(Default)]
struct Base64Encoder {
    carry: Vec<u8>,
}

impl Base64Encoder {
    fn push(&mut self, mut input: &[u8], out: &mut Vec<u8>) {
        if !self.carry.is_empty() {
            let missing = input.len().min(3 - self.carry.len());
            let (head, rest) = input.split_at(missing);
            self.carry.extend_from_slice(head);
            input = rest;
            if self.carry.len() < 3 {
                return;
            }
            out.extend(STANDARD.encode(&self.carry).into_bytes());
            self.carry.clear();
        }
        let (triples, rest) = input.as_chunks::<3>();
        out.extend(STANDARD.encode(triples.as_flattened()).into_bytes());
        self.carry.extend_from_slice(rest);
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.extend(STANDARD.encode(&self.carry).into_bytes());
        self.carry.clear();
    }
}

/// Encodes bytes as base64 with padding.
///
/// ```
/// use haft_core::media::{decode_base64, encode_base64};
///
/// assert_eq!(encode_base64(b"hello"), "aGVsbG8=");
/// assert_eq!(decode_base64(b"aGVsbG8=").as_deref(), Some(&b"hello"[..]));
/// ```
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes a text that is exactly what [`encode_base64`] writes: padded, without white space and without stray bits.
///
/// ```
/// use haft_core::media::decode_base64;
///
/// assert_eq!(decode_base64(b"aGk=").as_deref(), Some(&b"hi"[..]));
/// assert_eq!(decode_base64(b"not base64!"), None);
/// ```
#[must_use]
pub fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
