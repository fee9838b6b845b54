//! Writes a large part into the spool while it is read.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use haft_core::spool::{SpoolError, SpoolKey, SpoolPayload, SpoolReader, SpoolStore};
use haft_core::tool::{ByteStream, ToolFailure};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// A part that is being written. Nothing is stored if it is dropped before its end.
#[derive(Debug)]
pub(super) struct PartWriter {
    chunks: mpsc::Sender<Chunk>,
    /// Chunks that were sent, whose memory is used again when the store has written them.
    sent: VecDeque<Bytes>,
    /// The task that writes, which ends with this value.
    task: JoinSet<Result<Arc<dyn SpoolReader>, SpoolError>>,
}

#[derive(Debug)]
enum Chunk {
    Bytes(Bytes),
    End,
}

impl PartWriter {
    /// Begins to write a part.
    pub(super) fn spawn(store: Arc<dyn SpoolStore>, key: SpoolKey) -> Self {
        let (chunks, received) = mpsc::channel(MAX_WAITING);
        let stream = ByteStream::new(ChunkStream(received));
        let mut task = JoinSet::new();
        task.spawn(async move { store.write(key, SpoolPayload::Stream(stream)).await });
        Self { chunks, sent: VecDeque::new(), task }
    }

    /// Writes bytes. Says whether the store still takes them.
    pub(super) async fn write(&mut self, bytes: Vec<u8>) -> bool {
        let bytes = Bytes::from(bytes);
        self.sent.push_back(bytes.clone());
        self.chunks.send(Chunk::Bytes(bytes)).await.is_ok()
    }

    /// The memory of a chunk that the store has written, or `None` if it still needs all of them.
    pub(super) fn take_buffer(&mut self) -> Option<Vec<u8>> {
        if !self.sent.front()?.is_unique() {
            // A store that keeps what it was given needs no copies here.
            self.sent.truncate(MAX_SENT);
            return None;
        }
        let mut buffer = Vec::from(self.sent.pop_front()?);
        buffer.clear();
        Some(buffer)
    }

    /// Ends the part and returns a reader of it, or `None` if it could not be stored.
    pub(super) async fn finish(mut self) -> Option<Arc<dyn SpoolReader>> {
        // If the store has failed, its task says so.
        let _ = self.chunks.send(Chunk::End).await;
        self.task.join_next().await?.ok()?.ok()
    }
}

/// The chunks of a part. If they stop before the end, the stream fails, so that no store takes them for all.
struct ChunkStream(mpsc::Receiver<Chunk>);

impl Stream for ChunkStream {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|chunk| match chunk {
            Some(Chunk::Bytes(bytes)) => Some(Ok(bytes)),
            Some(Chunk::End) => {
                self.0.close();
                None
            }
            None => Some(Err(ToolFailure::new("the message of the server broke off"))),
        })
    }
}

/// How many chunks wait for the store.
const MAX_WAITING: usize = 8;

/// How many chunks may be with the store, those that it writes included.
const MAX_SENT: usize = 2 * MAX_WAITING;
