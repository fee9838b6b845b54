use std::sync::Arc;

use haft::error::Coded as _;
use haft::media::{FileReader, StoredError, StoredReader, store_media};
use haft::media::{Media, MediaFile, MediaKind, MediaReader, MediaStashEntry, ReaderResolvers};
use haft::stores::{DirSpoolStore, MemorySpoolStore};
use haft::stores::{SpoolError, SpoolStore};
use haft::trust::TrustTier;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::{base64, base64_of, cause, media, read};

fn stores() -> (TempDir, [Arc<dyn SpoolStore>; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let on_disk = DirSpoolStore::open(folder.path().join("spool")).unwrap();
    (folder, [Arc::new(MemorySpoolStore::new()), Arc::new(on_disk)])
}

#[tokio::test]
async fn stored_media_keep_the_contract() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    let (_folder, stores) = stores();
    for store in stores {
        let resolver = StoredReader::resolver(Arc::clone(&store));
        let resolvers = ReaderResolvers::empty().with(StoredReader::TAG, resolver);
        let count = AtomicUsize::new(0);
        let make = |content: bytes::Bytes| {
            let (store, n) = (Arc::clone(&store), count.fetch_add(1, Ordering::Relaxed));
            async move {
                let reader = StoredReader::write(store, format!("k/{n}"), content).await.unwrap();
                Arc::new(reader) as Arc<dyn MediaReader>
            }
        };
        haft_conformance::media_reader(make, &resolvers).await.unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(16)))]

    #[test]
    fn the_same_bytes_come_out(content in any::<Vec<u8>>(), key in any::<String>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (folder, stores) = stores();
            let path = folder.path().join("f");
            std::fs::write(&path, &content).unwrap();
            let source = media(FileReader::open(&path).unwrap());
            for store in stores {
                let stored = store_media(&source, store, key.as_str()).await.unwrap();
                assert_eq!(stored.byte_length(), Some(content.len() as u64));
                assert_eq!(stored.bytes(u64::MAX).await.unwrap(), content);
                assert_eq!(base64(&stored).await, base64_of(&content));
            }
        });
    }
}

#[tokio::test]
async fn a_stored_medium_is_the_same_medium() {
    let (_folder, [store, _]) = stores();
    let file = MediaFile::new("a.png", "image/png", &b"\x89PNG"[..]);
    let media = Media::retrieved_public(MediaKind::Image, file)
        .with_source("somewhere")
        .with_entry("text:caption", MediaStashEntry::new("a cat", TrustTier::FirstParty));
    let stored = store_media(&media, Arc::clone(&store), "k").await.unwrap();
    let resolver = StoredReader::resolver(store);
    let resolvers = ReaderResolvers::empty().with(StoredReader::TAG, resolver);
    let text = serde_json::to_string(&stored).unwrap();
    let mut loaded: Media = serde_json::from_str(&text).unwrap();
    loaded.open(&resolvers).unwrap();
    assert_eq!(loaded, stored);
    assert_eq!(loaded.bytes(9).await.unwrap(), &b"\x89PNG"[..]);
}

#[tokio::test]
async fn a_reader_knows_its_length_from_the_first_stream_on() {
    let (_folder, stores) = stores();
    for store in stores {
        let reader = StoredReader::new(Arc::clone(&store), "k");
        let failure = read(&reader).await.unwrap_err();
        assert!(matches!(cause(&failure), StoredError::Missing { .. }), "{failure}");
        assert_eq!(reader.byte_length(), None);
        store.write("k".into(), "12345".into()).await.unwrap();
        let twin = reader.clone();
        assert_eq!(read(&reader).await.unwrap(), b"12345");
        assert_eq!(twin.byte_length(), Some(5));
        store.write("k".into(), "1234".into()).await.unwrap();
        let failure = read(&twin).await.unwrap_err();
        let error = cause(&failure);
        assert!(matches!(error, StoredError::Changed { before: 5, now: 4, .. }), "{error}");
        assert_eq!((error.code().as_str(), error.retryable()), ("E_STORE", false));
        store.delete("k".into()).await.unwrap();
        let failure = read(&reader).await.unwrap_err();
        assert!(matches!(cause(&failure), StoredError::Missing { .. }), "{failure}");
    }
}

#[tokio::test]
async fn what_breaks_off_is_not_stored() {
    let (folder, stores) = stores();
    let path = folder.path().join("f");
    std::fs::write(&path, "12345").unwrap();
    let broken = media(FileReader::open(&path).unwrap().max_bytes(4));
    for store in stores {
        let error = store_media(&broken, Arc::clone(&store), "k").await.unwrap_err();
        assert!(matches!(error, SpoolError::Source { received: 0, .. }), "{error}");
        assert!(store.list().await.unwrap().is_empty());
    }
    let small: Arc<dyn SpoolStore> = Arc::new(MemorySpoolStore::new().max_bytes(4));
    let error = store_media(&media(FileReader::open(&path).unwrap()), small, "k").await;
    assert!(matches!(error, Err(SpoolError::TooLarge { limit: 4, .. })));
}

#[test]
fn locators_are_read_strictly() {
    let (_folder, [store, _]) = stores();
    let resolve = StoredReader::resolver(store);
    assert_eq!(resolve(&json!({"key": "a/b"})).unwrap().key().as_str(), "a/b");
    for locator in [json!(null), json!("k"), json!({"key": 1}), json!({"key": "k", "x": 1})] {
        let failure = resolve(&locator).unwrap_err();
        let error: &StoredError = cause(&failure);
        assert_eq!(error.code(), "E_NOT_A_MEDIA_READER", "{locator}");
    }
}
