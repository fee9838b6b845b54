//! Images, sound, video and documents that a provider shows to the model natively.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::trust::{ModalityHazard, TrustTier};

/// What a medium is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// One medium with both axes of trust: where it comes from, and what perceiving it may extract.
///
/// The four named constructors force that decision; there is no default.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Media {
    /// What it is.
    pub kind: MediaKind,
    /// Its MIME type.
    pub mime_type: String,
    /// A name for it.
    pub filename: String,
    /// Where it comes from.
    pub trust_tier: TrustTier,
    /// What perceiving it may extract.
    pub modality_hazard: ModalityHazard,
    /// Where it was found, in words or as an address.
    pub source: Option<String>,
    /// The bytes.
    pub bytes: Bytes,
}

impl Media {
    /// Something that a user attached: third-party, private.
    #[must_use]
    pub fn user_attachment(kind: MediaKind, file: MediaFile) -> Self {
        Self::new(kind, TrustTier::ThirdPartyPrivate, file)
    }

    /// Something that the tool made itself: first-party.
    #[must_use]
    pub fn tool_generated(kind: MediaKind, file: MediaFile) -> Self {
        Self::new(kind, TrustTier::FirstParty, file)
    }

    /// Something from the open web: third-party, public.
    #[must_use]
    pub fn retrieved_public(kind: MediaKind, file: MediaFile) -> Self {
        Self::new(kind, TrustTier::ThirdPartyPublic, file)
    }

    /// Something from a private source: third-party, private.
    #[must_use]
    pub fn retrieved_private(kind: MediaKind, file: MediaFile) -> Self {
        Self::new(kind, TrustTier::ThirdPartyPrivate, file)
    }

    /// States where it was found.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    fn new(kind: MediaKind, trust_tier: TrustTier, file: MediaFile) -> Self {
        let modality_hazard = match kind {
            MediaKind::Document => ModalityHazard::ExtractableInstructions,
            MediaKind::Image | MediaKind::Audio | MediaKind::Video => {
                ModalityHazard::OpaquePerceptual
            }
        };
        let MediaFile { mime_type, filename, bytes } = file;
        Self { kind, mime_type, filename, trust_tier, modality_hazard, source: None, bytes }
    }
}

/// The file part of a medium: name, type and bytes.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaFile {
    mime_type: String,
    filename: String,
    bytes: Bytes,
}

impl MediaFile {
    /// A file of this name and MIME type.
    #[must_use]
    pub fn new(
        filename: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl Into<Bytes>,
    ) -> Self {
        Self { mime_type: mime_type.into(), filename: filename.into(), bytes: bytes.into() }
    }
}

impl fmt::Debug for MediaFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MediaFile({:?}, {}, {} bytes)", self.filename, self.mime_type, self.bytes.len())
    }
}

/// Names the medium without its bytes.
impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Media")
            .field("kind", &self.kind)
            .field("mime_type", &self.mime_type)
            .field("filename", &self.filename)
            .field("trust_tier", &self.trust_tier)
            .field("modality_hazard", &self.modality_hazard)
            .field("source", &self.source)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}
