//! YAML, XML and CSV, asked for parts.

mod csv;
mod csv_tables;
mod hostile;
mod paging;
mod roundtrip;
mod xml;
mod yaml;

use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use haft::BoxFuture;
use haft::artifacts::Budget;
use haft::stores::{LineIndex, MemorySpoolStore, SpoolError, SpoolReader, SpoolStore};

/// How much is read at once: less than anything, about as much as a token, all.
const WINDOWS: [usize; 6] = [1, 2, 3, 7, 64, 1 << 18];

/// Runs a future on a runtime of its own.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// A reader of content in memory.
fn reader(content: &[u8]) -> Arc<dyn SpoolReader> {
    let store = MemorySpoolStore::new();
    run(store.write("k".into(), content.to_vec().into())).unwrap()
}

/// The same reader as if the content were on another machine.
fn remote(content: &[u8]) -> Arc<dyn SpoolReader> {
    Arc::new(Remote(reader(content)))
}

#[derive(Debug)]
struct Remote(Arc<dyn SpoolReader>);

impl SpoolReader for Remote {
    fn byte_length(&self) -> u64 {
        self.0.byte_length()
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        self.0.read_at(offset, len)
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        self.0.index()
    }
}

/// An answer may have this much.
fn budget(lines: usize, bytes: usize) -> Budget {
    Budget::new().lines(NonZeroUsize::new(lines).unwrap()).bytes(bytes)
}

/// Room for every answer of these tests.
fn all() -> Budget {
    budget(100_000, 64 * 1024 * 1024)
}

/// An answer on one line, without the white space of its indentation.
fn compact(answer: &str) -> String {
    answer.lines().map(str::trim_start).collect::<Vec<_>>().join(" ")
}
