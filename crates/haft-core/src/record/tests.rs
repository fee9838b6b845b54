mod arbitrary;
mod hostile;
mod list;
mod rules;
mod stored;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use serde_json::json;

use crate::BoxFuture;
use crate::clock::Timestamp;
use crate::media::ReaderResolvers;
use crate::spool::{
    LineIndex, LineIndexBuilder, ReaderDescriptor, SpoolError, SpoolKey, SpoolPayload, SpoolReader,
    SpoolStore,
};

pub(crate) const AT: Timestamp = Timestamp::EPOCH;

/// Runs a future that never waits, as all futures of these tests.
#[track_caller]
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future waits"),
    }
}

/// Content that is found again by a key.
#[derive(Debug)]
pub(crate) struct Held {
    key: Option<&'static str>,
    content: Bytes,
}

impl Held {
    pub(crate) fn reader(key: &'static str) -> Arc<dyn SpoolReader> {
        Arc::new(Self { key: Some(key), content: Bytes::from_static(key.as_bytes()) })
    }

    /// A reader that cannot be found again.
    pub(crate) fn lost() -> Arc<dyn SpoolReader> {
        Arc::new(Self { key: None, content: Bytes::new() })
    }
}

impl SpoolReader for Held {
    fn byte_length(&self) -> u64 {
        self.content.len() as u64
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        let start = usize::try_from(offset).unwrap().min(self.content.len());
        let end = start.saturating_add(len).min(self.content.len());
        Box::pin(std::future::ready(Ok(self.content.slice(start..end))))
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        let mut index = LineIndexBuilder::new(LineIndex::BLOCK_SIZE);
        index.push(&self.content);
        Box::pin(std::future::ready(Ok(Arc::new(index.finish()))))
    }

    fn describe(&self) -> Option<ReaderDescriptor> {
        Some(ReaderDescriptor::new("spool:held", json!({ "key": self.key? })))
    }
}

/// Finds readers that were made with these keys.
#[derive(Debug)]
struct Keys(BTreeMap<&'static str, Arc<dyn SpoolReader>>);

impl SpoolStore for Keys {
    fn write(
        &self,
        _: SpoolKey,
        _: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>> {
        unreachable!("nothing is written")
    }

    fn read(
        &self,
        key: SpoolKey,
    ) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        Box::pin(std::future::ready(Ok(self.0.get(key.as_str()).cloned())))
    }

    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        assert_eq!(reader.tag, "spool:held");
        self.read(reader.locator.get("key").and_then(|it| it.as_str()).unwrap_or_default().into())
    }

    fn delete(&self, _: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>> {
        unreachable!("nothing is deleted")
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        unreachable!("nothing is listed")
    }
}

pub(crate) const KEYS: [&str; 3] = ["one", "two", "three"];

/// Knows [`KEYS`] and media in memory.
pub(crate) fn readers() -> ReaderResolvers {
    let readers = KEYS.map(|key| (key, Held::reader(key)));
    ReaderResolvers::default().with_spools(Arc::new(Keys(readers.into())))
}
