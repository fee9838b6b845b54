//! A stored result and what is known of it.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ArtifactKind;
use crate::byte_stream::ByteStream;
use crate::spool::{
    ComparedReader, ContentDigest, ContentState, LostReader, ReaderDescriptor, SpoolError,
    SpoolKey, SpoolPayload, SpoolReader, SpoolStore, Verification, VerifiedReader,
};
use crate::tier::{TrustTier, stored_tier};

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

/// More short lines say no more about what the content is.
const MAX_PREVIEW_LINES: usize = 10;

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

    /// How the content begins: as many whole lines as these bytes hold, at most ten, or the beginning of the first line
    /// with `…` behind it. Empty if the content cannot be read; queries say why.
    ///
    /// ```
    /// use haft_core::artifact::SpooledArtifact;
    ///
    /// # async fn show(log: &SpooledArtifact) {
    /// let first_lines = log.read_preview(240).await;
    /// assert!(first_lines.len() <= 240 + "…".len());
    /// # }
    /// ```
    pub async fn read_preview(&self, bytes: usize) -> String {
        let Ok(start) = self.reader().read_at(0, bytes).await else { return String::new() };
        let text = String::from_utf8_lossy(&start);
        if self.reader().byte_length() <= bytes as u64 {
            return text.trim_end().to_owned();
        }
        // The last character may be cut.
        let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
        match text.rsplit_once('\n') {
            Some((lines, _)) if !lines.trim().is_empty() => {
                let lines: String = lines.split_inclusive('\n').take(MAX_PREVIEW_LINES).collect();
                lines.trim_end().to_owned()
            }
            _ if text.trim().is_empty() => String::new(),
            _ => format!("{text}…"),
        }
    }

    /// How many lines it has, as they were counted when it was stored. Content that a program gave by a reader of its own is
    /// counted by the reader.
    ///
    /// # Errors
    ///
    /// The content has no digest, and it could not be read.
    pub async fn count_lines(&self) -> Result<u64, SpoolError> {
        match self.shared.digest {
            Some(digest) => Ok(digest.line_count()),
            None => Ok(self.reader().index().await?.line_count()),
        }
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

    /// The artifact of a record that was read, with its content in this store. If it is not there, queries fail with that
    /// reason. Does nothing to an artifact whose reader has no descriptor.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn opened_in(&self, spools: &dyn SpoolStore) -> Result<Self, SpoolError> {
        let Some(descriptor) = self.reader().describe() else { return Ok(self.clone()) };
        Ok(match spools.open(&descriptor).await? {
            Some(reader) => self.read_by(reader),
            None => self.lost(Some(descriptor), "it is gone"),
        })
    }

    /// The artifact of a record that was read, with a reader of its content. If the content is not the one that was stored,
    /// queries fail: a wrong length is noticed at once, other bytes are noticed before the first read.
    #[must_use]
    pub fn read_by(&self, reader: Arc<dyn SpoolReader>) -> Self {
        let (reader, integrity): (Arc<dyn SpoolReader>, _) = match self.shared.digest {
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
        let kind = self.kind().clone();
        Self::with_integrity((kind, reader), self.label, self.shared.digest, integrity)
    }

    /// The artifact without its content, for this reason.
    pub(crate) fn lost(&self, descriptor: Option<ReaderDescriptor>, how: &str) -> Self {
        let digest = self.shared.digest;
        Self::unread(self.kind().clone(), self.label, digest, (descriptor, how), true)
    }

    fn unread(
        kind: ArtifactKind,
        label: TrustTier,
        digest: Option<ContentDigest>,
        (descriptor, how): (Option<ReaderDescriptor>, &str),
        is_lost: bool,
    ) -> Self {
        let bytes = digest.map_or(0, |digest| digest.byte_length());
        let reader = LostReader::open(descriptor, bytes, how.to_owned());
        let integrity = Integrity::Known(ContentState::Changed);
        let memo = Mutex::default();
        Self { shared: Arc::new(Shared { kind, reader, digest, integrity, is_lost, memo }), label }
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

/// What is stored of an artifact: its kind, its trust, where its bytes are, and their digest. Content that a program gave by
/// a reader of its own has no digest, and is not checked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArtifactForm {
    kind: ArtifactKind,
    #[serde(deserialize_with = "stored_tier")]
    label: TrustTier,
    reader: ReaderDescriptor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<ContentDigest>,
}

/// Fails if the reader cannot be found again by another process.
impl Serialize for SpooledArtifact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let reader = self.reader().describe().ok_or_else(|| {
            S::Error::custom(
                "the reader of an artifact has no descriptor; write its content to a spool store",
            )
        })?;
        let (kind, label) = (self.kind().clone(), self.label);
        ArtifactForm { kind, label, reader, content: self.shared.digest }.serialize(serializer)
    }
}

/// Every read fails until the artifact is [opened](SpooledArtifact::opened_in).
impl<'de> Deserialize<'de> for SpooledArtifact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ArtifactForm { kind, label, reader, content } =
            ArtifactForm::deserialize(deserializer)?;
        Ok(Self::unread(kind, label, content, (Some(reader), "it was not opened"), false))
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
    /// The content, if it is streamed.
    pub(crate) fn stream(&mut self) -> Option<&mut ByteStream> {
        match &mut self.content {
            DraftContent::New(SpoolPayload::Stream(stream)) => Some(stream),
            _ => None,
        }
    }

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
