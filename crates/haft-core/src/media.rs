//! Images, sound, video and documents that a provider shows to the model natively.
//!
//! A [`Media`] consists of metadata and a [`MediaReader`], which reads the bytes when they are needed. Its trust has
//! two axes, both of which must be stated: where it comes from ([`TrustTier`]), and what perceiving it may extract
//! ([`ModalityHazard`]). Text that was derived from it (a transcript, a caption) is in its stash, with a tier that is
//! never above its own.
//!
//! ```
//! use haft_core::media::{Media, MediaFile, MediaKind, MediaStashEntry};
//! use haft_core::trust::TrustTier;
//!
//! let file = MediaFile::new("scan.png", "image/png", &b"\x89PNG"[..]);
//! let caption = MediaStashEntry::new("a cat", TrustTier::FirstParty);
//! let scan = Media::retrieved_public(MediaKind::Image, file).with_entry("text:caption", caption);
//! assert_eq!(scan.text(Media::TEXT_KEYS), Some(("a cat", TrustTier::ThirdPartyPublic)));
//! ```

mod base64;
mod error;
mod reader;
mod sniff;
mod stash;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::byte_stream::ByteStream;
use crate::id::{RecordId, text_type};
use crate::tier::{ModalityHazard, TrustTier, stored_tier};

pub use crate::descriptor::ReaderDescriptor;
pub use base64::{Base64Stream, decode_base64, encode_base64};
pub use error::{InvalidMedia, MediaError, MediaFault};
pub use reader::{MediaReader, MemoryReader, ReaderResolvers};
pub use sniff::sniff_media_type;
pub use stash::MediaStashEntry;

/// What a media item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the four kinds are part of the contract")]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// A document, such as a PDF.
    Document,
}

impl MediaKind {
    /// What perceiving a media item of this kind may extract, if nothing better is known.
    #[must_use]
    pub const fn default_hazard(self) -> ModalityHazard {
        match self {
            Self::Document => ModalityHazard::ExtractableInstructions,
            Self::Image | Self::Audio | Self::Video => ModalityHazard::OpaquePerceptual,
        }
    }
}

/// The name by which the model and tools refer to a media item.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct MediaId(Box<str>);

text_type!(MediaId);

impl MediaId {
    /// A name that the application gives. [`Media::check`] refuses an empty one.
    #[must_use]
    pub fn new(id: impl Into<Box<str>>) -> Self {
        Self(id.into())
    }

    /// The name of the n-th media item that a call returned: `<call>/media/<n>`.
    #[must_use]
    pub fn of_call(call: RecordId, n: usize) -> Self {
        Self(format!("{call}/media/{n}").into_boxed_str())
    }

    /// The name of the n-th attachment of a message: `<message>/media/<n>`.
    #[must_use]
    pub fn of_message(message: &str, n: usize) -> Self {
        Self(format!("{message}/media/{n}").into_boxed_str())
    }

    /// The owner and the number of an id of the form `<owner>/media/<n>`.
    #[must_use]
    pub(crate) fn split(text: &str) -> Option<(&str, usize)> {
        let (owner, n) = text.rsplit_once("/media/")?;
        let number = n.parse::<usize>().ok()?;
        // One spelling for one number.
        (number.to_string() == n).then_some((owner, number))
    }
}

/// One media item with both axes of trust: where it comes from, and what perceiving it may extract.
///
/// The four named constructors force the first decision and take the second from the kind;
/// [`Media::new`] takes both. There is no default. The tier can be lowered and never raised:
///
/// ```compile_fail,E0616
/// use haft_core::media::{Media, MediaFile, MediaKind};
/// use haft_core::trust::TrustTier;
/// let file = MediaFile::new("a.png", "image/png", &b""[..]);
/// let mut media = Media::retrieved_public(MediaKind::Image, file);
/// media.trust_tier = TrustTier::FirstParty;
/// ```
///
/// Two media are equal if all that is known of them is equal and they have the same reader, or
/// readers with the same descriptor.
///
/// Its stored form describes the reader. A media item that was read from it has to be [opened](Media::open).
///
/// ```
/// use haft_core::media::{Media, MediaFile, MediaKind, ReaderResolvers};
///
/// let file = MediaFile::new("a.png", "image/png", &b"\x89PNG"[..]);
/// let media = Media::retrieved_public(MediaKind::Image, file);
/// let mut read: Media = serde_json::from_str(&serde_json::to_string(&media)?)?;
/// read.open(&ReaderResolvers::default())?;
/// assert_eq!((read.byte_length(), read), (Some(4), media));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Media {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<MediaId>,
    kind: MediaKind,
    mime_type: String,
    filename: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(deserialize_with = "stored_tier")]
    pub(crate) trust_tier: TrustTier,
    modality_hazard: ModalityHazard,
    #[serde(default)]
    #[cfg_attr(
        feature = "schemars",
        schemars(with = "std::collections::BTreeMap<String, MediaStashEntry>")
    )]
    stash: IndexMap<String, MediaStashEntry>,
    #[serde(with = "reader::described")]
    #[cfg_attr(feature = "schemars", schemars(with = "ReaderDescriptor"))]
    reader: Arc<dyn MediaReader>,
}

impl Media {
    /// The keys of the stash under which a text that describes the media item is looked up, in order.
    pub const TEXT_KEYS: &'static [&'static str] =
        &["text:transcript", "text:caption", "text:description"];

    /// Something that a user attached: third-party, private.
    #[must_use]
    pub fn user_attachment(kind: MediaKind, file: MediaFile) -> Self {
        Self::new_unchecked(kind, TrustTier::ThirdPartyPrivate, kind.default_hazard(), file)
    }

    /// Something that the tool made itself: first-party.
    #[must_use]
    pub fn tool_generated(kind: MediaKind, file: MediaFile) -> Self {
        Self::new_unchecked(kind, TrustTier::FirstParty, kind.default_hazard(), file)
    }

    /// Something from the open web: third-party, public.
    #[must_use]
    pub fn retrieved_public(kind: MediaKind, file: MediaFile) -> Self {
        Self::new_unchecked(kind, TrustTier::ThirdPartyPublic, kind.default_hazard(), file)
    }

    /// Something from a private source: third-party, private.
    #[must_use]
    pub fn retrieved_private(kind: MediaKind, file: MediaFile) -> Self {
        Self::new_unchecked(kind, TrustTier::ThirdPartyPrivate, kind.default_hazard(), file)
    }

    /// A media item with both axes stated. Only here it can be inert.
    ///
    /// # Errors
    ///
    /// The file has no name or no type.
    pub fn new(
        kind: MediaKind,
        trust_tier: TrustTier,
        modality_hazard: ModalityHazard,
        file: MediaFile,
    ) -> Result<Self, InvalidMedia> {
        let media = Self::new_unchecked(kind, trust_tier, modality_hazard, file);
        media.check()?;
        Ok(media)
    }

    fn new_unchecked(
        kind: MediaKind,
        trust_tier: TrustTier,
        modality_hazard: ModalityHazard,
        file: MediaFile,
    ) -> Self {
        let MediaFile { mime_type, filename, reader } = file;
        let (id, source, stash) = (None, None, IndexMap::new());
        Self { id, kind, mime_type, filename, reader, trust_tier, modality_hazard, source, stash }
    }

    /// Checks that the media item is complete. The output of tools and stored records are checked in this way; the four
    /// named constructors do not check.
    ///
    /// # Errors
    ///
    /// Every problem that was found.
    pub fn check(&self) -> Result<(), InvalidMedia> {
        let faults = [
            (self.filename.is_empty(), MediaFault::EmptyFilename),
            (self.mime_type.is_empty(), MediaFault::EmptyMimeType),
            (self.id.as_ref().is_some_and(|id| id.as_str().is_empty()), MediaFault::EmptyId),
            (self.stash.contains_key(""), MediaFault::EmptyStashKey),
        ];
        let faults: Vec<_> = faults.into_iter().filter(|(bad, _)| *bad).map(|it| it.1).collect();
        if faults.is_empty() { Ok(()) } else { Err(InvalidMedia { faults }) }
    }

    /// Names it.
    #[must_use]
    pub fn with_id(mut self, id: MediaId) -> Self {
        self.id = Some(id);
        self
    }

    /// Names it as the n-th media item of a call, unless it has a name. Every media item of a stored call has a name.
    pub fn assign_id(&mut self, call: RecordId, n: usize) {
        self.id.get_or_insert_with(|| MediaId::of_call(call, n));
    }

    /// Names it as the n-th attachment of a message, unless it has a name.
    pub(crate) fn assign_attachment_id(&mut self, message: &str, n: usize) {
        self.id.get_or_insert_with(|| MediaId::of_message(message, n));
    }

    /// States where it was found.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds something derived from it to the stash; see [`Media::insert`].
    #[must_use]
    pub fn with_entry(mut self, key: impl Into<String>, entry: MediaStashEntry) -> Self {
        self.insert(key, entry);
        self
    }

    /// Puts something derived from it into the stash, under the less trusted of the entry's tier and
    /// its own. An entry of that key is replaced.
    pub fn insert(&mut self, key: impl Into<String>, entry: MediaStashEntry) {
        self.stash.insert(key.into(), entry.floored(self.trust_tier));
    }

    /// The same media item with another reader. The reader must return the same bytes, because the metadata does not
    /// change.
    #[must_use]
    pub fn with_reader(mut self, reader: Arc<dyn MediaReader>) -> Self {
        self.reader = reader;
        self
    }

    /// The media item of a text that [`Serialize`] wrote, with the tiers that the text says: a text that a store returned,
    /// and not one of anybody else. It is still to be [opened](Self::open).
    ///
    /// # Errors
    ///
    /// The text is not a media item.
    pub fn from_json(json: &str) -> serde_json::Result<Self> {
        crate::tier::parse_stored(json)
    }

    /// Whether a process that has only its record can read its bytes again, with these readers.
    #[must_use]
    pub fn is_readable_by(&self, readers: &ReaderResolvers) -> bool {
        self.reader.describe().is_some_and(|it| readers.resolve(&it).is_ok())
    }

    /// Finds the reader of a media item that was read from a record. Entries of its stash are held below its tier, whatever
    /// was stored.
    ///
    /// # Errors
    ///
    /// Nothing finds the reader, or the media item is not a valid one.
    pub fn open(&mut self, readers: &ReaderResolvers) -> Result<(), MediaError> {
        if let Some(descriptor) = self.reader.describe() {
            self.reader = readers.resolve(&descriptor)?;
        }
        self.floor_stash();
        self.check()?;
        Ok(())
    }

    fn floor_stash(&mut self) {
        for entry in self.stash.values_mut() {
            *entry = entry.clone().floored(self.trust_tier);
        }
    }

    /// Lowers its tier, and that of its stash, to at most this one.
    ///
    /// ```
    /// use haft_core::media::{Media, MediaFile, MediaKind};
    /// use haft_core::trust::TrustTier;
    ///
    /// let file = MediaFile::new("door.png", "image/png", "…");
    /// let image = Media::user_attachment(MediaKind::Image, file).lowered_to(TrustTier::ThirdPartyPublic);
    /// assert_eq!(image.trust_tier(), TrustTier::ThirdPartyPublic);
    /// ```
    #[must_use]
    pub fn lowered_to(mut self, tier: TrustTier) -> Self {
        self.trust_tier = self.trust_tier.floor(tier);
        self.floor_stash();
        self
    }

    /// Its name, if it has one yet.
    #[must_use]
    pub fn id(&self) -> Option<&MediaId> {
        self.id.as_ref()
    }

    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> MediaKind {
        self.kind
    }

    /// Its MIME type, as it was given.
    #[must_use]
    pub fn mime_type(&self) -> &str {
        &self.mime_type
    }

    /// The name of its file, as it was given.
    #[must_use]
    pub fn filename(&self) -> &str {
        &self.filename
    }

    /// Where it comes from.
    #[must_use]
    pub const fn trust_tier(&self) -> TrustTier {
        self.trust_tier
    }

    /// What perceiving it may extract.
    #[must_use]
    pub const fn modality_hazard(&self) -> ModalityHazard {
        self.modality_hazard
    }

    /// Where it was found, in words or as an address.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// What was derived from it, in the order of insertion.
    pub fn stash(&self) -> impl Iterator<Item = (&str, &MediaStashEntry)> {
        self.stash.iter().map(|(key, entry)| (key.as_str(), entry))
    }

    /// What was derived from it under this key.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&MediaStashEntry> {
        self.stash.get(key)
    }

    /// The first text in the stash under one of these keys, with the less trusted of its tier and the
    /// media item's.
    #[must_use]
    pub fn text(&self, keys: &[&str]) -> Option<(&str, TrustTier)> {
        let found = keys.iter().find_map(|key| {
            let entry = self.entry(key)?;
            Some((entry.text()?, entry.trust_tier()))
        });
        found.map(|(text, tier)| (text, tier.floor(self.trust_tier)))
    }

    /// Opens a new stream of its bytes, from the start.
    #[must_use]
    pub fn stream(&self) -> ByteStream {
        self.reader.open()
    }

    /// How many bytes it has, if that is known without reading it.
    #[must_use]
    pub fn byte_length(&self) -> Option<u64> {
        self.reader.byte_length()
    }

    /// All its bytes, if they are not more than `limit`.
    ///
    /// # Errors
    ///
    /// There are more bytes, or they could not be read.
    pub async fn bytes(&self, limit: u64) -> Result<Bytes, MediaError> {
        reader::drain(self.reader.as_ref(), &self.filename, limit).await
    }

    /// Its bytes as base64, bit by bit: the standard alphabet with padding.
    #[must_use]
    pub fn base64(&self) -> Base64Stream {
        Base64Stream::new(self.stream())
    }
}

impl PartialEq for Media {
    fn eq(&self, other: &Self) -> bool {
        let same_reader = || {
            Arc::ptr_eq(&self.reader, &other.reader)
                || matches!((self.reader.describe(), other.reader.describe()), (Some(a), Some(b)) if a == b)
        };
        self.id == other.id
            && self.kind == other.kind
            && self.mime_type == other.mime_type
            && self.filename == other.filename
            && self.trust_tier == other.trust_tier
            && self.modality_hazard == other.modality_hazard
            && self.source == other.source
            && self.stash == other.stash
            && same_reader()
    }
}

impl Eq for Media {}

/// Names the media item without its bytes.
impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Media")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("mime_type", &self.mime_type)
            .field("filename", &self.filename)
            .field("trust_tier", &self.trust_tier)
            .field("modality_hazard", &self.modality_hazard)
            .field("source", &self.source)
            .field("stash", &self.stash.keys())
            .field("byte_length", &self.byte_length())
            .finish()
    }
}

/// The file part of a media item: name, type and a reader of its bytes.
///
/// ```
/// use haft_core::media::{Media, MediaFile, MediaKind};
///
/// let file = MediaFile::new("door.png", "image/png", "12345");
/// let image = Media::tool_generated(MediaKind::Image, file).with_source("camera 1");
/// assert_eq!((image.filename(), image.mime_type()), ("door.png", "image/png"));
/// assert_eq!((image.byte_length(), image.source()), (Some(5), Some("camera 1")));
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct MediaFile {
    mime_type: String,
    filename: String,
    reader: Arc<dyn MediaReader>,
}

impl MediaFile {
    /// A file of this name and MIME type, whose bytes are at hand.
    #[must_use]
    pub fn new(
        filename: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl Into<Bytes>,
    ) -> Self {
        Self::read_by(filename, mime_type, Arc::new(MemoryReader::new(bytes)))
    }

    /// A file of this name and MIME type, whose bytes a reader gives.
    #[must_use]
    pub fn read_by(
        filename: impl Into<String>,
        mime_type: impl Into<String>,
        reader: Arc<dyn MediaReader>,
    ) -> Self {
        Self { mime_type: mime_type.into(), filename: filename.into(), reader }
    }
}

impl fmt::Debug for MediaFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.reader.byte_length();
        write!(f, "MediaFile({:?}, {}, {bytes:?} bytes)", self.filename, self.mime_type)
    }
}
