//! Large results, kept and queried.

mod conformance;
#[cfg(unix)]
mod damage;
mod differential;
mod faults;
mod large;
mod model;
#[cfg(feature = "object-store")]
mod objects;
mod parts;
mod queries;
mod stores;

use std::num::{NonZeroU32, NonZeroUsize};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use haft::ToolFailure;
use haft::artifacts::text::TextView;
use haft::stores::MemorySpoolStore;
use haft::stores::{SpoolPayload, SpoolReader, SpoolStore};
use haft::tools::ByteStream;

/// Runs a future on a runtime of its own.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// The content as a stream of pieces of this size.
fn stream(content: &[u8], piece: usize) -> SpoolPayload {
    let pieces: Vec<_> = content.chunks(piece).map(|it| Ok(Bytes::copy_from_slice(it))).collect();
    SpoolPayload::Stream(ByteStream::new(Pieces(pieces.into_iter())))
}

struct Pieces(std::vec::IntoIter<Result<Bytes, ToolFailure>>);

impl Stream for Pieces {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next())
    }
}

fn blocks(size: u32) -> NonZeroU32 {
    NonZeroU32::new(size).unwrap()
}

fn lines(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

/// A view of content in memory.
async fn view_of(content: &[u8], block: u32, window: usize) -> TextView {
    let store = MemorySpoolStore::new().block_size(blocks(block));
    let reader = store.write("k".into(), stream(content, 7)).await.unwrap();
    TextView::new(reader).window_bytes(window)
}

/// Everything that a reader reads.
async fn read_all(reader: &Arc<dyn SpoolReader>) -> Vec<u8> {
    let len = usize::try_from(reader.byte_length()).unwrap();
    reader.read_at(0, len + 1).await.unwrap().to_vec()
}
