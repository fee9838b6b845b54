//! Opens the content that a stored descriptor names, in the store that wrote it.

use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::record::SpoolResolver;
use haft_core::spool::{ReaderDescriptor, SpoolError, SpoolKey, SpoolReader, SpoolStore};
use serde_json::{Value, json};

use super::{DirSpoolStore, MemorySpoolStore};

/// The descriptor of content in a [`DirSpoolStore`].
pub(super) fn dir_descriptor(key: &SpoolKey) -> ReaderDescriptor {
    ReaderDescriptor::new(DirSpoolStore::TAG, json!({"key": key}))
}

/// The descriptor of content in the [`MemorySpoolStore`] with this name.
pub(super) fn memory_descriptor(key: &SpoolKey, store: &str) -> ReaderDescriptor {
    ReaderDescriptor::new(MemorySpoolStore::TAG, json!({"key": key, "store": store}))
}

/// Opens every descriptor of a directory store, but in this directory: a descriptor does not name a directory.
impl SpoolResolver for DirSpoolStore {
    fn knows(&self, tag: &str) -> bool {
        tag == Self::TAG
    }

    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        read_described(self, reader, dir_descriptor)
    }
}

/// Opens only the descriptors of this very store, because content in memory exists nowhere else.
impl SpoolResolver for MemorySpoolStore {
    fn knows(&self, tag: &str) -> bool {
        tag == Self::TAG
    }

    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        read_described(self, reader, |key| memory_descriptor(key, self.name()))
    }
}

/// Reads the key of a descriptor, if the locator is exactly the one that this store writes for that key.
fn read_described<'a>(
    store: &'a impl SpoolStore,
    reader: &ReaderDescriptor,
    describe: impl Fn(&SpoolKey) -> ReaderDescriptor,
) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
    let key = reader.locator.get("key").and_then(Value::as_str).map(SpoolKey::from);
    match key.filter(|key| describe(key).locator == reader.locator) {
        Some(key) => store.read(key),
        None => Box::pin(std::future::ready(Ok(None))),
    }
}
