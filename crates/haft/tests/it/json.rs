//! JSON of any size, queried without being loaded.

mod hostile;
mod jq;
mod model;
mod queries;
mod streams;

use std::sync::Arc;

use haft::artifacts::json::{JsonNotation, JsonView};
use haft::stores::MemorySpoolStore;
use haft::stores::{SpoolReader, SpoolStore};

/// Runs a future on a runtime of its own.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

async fn reader_of(content: &[u8]) -> Arc<dyn SpoolReader> {
    MemorySpoolStore::new().write("k".into(), content.to_vec().into()).await.unwrap()
}

/// A view of content in memory.
async fn view_of(content: &[u8], hint: Option<JsonNotation>) -> JsonView {
    let view = JsonView::new(reader_of(content).await);
    match hint {
        Some(notation) => view.notation(notation),
        None => view,
    }
}

/// A view that makes no trees but of small values and reads little at once.
async fn tiny_view_of(content: &[u8], window: usize, value: usize) -> JsonView {
    view_of(content, None).await.window_bytes(window).max_value_bytes(value)
}
