//! Large results as objects.

use std::sync::Arc;

use haft::stores::{ObjectOptions, ObjectSpoolStore, SpoolStore as _};

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn objects_in_memory_and_in_directories_keep_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    for url in ["memory:///".to_owned(), format!("file://{}", dir.path().display())] {
        block_on(async {
            let store = ObjectSpoolStore::open(&url, ObjectOptions::default()).unwrap();
            haft_conformance::spool_store(&store).await.unwrap();
        });
    }
}

#[cfg(unix)]
fn s3_options(server: &haft_testkit::S3Server) -> ObjectOptions {
    ObjectOptions::default()
        .setting("aws_endpoint", server.endpoint())
        .setting("aws_allow_http", "true")
        .setting("aws_region", "us-east-1")
        .setting("aws_access_key_id", "test")
        .setting("aws_secret_access_key", "test")
}

#[cfg(unix)]
#[test]
fn objects_in_s3_keep_the_contract() {
    let Some(server) = haft_testkit::S3Server::start() else { return };
    let cache = tempfile::tempdir().unwrap();
    let options = s3_options(&server);
    block_on(async {
        let store = ObjectSpoolStore::open("s3://bucket/some/prefix", options.clone()).unwrap();
        haft_conformance::spool_store(&store).await.unwrap();
        // More than a part, through a cache.
        let options = options.cache(cache.path(), 64 << 20);
        let store = Arc::new(ObjectSpoolStore::open("s3://bucket", options).unwrap());
        let content = "0123456789abcde\n".repeat(1_200_000);
        store.write("large".into(), content.clone().into()).await.unwrap();
        let reader = store.read("large".into()).await.unwrap().unwrap();
        assert_eq!(reader.index().await.unwrap().line_count(), 1_200_001);
        for offset in [0, 8 << 20, 19_199_990] {
            let expected = &content.as_bytes()[offset..(offset + 10)];
            assert_eq!(reader.read_at(offset as u64, 10).await.unwrap(), expected);
        }
        assert!(store.delete("large".into()).await.unwrap());
    });
}

/// Pieces of a part each, and then nothing: what reads it waits for ever. Says when it waits, or fails there.
#[cfg(unix)]
struct BrokenStream {
    pieces: usize,
    waits: Option<Arc<tokio::sync::Notify>>,
}

#[cfg(unix)]
impl futures_core::Stream for BrokenStream {
    type Item = Result<bytes::Bytes, haft::ToolFailure>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        use std::task::Poll;
        if self.pieces > 0 {
            self.pieces -= 1;
            return Poll::Ready(Some(Ok(vec![b'x'; 8 << 20].into())));
        }
        match &self.waits {
            Some(waits) => {
                waits.notify_one();
                Poll::Pending
            }
            None => Poll::Ready(Some(Err(haft::ToolFailure::new("the line went dead")))),
        }
    }
}

#[cfg(unix)]
#[test]
fn an_upload_to_s3_that_breaks_off_or_is_dropped_leaves_nothing() {
    let Some(server) = haft_testkit::S3Server::start() else { return };
    block_on(async {
        let store = ObjectSpoolStore::open("s3://bucket/results", s3_options(&server)).unwrap();
        let payload = |waits: Option<Arc<tokio::sync::Notify>>| {
            let stream = BrokenStream { pieces: 3, waits };
            haft::stores::SpoolPayload::Stream(haft::tools::ByteStream::new(stream))
        };
        assert!(store.write("broken".into(), payload(None)).await.is_err());
        let waits = Arc::new(tokio::sync::Notify::new());
        let write = store.write("dropped".into(), payload(Some(Arc::clone(&waits))));
        tokio::select! {
            _ = write => panic!("the write has ended"),
            () = waits.notified() => {}
        }
        // The parts are removed in the background.
        let mut looks = 0;
        while server.get("/bucket?uploads").unwrap().contains("<UploadId>") {
            assert!(looks < 10_000, "parts are left");
            looks += 1;
            tokio::task::yield_now().await;
        }
        let listed = server.get("/bucket?list-type=2").unwrap();
        assert!(listed.contains("<KeyCount>0</KeyCount>"), "{listed}");
        assert!(store.list().await.unwrap().is_empty());
    });
}
