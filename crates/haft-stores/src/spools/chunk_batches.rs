//! Groups the chunks of a stream, so that each hop to a blocking thread is worth its cost.

use std::future::poll_fn;
use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;
use haft_core::spool::{SpoolError, SpoolKey};
use haft_core::tool::ByteStream;

/// Reads a stream in batches of chunks.
pub(super) struct ChunkBatches {
    stream: ByteStream,
    received: u64,
    is_finished: bool,
}

impl ChunkBatches {
    pub(super) fn new(stream: ByteStream) -> Self {
        Self { stream, received: 0, is_finished: false }
    }

    /// Reads the next chunks, about [`BATCH_BYTES`] in total. The batch is empty at the end of the stream.
    pub(super) async fn next_batch(&mut self, key: &SpoolKey) -> Result<Vec<Bytes>, SpoolError> {
        let mut chunks = Vec::new();
        let mut batch_bytes = 0;
        while !self.is_finished && batch_bytes < BATCH_BYTES && chunks.len() < BATCH_CHUNKS {
            match poll_fn(|cx| Pin::new(&mut self.stream).poll_next(cx)).await {
                None => self.is_finished = true,
                Some(Ok(chunk)) => {
                    self.received += chunk.len() as u64;
                    batch_bytes += chunk.len();
                    chunks.push(chunk);
                }
                Some(Err(failure)) => {
                    let received = self.received;
                    return Err(SpoolError::Source {
                        key: key.clone(),
                        received,
                        failure: failure.into(),
                    });
                }
            }
        }
        Ok(chunks)
    }
}

const BATCH_BYTES: usize = 512 * 1024;
const BATCH_CHUNKS: usize = 4096;
