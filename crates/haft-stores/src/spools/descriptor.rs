//! The descriptors of stored content, and how the store that wrote them reads them.

use haft_core::spool::{ReaderDescriptor, SpoolKey};
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

/// The key of a descriptor, if it is exactly the one that a store writes for that key.
pub(super) fn described_key(
    reader: &ReaderDescriptor,
    describe: impl Fn(&SpoolKey) -> ReaderDescriptor,
) -> Option<SpoolKey> {
    let key = reader.locator.get("key").and_then(Value::as_str).map(SpoolKey::from)?;
    (describe(&key) == *reader).then_some(key)
}
