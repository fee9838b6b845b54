//! What queries of the same content share.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::container::Container;
use super::error::InvalidJson;
use super::notation::{ContentRoot, JsonNotation};

/// What queries have found out about content: its notation, that it is well-formed, and where the elements
/// of its large lists begin. It takes at most a few megabytes, whatever the size of the content.
///
/// Keep it together with the content, and use it only for views of that content.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_artifacts::json::{JsonCache, JsonView};
/// use haft_core::spool::SpoolStore;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reader = MemorySpoolStore::new().write("k".into(), "[\"a\", \"b\", \"c\"]".into()).await?;
/// let cache = Arc::new(JsonCache::new());
/// for (path, expected) in [("$[0]", "a"), ("$[2]", "c")] {
///     // Only the first view detects the notation of the content.
///     let view = JsonView::new(Arc::clone(&reader)).cache(Arc::clone(&cache));
///     assert_eq!(view.get(path, 0).await?.as_str(), expected);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct JsonCache {
    entries: Mutex<CacheEntries>,
}

#[derive(Default)]
struct CacheEntries {
    /// One per declared notation.
    opened: Vec<(Option<JsonNotation>, Result<ContentRoot, InvalidJson>)>,
    /// The one used last is last.
    containers: Vec<Arc<Container>>,
}

impl JsonCache {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, CacheEntries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn opened_as(
        &self,
        declared: Option<JsonNotation>,
    ) -> Option<Result<ContentRoot, InvalidJson>> {
        let entries = self.lock();
        entries.opened.iter().find(|(it, _)| *it == declared).map(|(_, opened)| opened.clone())
    }

    pub(super) fn store_opened(
        &self,
        declared: Option<JsonNotation>,
        opened: Result<ContentRoot, InvalidJson>,
    ) {
        let mut entries = self.lock();
        entries.opened.retain(|(it, _)| *it != declared);
        entries.opened.push((declared, opened));
    }

    /// The container that begins here.
    pub(super) fn container_at(&self, start: u64) -> Option<Arc<Container>> {
        let mut entries = self.lock();
        let at = entries.containers.iter().position(|it| it.start == start)?;
        let found = entries.containers.remove(at);
        entries.containers.push(Arc::clone(&found));
        Some(found)
    }

    pub(super) fn store_containers(&self, containers: Vec<Arc<Container>>) {
        let mut entries = self.lock();
        for container in containers {
            entries.containers.retain(|it| it.start != container.start);
            entries.containers.push(container);
        }
        let surplus = entries.containers.len().saturating_sub(MAX_CONTAINERS);
        entries.containers.drain(..surplus);
    }
}

impl fmt::Debug for JsonCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonCache({} indexes)", self.lock().containers.len())
    }
}

/// Each takes less than a megabyte.
const MAX_CONTAINERS: usize = 16;
