//! A store of large results whose kind is chosen when it is opened.

use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::record::SpoolResolver;
use haft_core::spool::{
    KeyScan, ReaderDescriptor, SpoolError, SpoolKey, SpoolPage, SpoolPayload, SpoolReader,
    SpoolStore,
};

use super::DirSpoolStore;

/// A store of large results of any kind, which also opens what stored records refer to.
#[derive(Clone, Debug)]
pub struct AnySpoolStore {
    store: Arc<dyn SpoolStore>,
    resolver: Arc<dyn SpoolResolver>,
    /// The same store, if it is a directory.
    dir: Option<Arc<DirSpoolStore>>,
}

impl AnySpoolStore {
    /// Wraps a store.
    #[must_use]
    pub fn new<S: SpoolStore + SpoolResolver + 'static>(store: Arc<S>) -> Self {
        Self { store: Arc::clone(&store) as _, resolver: store, dir: None }
    }

    pub(crate) fn of_dir(store: Arc<DirSpoolStore>) -> Self {
        Self { dir: Some(Arc::clone(&store)), ..Self::new(store) }
    }

    /// Removes the files that crashed writers left behind, as [`DirSpoolStore::remove_orphans`] does, and returns how
    /// many there were. Only directories have such files.
    ///
    /// # Errors
    ///
    /// The directory cannot be read or written.
    pub async fn remove_orphans(&self) -> Result<usize, SpoolError> {
        match &self.dir {
            Some(dir) => dir.remove_orphans().await,
            None => Ok(0),
        }
    }
}

impl SpoolStore for AnySpoolStore {
    fn write(
        &self,
        key: SpoolKey,
        payload: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>> {
        self.store.write(key, payload)
    }

    fn read(
        &self,
        key: SpoolKey,
    ) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        self.store.read(key)
    }

    fn delete(&self, key: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>> {
        self.store.delete(key)
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        self.store.list()
    }

    fn list_page(&self, page: SpoolPage) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        self.store.list_page(page)
    }

    fn scan_keys<'s>(&'s self, prefix: &str) -> Box<dyn KeyScan + 's> {
        self.store.scan_keys(prefix)
    }
}

impl SpoolResolver for AnySpoolStore {
    fn knows(&self, tag: &str) -> bool {
        self.resolver.knows(tag)
    }

    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        self.resolver.open(reader)
    }
}
