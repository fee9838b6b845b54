//! The large results of one tenant.

use std::io;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::spool::{
    KeyScan, ReaderDescriptor, SpoolError, SpoolKey, SpoolPage, SpoolPayload, SpoolReader,
    SpoolStore,
};
use haft_core::store::StoreError;
use serde_json::Value;

use super::TenantStore;

/// A store of large results as one tenant sees it.
///
/// The key of a result names its turn, and the turn has a tenant. Results of other tenants' turns do not exist in this
/// view, nor do results that belong to no turn. A descriptor in a record therefore opens nothing of another tenant's turns.
/// The one exception are results whose turn was removed: their tenant is no longer known, and records of a conversation
/// still refer to them. They can be opened by a descriptor, which only a runner stores, and not by a key.
#[derive(Clone, Debug)]
pub(crate) struct TenantSpools {
    inner: Arc<dyn SpoolStore>,
    turns: TenantStore,
}

impl TenantSpools {
    pub(crate) fn new(inner: Arc<dyn SpoolStore>, turns: &TenantStore) -> Self {
        Self { inner, turns: turns.clone() }
    }

    /// Whether a key is the tenant's; `None` if its turn was removed. A key without a turn is no tenant's.
    async fn look_up(&self, key: &SpoolKey) -> Result<Option<bool>, SpoolError> {
        let turn = key.turn().and_then(|turn| turn.parse().ok());
        let Some(turn) = turn else { return Ok(Some(false)) };
        let failed =
            |error: StoreError| SpoolError::io(key, "look up the turn of", io::Error::other(error));
        self.turns.owns(&turn).await.map_err(failed)
    }

    async fn is_own(&self, key: &SpoolKey) -> Result<bool, SpoolError> {
        Ok(self.look_up(key).await? == Some(true))
    }

    async fn keep_own(&self, keys: Vec<SpoolKey>) -> Result<Vec<SpoolKey>, SpoolError> {
        let mut own = Vec::new();
        // The keys of a turn stand together, and the store is asked about the turn once.
        let mut last: Option<(String, bool)> = None;
        for key in keys {
            let Some(turn) = key.turn() else { continue };
            let is_own = match &last {
                Some((known, is_own)) if *known == turn => *is_own,
                _ => self.is_own(&key).await?,
            };
            last = Some((turn, is_own));
            if is_own {
                own.push(key);
            }
        }
        Ok(own)
    }
}

impl SpoolStore for TenantSpools {
    fn write(
        &self,
        key: SpoolKey,
        payload: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>> {
        Box::pin(async move {
            if !self.is_own(&key).await? {
                let reason = io::Error::other("its turn is not one of this tenant");
                return Err(SpoolError::io(&key, "write", reason));
            }
            self.inner.write(key, payload).await
        })
    }

    fn read(
        &self,
        key: SpoolKey,
    ) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        Box::pin(async move {
            if !self.is_own(&key).await? {
                return Ok(None);
            }
            self.inner.read(key).await
        })
    }

    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        Box::pin(async move {
            let key = reader.locator.get("key").and_then(Value::as_str).map(SpoolKey::from);
            let Some(key) = key else { return Ok(None) };
            // Records of a conversation refer to results of earlier turns, also of removed ones.
            match self.look_up(&key).await? {
                Some(false) => Ok(None),
                Some(true) | None => self.inner.open(reader).await,
            }
        })
    }
    fn delete(&self, key: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>> {
        Box::pin(async move {
            if !self.is_own(&key).await? {
                return Ok(false);
            }
            self.inner.delete(key).await
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        Box::pin(async move { self.keep_own(self.inner.list().await?).await })
    }

    fn list_page(&self, page: SpoolPage) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        Box::pin(async move {
            let (mut page, mut own) = (page, Vec::new());
            // A page that has only keys of others is followed by the next one, so that a short page is the last one.
            loop {
                let keys = self.inner.list_page(page.clone()).await?;
                let is_last = keys.len() < page.limit;
                page.after = keys.last().cloned().or(page.after);
                own.extend(self.keep_own(keys).await?);
                if is_last || own.len() >= page.limit {
                    own.truncate(page.limit);
                    return Ok(own);
                }
            }
        })
    }

    fn scan_keys<'s>(&'s self, prefix: &str) -> Box<dyn KeyScan + 's> {
        Box::new(TenantKeyScan { spools: self, inner: self.inner.scan_keys(prefix) })
    }
}

/// A scan that leaves out the keys of others.
struct TenantKeyScan<'s> {
    spools: &'s TenantSpools,
    inner: Box<dyn KeyScan + 's>,
}

impl KeyScan for TenantKeyScan<'_> {
    fn next_keys(&mut self) -> BoxFuture<'_, Result<Option<Vec<SpoolKey>>, SpoolError>> {
        Box::pin(async move {
            match self.inner.next_keys().await? {
                Some(keys) => self.spools.keep_own(keys).await.map(Some),
                None => Ok(None),
            }
        })
    }
}
