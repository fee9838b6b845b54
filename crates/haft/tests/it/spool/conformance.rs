//! The checks let our own parts pass, and no broken one.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use haft::BoxFuture;
use haft::stores::{DirSpoolStore, MemorySpoolStore, SpoolError};
use haft::stores::{LineIndex, LocalRead, SpoolReader, SpoolStore};

use super::queries::Remote;
use super::{blocks, run, stream};

fn content() -> Vec<u8> {
    let long = "x".repeat(100_000);
    (0..20_000).flat_map(|n| format!("line {n}\r\n").into_bytes()).chain(long.bytes()).collect()
}

#[test]
fn both_stores_keep_the_contract() {
    run(async {
        haft_conformance::spool_store(&MemorySpoolStore::new()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = DirSpoolStore::open(folder.path()).unwrap();
        haft_conformance::spool_store(&store).await.unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    });
}

#[test]
fn all_readers_keep_the_contract() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let content = content();
        for block in [1000, 65_536] {
            let stores: [Arc<dyn SpoolStore>; 2] = [
                Arc::new(MemorySpoolStore::new().block_size(blocks(block))),
                Arc::new(DirSpoolStore::open(folder.path()).unwrap().block_size(blocks(block))),
            ];
            for store in stores {
                let written = store.write("k".into(), stream(&content, 999)).await.unwrap();
                let found = store.read("k".into()).await.unwrap().unwrap();
                let remote = Remote { inner: Arc::clone(&found), read: 0.into() };
                for reader in [&*written, &*found, &remote] {
                    haft_conformance::spool_reader(reader, &content).await.unwrap();
                }
            }
        }
    });
}

/// A reader with a fault.
#[derive(Debug)]
struct Broken {
    inner: Arc<dyn SpoolReader>,
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Length,
    ReadShort,
    ReadPastTheEnd,
    ReadAnotherByte,
    IndexOfOtherContent,
    LocalOffByOne,
    LocalEndsEarly,
    LocalPastTheEndFails,
}

impl SpoolReader for Broken {
    fn byte_length(&self) -> u64 {
        self.inner.byte_length() + u64::from(self.fault == Fault::Length)
    }

    fn read_at(&self, offset: u64, len: usize) -> BoxFuture<'_, Result<Bytes, SpoolError>> {
        Box::pin(async move {
            let bytes = self.inner.read_at(offset, len).await?;
            Ok(match self.fault {
                Fault::ReadShort if bytes.len() > 1000 => bytes.slice(..1000),
                Fault::ReadPastTheEnd if len > bytes.len() => vec![0; len.min(1000)].into(),
                // From the second block on.
                Fault::ReadAnotherByte if offset > 65_536 => vec![b'?'; bytes.len()].into(),
                _ => bytes,
            })
        })
    }

    fn index(&self) -> BoxFuture<'_, Result<Arc<LineIndex>, SpoolError>> {
        if self.fault != Fault::IndexOfOtherContent {
            return self.inner.index();
        }
        let mut content = content();
        content.rotate_left(100_000);
        Box::pin(std::future::ready(Ok(Arc::new(LineIndex::of(&content)))))
    }

    fn local(&self) -> Option<Arc<dyn LocalRead>> {
        let inner = self.inner.local()?;
        Some(Arc::new(BrokenLocal(inner, self.fault, self.inner.byte_length())))
    }
}

struct BrokenLocal(Arc<dyn LocalRead>, Fault, u64);

impl LocalRead for BrokenLocal {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match self.1 {
            Fault::LocalOffByOne if offset == 64 => self.0.read_at(65, buffer),
            Fault::LocalEndsEarly if offset + 1 == self.2 => Ok(0),
            Fault::LocalPastTheEndFails if offset > self.2 => {
                Err(io::Error::from(io::ErrorKind::InvalidInput))
            }
            _ => self.0.read_at(offset, buffer),
        }
    }
}

#[test]
fn a_reader_with_a_fault_is_found_out() {
    #[track_caller]
    fn check(fault: Fault, expect: &str) {
        let found = run(async {
            let store = MemorySpoolStore::new();
            let inner = store.write("k".into(), content().into()).await.unwrap();
            haft_conformance::spool_reader(&Broken { inner, fault }, &content()).await
        });
        assert_eq!(found.unwrap_err().promise, expect);
    }
    check(Fault::Length, "byte_length counts bytes");
    check(Fault::ReadShort, "the bytes are those that were given");
    check(Fault::ReadPastTheEnd, "the bytes are those that were given");
    check(Fault::ReadAnotherByte, "the bytes are those that were given");
    check(Fault::IndexOfOtherContent, "the index counts newlines per block");
    check(Fault::LocalOffByOne, "local reads give the same bytes");
    check(Fault::LocalEndsEarly, "local reads go to the end");
    check(Fault::LocalPastTheEndFails, "a local read past the end is empty");
}
