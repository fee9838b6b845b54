//! Uploads content in parts.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use haft_core::spool::{SpoolError, SpoolKey};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt as _};

use super::object_error;

/// An upload. Content of less than a part is put at once; more than that is uploaded in parts, which are aborted if the
/// upload is dropped before its end.
pub(super) struct Upload {
    store: Arc<dyn ObjectStore>,
    path: Path,
    key: SpoolKey,
    buffer: BytesMut,
    parts: Option<Parts>,
}

/// Parts that have no end yet.
struct Parts(Option<Box<dyn MultipartUpload>>);

impl Upload {
    pub(super) fn new(store: Arc<dyn ObjectStore>, path: Path, key: SpoolKey) -> Self {
        Self { store, path, key, buffer: BytesMut::new(), parts: None }
    }

    pub(super) async fn push(&mut self, mut chunk: Bytes) -> Result<(), SpoolError> {
        while self.buffer.len() + chunk.len() >= PART_BYTES {
            let room = PART_BYTES.saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(&chunk.split_to(room.min(chunk.len())));
            self.flush().await?;
        }
        self.buffer.extend_from_slice(&chunk);
        Ok(())
    }

    /// Uploads what is in the buffer as a part.
    async fn flush(&mut self) -> Result<(), SpoolError> {
        let failed = |error| object_error(&self.key, "write", error);
        if self.parts.is_none() {
            let upload = self.store.put_multipart(&self.path).await.map_err(failed)?;
            self.parts = Some(Parts(Some(upload)));
        }
        let part = std::mem::take(&mut self.buffer).freeze();
        match self.parts.as_mut().and_then(|parts| parts.0.as_mut()) {
            Some(upload) => upload.put_part(part.into()).await.map_err(failed),
            None => Ok(()),
        }
    }

    /// Makes the content visible, and returns its ETag.
    pub(super) async fn finish(mut self) -> Result<Option<String>, SpoolError> {
        if self.parts.is_some() && !self.buffer.is_empty() {
            self.flush().await?;
        }
        let failed = |error| object_error(&self.key, "write", error);
        let put = match self.parts.as_mut() {
            None => {
                let content = std::mem::take(&mut self.buffer).freeze();
                self.store.put(&self.path, content.into()).await.map_err(failed)?
            }
            Some(parts) => {
                let Some(upload) = parts.0.as_mut() else { return Ok(None) };
                let put = upload.complete().await.map_err(failed)?;
                // There is nothing to abort any more.
                parts.0 = None;
                put
            }
        };
        Ok(put.e_tag)
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let (Some(mut upload), Ok(runtime)) =
            (self.0.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        // Parts that cannot be removed are removed by the rule for incomplete uploads that a bucket should have.
        runtime.spawn(async move {
            let _ = upload.abort().await;
        });
    }
}

/// The size of a part. S3 allows ten thousand of them, so that a result can have 80 GB.
const PART_BYTES: usize = 8 << 20;
