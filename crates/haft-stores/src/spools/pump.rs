//! Async input for work that blocks, in bounded pieces.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;
use haft_core::spool::{SpoolError, SpoolKey};
use haft_core::tool::ByteStream;

/// Gathers chunks of a stream into pieces that are worth a hop to another thread.
pub(super) struct Pump {
    stream: ByteStream,
    received: u64,
    ended: bool,
}

impl Pump {
    pub(super) fn new(stream: ByteStream) -> Self {
        Self { stream, received: 0, ended: false }
    }

    /// The next chunks, about `PIECE` bytes in all; none at the end of the stream.
    pub(super) async fn next(&mut self, key: &SpoolKey) -> Result<Vec<Bytes>, SpoolError> {
        let (mut chunks, mut gathered) = (Vec::new(), 0);
        while !self.ended && gathered < PIECE && chunks.len() < CHUNKS {
            match poll_fn(|cx| Pin::new(&mut self.stream).poll_next(cx)).await {
                None => self.ended = true,
                Some(Ok(chunk)) => {
                    self.received += chunk.len() as u64;
                    gathered += chunk.len();
                    chunks.push(chunk);
                }
                Some(Err(failure)) => {
                    let received = self.received;
                    return Err(SpoolError::Source { key: key.clone(), received, failure });
                }
            }
        }
        Ok(chunks)
    }
}

const PIECE: usize = 512 * 1024;
const CHUNKS: usize = 4096;
