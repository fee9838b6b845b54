use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use haft_core::spool::{SpoolError, SpoolKey, SpoolPage, SpoolStore as _};
use object_store::ObjectStore;
use object_store::memory::InMemory;

use super::reader::FETCHED_BYTES;
use super::{BlockCache, ObjectOptions, ObjectSpoolStore};

fn store_in(objects: &Arc<InMemory>, options: ObjectOptions) -> ObjectSpoolStore {
    let objects = Arc::clone(objects) as Arc<dyn ObjectStore>;
    ObjectSpoolStore::with_store(objects, "prefix", options).unwrap()
}

fn memory() -> ObjectSpoolStore {
    store_in(&Arc::new(InMemory::new()), ObjectOptions::default())
}

/// Lines whose numbers can be checked anywhere.
fn content(lines: usize) -> Bytes {
    (0..lines).map(|line| format!("line {line:>10}\n")).collect::<String>().into()
}

#[tokio::test]
async fn large_content_is_uploaded_in_parts_and_read_anywhere() {
    let store = memory();
    let content = content(1_400_000);
    assert!(content.len() > 20 << 20);
    let chunks: Vec<Bytes> = content.chunks(777_777).map(Bytes::copy_from_slice).collect();
    let chunks = chunks.into_iter().map(Ok);
    let stream = haft_core::tool::ByteStream::new(Chunks(chunks.collect()));
    store.write("large".into(), stream.into()).await.unwrap();
    let reader = store.read("large".into()).await.unwrap().unwrap();
    assert_eq!(reader.byte_length(), content.len() as u64);
    assert_eq!(reader.index().await.unwrap().line_count(), 1_400_001);
    for (offset, len) in [(0, 10), (1 << 20, 1), ((1 << 20) - 3, 9), (9 << 20, 3 << 20)] {
        let expected = content.slice(offset..(offset + len).min(content.len()));
        assert_eq!(reader.read_at(offset as u64, len).await.unwrap(), expected);
    }
    let end = content.len() as u64;
    assert_eq!(reader.read_at(end - 2, 100).await.unwrap(), content.slice(content.len() - 2..));
    assert!(reader.read_at(end, 1).await.unwrap().is_empty());
    assert!(reader.read_at(u64::MAX, 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_cache_on_the_disk_saves_the_second_reading() {
    let dir = tempfile::tempdir().unwrap();
    let objects = Arc::new(InMemory::new());
    let content = content(700_000);
    store_in(&objects, ObjectOptions::default())
        .write("a".into(), content.clone().into())
        .await
        .unwrap();
    for (cache_bytes, expected) in [(1 << 30, 1), (2 << 20, 2)] {
        let options =
            ObjectOptions::default().cache(dir.path().join(cache_bytes.to_string()), cache_bytes);
        let store = store_in(&objects, options);
        let before = FETCHED_BYTES.load(Ordering::SeqCst);
        for _ in 0..2 {
            let reader = store.read("a".into()).await.unwrap().unwrap();
            let mut offset = 0;
            while offset < content.len() {
                let read = reader.read_at(offset as u64, 300_000).await.unwrap();
                assert_eq!(read, content.slice(offset..offset + read.len()));
                offset += read.len();
            }
        }
        let fetched = FETCHED_BYTES.load(Ordering::SeqCst) - before;
        let least = expected * content.len() as u64;
        assert!((least..least + (9 << 20)).contains(&fetched), "{fetched} bytes were fetched");
        assert!(store.cache.as_ref().unwrap().bytes() <= cache_bytes);
    }
}

#[test]
fn a_cache_removes_what_was_used_least_recently() {
    let dir = tempfile::tempdir().unwrap();
    let cache = BlockCache::open(dir.path(), 10).unwrap();
    for name in ["a", "b", "c"] {
        cache.write(name, b"1234");
        assert!(cache.read("a").is_some(), "{name}");
    }
    assert_eq!((cache.read("b"), cache.bytes()), (None, 8));
    std::fs::write(cache_file(dir.path(), "a"), b"1235").unwrap();
    assert_eq!(cache.read("a"), None, "it was changed on the disk");
    cache.write("too large", &[0; 11]);
    assert_eq!(cache.read("too large"), None);
    drop(cache);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_reader_notices_that_its_object_was_replaced() {
    let store = memory();
    let written = store.write("a".into(), "first".into()).await.unwrap();
    let descriptor = written.describe().unwrap();
    let bound = store.open(&descriptor).await.unwrap().unwrap();
    assert!(bound.is_content_bound());
    let before = store.read("a".into()).await.unwrap().unwrap();
    assert!(!before.is_content_bound());
    store.write("a".into(), "other".into()).await.unwrap();
    for reader in [&before, &bound] {
        let read = reader.read_at(0, 5).await;
        assert!(matches!(read, Err(SpoolError::Changed { .. })), "{read:?}");
    }
    let opened = store.open(&descriptor).await;
    assert!(matches!(opened, Err(SpoolError::Changed { .. })), "{opened:?}");
    // The index belongs to the new content.
    let now = store.read("a".into()).await.unwrap().unwrap();
    assert_eq!(
        (now.read_at(0, 9).await.unwrap(), now.index().await.unwrap().line_count()),
        ("other".into(), 1)
    );
}

#[tokio::test]
async fn keys_of_any_length_are_listed_by_pages() {
    let store = memory();
    let long = "l".repeat(500);
    let mut keys: Vec<SpoolKey> =
        ["", "a", "turn/a/1", "turn/a/2", "turn/b/ü %", long.as_str()].map(SpoolKey::from).to_vec();
    for key in &keys {
        store.write(key.clone(), "x".into()).await.unwrap();
    }
    keys.sort();
    assert_eq!(store.list().await.unwrap(), keys);
    let mut listed = Vec::new();
    let mut page = SpoolPage::new(2).prefix("turn/");
    loop {
        let found = store.list_page(page.clone()).await.unwrap();
        let Some(last) = found.last().cloned() else { break };
        assert!(found.len() <= 2);
        listed.extend(found);
        page = page.after(last);
    }
    assert_eq!(listed, ["turn/a/1", "turn/a/2", "turn/b/ü %"].map(SpoolKey::from));
    assert!(store.delete(long.as_str().into()).await.unwrap());
    assert!(!store.delete(long.as_str().into()).await.unwrap());
}

#[tokio::test]
async fn content_beyond_the_limit_is_refused() {
    let objects = Arc::new(InMemory::new());
    let store = store_in(&objects, ObjectOptions::default().max_bytes(10 << 20));
    let chunks = (0..20).map(|_| Ok(Bytes::from(vec![b'x'; 1 << 20]))).collect();
    let stream = haft_core::tool::ByteStream::new(Chunks(chunks));
    let written = store.write("a".into(), stream.into()).await;
    assert!(matches!(written, Err(SpoolError::TooLarge { .. })), "{written:?}");
    assert_eq!(store.list().await.unwrap(), []);
}

/// The file of a block in a cache of this process.
fn cache_file(dir: &std::path::Path, name: &str) -> std::path::PathBuf {
    dir.join(format!("process-{}", std::process::id())).join(name)
}

/// A stream of these chunks.
struct Chunks(std::collections::VecDeque<Result<Bytes, haft_core::tool::ToolFailure>>);

impl futures_core::Stream for Chunks {
    type Item = Result<Bytes, haft_core::tool::ToolFailure>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.pop_front())
    }
}

/// A server that refuses more often than `object_store` asks by default, as one that is started again does.
#[tokio::test]
async fn a_server_that_is_away_for_seconds_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        for refused in (0..14).map(|n| n < 12) {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = vec![0; 64 * 1024];
            let _ = stream.read(&mut bytes).unwrap();
            let status = if refused { "503 Service Unavailable" } else { "200 OK" };
            let head = format!(
                "HTTP/1.1 {status}\r\nETag: \"1\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
        }
    });
    let options = ObjectOptions::default()
        .setting("aws_endpoint", endpoint)
        .setting("aws_allow_http", "true")
        .setting("aws_region", "us-east-1")
        .setting("aws_access_key_id", "id")
        .setting("aws_secret_access_key", "secret");
    let store = ObjectSpoolStore::open("s3://bucket/prefix", options).unwrap();
    store.write("a".into(), "text".into()).await.unwrap();
    server.join().unwrap();
}
