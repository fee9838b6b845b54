//! A stored result and what is known of it.

use crate::error::codes;
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::ArtifactKind;
use crate::error::{Coded, ErrorCode};
use crate::spool::{
    ComparedReader, ContentDigest, ContentState, LostReader, ReaderDescriptor, SpoolError,
    SpoolKey, SpoolPayload, SpoolReader, Verification, VerifiedReader,
};
use crate::tier::TrustTier;

/// A result that is stored outside the prompt and that the model queries by a handle.
///
/// It never changes; cloning copies a pointer. Its label was fixed when it was produced, and the result of every query
/// has the same label.
#[derive(Clone)]
pub struct SpooledArtifact {
    shared: Arc<Shared>,
    label: TrustTier,
}

struct Shared {
    kind: ArtifactKind,
    reader: Arc<dyn SpoolReader>,
    /// The digest of the content, as it was when it was stored.
    digest: Option<ContentDigest>,
    integrity: Integrity,
    is_lost: bool,
    /// What a format has found out about the content: one value of a type that the format chooses.
    memo: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

/// What is known about the content of an artifact.
enum Integrity {
    /// Its state, which does not change.
    Known(ContentState),
    /// Its hash is compared before the first read.
    Lazy(Arc<Verification>),
}

impl SpooledArtifact {
    /// Stored content of a kind, with the trust of where it comes from.
    #[must_use]
    pub fn new(kind: ArtifactKind, reader: Arc<dyn SpoolReader>, label: TrustTier) -> Self {
        Self::with_digest(kind, reader, label, None)
    }

    /// Stored content whose digest is known. The record of the artifact keeps the digest, so that another process
    /// notices content that was changed or truncated.
    pub(crate) fn with_digest(
        kind: ArtifactKind,
        reader: Arc<dyn SpoolReader>,
        label: TrustTier,
        digest: Option<ContentDigest>,
    ) -> Self {
        let state = if digest.is_some() { ContentState::Verified } else { ContentState::NoDigest };
        Self::with_integrity((kind, reader), label, digest, Integrity::Known(state))
    }

    fn with_integrity(
        (kind, reader): (ArtifactKind, Arc<dyn SpoolReader>),
        label: TrustTier,
        digest: Option<ContentDigest>,
        integrity: Integrity,
    ) -> Self {
        let (memo, is_lost) = (Mutex::default(), false);
        Self { shared: Arc::new(Shared { kind, reader, digest, integrity, is_lost, memo }), label }
    }

    /// How it is queried.
    #[must_use]
    pub fn kind(&self) -> &ArtifactKind {
        &self.shared.kind
    }

    /// A reader of its bytes, exactly as they were stored.
    #[must_use]
    pub fn reader(&self) -> &Arc<dyn SpoolReader> {
        &self.shared.reader
    }

    /// Whether the content is the one that was stored, as far as it is known. A length that differs is noticed when the
    /// artifact is loaded, other bytes when its hash is compared: before the first read through
    /// [`reader`](Self::reader), or by [`verify`](Self::verify).
    #[must_use]
    pub fn content_state(&self) -> ContentState {
        match &self.shared.integrity {
            Integrity::Known(state) => *state,
            Integrity::Lazy(verification) => verification.state(),
        }
    }

    /// Compares the hash of the content with the stored hash, which reads all of the content once. Does nothing if it
    /// was verified before.
    ///
    /// # Errors
    ///
    /// The content was changed, or it could not be read.
    pub async fn verify(&self) -> Result<(), SpoolError> {
        match &self.shared.integrity {
            // The reader says how it was changed.
            Integrity::Known(ContentState::Changed) => self.reader().read_at(0, 1).await.map(drop),
            Integrity::Known(_) => Ok(()),
            Integrity::Lazy(verification) => verification.verify().await,
        }
    }

    /// Its bytes, without waiting for the verification of their hash, so that the beginning of large content can be
    /// shown at once. A program that uses it must also call [`verify`](Self::verify), say until then that the content
    /// is unverified, and report it if the content was changed. The reader has the stored length.
    #[must_use]
    pub fn unverified_reader(&self) -> &Arc<dyn SpoolReader> {
        match &self.shared.integrity {
            Integrity::Known(_) => self.reader(),
            Integrity::Lazy(verification) => verification.unverified_reader(),
        }
    }

    /// All of it as text, if it has at most `limit` bytes. Bytes that are not UTF-8 become U+FFFD.
    ///
    /// Lines, ranges and searches of content of any size are queries of the text:
    /// `head`, `tail`, `cat` and `grep` of `haft::artifacts::TextQueries`.
    ///
    /// # Errors
    ///
    /// It has more bytes, or they could not be read.
    pub async fn as_string(&self, limit: u64) -> Result<String, SpoolError> {
        let reader = self.reader();
        let total = reader.byte_length();
        let Some(length) = usize::try_from(total).ok().filter(|_| total <= limit) else {
            let key = SpoolKey::new(format!("artifact of kind {}", self.kind()));
            return Err(SpoolError::TooLarge { key, limit });
        };
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let piece = reader.read_at(bytes.len() as u64, length - bytes.len()).await?;
            if piece.is_empty() {
                // Less is there than the reader said.
                let key = SpoolKey::new(format!("artifact of kind {}", self.kind()));
                let how = format!("it ends after {} of {length} bytes", bytes.len());
                return Err(SpoolError::Changed { key, how });
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Whether the content no longer existed when the artifact was loaded. Every read then fails.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.shared.is_lost
    }

    /// How much it may be trusted.
    #[must_use]
    pub const fn label(&self) -> TrustTier {
        self.label
    }

    /// The same content, trusted no more than `ceiling` allows.
    #[must_use]
    pub fn floor(&self, ceiling: TrustTier) -> Self {
        Self { shared: Arc::clone(&self.shared), label: self.label.floor(ceiling) }
    }

    /// What a format knows about the content. The first query that needs it makes it, and later queries reuse it. An
    /// artifact has one such value; it should say where things are, not what they are, so that it stays small.
    ///
    /// Two queries at the same time may both make it; both get a valid value.
    ///
    /// # Errors
    ///
    /// The error of `make`. Nothing is cached then.
    pub async fn memo<T, E, F>(&self, make: F) -> Result<Arc<T>, E>
    where
        T: Any + Send + Sync,
        F: Future<Output = Result<T, E>> + Send,
    {
        let kept = self.slot(|slot| slot.clone());
        if let Some(known) = kept.and_then(|kept| kept.downcast::<T>().ok()) {
            return Ok(known);
        }
        let made = Arc::new(make.await?);
        let keep: Arc<dyn Any + Send + Sync> = Arc::<T>::clone(&made);
        self.slot(|slot| *slot = Some(keep));
        Ok(made)
    }

    fn slot<T>(&self, run: impl FnOnce(&mut Option<Arc<dyn Any + Send + Sync>>) -> T) -> T {
        run(&mut self.shared.memo.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The form in which it is stored with a record.
    ///
    /// # Errors
    ///
    /// The reader cannot be found again by another process.
    pub fn to_record(&self) -> Result<ArtifactRecord, NotDescribable> {
        let reader = self.shared.reader.describe().ok_or(NotDescribable)?;
        let content = self.shared.digest;
        Ok(ArtifactRecord { kind: self.kind().clone(), label: self.label, reader, content })
    }
}

/// Two are equal if they are the same content: the same reader, or readers with equal descriptors.
impl PartialEq for SpooledArtifact {
    fn eq(&self, other: &Self) -> bool {
        let (one, two) = (self.reader(), other.reader());
        let same =
            Arc::ptr_eq(one, two) || one.describe().is_some_and(|it| two.describe() == Some(it));
        same && self.kind() == other.kind() && self.label == other.label
    }
}

impl fmt::Debug for SpooledArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpooledArtifact({}, {} bytes)", self.kind(), self.reader().byte_length())
    }
}

/// An artifact as it is stored in a record: its kind, its trust, and where its bytes are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactRecord {
    kind: ArtifactKind,
    label: TrustTier,
    reader: ReaderDescriptor,
    /// The digest of the content. Content that a program gave by a reader of its own has none, and is not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<ContentDigest>,
}

impl ArtifactRecord {
    /// Where its bytes are.
    #[must_use]
    pub fn reader(&self) -> &ReaderDescriptor {
        &self.reader
    }

    /// The artifact, on a reader that was made from [`reader`](Self::reader). If the content is not the one that was
    /// stored, queries fail: a wrong length is noticed at once, other bytes are noticed before the first read.
    #[must_use]
    pub fn load(self, reader: Arc<dyn SpoolReader>) -> SpooledArtifact {
        let (reader, integrity): (Arc<dyn SpoolReader>, _) = match self.content {
            None => (reader, Integrity::Known(ContentState::NoDigest)),
            Some(digest) => match ComparedReader::new(reader, digest) {
                ComparedReader::Bound(reader) => (reader, Integrity::Known(ContentState::Verified)),
                ComparedReader::Changed(lost) => (lost, Integrity::Known(ContentState::Changed)),
                ComparedReader::Unverified(verification) => {
                    let reader = Arc::new(VerifiedReader(Arc::clone(&verification)));
                    (reader, Integrity::Lazy(verification))
                }
            },
        };
        SpooledArtifact::with_integrity((self.kind, reader), self.label, self.content, integrity)
    }

    /// The artifact if its content no longer exists. Queries fail with that reason.
    #[must_use]
    pub(crate) fn load_lost(self) -> SpooledArtifact {
        let bytes = self.content.map_or(0, |digest| digest.byte_length());
        let reader = LostReader::open(Some(self.reader), bytes, "it is gone".to_owned());
        let (kind, digest, memo) = (self.kind, self.content, Mutex::default());
        let integrity = Integrity::Known(ContentState::Changed);
        let shared = Shared { kind, reader, digest, integrity, is_lost: true, memo };
        SpooledArtifact { shared: Arc::new(shared), label: self.label }
    }
}

/// The reader of an artifact has no descriptor, so that the artifact cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reader of this artifact cannot be described; write its content to a spool store")]
#[non_exhaustive]
pub struct NotDescribable;

impl Coded for NotDescribable {
    fn code(&self) -> ErrorCode {
        codes::READER_NOT_DESCRIBABLE
    }
}

/// A result of a kind that the tool chooses itself, on its way to the spool.
///
/// ```
/// use haft_core::artifact::{ArtifactDraft, ArtifactKind};
///
/// fn export(as_lines: bool) -> ArtifactDraft {
///     let kind = if as_lines { ArtifactKind::JSONL } else { ArtifactKind::JSON };
///     ArtifactDraft::new(kind, "{\"id\": 1}\n")
/// }
/// ```
#[derive(Debug)]
pub struct ArtifactDraft {
    pub(crate) kind: ArtifactKind,
    pub(crate) content: DraftContent,
    /// The most that the content may be trusted; `None` for the tool's own label.
    pub(crate) label: Option<TrustTier>,
}

#[derive(Debug)]
pub(crate) enum DraftContent {
    New(SpoolPayload),
    Stored(SpooledArtifact),
}

impl ArtifactDraft {
    /// Content of a kind.
    #[must_use]
    pub fn new(kind: ArtifactKind, content: impl Into<SpoolPayload>) -> Self {
        Self { kind, content: DraftContent::New(content.into()), label: None }
    }

    /// Declares that the content comes from another source. It is then trusted no more than this label, and no more
    /// than the tool.
    #[must_use]
    pub fn with_label(mut self, label: TrustTier) -> Self {
        self.label = Some(self.label.map_or(label, |known| known.floor(label)));
        self
    }

    /// Says that the content was made from an artifact, whose trust it inherits.
    #[must_use]
    pub fn derived_from(self, source: &SpooledArtifact) -> Self {
        self.with_label(source.label())
    }
}

/// An artifact that is stored already, as it is.
impl From<SpooledArtifact> for ArtifactDraft {
    fn from(artifact: SpooledArtifact) -> Self {
        let (kind, label) = (artifact.kind().clone(), Some(artifact.label()));
        Self { kind, content: DraftContent::Stored(artifact), label }
    }
}
