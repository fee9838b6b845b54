//! Listing all keys, some at a time.

use super::{SpoolError, SpoolKey, SpoolPage, SpoolStore};
use crate::BoxFuture;

/// Lists keys some at a time; see [`SpoolStore::scan_keys`].
pub trait KeyScan: Send {
    /// The next keys, or nothing at the end. A list may be empty.
    fn next_keys(&mut self) -> BoxFuture<'_, Result<Option<Vec<SpoolKey>>, SpoolError>>;
}

/// A scan that asks for one page after the other.
pub(super) struct PagedScan<'s, S: ?Sized> {
    store: &'s S,
    /// The next page, or `None` after the last one.
    page: Option<SpoolPage>,
}

impl<'s, S: ?Sized> PagedScan<'s, S> {
    pub(super) fn new(store: &'s S, page: SpoolPage) -> Self {
        Self { store, page: Some(page) }
    }
}

impl<S: SpoolStore + ?Sized> KeyScan for PagedScan<'_, S> {
    fn next_keys(&mut self) -> BoxFuture<'_, Result<Option<Vec<SpoolKey>>, SpoolError>> {
        Box::pin(async move {
            let Some(page) = self.page.take() else { return Ok(None) };
            let keys = self.store.list_page(page.clone()).await?;
            if let Some(last) = keys.last().filter(|_| keys.len() >= page.limit) {
                self.page = Some(page.after(last.clone()));
            }
            Ok(Some(keys))
        })
    }
}
