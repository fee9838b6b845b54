//! The contract of spool stores.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use haft_core::spool::{SpoolError, SpoolKey, SpoolPayload, SpoolReader, SpoolStore};
use haft_core::tool::{ByteStream, ToolFailure};

use super::{ContractViolation, spool_reader};

/// Checks a spool store. It must be empty, and is empty again afterwards if it passes.
///
/// ```
/// use haft::stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// haft_conformance::spool_store(&MemorySpoolStore::new()).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// The first promise of [`SpoolStore`] that is not kept, or of its readers as [`spool_reader`] checks them.
pub async fn spool_store(store: &dyn SpoolStore) -> Result<(), ContractViolation> {
    ContractViolation::ensure_equal(
        "a fresh store has no keys",
        &list_keys(store).await?,
        &Vec::new(),
    )?;
    content_is_kept(store).await?;
    readers_are_snapshots(store).await?;
    failed_writes_change_nothing(store).await?;
    keys_are_apart(store).await?;
    ContractViolation::ensure_equal(
        "deleted keys are not listed",
        &list_keys(store).await?,
        &Vec::new(),
    )
}

async fn content_is_kept(store: &dyn SpoolStore) -> Result<(), ContractViolation> {
    let large: Vec<u8> =
        (0..30_000_u32).flat_map(|n| format!("line {n}\r\n").into_bytes()).collect();
    let contents: [&[u8]; 7] = [
        b"",
        b"\n",
        b"a\nb\n",
        b"\xef\xbb\xbfmarked\r\nlines\r",
        b"\0\xff\xfe\xe2\x82\n\xc3",
        b"no end",
        &large,
    ];
    for content in contents {
        for payload in sample_payloads(content) {
            let written = expect_ok(
                "a write of any bytes succeeds",
                store.write(sample_key(), payload).await,
            )?;
            spool_reader(&*written, content).await?;
            let found = expect_ok("stored content can be read", store.read(sample_key()).await)?;
            let found = found.ok_or_else(|| {
                ContractViolation::new("stored content can be read", "nothing under its key")
            })?;
            spool_reader(&*found, content).await?;
            ContractViolation::ensure_equal(
                "keys with content are listed",
                &list_keys(store).await?,
                &vec![sample_key()],
            )?;
        }
    }
    delete_spool(store, sample_key(), true).await?;
    delete_spool(store, sample_key(), false).await?;
    let gone = expect_ok("a deleted key can be asked for", store.read(sample_key()).await)?;
    ContractViolation::ensure_equal("deleted content is gone", &gone.is_some(), &false)
}

async fn readers_are_snapshots(store: &dyn SpoolStore) -> Result<(), ContractViolation> {
    let first = expect_ok("a write succeeds", store.write(sample_key(), "first\n".into()).await)?;
    let second =
        expect_ok("a key can be written again", store.write(sample_key(), "second".into()).await)?;
    snapshot_or_changed(&*first, b"first\n").await?;
    spool_reader(&*second, b"second").await?;
    delete_spool(store, sample_key(), true).await?;
    snapshot_or_changed(&*second, b"second").await
}

/// Checks a reader whose key was written again or deleted: it still has its content, or says that it changed.
async fn snapshot_or_changed(
    reader: &dyn SpoolReader,
    content: &[u8],
) -> Result<(), ContractViolation> {
    match reader.read_at(0, content.len()).await {
        // A reader may have some of its content in memory. Whatever it gives is what was stored.
        Ok(read) => {
            let promise = "a reader never gives other bytes than those it was opened with";
            ContractViolation::ensure_equal(promise, &&*read, &content)
        }
        Err(SpoolError::Changed { .. }) => Ok(()),
        Err(error) => {
            Err(ContractViolation::new("a reader is a snapshot, or says that it changed", error))
        }
    }
}

async fn failed_writes_change_nothing(store: &dyn SpoolStore) -> Result<(), ContractViolation> {
    let broken = || {
        let pieces = vec![Ok(Bytes::from_static(b"half")), Err(ToolFailure::new("broken"))];
        SpoolPayload::Stream(ByteStream::new(PieceStream(pieces.into_iter())))
    };
    for old in [None, Some("old")] {
        if let Some(old) = old {
            expect_ok("a write succeeds", store.write(sample_key(), old.into()).await)?;
        }
        match store.write(sample_key(), broken()).await {
            Err(SpoolError::Source { received: 4, .. }) => {}
            other => {
                let promise = "a stream that fails is reported with what had come";
                return Err(ContractViolation::new(promise, format_args!("{other:?}")));
            }
        }
        let found = expect_ok("a key can be asked for", store.read(sample_key()).await)?;
        match (found, old) {
            (None, None) => {}
            (Some(found), Some(old)) => spool_reader(&*found, old.as_bytes()).await?,
            (found, _) => {
                return Err(ContractViolation::new(
                    "a failed write changes nothing",
                    format_args!("{found:?}"),
                ));
            }
        }
    }
    delete_spool(store, sample_key(), true).await
}

async fn keys_are_apart(store: &dyn SpoolStore) -> Result<(), ContractViolation> {
    let long = "key/".repeat(500);
    let texts = ["", ".", "..", "/", "a/b", "a\\b", "a", "A", "a.", "\0", "%61", "é", &long];
    for text in texts {
        expect_ok("any text is a key", store.write(text.into(), text.into()).await)?;
    }
    let mut keys: Vec<SpoolKey> = texts.into_iter().map(SpoolKey::from).collect();
    keys.sort();
    ContractViolation::ensure_equal(
        "all keys are listed, sorted",
        &list_keys(store).await?,
        &keys,
    )?;
    for prefix in ["", "a", "key/"] {
        let selected = keys.iter().filter(|key| key.as_str().starts_with(prefix)).cloned();
        ContractViolation::ensure_equal(
            "a scan lists each key with the prefix once",
            &scan_keys(store, prefix).await?,
            &selected.collect(),
        )?;
    }
    for text in texts {
        let found = expect_ok("any text is a key", store.read(text.into()).await)?;
        let found = found
            .ok_or_else(|| ContractViolation::new("any text is a key", format_args!("{text:?}")))?;
        spool_reader(&*found, text.as_bytes()).await?;
        delete_spool(store, text.into(), true).await?;
    }
    Ok(())
}

async fn list_keys(store: &dyn SpoolStore) -> Result<Vec<SpoolKey>, ContractViolation> {
    expect_ok("a store can be listed", store.list().await)
}

/// The keys of a scan, sorted.
async fn scan_keys(
    store: &dyn SpoolStore,
    prefix: &str,
) -> Result<Vec<SpoolKey>, ContractViolation> {
    let mut scan = store.scan_keys(prefix);
    let mut found = Vec::new();
    while let Some(keys) = expect_ok("keys can be scanned", scan.next_keys().await)? {
        found.extend(keys);
    }
    found.sort();
    Ok(found)
}

async fn delete_spool(
    store: &dyn SpoolStore,
    key: SpoolKey,
    existed: bool,
) -> Result<(), ContractViolation> {
    let found = expect_ok("any key can be deleted", store.delete(key).await)?;
    ContractViolation::ensure_equal("delete says whether there was something", &found, &existed)
}

fn expect_ok<T>(
    promise: &'static str,
    result: Result<T, SpoolError>,
) -> Result<T, ContractViolation> {
    result.map_err(|error| ContractViolation::new(promise, error))
}

fn sample_payloads(content: &[u8]) -> Vec<SpoolPayload> {
    let pieces = |size| {
        let pieces: Vec<_> =
            content.chunks(size).map(|it| Ok(Bytes::copy_from_slice(it))).collect();
        SpoolPayload::Stream(ByteStream::new(PieceStream(pieces.into_iter())))
    };
    let mut payloads = vec![SpoolPayload::from(content.to_vec()), pieces(1000), pieces(1_000_000)];
    payloads.extend(str::from_utf8(content).ok().map(SpoolPayload::from));
    payloads
}

fn sample_key() -> SpoolKey {
    SpoolKey::from("conformance")
}

struct PieceStream(std::vec::IntoIter<Result<Bytes, ToolFailure>>);

impl Stream for PieceStream {
    type Item = Result<Bytes, ToolFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.next())
    }
}
