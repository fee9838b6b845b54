use std::sync::Arc;

use haft::ToolFailure;
use haft::stores::{DirSpoolStore, MemorySpoolStore};
use haft::stores::{SpoolError, SpoolKey, SpoolPayload, SpoolStore};
use haft::tools::ByteStream;
use proptest::prelude::*;

use super::{Pieces, blocks, model, read_all, run, stream};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(48)))]

    #[test]
    fn the_same_bytes_come_out(
        content in model::content(),
        piece in 1_usize..50,
        block in 1_u32..50,
        key in any::<String>(),
    ) {
        run(async {
            let folder = tempfile::tempdir().unwrap();
            let stores: [Arc<dyn SpoolStore>; 2] = [
                Arc::new(MemorySpoolStore::new().block_size(blocks(block))),
                Arc::new(DirSpoolStore::open(folder.path()).unwrap().block_size(blocks(block))),
            ];
            for store in stores {
                let key = SpoolKey::from(key.as_str());
                let written = store.write(key.clone(), stream(&content, piece)).await.unwrap();
                let read = store.read(key.clone()).await.unwrap().unwrap();
                for reader in [&written, &read] {
                    assert_eq!(read_all(reader).await, content);
                    let index = reader.index().await.unwrap();
                    assert_eq!(index.line_count(), model::texts(&content).len() as u64);
                }
                assert_eq!(store.list().await.unwrap(), [key]);
            }
        });
    }
}

#[test]
fn more_than_the_limit_is_refused() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let stores: [Arc<dyn SpoolStore>; 2] = [
            Arc::new(MemorySpoolStore::new().max_bytes(10)),
            Arc::new(DirSpoolStore::open(folder.path()).unwrap().max_bytes(10)),
        ];
        for store in stores {
            for payload in [SpoolPayload::from("0123456789a"), stream(b"0123456789a", 3)] {
                let refused = store.write("k".into(), payload).await;
                assert!(matches!(refused, Err(SpoolError::TooLarge { limit: 10, .. })));
            }
            assert_eq!(store.list().await.unwrap(), []);
            store.write("k".into(), "0123456789".into()).await.unwrap();
        }
    });
}

#[test]
fn a_stream_that_breaks_off_leaves_the_old_content() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let stores: [Arc<dyn SpoolStore>; 2] = [
            Arc::new(MemorySpoolStore::new()),
            Arc::new(DirSpoolStore::open(folder.path()).unwrap()),
        ];
        for store in stores {
            store.write("k".into(), "old".into()).await.unwrap();
            // More than one piece reaches the disk before the stream fails.
            let mut pieces = vec![Ok(vec![b'x'; 700_000].into()); 3]
                .into_iter()
                .collect::<Vec<Result<bytes::Bytes, String>>>()
                .into_iter()
                .map(|it| it.map_err(ToolFailure::new))
                .collect::<Vec<_>>();
            pieces.push(Err(ToolFailure::new("the line went dead")));
            let broken = SpoolPayload::Stream(ByteStream::new(Pieces(pieces.into_iter())));
            let error = store.write("k".into(), broken).await.unwrap_err();
            assert_eq!(
                error.to_string(),
                "the content of `k` broke off after 2100000 bytes: the line went dead"
            );
            let reader = store.read("k".into()).await.unwrap().unwrap();
            assert_eq!(read_all(&reader).await, b"old");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    });
}

#[test]
fn every_key_has_content_of_its_own() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let store = DirSpoolStore::open(folder.path()).unwrap();
        let long = "long/".repeat(1000);
        let mut keys: Vec<SpoolKey> = [
            "",
            ".",
            "..",
            "/",
            "../../etc/passwd",
            "a/b",
            "a\\b",
            "a",
            "A",
            "a ",
            "a.",
            "CON",
            "nul",
            "\0",
            "%",
            "%61",
            "é",
            "e\u{301}",
            "k-a",
            "a|b",
            "a:b",
            "*",
            "?",
            "\u{202e}x",
            "~",
        ]
        .into_iter()
        .map(SpoolKey::from)
        .chain([long.as_str().into(), format!("{long}x").into(), format!("X{long}").into()])
        .collect();
        for key in &keys {
            store.write(key.clone(), key.as_str().into()).await.unwrap();
        }
        keys.sort();
        assert_eq!(store.list().await.unwrap(), keys);
        let mut names = std::collections::BTreeSet::new();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name.len() < 140, "{name}");
            assert!(names.insert(name.to_lowercase()), "{name} differs by case alone");
        }
        for key in &keys {
            let reader = store.read(key.clone()).await.unwrap().unwrap();
            assert_eq!(read_all(&reader).await, key.as_str().as_bytes());
            assert!(store.delete(key.clone()).await.unwrap());
            assert!(!store.delete(key.clone()).await.unwrap());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    });
}

/// Stores on this machine keep what a reader has opened, which the suite does not ask of others.
#[test]
fn local_readers_are_snapshots() {
    let dir = tempfile::tempdir().unwrap();
    let stores: [Box<dyn SpoolStore>; 2] =
        [Box::new(MemorySpoolStore::new()), Box::new(DirSpoolStore::open(dir.path()).unwrap())];
    for store in stores {
        run(async {
            let first = store.write("key".into(), "first".into()).await.unwrap();
            let second = store.write("key".into(), "second".into()).await.unwrap();
            assert_eq!(first.read_at(0, 9).await.unwrap(), "first");
            assert!(store.delete("key".into()).await.unwrap());
            assert_eq!(second.read_at(0, 9).await.unwrap(), "second");
        });
    }
}
