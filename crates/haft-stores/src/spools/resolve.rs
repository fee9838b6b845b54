//! Stored records find their content again in the store that kept it.

use std::sync::Arc;

use haft_core::record::SpoolResolver;
use haft_core::spool::{ReaderDescriptor, SpoolFuture, SpoolKey, SpoolReader, SpoolStore};

use super::{FolderSpoolStore, MemorySpoolStore};

/// Opens what a store in a folder describes, in this folder.
impl SpoolResolver for FolderSpoolStore {
    fn knows(&self, tag: &str) -> bool {
        tag == Self::TAG
    }

    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> SpoolFuture<'a, Option<Arc<dyn SpoolReader>>> {
        match key_of(reader, 1) {
            Some(key) => self.read(key),
            None => nothing(),
        }
    }
}

/// Opens what this very store describes: content in memory is nowhere else.
impl SpoolResolver for MemorySpoolStore {
    fn knows(&self, tag: &str) -> bool {
        tag == Self::TAG
    }

    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> SpoolFuture<'a, Option<Arc<dyn SpoolReader>>> {
        let own = reader.locator.get("store").and_then(|it| it.as_str()) == Some(self.name());
        match key_of(reader, 2).filter(|_| own) {
            Some(key) => self.read(key),
            None => nothing(),
        }
    }
}

/// The key in a locator that has so many members.
fn key_of(reader: &ReaderDescriptor, members: usize) -> Option<SpoolKey> {
    let locator = reader.locator.as_object().filter(|it| it.len() == members)?;
    locator.get("key")?.as_str().map(SpoolKey::from)
}

fn nothing<'a>() -> SpoolFuture<'a, Option<Arc<dyn SpoolReader>>> {
    Box::pin(std::future::ready(Ok(None)))
}
