//! What queries of the same content share.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::container::Container;
use super::error::InvalidJson;
use super::notation::{JsonNotation, OpenedContent};

/// What was found out about content, for the next query: its notation, that it is well-formed, and where the
/// elements of its large lists begin. At most a few megabytes, whatever the content.
///
/// Keep it with the content, and give it to every view of that content and of no other.
#[derive(Default)]
pub struct JsonCache {
    known: Mutex<CacheEntries>,
}

#[derive(Default)]
struct CacheEntries {
    /// One per hint that was given.
    opened: Vec<(Option<JsonNotation>, Result<OpenedContent, InvalidJson>)>,
    /// The one used last is last.
    containers: Vec<Arc<Container>>,
}

impl JsonCache {
    /// Nothing known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn known(&self) -> MutexGuard<'_, CacheEntries> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn opened(
        &self,
        declared: Option<JsonNotation>,
    ) -> Option<Result<OpenedContent, InvalidJson>> {
        let known = self.known();
        known.opened.iter().find(|(it, _)| *it == declared).map(|(_, opened)| opened.clone())
    }

    pub(super) fn open(
        &self,
        declared: Option<JsonNotation>,
        opened: Result<OpenedContent, InvalidJson>,
    ) {
        let mut known = self.known();
        known.opened.retain(|(it, _)| *it != declared);
        known.opened.push((declared, opened));
    }

    /// The container that begins here.
    pub(super) fn container(&self, start: u64) -> Option<Arc<Container>> {
        let mut known = self.known();
        let at = known.containers.iter().position(|it| it.start == start)?;
        let found = known.containers.remove(at);
        known.containers.push(Arc::clone(&found));
        Some(found)
    }

    pub(super) fn remember(&self, containers: Vec<Arc<Container>>) {
        let mut known = self.known();
        for container in containers {
            known.containers.retain(|it| it.start != container.start);
            known.containers.push(container);
        }
        let surplus = known.containers.len().saturating_sub(MOST_CONTAINERS);
        known.containers.drain(..surplus);
    }
}

impl fmt::Debug for JsonCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonCache({} indexes)", self.known().containers.len())
    }
}

/// Each takes less than a megabyte.
const MOST_CONTAINERS: usize = 16;
