//! What is read, from where, and when it stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use haft::BoxFuture;
use haft::artifacts::json::{JsonCache, JsonError, JsonView};
use haft::stores::{LineIndex, SpoolError, SpoolReader};
use haft::turn::Cancellation;

use super::{reader_of, run};

/// A reader that is not on this machine, and counts what is read.
#[derive(Debug)]
struct Remote {
    inner: Arc<dyn SpoolReader>,
    read: AtomicU64,
}

impl SpoolReader for Remote {
    fn byte_length(&self) -> u64 {
        self.inner.byte_length()
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        self.read.fetch_add(len as u64, Ordering::Relaxed);
        self.inner.read_at(offset, len)
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        self.inner.index()
    }
}

fn items(count: usize) -> String {
    let item = |at: usize| {
        format!("{{\"id\": {at}, \"name\": \"item {at}\", \"text\": \"{}\"}}", "x".repeat(400))
    };
    let items: Vec<String> = (0..count).map(item).collect();
    format!(
        "{{\"version\": 1, \"items\": [{}], \"meta\": {{\"total\": {count}}}}}",
        items.join(",\n")
    )
}

#[test]
fn later_queries_read_next_to_nothing() {
    run(async {
        let content = items(40_000);
        let inner = reader_of(content.as_bytes()).await;
        let remote = Arc::new(Remote { inner, read: 0.into() });
        let cache = Arc::new(JsonCache::new());
        let view = || {
            let reader = Arc::clone(&remote) as Arc<dyn SpoolReader>;
            JsonView::new(reader).cache(Arc::clone(&cache))
        };
        let read = || remote.read.swap(0, Ordering::Relaxed);
        let get = async |path: &str| view().get(path, 0).await.unwrap().into_string();

        assert_eq!(get("$.items[39999].name").await, "item 39999");
        let first = read();
        let length = content.len() as u64;
        assert!(first >= length && first < length + (1 << 20), "{first} of {length}");
        assert_eq!(get("$.items[20000].name").await, "item 20000");
        assert_eq!(get("$.items[-1].id").await, "[\n  39999\n]");
        assert_eq!(get("$.meta.total").await, "[\n  40000\n]");
        assert_eq!(view().list_keys(0).await.unwrap().as_str(), "version\nitems\nmeta");
        let later = read();
        assert!(later < length / 2 + (4 << 20), "{later} of {length}");
        assert_eq!(get("$.items[100].name").await, "item 100");
        assert!(read() <= 512 * 1024);
    });
}

#[test]
fn a_query_stops_when_it_is_cancelled_or_dropped() {
    run(async {
        let content = items(10_000);
        let inner = reader_of(content.as_bytes()).await;
        let remote: Arc<dyn SpoolReader> =
            Arc::new(Remote { inner: Arc::clone(&inner), read: 0.into() });
        for reader in [inner, remote] {
            let token = Cancellation::new();
            let view = JsonView::new(reader).cancellation(token.clone());
            token.cancel("enough");
            let error = view.count_records().await.unwrap_err();
            assert!(matches!(error, JsonError::Spool(SpoolError::Cancelled { .. })), "{error}");
        }
    });
}

/// A reader whose reads need a thread for blocking work.
#[derive(Debug)]
struct Threaded(Arc<dyn SpoolReader>);

impl SpoolReader for Threaded {
    fn byte_length(&self) -> u64 {
        self.0.byte_length()
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        Box::pin(async move {
            tokio::task::spawn_blocking(|| ()).await.unwrap();
            self.0.read_at(offset, len).await
        })
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        self.0.index()
    }
}

/// A thread of the runtime that waited for the reads would keep them from running.
#[test]
fn a_query_holds_no_thread_that_its_reads_need() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().max_blocking_threads(1).build().unwrap();
    let total = async {
        let reader = Threaded(reader_of(items(100).as_bytes()).await);
        JsonView::new(Arc::new(reader)).get("$.meta.total", 0).await.unwrap().into_string()
    };
    let total = runtime.block_on(async { tokio::time::timeout(MAX_WAIT, total).await });
    assert_eq!(total.expect("the query waits for itself"), "[\n  100\n]");
}

/// Long enough for any query of these tests, also on a busy machine.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Never answers.
#[derive(Debug)]
struct Silent;

impl SpoolReader for Silent {
    fn byte_length(&self) -> u64 {
        10
    }

    fn read_at(&self, _: u64, _: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        Box::pin(std::future::pending())
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_dropped_query_leaves_no_thread_behind() {
    // The runtime waits for its threads when it goes, so this test ends only if the thread does.
    run(async {
        let view = JsonView::new(Arc::new(Silent));
        let mut query = Box::pin(view.count_records());
        let waker = std::task::Waker::noop();
        for _ in 0..3 {
            assert!(query.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
            tokio::task::yield_now().await;
        }
        drop(query);
    });
}

#[test]
fn a_failing_read_is_an_error() {
    #[derive(Debug)]
    struct Short(Arc<dyn SpoolReader>);
    impl SpoolReader for Short {
        fn byte_length(&self) -> u64 {
            self.0.byte_length() + 5
        }
        fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
            self.0.read_at(offset, len)
        }
        fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
            self.0.index()
        }
    }
    run(async {
        let view = JsonView::new(Arc::new(Short(reader_of(b"[1]").await)));
        let error = view.count_records().await.unwrap_err();
        assert!(matches!(error, JsonError::Spool(_)), "{error}");
    });
}
