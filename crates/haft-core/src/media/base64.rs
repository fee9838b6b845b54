//! Base64 (RFC 4648, standard alphabet, with padding), bit by bit.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;

use crate::byte_stream::ByteStream;
use crate::failure::ToolFailure;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Most bytes that are encoded at once, so that a medium which is in memory is not there again as
/// text. A multiple of three.
const PIECE: usize = 48 * 1024;

/// A byte stream as base64 text, in pieces of ASCII that make one text when put together. It ends with
/// the first error.
pub struct Base64Stream {
    source: Option<ByteStream>,
    pending: Bytes,
    encoder: Encoder,
}

impl Base64Stream {
    /// Encodes a stream.
    #[must_use]
    pub fn new(source: ByteStream) -> Self {
        Self { source: Some(source), pending: Bytes::new(), encoder: Encoder::default() }
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
struct Encoder {
    carry: [u8; 3],
    carried: usize,
}

impl Encoder {
    fn push(&mut self, mut input: &[u8], out: &mut Vec<u8>) {
        while self.carried > 0
            && let Some((byte, rest)) = input.split_first()
        {
            input = rest;
            self.keep(*byte);
            if self.carried == 3 {
                out.extend(quad(self.carry));
                *self = Self::default();
            }
        }
        let (triples, rest) = input.as_chunks::<3>();
        out.reserve(4 * triples.len() + 4);
        for triple in triples {
            out.extend(quad(*triple));
        }
        for byte in rest {
            self.keep(*byte);
        }
    }

    fn keep(&mut self, byte: u8) {
        if let Some(slot) = self.carry.get_mut(self.carried) {
            *slot = byte;
            self.carried += 1;
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let [a, b, c, _] = quad(self.carry);
        match self.carried {
            0 => {}
            1 => out.extend([a, b, b'=', b'=']),
            _ => out.extend([a, b, c, b'=']),
        }
        *self = Self::default();
    }
}

fn quad([a, b, c]: [u8; 3]) -> [u8; 4] {
    let sextets = [a >> 2, a << 4 | b >> 4, b << 2 | c >> 6, c];
    sextets.map(|it| ALPHABET.get(usize::from(it & 0x3F)).copied().unwrap_or(b'A'))
}

/// The base64 of some bytes.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    let mut encoder = Encoder::default();
    encoder.push(bytes, &mut out);
    encoder.finish(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// The bytes of a text, if it is exactly what [`encode_base64`] writes for them.
#[must_use]
pub fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let (quads, []) = text.as_chunks::<4>() else { return None };
    let mut out = Vec::with_capacity(quads.len() * 3);
    for (n, quad) in quads.iter().enumerate() {
        let kept = match quad {
            [_, _, b'=', b'='] => 1,
            [_, _, _, b'='] => 2,
            _ => 3,
        };
        if kept < 3 && n + 1 != quads.len() {
            return None;
        }
        let mut bits = 0_u32;
        for (n, digit) in quad.iter().enumerate() {
            bits = bits << 6 | if n > kept { 0 } else { sextet(*digit)? };
        }
        let [_, bytes @ ..] = bits.to_be_bytes();
        // Bits that stand for nothing are zero, so that every text has one spelling.
        if bytes.iter().skip(kept).any(|byte| *byte != 0) {
            return None;
        }
        out.extend(bytes.iter().take(kept));
    }
    Some(out)
}

fn sextet(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}
