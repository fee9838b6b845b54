//! Large results as objects.

use std::sync::Arc;

use haft::stores::{ObjectOptions, ObjectSpoolStore, SpoolStore as _};
use haft::testing::conformance;

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn objects_in_memory_and_in_directories_keep_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    for url in ["memory:///".to_owned(), format!("file://{}", dir.path().display())] {
        block_on(async {
            let store = ObjectSpoolStore::open(&url, ObjectOptions::default()).unwrap();
            conformance::spool_store(&store).await.unwrap();
        });
    }
}

#[cfg(unix)]
#[test]
fn objects_in_s3_keep_the_contract() {
    let Some(server) = haft_testkit::S3Server::start() else { return };
    let cache = tempfile::tempdir().unwrap();
    let options = ObjectOptions::default()
        .setting("aws_endpoint", server.endpoint())
        .setting("aws_allow_http", "true")
        .setting("aws_region", "us-east-1")
        .setting("aws_access_key_id", "test")
        .setting("aws_secret_access_key", "test");
    block_on(async {
        let store = ObjectSpoolStore::open("s3://bucket/some/prefix", options.clone()).unwrap();
        conformance::spool_store(&store).await.unwrap();
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
