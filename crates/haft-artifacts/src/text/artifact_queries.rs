//! The queries of text, on artifacts.

use std::future::Future;
use std::ops::RangeBounds;
use std::sync::Arc;

use haft_core::artifact::SpooledArtifact;
use haft_core::spool::SpoolError;

use super::{GrepOptions, TextError, TextPage, TextView};

/// The lines of an artifact, of any kind: `head`, `tail`, `cat` and `grep`.
///
/// Each is the query of that name of a [`TextView`] with the default budget. A view has more of them, and
/// options; [`as_string`](SpooledArtifact::as_string) gives all of a small artifact.
///
/// ```
/// use haft_artifacts::text::TextQueries as _;
/// use haft_core::artifact::{ArtifactKind, SpooledArtifact};
/// use haft_core::spool::SpoolStore;
/// use haft_core::trust::TrustTier;
/// use haft_stores::MemorySpoolStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let reader = MemorySpoolStore::new().write("k".into(), "one\ntwo\nthree".into()).await?;
/// let log = SpooledArtifact::new(ArtifactKind::TEXT, reader, TrustTier::UNTRUSTED);
/// assert_eq!(log.head(2).await?.text(), "one\ntwo");
/// assert_eq!(log.tail(1).await?.text(), "three");
/// assert_eq!(log.grep("^t").await?.text(), "two\nthree");
/// assert_eq!(log.cat(..).await?.lines.len(), 3);
/// assert_eq!(log.as_string(1024).await?, "one\ntwo\nthree");
/// assert!(log.as_string(3).await.is_err());
/// # Ok(())
/// # }
/// ```
pub trait TextQueries {
    /// The first `n` lines.
    fn head(&self, n: u64) -> impl Future<Output = Result<TextPage, SpoolError>> + Send;

    /// The last `n` lines.
    fn tail(&self, n: u64) -> impl Future<Output = Result<TextPage, SpoolError>> + Send;

    /// The lines of a range, as [`TextView::cat`] counts them.
    fn cat(
        &self,
        range: impl RangeBounds<u64> + Send,
    ) -> impl Future<Output = Result<TextPage, SpoolError>> + Send;

    /// The lines that match a pattern.
    fn grep(&self, pattern: &str) -> impl Future<Output = Result<TextPage, TextError>> + Send;
}

impl TextQueries for SpooledArtifact {
    async fn head(&self, n: u64) -> Result<TextPage, SpoolError> {
        view(self).head(n).await
    }

    async fn tail(&self, n: u64) -> Result<TextPage, SpoolError> {
        view(self).tail(n).await
    }

    async fn cat(&self, range: impl RangeBounds<u64> + Send) -> Result<TextPage, SpoolError> {
        view(self).cat(range).await
    }

    async fn grep(&self, pattern: &str) -> Result<TextPage, TextError> {
        view(self).grep(pattern, GrepOptions::default()).await
    }
}

fn view(artifact: &SpooledArtifact) -> TextView {
    TextView::new(Arc::clone(artifact.reader()))
}
