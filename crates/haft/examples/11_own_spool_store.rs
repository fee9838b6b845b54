//! A store of your own: it counts what is stored, refuses what exceeds a quota, and keeps the contract.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft::BoxFuture;
use haft::stores::{
    MemorySpoolStore, ReaderDescriptor, SpoolError, SpoolKey, SpoolPayload, SpoolReader, SpoolStore,
};

/// A store that keeps less than a quota in another store.
#[derive(Debug)]
struct Quota<S> {
    inner: S,
    stored: AtomicU64,
    limit: u64,
}

impl<S: SpoolStore> SpoolStore for Quota<S> {
    fn write(
        &self,
        key: SpoolKey,
        payload: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>> {
        Box::pin(async move {
            if self.stored.load(Ordering::Relaxed) >= self.limit {
                return Err(SpoolError::TooLarge { key, limit: self.limit });
            }
            // The payload may be a stream: only the other store knows its length.
            let reader = self.inner.write(key, payload).await?;
            self.stored.fetch_add(reader.byte_length(), Ordering::Relaxed);
            Ok(reader)
        })
    }

    fn read(
        &self,
        key: SpoolKey,
    ) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        self.inner.read(key)
    }

    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        self.inner.open(reader)
    }

    fn delete(&self, key: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>> {
        self.inner.delete(key)
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        self.inner.list()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let quota = |limit| Quota { inner: MemorySpoolStore::new(), stored: AtomicU64::new(0), limit };

    // The suite checks replacing, failing and dropped writes, empty content, keys of every kind, and readers.
    haft_conformance::spool_store(&quota(u64::MAX)).await?;
    println!("the contract holds");

    let small = quota(4);
    small.write("a".into(), "text".into()).await?;
    if let Err(error) = small.write("b".into(), "more".into()).await {
        println!("{error}");
    }
    Ok(())
}
